"""`models` of a release, read: a list of parts, each a model and a mechanism, with the groups of all where it names none."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.core.kinds import (
    FitCheck,
    ReleaseMechanism,
    ReleaseModel,
    SeveralChecks,
    SeveralMechanisms,
    SeveralModels,
    several_checks,
)
from app.core.kinds.several import PARTS_MAX, check_names, default_name, stored_values
from app.errors import FieldProblem, InvalidExpression, InvalidInput

Settled = Callable[[Mapping[str, Any]], Awaitable[tuple[ReleaseModel, ReleaseMechanism, FitCheck | None]]]
VALUES_MAX = 2**24
"""128 MiB: what a worker holds, a database takes and a reader's first question loads in one piece."""
_ONE_MODEL = ("model", "mechanism", "check")


async def settled_parts(
    spec: Mapping[str, Any], settled: Settled
) -> tuple[SeveralModels, SeveralMechanisms, SeveralChecks | None]:
    """Raises InvalidModel, InvalidMechanism and InvalidInput, about `models.0.…`."""
    for field in _ONE_MODEL:
        if spec.get(field) is not None:
            raise InvalidInput(field, "nothing beside `models`: each of them has its own")
    parts = spec["models"]
    if not isinstance(parts, list) or not 1 <= len(parts) <= PARTS_MAX:
        raise InvalidInput("models", f"a list of 1 to {PARTS_MAX} models, each with its mechanism")
    names = tuple(part.get("name") or default_name(part["model"], place) for place, part in enumerate(parts))
    check_names(names)
    found = [await _settled(part, f"models.{place}", spec, settled) for place, part in enumerate(parts)]
    model = SeveralModels(names, tuple(own for own, _, _ in found))
    mechanisms, checks = (tuple(each) for each in zip(*((own, check) for _, own, check in found), strict=True))
    mechanism = SeveralMechanisms(mechanisms)
    _refuse_wide(model, mechanism)
    return model, mechanism, several_checks(model, checks)


def _refuse_wide(model: SeveralModels, mechanism: SeveralMechanisms) -> None:
    """Samples of all parts are stored as one. Raises InvalidInput, before anything is charged."""
    values = stored_values(model, mechanism)
    if values > VALUES_MAX:
        raise InvalidInput(
            "models",
            f"at most {VALUES_MAX:,} numbers in all, samples times parameters of every model; these are {values:,}: ask for "
            "fewer samples, or for two releases",
        )


async def _settled(
    part: Mapping[str, Any], where: str, spec: Mapping[str, Any], settled: Settled
) -> tuple[ReleaseModel, ReleaseMechanism, FitCheck | None]:
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
