"""`auto`: the most accurate mechanism, or score of `map`, that fits, from public numbers. What is stored is never `auto`, and
names its public range."""

from collections.abc import Mapping
from typing import Any

from app.core.kinds import ReleaseMechanism, ReleaseModel, kind_of, parse_mechanism
from app.core.kinds.plan_figures import Choice, is_auto, read_auto
from app.services.runtime.cost_cache import check_people, compute
from app.services.runtime.runtime import Runtime


async def concrete_mechanism(
    runtime: Runtime, spec: Mapping[str, Any], model: ReleaseModel, people: int, unit_rows: int, delta: float
) -> ReleaseMechanism:
    """As written, with nothing left open; for `auto` the best that costs at most its `epsilon` at `delta`.

    Raises InvalidMechanism, also where nothing fits, InvalidInput for too many people, TooBusy.
    """
    check_people(people, unit_rows)
    planner = kind_of(model).planner
    if not is_auto(spec):
        written = parse_mechanism(spec, model)
        return await compute(runtime, lambda: planner.settled(written, model, people, unit_rows))
    most = runtime.settings.samples_max
    target, samples = read_auto(spec, delta, most)
    choice = Choice(model, people, unit_rows, target, samples, most)
    return await compute(runtime, lambda: planner.choose(choice))


async def stored_model_of(
    runtime: Runtime, model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int
) -> ReleaseModel:
    """With a public range that nobody declared settled for that mechanism. Raises TooBusy."""
    return await compute(runtime, lambda: kind_of(model).planner.settled_model(model, mechanism, people, unit_rows))
