"""Hypothesis drives one Postern through requests, draws, purchases, caps, retries, crashes and restarts.

Requests go through the HTTP application, so that a retry is what a client would send. A crash is an exception that no
handler catches, raised at a failpoint; what that process knew is dropped, and another opens the same database, its
clock a minute later or an hour earlier.
"""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import httpx
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.api.application import build_api
from app.services.releases.run_release import run_next_release
from app.services.runtime.failpoints import ACCESS, RELEASE, REQUEST, arm, disarm
from app.storage import accounts, releases, sample_sets
from tests.faults.book_model import Books, ModelRelease, Vector
from tests.faults.seeded import EPSILONS, SAMPLES_MAX, Seeded, Stage
from tests.services.world import SECOND_US, World, at_once, release_spec, services

T = TypeVar("T")

APPLICATION = build_api(body_bytes_max=2**20)
"""Building the routes takes longer than a whole sequence; what a process knows is in its runtime."""
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ATTEMPTS_MAX = 5
COMMITTED = {"request.reserved", "access.charged", "release.published", "release.wiping", "release.wiped"}
KEYS = st.sampled_from([None, "a", "b", "c"])
SHIFTS_S = st.sampled_from([61, 61, -3600])
RELEASE_POINTS = [name for name in RELEASE if name not in ("release.wiping", "release.wiped")]


class Crash(BaseException):
    """The process ended here."""


def maybe(points: Any) -> st.SearchStrategy[str | None]:
    """Mostly nothing happens."""
    return st.one_of(st.none(), st.none(), st.sampled_from(list(points)))


class Postern(RuleBasedStateMachine):
    """`stage` hands out a fresh copy of a seeded database and its data folder."""

    stage: Stage

    def __init__(self) -> None:
        super().__init__()
        self.seeded: Seeded = self.stage.take()
        self.books: Books = self.seeded.books()
        self.last_totals: dict[str, Vector] = {}
        self.voided = False
        self.offset_us = 0
        self._runner = asyncio.Runner()
        self._open: AsyncExitStack | None = None
        self._start()

    def teardown(self) -> None:
        disarm()
        self._end()
        self._runner.close()
        self.stage.give_back(self.seeded)

    @rule(samples=st.integers(1, SAMPLES_MAX), key=KEYS, crash=maybe(REQUEST), shift_s=SHIFTS_S)
    def request(self, samples: int, key: str | None, crash: str | None, shift_s: int) -> None:
        address = f"/v1/datasets/{self.seeded.dataset}/releases"
        body = release_spec(samples)
        known = self._known(self.world.boss.id, key)
        answer = self._post(address, body, self.world.boss.headers, key, crash)
        if answer is None:
            self._restart(shift_s)
            if crash in COMMITTED and known is None:
                (fresh,) = self._all_releases() - set(self.books.releases)
                self._reserved(fresh, samples, key, body, None)
            return
        if known is not None:
            self._check_replay(known, body, answer)
        elif self.books.admits(self.books.prefix(samples)):
            assert answer.status_code == 202, answer.text
            self._reserved(answer.json()["id"], samples, key, body, (202, answer.content))
        else:
            assert (answer.status_code, answer.json()["code"]) == (409, "budget_exhausted")

    @rule(crash=maybe(RELEASE_POINTS), shift_s=SHIFTS_S)
    def draw(self, crash: str | None, shift_s: int) -> None:
        chosen = self.books.next_release()
        crashed = self._crashes(crash, lambda: run_next_release(self.world.runtime))
        if chosen is not None and not (crashed and crash == "release.before_claim"):
            release = self.books.releases[chosen]
            release.attempts += 1
            if not crashed or crash in COMMITTED:
                self._finished(release, gone=False)
            elif crash != "release.claimed":
                release.read = True
        if crashed:
            self._restart(shift_s)

    @rule()
    def draw_without_rows(self) -> None:
        chosen = self.books.next_release()
        with self.seeded.rows_away():
            self._run(run_next_release(self.world.runtime))
        if chosen is not None:
            self.books.releases[chosen].attempts += 1
            self._finished(self.books.releases[chosen], gone=True)

    @rule(who=st.integers(0, 1), which=st.integers(0, 9), samples=st.integers(1, SAMPLES_MAX), key=KEYS,
          crash=maybe(ACCESS), shift_s=SHIFTS_S)  # fmt: skip
    def buy(self, who: int, which: int, samples: int, key: str | None, crash: str | None, shift_s: int) -> None:
        names = sorted(self.books.releases)
        name, analyst = names[which % len(names)], self.seeded.analysts[who]
        body = {"samples": samples}
        target = (name, samples)
        known = self._known(analyst.id, key)
        answer = self._post(f"/v1/releases/{name}/access", body, analyst.headers, key, crash)
        if answer is None:
            self._restart(shift_s)
            if crash == "access.charged" and known is None:
                self._bought(analyst.id, name, samples, key, target, None)
            return
        if known is not None:
            self._check_replay(known, target, answer)
            return
        release, held = self.books.releases[name], self.books.held.get((analyst.id, name), 0)
        if release.status != "published":
            assert answer.status_code == 409, answer.text
        elif samples > release.samples:
            assert answer.status_code == 422, answer.text
        elif samples > held and not self.books.caps[analyst.id].admits(self.books.upgrade(held, samples)):
            assert (answer.status_code, answer.json()["code"]) == (409, "budget_exhausted")
            assert answer.json()["samples_held"] == held
        else:
            assert answer.status_code == 200, answer.text
            assert answer.json()["samples"] == max(samples, held)
            self._bought(analyst.id, name, samples, key, target, (200, answer.content))
            self._check_prefix(analyst.headers, name, max(samples, held))

    @rule(who=st.integers(0, 1), epsilon=st.sampled_from(EPSILONS))
    def cap(self, who: int, epsilon: float) -> None:
        analyst = self.seeded.analysts[who]
        address = f"/v1/datasets/{self.seeded.dataset}/analysts/{analyst.id}"
        body = {"epsilon": epsilon, "delta": self.seeded.delta}
        answer = self._run(self.client.put(address, json=body, headers=self.world.boss.headers))
        assert answer.status_code == 200, answer.text
        self.books.caps[analyst.id].recap(epsilon)

    @rule(shift_s=SHIFTS_S)
    def restart(self, shift_s: int) -> None:
        self._restart(shift_s)

    @invariant()
    def the_books_agree(self) -> None:
        """The chain verifies, every total is the model's and falls only by a void, what was published stays."""
        assert self._run(self.world.verified())
        totals, states = self._run(self._observed())
        expected = {self.seeded.dataset: self.books.dataset, self.seeded.population: self.books.population}
        expected |= {f"{person}@{self.seeded.dataset}": cap for person, cap in self.books.caps.items()}
        assert totals == {name: model.spent for name, model in expected.items()}
        for name, total in totals.items():
            before = self.last_totals.get(name, total)
            assert self.voided or all(now >= then for now, then in zip(total, before, strict=True))
        self.last_totals, self.voided = totals, False
        assert set(states) == set(self.books.releases)
        for name, (status, body) in states.items():
            model = self.books.releases[name]
            assert (status, body is not None) == (model.status, model.status == "published")
            assert model.body in (None, body), "published samples changed"
            model.body = body

    async def _observed(self) -> tuple[dict[str, Vector], dict[str, tuple[str, bytes | None]]]:
        """Totals of every account, status and samples of every release, in one snapshot."""
        async with self.world.runtime.database.read() as connection:
            found = await accounts.list_accounts(connection)
            totals = {account.id: (account.spent.pure_nano, *account.spent.curve_nano) for account in found}
            states: dict[str, tuple[str, bytes | None]] = {}
            for release in (await releases.page_releases(connection, datasets=None, limit=100)).items:
                record = await sample_sets.get_samples(connection, release.id)
                states[release.id] = (release.status, None if record is None else record.body)
        return totals, states

    def _reserved(self, name: str, samples: int, key: str | None, body: Any, said: tuple[int, bytes] | None) -> None:
        assert name not in self.books.releases
        self.books.charge(self.books.prefix(samples))
        asked_us = self._run(self.world.release(name)).created_us
        self.books.releases[name] = ModelRelease(samples, asked_us)
        if key is not None:
            self.books.keys[(self.world.boss.id, key)] = (body, said)

    def _bought(
        self, person: str, name: str, samples: int, key: str | None, target: Any, said: tuple[int, bytes] | None
    ) -> None:
        held = self.books.held.get((person, name), 0)
        if samples > held:
            self.books.caps[person].charge(self.books.upgrade(held, samples))
            self.books.held[(person, name)] = samples
        if key is not None:
            self.books.keys[(person, key)] = (target, said)

    def _finished(self, release: ModelRelease, *, gone: bool) -> None:
        """Published; or withdrawn, and what it cost is given back only if no row was read."""
        if release.attempts <= ATTEMPTS_MAX and not gone:
            release.status = "published"
            return
        release.status = "withdrawn"
        if not release.read:
            self.voided = True
            self.books.void(self.books.prefix(release.samples))

    def _check_replay(self, known: tuple[Any, tuple[int, bytes] | None], asked: Any, answer: httpx.Response) -> None:
        first, said = known
        if first != asked:
            assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")
        elif said is not None:
            assert (answer.status_code, answer.content) == said, "a replay was answered otherwise"
        else:
            assert answer.status_code in (200, 202)

    def _check_prefix(self, headers: dict[str, str], name: str, samples: int) -> None:
        """Whoever holds k samples is answered from the first k of what the dataset paid for: prefixes nest."""
        question = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}
        asked = self.client.post(f"/v1/releases/{name}/query", content=json.dumps(question), headers=headers)
        answer = self._run(asked)
        assert answer.status_code == 200, answer.text
        body = self._run(self.world.samples(name))
        assert body is not None
        assert answer.json()["samples"] == samples
        assert answer.json()["response"] == float(np.mean(np.frombuffer(body)[:samples]))

    def _known(self, person: str, key: str | None) -> tuple[Any, tuple[int, bytes] | None] | None:
        return None if key is None else self.books.keys.get((person, key))

    def _post(
        self, address: str, body: Any, headers: dict[str, str], key: str | None, crash: str | None
    ) -> httpx.Response | None:
        """None if the process ended before it answered."""
        answers: list[httpx.Response] = []
        named = headers if key is None else headers | {"Idempotency-Key": key}

        async def send() -> None:
            answers.append(await self.client.post(address, json=body, headers=named))

        return None if self._crashes(crash, send) else answers[0]

    def _crashes(self, point: str | None, work: Callable[[], Awaitable[Any]]) -> bool:
        def end() -> None:
            raise Crash

        async def doing() -> None:
            await work()

        if point is not None:
            arm(point, end)
        try:
            self._run(doing())
        except Crash:
            return True
        finally:
            disarm()
        return False

    def _all_releases(self) -> set[str]:
        answer = self._run(self.client.get("/v1/releases?limit=200", headers=self.world.boss.headers))
        return {item["id"] for item in answer.json()["items"]}

    def _restart(self, shift_s: int) -> None:
        self._end()
        self.offset_us += shift_s * SECOND_US
        self._start()

    def _start(self) -> None:
        async def begin() -> None:
            stack = AsyncExitStack()
            clock = self.seeded.clock
            offset_us = self.offset_us
            opened = services(self.seeded.settings, clock=lambda: clock() + offset_us, sleep=at_once)
            runtime = await stack.enter_async_context(opened)
            APPLICATION.state.runtime = runtime
            transport = httpx.ASGITransport(app=APPLICATION)
            client = httpx.AsyncClient(transport=transport, base_url="http://test", verify=NO_AUTHORITIES)
            self.client = await stack.enter_async_context(client)
            self.world = World(runtime, self.seeded.steward)
            self._open = stack

        self._run(begin())

    def _end(self) -> None:
        if self._open is not None:
            self._run(self._open.aclose())
            self._open = None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)
