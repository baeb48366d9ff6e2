"""Samples that differ beyond what a reader holds of two releases, one of them of several models: no answer across them tells."""

import json
from typing import Any

import numpy as np

from app.errors import PosternError
from app.services.reading.answer_batch import answer_queries
from app.services.reading.answer_query import answer_query, preview_query, problem_of
from app.services.releases.buy_access import buy_access
from app.services.runtime.samples_cache import share_samples
from app.storage.sample_sets import record_of
from tests.conftest import POSTGRES_DEEP
from tests.services.test_several_models import DRAWS, MEAN, RATE, comparison, parameter, several
from tests.services.world import Person, World

HELD_OF_PART, HELD_OF_PLAIN = 5, 4
PARTS = [
    {"model": RATE, "mechanism": DRAWS},
    {"name": "calls", "model": MEAN, "mechanism": DRAWS | {"temperature": 0.02}},
]


def questions(release: str) -> list[bytes]:
    """Of another release: a part that is held, the same by its long name, one that is not held, and all at once."""
    theta = parameter("theta")
    others = [
        theta | {"release": release, "part": "cured"},
        parameter("cured.theta") | {"release": release},
        parameter("rate") | {"release": release, "part": "calls"},
        parameter("calls.rate") | {"release": release},
        {"kind": "part", "part": "calls", "estimand": parameter("rate"), "release": release},
    ]
    asked: list[dict[str, Any]] = [{"estimand": comparison(theta, other)} for other in others]
    names = {"a": others[0], "b": others[1]}
    asked.append({"estimand": {"kind": "expression", "expression": "a - b + theta", "names": names}})
    asked += [each | {"view": "calibrated"} for each in asked]
    return [json.dumps({"utility": {"kind": "squared"}} | each).encode() for each in asked]


async def everything(world: World, person: Person, plain: str, release: str) -> list[Any]:
    """Answers, refusals and previews, one by one and in a batch, from either side."""
    turned = json.dumps(
        {
            "utility": {"kind": "squared"},
            "estimand": comparison(parameter("cured.theta"), parameter("theta") | {"release": plain}),
        }
    ).encode()
    seen: list[Any] = []
    for asked, bodies in ((plain, questions(release)), (release, [turned])):
        call: dict[str, Any] = {"reader": person.reader, "release_id": asked}
        for body in bodies:
            for answer in (answer_query, preview_query):
                try:
                    seen.append(await answer(world.runtime, **call, body=body))
                except PosternError as refusal:
                    seen.append(problem_of(refusal))
        batch = b'{"queries":[' + b",".join(bodies) + b"]}"
        seen.append(await answer_queries(world.runtime, **call, body=batch))
    return seen


async def is_several(world: World, release: str) -> bool:
    return "parts" in (await world.release(release)).model


async def changed(world: World, release: str, held: int) -> None:
    """Other values after the first `held`, within every public range; nobody remembers the old ones."""
    stored = np.frombuffer(await world.samples(release) or b"").copy()
    rest = stored[held:]
    stored[held:] = np.where(rest < 1, (rest + 0.5) / 2, (rest + 5) / 2)
    assert (stored[held:] != np.frombuffer(await world.samples(release) or b"")[held:]).any()
    shape = (1, len(stored)) if await is_several(world, release) else (len(stored), 1)
    await share_samples(world.runtime, record_of(release, stored.reshape(shape)))  # where every process looks first
    for shelf in (world.runtime.warm.releases, world.runtime.warm.answers, world.runtime.warm.receipts):
        shelf.clear()


@POSTGRES_DEEP
async def test_answers_across_parts_of_releases_depend_on_the_readers_prefix_of_each_only(world: World):
    dataset, release = await several(world, PARTS)
    plain = await world.published(dataset, model=RATE, mechanism=DRAWS)
    ann = await world.buyer(dataset, plain, HELD_OF_PLAIN)
    await buy_access(world.runtime, analyst=ann.analyst, release_id=release, samples=HELD_OF_PART, part="cured")
    before = await everything(world, ann, plain, release)
    whole = await answer_query(world.runtime, reader=world.steward, release_id=plain, body=questions(release)[5])
    await changed(world, plain, HELD_OF_PLAIN)
    await changed(world, release, HELD_OF_PART)  # the rest of one part, and all of the other
    assert await everything(world, ann, plain, release) == before
    again = await answer_query(world.runtime, reader=world.steward, release_id=plain, body=questions(release)[5])
    assert again != whole
    answered = [each for each in before if isinstance(each, bytes) and b'"response"' in each]
    refused = [each["code"] for each in before if isinstance(each, dict)]
    assert (len(answered), set(refused)) == (2 * 3 + 1 + 2, {"access_required", "invalid_query"})
