"""Requests through several processes for a budget that fits a part of them: so many are admitted, all others refused.

Whoever is told to come back later comes back, as the client does. The build sends 120 through three processes,
`make test-deep` 2,000 through several.
"""

import asyncio
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles

import httpx
import pytest

from tests.conftest import SQLITE_DEEP, Backend
from tests.end_to_end.served import environment_for
from tests.end_to_end.test_forty_requests import DELTA, budget_that_fits, one_charge
from tests.faults.forked import ForkServer
from tests.services.world import World, release_spec

IN_FLIGHT = 10
"""At each process: no more than a pool of connections, so that nobody waits for one in vain."""
UNLIMITED = {"LOG_LEVEL": "warning", "RATE_LIMIT_PER_S": "0", "RATE_LIMIT_HEAVY_PER_S": "0"}
ANSWER_S = 60.0


class Several:
    """Servers on one backend; a request goes to the process its number names."""

    def __init__(self, forks: ForkServer, environment: dict[str, str], number: int) -> None:
        self.processes = [forks.serve(environment) for _ in range(number)]
        self.clients = [process.connect(ANSWER_S) for process in self.processes]
        self.latencies_s: list[float] = []
        self.reconnected = self.asked_again = 0
        self._slots = [asyncio.Semaphore(IN_FLIGHT) for _ in self.processes]

    async def until_ready(self) -> None:
        for process in self.processes:
            await asyncio.to_thread(process.wait_until_ready)

    async def request(self, world: World, dataset: str, number: int) -> httpx.Response:
        which = number % len(self.processes)
        headers = world.boss.headers | {"Idempotency-Key": f"request {number}"}
        async with self._slots[which]:
            began = time.monotonic()
            answer = await self._answer(which, dataset, headers)
            while answer.status_code == 503 and time.monotonic() - began < ANSWER_S:
                # "The database is not answering", of a machine with much else to do: a definite answer that says when to
                # ask again. Whatever became of the first attempt, the key makes the second safe.
                self.asked_again += 1
                await asyncio.sleep(int(answer.headers["retry-after"]))
                answer = await self._answer(which, dataset, headers)
            self.latencies_s.append(time.monotonic() - began)
        return answer

    async def _answer(self, which: int, dataset: str, headers: dict[str, str]) -> httpx.Response:
        try:
            return await self._post(which, dataset, headers)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            # A server may close a connection it kept open just when it is used again; the key makes it safe.
            self.reconnected += 1
            assert self.processes[which].alive, self.processes[which].log[-2000:]
            return await self._post(which, dataset, headers)

    async def _post(self, which: int, dataset: str, headers: dict[str, str]) -> httpx.Response:
        address = f"/v1/datasets/{dataset}/releases"
        return await self.clients[which].post(address, json=release_spec(1), headers=headers)

    async def close(self) -> None:
        for client in self.clients:
            await client.aclose()
        for process in self.processes:
            process.kill()


@SQLITE_DEEP
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("processes", "requests", "fitting"), [(3, 120, 37), pytest.param(8, 2_000, 137, marks=pytest.mark.deep)]
)
async def test_exactly_as_many_charges_as_fit_are_admitted_and_all_others_refused(
    backend: Backend,
    world: World,
    forks: ForkServer,
    tmp_path: Path,
    bytecode: Path | None,
    processes: int,
    requests: int,
    fitting: int,
):
    cost = await one_charge(world, 1)
    budget = {"epsilon": budget_that_fits(cost, fitting), "delta": DELTA}
    dataset = await world.dataset("contested", budget=budget)
    environment = environment_for(backend, tmp_path, bytecode, EMBEDDED_WORKER="false", **UNLIMITED)
    several = Several(forks, environment, processes)
    try:
        await several.until_ready()
        answers = await asyncio.gather(*(several.request(world, dataset, number) for number in range(requests)))
    finally:
        await several.close()
    report(backend.name, several)
    unclear = Counter(answer.json().get("detail") for answer in answers if answer.status_code not in (202, 409))
    assert not unclear, "not a definite answer"
    outcomes = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
    assert outcomes == {(202, None): fitting, (409, "budget_exhausted"): requests - fitting}
    winners = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert len(winners) == fitting
    account = await world.account(dataset)
    assert account.spent.pure_nano == fitting * cost.pure_nano
    assert account.spent.curve_nano == tuple(fitting * value for value in cost.curve_nano)
    entries = await world.entries(dataset)
    assert Counter(entry.kind for entry in entries) == {"open": 1, "reserve": fitting}
    assert {entry.release for entry in entries if entry.kind == "reserve"} == winners
    assert await world.verified()


def report(engine: str, several: Several) -> None:
    cuts = quantiles(several.latencies_s, n=100)
    figures = {"median": cuts[49], "p99": cuts[98], "largest": max(several.latencies_s)}
    shown = ", ".join(f"{name} {value * 1e3:.0f} ms" for name, value in figures.items())
    again = f"{several.reconnected} reconnected, {several.asked_again} asked again"
    sent = f"{len(several.latencies_s)} charges through {len(several.processes)} processes on {engine}"
    print(f"{sent}: {shown}; {again}")  # noqa: T201
