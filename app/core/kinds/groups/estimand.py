"""`{"kind": "group", "group": {"arm": "drug"}, "estimand": {…}}`: any estimand of the model, in one group of a release by groups.

Inside, parameters have the names they have without groups. Samples of all groups are joint, so that estimands of two groups can
be compared or used in one expression.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Askable, Context, EstimandKind
from app.core.decisions.estimands.estimand import Inner, NumberSpec
from app.core.kinds.placed_estimand import Place, placed
from app.core.kinds.protocols import ReleaseModel
from app.core.parameters import Parameter
from app.errors import InvalidQuery


class GroupSpec(NumberSpec):
    """An estimand of the model, in one group."""

    kind: Literal["group"] = Field(description="The name of the estimand.")
    group: dict[str, str] = Field(
        description="The level of every column the release is grouped by.", examples=[{"arm": "drug"}]
    )
    estimand: Inner = Field(description="As of a release without groups.")


def in_group_estimand(askable: Askable) -> EstimandKind[GroupSpec]:
    """`askable`: of the model without groups."""

    def parse(spec: GroupSpec, context: Context) -> AnyEstimand:
        place = place_of(context.parameters, spec.group, f"{context.where}.group")
        where, depth = f"{context.where}.estimand", context.depth + 1
        model: Any = context.model
        own = _without_groups(model)
        inside = Context(place.parameters, own, askable, where, depth, context.read_before, context.beside)
        return placed(inside.read(spec.estimand), place)

    return EstimandKind(GroupSpec, parse)


def place_of(parameters: Sequence[Parameter], wanted: dict[str, str], where: str) -> Place:
    """Groups are contiguous. Raises InvalidQuery for what is no group of the release."""
    places = [place for place, each in enumerate(parameters) if dict(each.group) == wanted]
    if not places:
        columns = ", ".join(name for name, _ in parameters[0].group)
        raise InvalidQuery(where, f"a declared level for each of: {columns}")
    found = [parameters[place] for place in places]
    return Place(places[0], tuple(Parameter(each.of or each.name, each.lower, each.upper) for each in found))


def _without_groups(model: Any) -> ReleaseModel:
    found: ReleaseModel = model.inner
    return _without_groups(found) if hasattr(found, "inner") else found
