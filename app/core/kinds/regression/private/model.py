"""A regression in every private group: a person may belong to any of them, or meet a private condition or not."""

from dataclasses import dataclass
from functools import cached_property

from app.core.kinds.private_groups import MeasuredModel, PrivateGroups
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.parameters import Parameter, in_group
from app.core.statistics.groups import groups_of
from app.errors import InvalidModel

Inner = LinearModel | MeanModel | MeanAndSdModel | PrecisionMatrixModel


@dataclass(frozen=True)
class MeasuredRegressions(MeasuredModel[Inner]):
    """`inner` in every group. What is asked of the rows is, group by group, their moments and their number."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.grouped(self.inner.parameters)

    def grouped(self, own: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(in_group(each, group) for group in groups_of(self.groups.by) for each in own)


def measured_regressions(model: Inner, groups: PrivateGroups) -> MeasuredRegressions:
    """Raises InvalidModel for groups of a modelled column, which would cut its law."""
    modelled = sorted({*model.statistic.columns} & {*groups.columns, *groups.inputs})
    if modelled:
        raise InvalidModel("by", f"columns that the model is not of itself; it is of {', '.join(map(repr, modelled))}")
    return MeasuredRegressions(model, groups)
