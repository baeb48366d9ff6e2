"""One parameter of one column in every private group: a person may belong to any of them."""

from dataclasses import dataclass
from functools import cached_property

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.private_groups import MeasuredModel, PrivateGroups
from app.core.parameters import Parameter, in_group
from app.core.statistics.groups import groups_of
from app.errors import InvalidModel


@dataclass(frozen=True)
class MeasuredGroups(MeasuredModel[NaturalModel]):
    """`inner` in every group. What is asked of the rows is, group by group, their sum and their number."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.grouped(self.inner.parameter)

    def grouped(self, parameter: Parameter) -> tuple[Parameter, ...]:
        return tuple(in_group(parameter, group) for group in groups_of(self.groups.by))


def measured_groups(model: NaturalModel, groups: PrivateGroups) -> MeasuredGroups:
    """Raises InvalidModel for groups of the modelled column: they would cut its law."""
    if model.statistic.column in (*groups.columns, *groups.inputs):
        raise InvalidModel("by", f"other columns than the modelled one, {model.statistic.column!r}")
    return MeasuredGroups(model, groups)
