"""How often one key may ask, and how often one address may be refused. A warm request asks nobody.

Refused keys are counted by address, in each process. An address that used up its failures may go on with keys this
process has already seen to be valid, so nobody locks out their neighbours.
"""

import hashlib
import ipaddress
import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache

from app.services.runtime.rate_limit_tokens import Limit, Policy
from app.settings import Settings
from app.storage.cache import Cache

PROVEN_MAX = 20_000
HEAVY_BURST_S = 5
FAILURES_BURST_S = 10
_IPV6_PREFIX = 64


@dataclass(slots=True)
class RateLimits:
    """All limits of a process; None where one is switched off."""

    requests: Limit | None
    heavy: Limit | None
    failures: Limit | None
    _proven: OrderedDict[bytes, None] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, settings: Settings, cache: Cache) -> "RateLimits":
        shared = cache if settings.redis_url is not None else None

        def limit(name: str, per_s: float, burst: float, counted_by: Cache | None) -> Limit | None:
            if not per_s > 0:
                return None
            return Limit(Policy(name, per_s, max(1, math.ceil(burst))), counted_by, time.monotonic)

        heavy, failed = settings.rate_limit_heavy_per_s, settings.auth_failures_per_s
        return cls(
            requests=limit("requests", settings.rate_limit_per_s, settings.rate_limit_burst, shared),
            heavy=limit("heavy", heavy, heavy * HEAVY_BURST_S, shared),
            failures=limit("refused-keys", failed, failed * FAILURES_BURST_S, None),
        )

    def prove(self, token: str) -> None:
        """Remember that this token was valid once, by a digest; whether it still is, is decided elsewhere."""
        self._proven[_digest(token)] = None
        while len(self._proven) > PROVEN_MAX:
            self._proven.popitem(last=False)

    def check_address(self, address: str, token: str | None) -> None:
        """Raises RateLimited for an address without failures left, unless the token was valid before."""
        failures = self.failures
        if failures is None or not failures.is_empty(address):
            return
        if token is None or _digest(token) not in self._proven:
            raise failures.refused(address)

    def note_failure(self, address: str) -> None:
        if self.failures is not None:
            self.failures.spend_alone(address)


@lru_cache(maxsize=4096)
def address_of(host: str | None) -> str:
    """Whom to count failures against: an IPv4 address, or the /64 that one IPv6 subscriber has to himself."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
