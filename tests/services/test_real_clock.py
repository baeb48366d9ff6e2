"""The timing experiment for real: one person with 1 row, or with tens of thousands, and the clock of this machine.

Before rows were cut at upload, `published_at − created_at` of 50 people with two rows each was half a second, and with 60,000
rows of one of them it was 1.1 s in every run.
"""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.services.releases.public_moment import SAFETY
from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.services.test_every_kind import COLUMNS
from tests.services.test_neighbours_by_the_clock import (
    BUDGET,
    EDGE,
    ONE,
    ONE_ROW,
    ORDINARY,
    OTHER_EDGE,
    SEVERAL_ROWS,
    UNIT,
    rows_of,
)
from tests.services.world import World, at_once, new_world, services, settings_for

MANY = 40_000
PAIRS = 200
RELEASES_EACH = 5
PARTS = 8
BUSY = 3.0
"""A pace that leaves room for a machine with other tests on it."""
BAPS = {"kind": "baps", "samples": 5, "temperature": 0.05}
NEIGHBOURS = ([ORDINARY], [EDGE, OTHER_EDGE] * (MANY // 2))


async def dataset_of(world: World, name: str, first: list[str]) -> str:
    data = rows_of(first, several=True)
    return await world.dataset(name, columns=COLUMNS, data=data, budget=BUDGET, force=True, privacy_unit=UNIT)


async def slots_taken(world: World, dataset: str, model: dict[str, Any], mechanism: dict[str, Any]) -> float:
    """How many durations after its start it was published; 1 is the public moment itself."""
    release = await world.release(await world.published(dataset, model=model, mechanism=mechanism, force=True))
    assert release.started_us is not None
    assert release.duration_us is not None
    assert release.published_us is not None
    return (release.published_us - release.started_us) / release.duration_us


def by_this_machine(backend: Backend, folder: Path, **changes: Any) -> Any:
    return services(settings_for(backend, folder, publication_tick_s=0.05, publication_pace=BUSY), **changes)


async def test_forty_thousand_rows_of_one_person_do_not_move_the_moment(sqlite_backend: Backend, tmp_path: Path):
    async with by_this_machine(sqlite_backend, tmp_path, sleep=at_once) as runtime:
        world = await new_world(runtime)
        datasets = [await dataset_of(world, str(place), first) for place, first in enumerate(NEIGHBOURS)]
        sizes = [path.stat().st_size for path in runtime.uploads.root.iterdir()]
        assert max(sizes) - min(sizes) < 200, "rows that do not count were kept"
        for dataset in datasets:
            assert await slots_taken(world, dataset, ONE, BAPS) == 1


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
async def test_of_two_hundred_pairs_every_release_is_published_at_the_public_moment(
    sqlite_backend: Backend, tmp_path: Path, part: int
):
    """Every mechanism that takes several rows a person, neighbours in random order; nothing is injected."""
    chance = random.Random(12 + part)
    async with by_this_machine(sqlite_backend, tmp_path) as runtime:
        world = await new_world(runtime)
        late = []
        for batch in range(part, PAIRS // RELEASES_EACH, PARTS):
            model, mechanism = SEVERAL_ROWS[batch % len(SEVERAL_ROWS)]
            pair = [await dataset_of(world, f"{batch} {place}", first) for place, first in enumerate(NEIGHBOURS)]
            for _ in range(RELEASES_EACH):
                for place in chance.sample((0, 1), 2):
                    taken = await slots_taken(world, pair[place], model, mechanism)
                    late += [(mechanism["kind"], place, taken)] if taken != 1 else []
            _forget(runtime)
        assert late == []


def _forget(runtime: Runtime) -> None:
    """Files of the pair before; their datasets are not asked again."""
    for path in runtime.uploads.root.iterdir():
        path.unlink()


@pytest.mark.deep
@pytest.mark.parametrize("people", [40, 20_000])
@pytest.mark.parametrize(("model", "mechanism"), [*SEVERAL_ROWS, *ONE_ROW])
def test_a_draw_takes_no_longer_than_the_work_it_says(model: dict[str, Any], mechanism: dict[str, Any], people: int):
    """The smaller of two draws of the statistic of no rows, after a first one that loads what it needs; on a busy machine."""
    parsed = parse_model(model, parse_columns(COLUMNS))
    for samples in (1, 300):
        chosen = parse_mechanism(mechanism, parsed).with_samples(samples)
        said = chosen.work(parsed, people, 1, chosen.cost(parsed, people, 1))
        taken = []
        for _ in range(3):
            began = time.perf_counter()
            chosen.draw(parsed, people, 1, parsed.statistic.of_no_rows(), os.urandom)
            taken.append(time.perf_counter() - began)
        assert min(taken[1:]) <= BUSY * SAFETY * said
