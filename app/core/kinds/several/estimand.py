"""`{"kind": "part", "part": "cured", "estimand": {…}}`: any estimand of one of several models.

Inside, parameters have the names they have in a release of that model alone. Parts are paired sample by sample, so that estimands
of two of them can be compared or used in one expression.
"""

from collections.abc import Callable
from typing import Literal, cast

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Askable, Context, EstimandKind
from app.core.decisions.estimands.estimand import Inner, ReleaseName
from app.core.kinds.placed_estimand import Place, placed
from app.core.kinds.protocols import ReleaseModel
from app.core.kinds.several.model import SeveralModels
from app.core.parameters import listed, out_of_part
from app.core.specs import Maybe, Spec
from app.errors import InvalidQuery


class PartSpec(Spec):
    """An estimand of one of several models."""

    kind: Literal["part"] = Field(description="The name of the estimand.")
    part: str = Field(description="The part's name.", examples=["cured"])
    estimand: Inner = Field(description="As of a release of that model alone.")
    release: Maybe[ReleaseName] = Field(
        default=None, description="Inside a comparison or an expression: of this other release of the same dataset."
    )


def in_part_estimand(askable_of: Callable[[ReleaseModel], Askable]) -> EstimandKind[PartSpec]:
    """`askable_of` a part's model: what may be asked of a release of it alone."""

    def parse(spec: PartSpec, context: Context) -> AnyEstimand:
        whole = cast(SeveralModels, context.model)
        models = dict(whole)
        if spec.part not in models:
            raise InvalidQuery(f"{context.where}.part", f"one of the parts you may read: {listed(whole.names)}")
        places = [place for place, each in enumerate(context.parameters) if each.part == spec.part]
        own = tuple(out_of_part(context.parameters[place]) for place in places)
        model, where = models[spec.part], f"{context.where}.estimand"
        depth, beside = context.depth + 1, context.beside
        inside = Context(own, model, askable_of(model), where, depth, context.read_before, beside)
        return placed(inside.read(spec.estimand), Place(places[0], own))

    return EstimandKind(PartSpec, parse)
