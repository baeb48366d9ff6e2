"""Asking again, asking differently, asking together: every answer is a function of samples already paid for."""

import json
from typing import Any

import numpy as np

from app.services.reading.answer_batch import answer_queries
from app.services.reading.answer_query import answer_query
from app.services.releases.buy_access import buy_access
from tests.conftest import POSTGRES_DEEP
from tests.services.world import QUESTION, Person, World

HELD, DRAWN = 15, 40


def question(expression: str, utility: dict[str, Any] | None = None, **more: Any) -> bytes:
    estimand = {"kind": "expression", "expression": expression}
    return json.dumps({"estimand": estimand, "utility": utility or {"kind": "squared"}, **more}).encode()


async def ask(world: World, person: Person, release: str, body: bytes) -> Any:
    return json.loads(await answer_query(world.runtime, reader=person.reader, release_id=release, body=body))


async def prefix(world: World, release: str, samples: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(await world.samples(release) or b"", "<f8")[:samples]


@POSTGRES_DEEP
async def test_a_question_repeated_a_thousand_times_says_one_thing(world: World):
    release = await world.published(await world.dataset(), samples=DRAWN)
    said = {
        await answer_query(world.runtime, reader=world.steward, release_id=release, body=QUESTION + b" " * (number % 7))
        for number in range(1000)
    }
    assert len(said) == 1


@POSTGRES_DEEP
async def test_rephrasing_a_question_adds_nothing(world: World):
    """Linear rephrasings give the same mean, and that is the mean of the prefix: nothing is left to average out."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=DRAWN)
    ada = await world.buyer(dataset, release, HELD)
    mean = float((await prefix(world, release, HELD)).mean())
    rephrased = {
        "theta": mean,
        "theta + 0": mean,
        "3 * theta - 2 * theta": mean,
        "1 - theta": 1 - mean,
        "5 * theta + 1": 5 * mean + 1,
        "where(theta > 2, 9, theta)": mean,
        "max(theta, 0)": mean,
    }
    for expression, expected in rephrased.items():
        for confidence in (0.5, 0.95):
            answer = await ask(world, ada, release, question(expression, confidence=confidence))
            assert np.isclose(answer["response"], expected, rtol=1e-12, atol=0), expression
            assert answer["samples"] == HELD


@POSTGRES_DEEP
async def test_every_quantile_asked_for_is_one_of_the_samples_held(world: World):
    """However finely an analyst asks, the order statistics of the prefix are all there is."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=DRAWN)
    ada = await world.buyer(dataset, release, HELD)
    held = set((await prefix(world, release, HELD)).tolist())
    for level in np.linspace(0.01, 0.99, 60):
        utility = {"kind": "pinball", "tau": float(level)}
        assert (await ask(world, ada, release, question("theta", utility)))["response"] in held


@POSTGRES_DEEP
async def test_the_same_prefix_bought_by_many_is_the_same_prefix(world: World):
    """Colluding analysts know the longest prefix among them, not several independent draws."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=DRAWN)
    group = [await world.buyer(dataset, release, HELD, f"colluder {number}") for number in range(3)]
    answers = {await answer_query(world.runtime, reader=one.reader, release_id=release, body=QUESTION) for one in group}
    assert len(answers) == 1
    for samples in (HELD + 1, HELD + 2):
        await buy_access(world.runtime, analyst=group[0].analyst, release_id=release, samples=samples)
        mean = float((await prefix(world, release, samples)).mean())
        answer = await ask(world, group[0], release, question("theta"))
        assert np.isclose(answer["response"], mean, rtol=1e-12, atol=0)
    assert await answer_query(world.runtime, reader=group[1].reader, release_id=release, body=QUESTION) in answers


@POSTGRES_DEEP
async def test_a_batch_says_what_single_questions_say_and_charges_nothing(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=DRAWN)
    ada = await world.buyer(dataset, release, HELD)
    before = (await world.account(dataset)).spent, (await world.account(f"{ada.id}@{dataset}")).spent
    bodies = [question("theta"), question("theta ** 2"), question("theta", {"kind": "absolute"})] * 20
    batch = b'{"queries":[' + b",".join(bodies) + b"]}"
    said = json.loads(await answer_queries(world.runtime, reader=ada.reader, release_id=release, body=batch))
    single = [await ask(world, ada, release, body) for body in bodies]
    assert said["answers"] == single
    assert ((await world.account(dataset)).spent, (await world.account(f"{ada.id}@{dataset}")).spent) == before


@POSTGRES_DEEP
async def test_a_second_release_of_the_same_model_is_a_second_charge(world: World):
    """New samples are new information, and are paid for as such; there is no way to draw again for free."""
    dataset = await world.dataset()
    first = await world.published(dataset, samples=10)
    spent = (await world.account(dataset)).spent
    second = await world.published(dataset, samples=10)
    assert (await world.account(dataset)).spent == spent.plus(spent)
    assert await world.samples(first) != await world.samples(second)
