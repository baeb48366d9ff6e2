"""Tokens of one policy, caller by caller: taken from a shared bucket by the handful, spent in this process.

A handful is deducted from the shared bucket before any of it is spent and what is left of it expires after `LEASE_S`,
so over all processes

    admitted in any T seconds  ≤  burst + rate · (T + LEASE_S).

Handfuls grow with use (twice what the last one saw, at most `SHARE_S` of the rate), so a caller spread thinly over
many processes wastes at most about as many tokens as it spends: such a caller may be refused from half the rate on.
Where no bucket is shared, embedded or because Redis is away, each process counts alone and the bound holds for each.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.errors import RateLimited
from app.storage.cache import Cache

LEASE_S = 1.0
SHARE_S = 0.1
FIRST_LEASE = 8
AWAY_S = 0.5
PURSES_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Policy:
    """`burst` tokens at once, `per_s` more each second. Announced as a quota of `burst` in the time it takes to refill."""

    name: str
    per_s: float
    burst: int

    @property
    def header(self) -> bytes:
        return b'"%s";q=%d;w=%d' % (self.name.encode(), self.burst, max(1, math.ceil(self.burst / self.per_s)))

    @property
    def handful_max(self) -> int:
        return max(1, min(int(self.per_s * SHARE_S), self.burst // 4))


@dataclass(slots=True)
class Purse:
    """One caller's tokens in this process: a lease from the shared bucket, and a bucket of its own for when it is away."""

    own: float
    own_at: float
    leased: int = 0
    handful: int = 0
    leased_at: float = 0.0
    spent: int = FIRST_LEASE // 2
    left: int = 0
    closed_until: float = 0.0
    alone_until: float = 0.0
    flight: asyncio.Task[None] | None = None


class Limit:
    """One policy and its purses, the least recently refilled out first."""

    def __init__(self, policy: Policy, cache: Cache | None, monotonic: Callable[[], float]) -> None:
        self.policy = policy
        self.policy_header = policy.header
        self.empty_header = self._header(0)
        self._cache = cache
        self._monotonic = monotonic
        self._purses: OrderedDict[str, Purse] = OrderedDict()

    def __len__(self) -> int:
        return len(self._purses)

    async def spend(self, subject: str) -> bytes:
        """One token; the `RateLimit` header. Raises RateLimited, never anything else."""
        purse = self._purse(subject)
        now = self._monotonic()
        if self._cache is None or now < purse.alone_until:
            return self._spend_own(purse, now)
        if now - purse.leased_at > LEASE_S:
            purse.leased = 0
        while purse.leased < 1 and now >= purse.closed_until:
            # Again if others took all of it: only an empty shared bucket, which closes the purse, is a reason to refuse.
            await asyncio.shield(self._refill(subject, purse))
            now = self._monotonic()
            if now < purse.alone_until:
                return self._spend_own(purse, now)
        if purse.leased < 1:
            raise self._refusal(max(purse.closed_until - self._monotonic(), 0.0))
        purse.leased -= 1
        purse.spent += 1
        if purse.leased * 4 < purse.handful >= FIRST_LEASE and now >= purse.closed_until:
            self._refill(subject, purse)
        return self._header(purse.left + purse.leased)

    def spend_alone(self, subject: str) -> None:
        """One token of this process's own bucket, for what is never shared. Empty stays empty."""
        purse = self._purse(subject)
        self._fill_own(purse, self._monotonic())
        purse.own = max(0.0, purse.own - 1)

    def is_empty(self, subject: str) -> bool:
        purse = self._purses.get(subject)
        if purse is None:
            return False
        self._fill_own(purse, self._monotonic())
        return purse.own < 1

    def refused(self, subject: str) -> RateLimited:
        purse = self._purse(subject)
        return self._refusal((1 - purse.own) / self.policy.per_s)

    async def close(self) -> None:
        flights = [purse.flight for purse in self._purses.values() if purse.flight is not None]
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    def _purse(self, subject: str) -> Purse:
        purse = self._purses.get(subject)
        if purse is None:
            purse = self._purses[subject] = Purse(own=self.policy.burst, own_at=self._monotonic())
            while len(self._purses) > PURSES_MAX:
                _, dropped = self._purses.popitem(last=False)
                if dropped.flight is not None:
                    dropped.flight.cancel()
        return purse

    def _spend_own(self, purse: Purse, now: float) -> bytes:
        self._fill_own(purse, now)
        if purse.own < 1:
            raise self._refusal((1 - purse.own) / self.policy.per_s)
        purse.own -= 1
        return self._header(int(purse.own))

    def _fill_own(self, purse: Purse, now: float) -> None:
        purse.own = min(float(self.policy.burst), purse.own + (now - purse.own_at) * self.policy.per_s)
        purse.own_at = now

    def _refill(self, subject: str, purse: Purse) -> asyncio.Task[None]:
        """One flight a purse, however many wait for it."""
        if purse.flight is None:
            purse.flight = asyncio.create_task(self._lease(subject, purse))
            self._purses.move_to_end(subject)
        return purse.flight

    async def _lease(self, subject: str, purse: Purse) -> None:
        policy = self.policy
        wanted = max(1, min(policy.handful_max, 2 * purse.spent))
        try:
            taken = (
                None
                if self._cache is None
                else await self._cache.take_tokens(
                    f"rate:{policy.name}:{subject}", wanted, rate_per_s=policy.per_s, burst=policy.burst
                )
            )
            now = self._monotonic()
            if taken is None:
                purse.alone_until = now + AWAY_S
                return
            if taken.granted == 0:
                purse.closed_until = now + max(1 / policy.per_s, SHARE_S / 4)
            if purse.leased < 1 or now - purse.leased_at > LEASE_S:
                purse.leased, purse.leased_at = 0, now  # else all of it ends when the older part does
            purse.leased += taken.granted
            purse.handful, purse.spent, purse.left = taken.granted, 0, taken.left
        finally:
            purse.flight = None

    def _header(self, left: int) -> bytes:
        reset_s = math.ceil(max(0, self.policy.burst - left) / self.policy.per_s)
        return b'"%s";r=%d;t=%d' % (self.policy.name.encode(), min(left, self.policy.burst), reset_s)

    def _refusal(self, wait_s: float) -> RateLimited:
        policy = self.policy
        return RateLimited(
            f"more than {policy.per_s:g} a second, or {policy.burst} at once",
            retry_after_s=max(1, math.ceil(wait_s)),
            policy=policy.name,
            per_second=policy.per_s,
            burst=policy.burst,
        )
