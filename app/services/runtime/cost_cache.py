"""Costs of releases, computed off the event loop and remembered: they are functions of public numbers."""

from collections.abc import Callable
from typing import TypeVar

from app.core.kinds import ReleaseMechanism, ReleaseModel
from app.core.kinds.fit_check import AnyCheck, with_check
from app.core.privacy.release_cost import ReleaseCost
from app.errors import InvalidInput, VacuousGuarantee
from app.services.runtime.runtime import Runtime

T = TypeVar("T")

PEOPLE_ROWS_MAX = 10**9


async def release_cost(
    runtime: Runtime,
    model: ReleaseModel,
    mechanism: ReleaseMechanism,
    people: int,
    unit_rows: int,
    check: AnyCheck | None = None,
) -> ReleaseCost:
    """Raises InvalidInput for more rows than the analysis covers, TooBusy when the queue is long."""
    check_people(people, unit_rows)
    return await compute(runtime, lambda: with_check(mechanism.cost(model, people, unit_rows), check, unit_rows))


def check_people(people: int, unit_rows: int) -> None:
    if not 1 <= people * unit_rows <= PEOPLE_ROWS_MAX:
        raise InvalidInput("n", f"1 to {PEOPLE_ROWS_MAX} people times rows a person")


async def compute(runtime: Runtime, work: Callable[[], T]) -> T:
    """Run numerical work in a thread, in its turn. Raises TooBusy."""
    return await runtime.computations.run(work)


def refuse_vacuous(field: str, epsilon: float, delta: float, ceiling: float, force: bool) -> None:
    """ε above the ceiling or δ of 1 promise nothing worth the name; a steward may still insist."""
    if not force and not (epsilon <= ceiling and delta < 1):
        raise VacuousGuarantee(field, f"a guarantee with ε at most {ceiling:g} and δ below 1, or `force`: true")
