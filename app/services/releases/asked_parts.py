"""`models` of a release, read: a list of parts, each a model and a mechanism, with the groups of all where it names none."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.core.kinds import ReleaseMechanism, ReleaseModel, SeveralMechanisms, SeveralModels
from app.core.kinds.several import PARTS_MAX, check_names, default_name
from app.errors import FieldProblem, InvalidExpression, InvalidInput

Settled = Callable[[Mapping[str, Any]], Awaitable[tuple[ReleaseModel, ReleaseMechanism]]]
_ONE_MODEL = ("model", "mechanism", "check")


async def settled_parts(spec: Mapping[str, Any], settled: Settled) -> tuple[SeveralModels, SeveralMechanisms]:
    """Raises InvalidModel, InvalidMechanism and InvalidInput, about `models.0.…`."""
    for field in _ONE_MODEL:
        if spec.get(field) is not None:
            raise InvalidInput(field, "nothing beside `models`")
    parts = spec["models"]
    if not isinstance(parts, list) or not 1 <= len(parts) <= PARTS_MAX:
        raise InvalidInput("models", f"a list of 1 to {PARTS_MAX} models, each with its mechanism")
    names = tuple(part.get("name") or default_name(part["model"], place) for place, part in enumerate(parts))
    check_names(names)
    found = [await _settled(part, f"models.{place}", spec, settled) for place, part in enumerate(parts)]
    return SeveralModels(names, tuple(model for model, _ in found)), SeveralMechanisms(tuple(each for _, each in found))


async def _settled(
    part: Mapping[str, Any], where: str, spec: Mapping[str, Any], settled: Settled
) -> tuple[ReleaseModel, ReleaseMechanism]:
    """`by` and `where` beside the list are those of every part that has none of its own."""
    shared = {field: spec.get(field) for field in ("by", "where")}
    own = {field: value for field, value in part.items() if value is not None}
    try:
        return await settled({**shared, **own})
    except InvalidInput as refusal:
        shared_fields = {field for field in shared if field not in own}
        told = _placed(refusal, where, shared_fields)
    raise told


def _placed(refusal: InvalidInput, where: str, shared: set[str]) -> InvalidInput:
    """The same refusal, saying in which of the models; what stands beside the list keeps its name."""
    problems = [
        each if each.field.partition(".")[0] in shared else FieldProblem(f"{where}.{each.field}", each.expected)
        for each in refusal.problems
    ]
    first, *more = problems
    if isinstance(refusal, InvalidExpression):
        return InvalidExpression(first.field, first.expected, refusal.facts["position"])
    return type(refusal)(first.field, first.expected, *more, **refusal.facts)
