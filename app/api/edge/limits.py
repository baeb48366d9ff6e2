"""What one socket may take, and how many there may be."""

import resource
from dataclasses import dataclass

from app.settings import Settings

OTHER_DESCRIPTORS = 192
"""Kept for databases, uploads, exports and the listening socket."""
ACCEPTED_AT_ONCE = 256
"""So many may be accepted in one turn of the event loop before any of them can be turned away: the listening queue."""
SOCKETS_LEAST = 16


@dataclass(frozen=True, slots=True)
class EdgeLimits:
    header_bytes_max: int = 32_768
    headers_max: int = 100
    header_s: float = 10.0
    body_s: float = 20.0
    body_bytes_per_s_min: int = 500
    idle_s: float = 15.0
    sockets_max: int = 4_000
    sockets_per_address_max: int = 1_000
    trusted_proxies: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "EdgeLimits":
        return cls(
            header_bytes_max=int(settings.header_bytes_max),
            headers_max=settings.headers_max,
            header_s=settings.header_s,
            body_s=settings.body_s,
            body_bytes_per_s_min=settings.body_bytes_per_s_min,
            idle_s=settings.idle_s,
            sockets_max=settings.sockets_max,
            sockets_per_address_max=settings.sockets_per_address_max,
            trusted_proxies=settings.trusted_proxies,
        )


def sockets_that_fit(wanted: int) -> int:
    """Never more than there are descriptors for: the soft limit is raised as far as it may be, and the rest of the process
    keeps its share."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_DESCRIPTORS + ACCEPTED_AT_ONCE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(SOCKETS_LEAST, soft - OTHER_DESCRIPTORS - ACCEPTED_AT_ONCE))
