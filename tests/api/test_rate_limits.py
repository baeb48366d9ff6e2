"""Limits on how often a key asks and an address is refused: told in standard headers, shared, soft, bounded."""

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from app.errors import RateLimited
from app.services.runtime.rate_limit_tokens import LEASE_S, PURSES_MAX, Limit, Policy
from app.services.runtime.rate_limits import RateLimits, address_of
from app.storage.cache import Cache, Tokens, open_cache
from tests.api.conftest import Service
from tests.servers.process import free_port
from tests.servers.valkey import ValkeyServer
from tests.services.world import World, over_http

GARBLED = {"Authorization": "Bearer pstn_" + "a" * 16 + "_" + "x" * 43}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def limited(world: World, **changes: float) -> AsyncIterator[httpx.AsyncClient]:
    settings = world.runtime.settings.model_copy(update=changes)
    limits = RateLimits.of(settings, world.runtime.cache)
    async with over_http(replace(world.runtime, settings=settings, limits=limits)) as client:
        yield client


async def test_every_counted_answer_tells_the_policy_and_what_is_left(world: World):
    # So slow a refill that what is left is a matter of counting, however long a request takes.
    async with limited(world, rate_limit_per_s=0.01, rate_limit_burst=20) as client:
        seen = []
        for _ in range(5):
            answer = await client.get("/v1/me", headers=world.boss.headers)
            assert answer.status_code == 200
            assert answer.headers["ratelimit-policy"] == '"requests";q=20;w=2000'
            told = re.fullmatch(r'"requests";r=(\d+);t=(\d+)', answer.headers["ratelimit"])
            assert told is not None
            seen.append(int(told[1]))
            assert int(told[2]) <= 100 * len(seen)
        assert seen == [19, 18, 17, 16, 15]
        assert "ratelimit" not in (await client.get("/healthz")).headers


@pytest.mark.slow
async def test_too_many_requests_are_429_with_a_time_to_come_back_and_then_work_again(world: World):
    async with limited(world, rate_limit_per_s=5.0, rate_limit_burst=5) as client:
        answers = [await client.get("/v1/me", headers=world.boss.headers) for _ in range(20)]
        codes = Counter(answer.status_code for answer in answers)
        assert set(codes) == {200, 429}
        assert codes[200] >= 3
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["ratelimit"].startswith('"requests";r=0;')
        problem = refused.json()
        assert (problem["code"], problem["policy"], problem["per_second"]) == ("rate_limited", "requests", 5.0)
        await asyncio.sleep(int(refused.headers["retry-after"]))
        assert (await client.get("/v1/me", headers=world.boss.headers)).status_code == 200


async def test_one_key_does_not_use_up_anothers_share_and_plans_have_their_own(world: World):
    ada = await world.person("analyst")
    async with limited(world, rate_limit_per_s=2.0, rate_limit_burst=2, rate_limit_heavy_per_s=1.0) as client:
        while (await client.get("/v1/me", headers=ada.headers)).status_code == 200:
            pass
        assert (await client.get("/v1/me", headers=world.boss.headers)).status_code == 200
        plan = await client.post("/v1/plans", json={}, headers=ada.headers)
        assert plan.status_code == 422
        assert plan.headers["ratelimit-policy"] == '"heavy";q=5;w=5'


async def test_zero_switches_a_limit_off(world: World):
    async with limited(world, rate_limit_per_s=0.0, auth_failures_per_s=0.0) as client:
        for _ in range(30):
            answer = await client.get("/v1/me", headers=world.boss.headers)
            assert answer.status_code == 200
            assert "ratelimit" not in answer.headers
            assert (await client.get("/v1/me", headers=GARBLED)).status_code == 401


async def test_an_address_that_guesses_is_stopped_and_its_neighbours_with_good_keys_are_not(world: World):
    ada = await world.person("analyst")
    async with limited(world, auth_failures_per_s=1.0) as client:
        assert (await client.get("/v1/me", headers=ada.headers)).status_code == 200
        world.runtime.rights.forget()
        assert (await client.get("/v1/me", headers=ada.headers)).status_code == 200
        codes = [(await client.get("/v1/me", headers=headers)).status_code for headers in (GARBLED, {}) * 10]
        assert codes[:10] == [401] * 10
        assert codes[10:].count(429) >= 5
        refused = await client.get("/v1/me", headers=GARBLED)
        assert (refused.json()["code"], refused.headers["retry-after"]) == ("rate_limited", "1")
        world.runtime.rights.forget()
        assert (await client.get("/v1/me", headers=ada.headers)).status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_guesses_at_a_key_do_not_use_up_its_limit(world: World):
    """Who knows the id alone cannot keep its owner out."""
    guessed = world.boss.token[:-4] + ("aaaa" if not world.boss.token.endswith("aaaa") else "bbbb")
    async with limited(world, rate_limit_per_s=1.0, rate_limit_burst=3, auth_failures_per_s=1000.0) as client:
        for _ in range(20):
            wrong = await client.get("/v1/me", headers={"Authorization": f"Bearer {guessed}"})
            assert wrong.status_code == 401
        assert (await client.get("/v1/me", headers=world.boss.headers)).status_code == 200


@pytest.mark.slow
async def test_four_processes_together_stay_within_the_bound(redis_server: ValkeyServer):
    """burst + rate · (T + lease), by Redis's own count, while each process asks as fast as it can."""
    redis_server.flush()
    policy = Policy("requests", per_s=400.0, burst=100)
    caches = [open_cache(redis_server.url) for _ in range(4)]
    limits = [Limit(policy, cache, time.monotonic) for cache in caches]
    started_at = time.monotonic()

    async def hammer(limit: Limit) -> int:
        admitted = 0
        while time.monotonic() - started_at < 1.5:
            try:
                await limit.spend("key")
            except RateLimited:
                await asyncio.sleep(0.002)
            else:
                admitted += 1
        return admitted

    admitted = await asyncio.gather(*(hammer(limit) for limit in limits))
    elapsed = time.monotonic() - started_at
    assert sum(admitted) <= policy.burst + policy.per_s * (elapsed + LEASE_S)
    assert sum(admitted) >= 0.5 * policy.per_s * elapsed, admitted
    for cache in caches:
        await cache.close()


class SimulatedBucket:
    """The shared bucket by its definition, under a clock of the test; counts how often it was asked."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._at, self.calls = clock, clock(), 0
        self._tokens = math.inf

    async def take_tokens(self, key: str, least: int, *, rate_per_s: float, burst: int) -> Tokens | None:
        self.calls += 1
        await asyncio.sleep(0)
        now = self._clock()
        self._tokens = min(burst, self._tokens + (now - self._at) * rate_per_s)
        self._at = now
        granted = min(int(self._tokens), max(least, int(self._tokens / 16)))
        self._tokens -= granted
        return Tokens(granted, int(self._tokens))


async def test_ten_thousand_warm_requests_cost_a_few_dozen_round_trips():
    """A whole burst in no time: what costs the most round trips."""
    clock = Clock()
    bucket = SimulatedBucket(clock)
    limit = Limit(Policy("requests", per_s=5000.0, burst=10_000), bucket, clock)
    for _ in range(10_000):
        await limit.spend("key")
    assert bucket.calls <= 60
    with pytest.raises(RateLimited):
        await limit.spend("key")
    clock.now += 2.0
    before = bucket.calls
    await asyncio.gather(*(limit.spend("other") for _ in range(8)))
    assert bucket.calls - before <= 2


async def test_a_caller_spread_over_fifty_processes_is_not_refused_below_half_its_rate():
    """Eight requests a second in each, of a lease that lapses: what is wasted must not use up the rate."""
    clock = Clock()
    bucket, policy = SimulatedBucket(clock), Policy("requests", per_s=5000.0, burst=10_000)
    limits = [Limit(policy, bucket, clock) for _ in range(50)]
    for turn in range(4_000):
        clock.now += 1 / 400
        await limits[turn % 50].spend("key")
    busy = [Limit(policy, bucket, clock) for _ in range(50)]
    for turn in range(25_000):
        clock.now += 1 / 2_500
        await busy[turn % 50].spend("key")


async def test_a_crowd_at_a_full_bucket_is_admitted_however_small_the_first_lease(redis_server: ValkeyServer):
    """Fifty at once in each of two processes, all within the burst: nobody is refused for a lease that was too small."""
    redis_server.flush()
    caches = [open_cache(redis_server.url) for _ in range(2)]
    limits = [Limit(Policy("requests", per_s=5000.0, burst=10_000), cache, time.monotonic) for cache in caches]
    crowd = [limit.spend("key") for limit in limits for _ in range(50)]
    told = await asyncio.gather(*crowd, return_exceptions=True)
    assert [outcome for outcome in told if isinstance(outcome, Exception)] == []
    for cache in caches:
        await cache.close()


async def test_a_lease_not_spent_in_time_is_lost():
    clock = Clock()
    bucket = SimulatedBucket(clock)
    limit = Limit(Policy("requests", per_s=100.0, burst=1000), bucket, clock)
    for _ in range(2):
        await limit.spend("key")
    assert bucket.calls == 1
    clock.now += LEASE_S + 0.01
    await limit.spend("key")
    assert bucket.calls == 2


async def test_without_redis_a_process_counts_alone_and_by_the_definition():
    clock = Clock()
    limit = Limit(Policy("requests", per_s=10.0, burst=5), None, clock)
    for _ in range(5):
        await limit.spend("key")
    with pytest.raises(RateLimited):
        await limit.spend("key")
    clock.now += 0.2
    for _ in range(2):
        await limit.spend("key")
    with pytest.raises(RateLimited) as refused:
        await limit.spend("key")
    assert refused.value.retry_after_s == 1


async def test_losing_redis_refuses_nobody_early_and_nothing_breaks():
    away: Cache = open_cache(f"redis://127.0.0.1:{free_port()}/0")
    limit = Limit(Policy("requests", per_s=50.0, burst=20), away, time.monotonic)
    outcomes = Counter[str]()
    for _ in range(60):
        try:
            await limit.spend("key")
            outcomes["admitted"] += 1
        except RateLimited:
            outcomes["refused"] += 1
    assert 20 <= outcomes["admitted"] <= 60
    assert outcomes["refused"] > 0
    await away.close()


async def test_the_tables_of_callers_and_addresses_are_bounded():
    limit = Limit(Policy("requests", per_s=10.0, burst=5), None, Clock())
    for number in range(PURSES_MAX + 100):
        limit.spend_alone(str(number))
    assert len(limit) == PURSES_MAX
    assert not limit.is_empty("never seen")


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "unknown"),
        (None, "unknown"),
    ],
)
def test_an_ipv6_subscriber_is_one_address(host: str | None, counted: str):
    assert address_of(host) == counted


@pytest.mark.slow
async def test_a_service_with_its_defaults_disturbs_nobody(own_service: Service):
    answers = [await own_service.call("steward", "GET", "/me") for _ in range(150)]
    assert {answer.status_code for answer in answers} == {200}
    assert own_service.app.state.runtime.limits.requests is not None
