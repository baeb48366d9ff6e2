"""Requests through eight processes for a budget that fits 137: 137 are admitted, all others refused.

Whoever is told to come back later comes back, as the client does.

2,000 of them in `make test-faults`, 600 in the build.
"""

import asyncio
import os
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles

import httpx
import pytest

from tests.conftest import Backend
from tests.end_to_end.served import environment_for
from tests.end_to_end.test_forty_requests import DELTA, budget_that_fits, one_charge
from tests.faults.forked import ForkServer
from tests.servers.process import free_port
from tests.services.world import World, release_spec

PROCESSES, FITTING = 8, 137
REQUESTS = 2000 if "POSTERN_FAULT_ROUNDS" in os.environ else 600
IN_FLIGHT = 10
"""At each process: no more than a pool of connections, so that nobody waits for one in vain."""
UNLIMITED = {"LOG_LEVEL": "warning", "RATE_LIMIT_PER_S": "0", "RATE_LIMIT_HEAVY_PER_S": "0"}
ANSWER_S = 60.0
START_S = 60.0


class Eight:
    """Servers on one backend; a request goes to the process its number names."""

    def __init__(self, forks: ForkServer, environment: dict[str, str]) -> None:
        self.ports = [free_port() for _ in range(PROCESSES)]
        self.processes = [
            forks.start(environment, "serve", "--host", "127.0.0.1", "--port", str(port)) for port in self.ports
        ]
        self.clients = [httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_S) for port in self.ports]
        self.latencies_s: list[float] = []
        self.reconnected = self.asked_again = 0
        self._slots = [asyncio.Semaphore(IN_FLIGHT) for _ in self.ports]

    async def until_ready(self) -> None:
        deadline = time.monotonic() + START_S
        for client, process in zip(self.clients, self.processes, strict=True):
            while not await self._answers(client):
                assert time.monotonic() < deadline, process.log
                await asyncio.sleep(0.05)

    async def request(self, world: World, dataset: str, number: int) -> httpx.Response:
        which = number % PROCESSES
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

    @staticmethod
    async def _answers(client: httpx.AsyncClient) -> bool:
        try:
            return (await client.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(600)
async def test_exactly_137_of_all_charges_are_admitted_and_all_others_refused(
    backend: Backend, world: World, forks: ForkServer, tmp_path: Path, bytecode: Path | None
):
    cost = await one_charge(world, 1)
    budget = {"epsilon": budget_that_fits(cost, FITTING), "delta": DELTA}
    dataset = await world.dataset("contested", budget=budget)
    environment = environment_for(backend, tmp_path, bytecode, EMBEDDED_WORKER="false", **UNLIMITED)
    eight = Eight(forks, environment)
    try:
        await eight.until_ready()
        answers = await asyncio.gather(*(eight.request(world, dataset, number) for number in range(REQUESTS)))
    finally:
        await eight.close()
    report(backend.name, eight)
    unclear = Counter(answer.json().get("detail") for answer in answers if answer.status_code not in (202, 409))
    assert not unclear, "not a definite answer"
    outcomes = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
    assert outcomes == {(202, None): FITTING, (409, "budget_exhausted"): REQUESTS - FITTING}
    winners = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert len(winners) == FITTING
    account = await world.account(dataset)
    assert account.spent.pure_nano == FITTING * cost.pure_nano
    assert account.spent.curve_nano == tuple(FITTING * value for value in cost.curve_nano)
    entries = await world.entries(dataset)
    assert Counter(entry.kind for entry in entries) == {"open": 1, "reserve": FITTING}
    assert {entry.release for entry in entries if entry.kind == "reserve"} == winners
    assert await world.verified()


def report(engine: str, eight: Eight) -> None:
    cuts = quantiles(eight.latencies_s, n=100)
    figures = {"median": cuts[49], "p99": cuts[98], "largest": max(eight.latencies_s)}
    shown = ", ".join(f"{name} {value * 1e3:.0f} ms" for name, value in figures.items())
    again = f"{eight.reconnected} reconnected, {eight.asked_again} asked again"
    print(f"{REQUESTS} charges through {PROCESSES} processes on {engine}: {shown}; {again}")  # noqa: T201
