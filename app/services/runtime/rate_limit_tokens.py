"""Tokens of one policy, caller by caller: leased from a shared bucket a few at a time, spent in this process.

A lease is deducted from the shared bucket before any of it is spent and what is left of it lapses after `LEASE_S`, so
over all processes

    admitted in any T seconds  ≤  burst + rate · (T + LEASE_S).

A lease is a sixteenth of what the bucket holds, so a caller spread thinly over many processes, who wastes most of each,
gets smaller ones before it gets none; and at least what the rate gives in `LEAST_S`, which bounds round trips: so such a
caller wastes at most a hundredth of its rate in each process.
Where no bucket is shared, embedded or because Redis is away, each process counts alone and the bound holds for each.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from app.errors import RateLimited
from app.storage.cache import Cache

LEASE_S = 1.0
LEAST_S = 0.01
CLOSED_S = 0.025
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


@dataclass(slots=True)
class Purse:
    """One caller's tokens in this process: a lease from the shared bucket, and a bucket of its own for when it is away."""

    own: float
    own_at: float
    leased: int = 0
    left: int = 0
    lapses_at: float = 0.0
    closed_until: float = 0.0
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def holds(self, now: float) -> bool:
        return self.leased >= 1 and now <= self.lapses_at


class Limit:
    """One policy and its purses, the least recently refilled out first."""

    def __init__(self, policy: Policy, cache: Cache | None, monotonic: Callable[[], float]) -> None:
        self.policy = policy
        self.policy_header = policy.header
        self.empty_header = self._header(0)
        self._least = max(1, int(policy.per_s * LEAST_S))
        self._cache = cache
        self._monotonic = monotonic
        self._purses: OrderedDict[str, Purse] = OrderedDict()

    def __len__(self) -> int:
        return len(self._purses)

    async def spend(self, subject: str) -> bytes:
        """One token; the `RateLimit` header. Raises RateLimited, never anything else."""
        purse = self._purse(subject)
        if self._cache is None or not (
            purse.holds(self._monotonic()) or await self._lease(self._cache, subject, purse)
        ):
            return self._spend_own(purse)
        if purse.leased < 1:
            raise self._refusal(max(purse.closed_until - self._monotonic(), 0.0))
        purse.leased -= 1
        return self._header(purse.left + purse.leased)

    def spend_alone(self, subject: str) -> None:
        """One token of this process's own bucket, for what is never shared. Empty stays empty."""
        purse = self._purse(subject)
        self._fill_own(purse)
        purse.own = max(0.0, purse.own - 1)

    def is_empty(self, subject: str) -> bool:
        purse = self._purses.get(subject)
        if purse is None:
            return False
        self._fill_own(purse)
        return purse.own < 1

    def refused(self, subject: str) -> RateLimited:
        purse = self._purse(subject)
        return self._refusal((1 - purse.own) / self.policy.per_s)

    def _purse(self, subject: str) -> Purse:
        purse = self._purses.get(subject)
        if purse is None:
            purse = self._purses[subject] = Purse(own=self.policy.burst, own_at=self._monotonic())
            while len(self._purses) > PURSES_MAX:
                self._purses.popitem(last=False)
        return purse

    def _spend_own(self, purse: Purse) -> bytes:
        self._fill_own(purse)
        if purse.own < 1:
            raise self._refusal((1 - purse.own) / self.policy.per_s)
        purse.own -= 1
        return self._header(int(purse.own))

    def _fill_own(self, purse: Purse) -> None:
        now = self._monotonic()
        purse.own = min(float(self.policy.burst), purse.own + (now - purse.own_at) * self.policy.per_s)
        purse.own_at = now

    async def _lease(self, cache: Cache, subject: str, purse: Purse) -> bool:
        """False while no bucket is shared. One asks for all who wait; an empty bucket is not asked again for a moment."""
        self._purses.move_to_end(subject)
        async with purse.asking:
            policy, asked_at = self.policy, self._monotonic()
            if purse.holds(asked_at) or asked_at < purse.closed_until:
                return True
            taken = await cache.take_tokens(
                f"rate:{policy.name}:{subject}", self._least, rate_per_s=policy.per_s, burst=policy.burst
            )
            if taken is None:
                return False
            purse.leased, purse.left, purse.lapses_at = taken.granted, taken.left, asked_at + LEASE_S
            if taken.granted == 0:
                purse.closed_until = self._monotonic() + max(1 / policy.per_s, CLOSED_S)
            return True

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
