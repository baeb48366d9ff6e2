"""Who is connected to this process, in what order, and who has to make room.

A socket is *waiting* while it has asked nothing that is not answered: before its headers are complete, or between two
requests. Only such sockets are closed to make room, those that never asked first, the oldest first; a request that is
complete is always answered. Where nobody waits, newcomers beyond the limits get a place at the side for two seconds: long
enough for a health check, and a refusal for everybody else.

One sweep four times a second looks at all deadlines, so that a request costs no timer.
"""

import asyncio
import errno
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Literal, Protocol

from prometheus_client import Gauge

from app.api.edge.limits import EdgeLimits, sockets_that_fit
from app.api.edge.refusals import Refusals
from app.services.runtime.rate_limits import address_of

SOCKETS = Gauge("postern_edge_sockets", "Sockets open to callers")
SWEEP_S = 0.25
ASIDE_MAX = 64
ASIDE_S = 2.0
LINGER_S = 1.0
SHORT_S = 10.0
MADE_AT_ONCE = 32
"""Waiting sockets closed at a time when descriptors run out."""

Phase = Literal["head", "idle", "body", "busy", "lingering"]


class Guest(Protocol):
    """A connection, as far as the room is concerned."""

    def end(self, reason: str) -> None: ...
    def body_is_late(self, now: float) -> bool: ...
    def is_stalled(self) -> bool: ...
    def cut(self) -> None: ...


@dataclass(slots=True)
class Address:
    guests: int = 0
    heads: "OrderedDict[Guest, None]" = field(default_factory=OrderedDict)
    idle: "OrderedDict[Guest, None]" = field(default_factory=OrderedDict)


@dataclass(slots=True)
class Place:
    """Where a guest stands. `address` is None for proxies that are trusted: they speak for many."""

    address: str | None
    aside: bool
    phase: Phase = "busy"


class Room:
    def __init__(self, limits: EdgeLimits, loop: asyncio.AbstractEventLoop) -> None:
        self.limits = limits
        self.refusals = Refusals()
        self._loop = loop
        self._sockets_max = sockets_that_fit(limits.sockets_max)
        self._trusted = frozenset(limits.trusted_proxies)
        self._places: dict[Guest, Place] = {}
        self._addresses: dict[str, Address] = {}
        self._by_phase: dict[Phase, OrderedDict[Guest, float]] = {
            "head": OrderedDict(),
            "idle": OrderedDict(),
            "body": OrderedDict(),
            "lingering": OrderedDict(),
        }
        self._aside: OrderedDict[Guest, float] = OrderedDict()
        self._admitted = 0
        self._short_until = 0.0
        self._short_max = 0
        self._sweeps = 0
        self._next = loop.call_later(SWEEP_S, self._sweep)

    def close(self) -> None:
        self._next.cancel()

    def enter(self, guest: Guest, host: str | None) -> bool:
        """False if the guest stands at the side: good for one health check."""
        address = None if self._is_trusted(host) else address_of(host)
        aside = not self._has_room(address)
        self._places[guest] = Place(address, aside)
        SOCKETS.set(len(self._places))
        if aside:
            if len(self._aside) >= ASIDE_MAX:
                self._make_room(next(iter(self._aside)))
        else:
            self._admitted += 1
            if address is not None:
                self._addresses.setdefault(address, Address()).guests += 1
        self.stand(guest, "head")
        return not aside

    def leave(self, guest: Guest) -> None:
        place = self._places.pop(guest, None)
        if place is None:
            return
        self._move(guest, place, "busy")
        if not place.aside:
            self._admitted -= 1
            if place.address is not None:
                address = self._addresses[place.address]
                address.guests -= 1
                if address.guests == 0:
                    del self._addresses[place.address]
        SOCKETS.set(len(self._places))

    def stand(self, guest: Guest, phase: Phase) -> None:
        place = self._places.get(guest)
        if place is not None and place.aside and phase == "idle":
            phase = "lingering"  # had its one answer
        if place is not None and place.phase != phase:
            self._move(guest, place, phase)

    def _move(self, guest: Guest, place: Place, phase: Phase) -> None:
        address = None if place.aside or place.address is None else self._addresses.get(place.address)
        if place.phase != "busy":
            self._by_phase[place.phase].pop(guest, None)
            self._aside.pop(guest, None)
            if address is not None:
                address.heads.pop(guest, None)
                address.idle.pop(guest, None)
        place.phase = phase
        if phase == "busy":
            return
        standing = self._aside if place.aside and phase == "head" else self._by_phase[phase]
        standing[guest] = self._loop.time()
        if address is not None and phase in ("head", "idle"):
            (address.heads if phase == "head" else address.idle)[guest] = None

    def _has_room(self, name: str | None) -> bool:
        address = None if name is None else self._addresses.get(name)
        if address is not None and address.guests >= self.limits.sockets_per_address_max:
            waiting = next(iter(address.heads or address.idle), None)
            if waiting is None:
                return False
            self._make_room(waiting)
        if self._admitted >= self._room_now():
            waiting = self._waiting()
            if waiting is None:
                return False
            self._make_room(waiting)
        return True

    def _waiting(self) -> "Guest | None":
        """Who has waited longest: of those who never asked, else of those between two requests."""
        return next(iter(self._by_phase["head"] or self._by_phase["idle"]), None)

    def _room_now(self) -> int:
        return min(self._sockets_max, self._short_max) if self._loop.time() < self._short_until else self._sockets_max

    def _make_room(self, guest: Guest) -> None:
        self.refusals.note("made_room")
        self.leave(guest)
        guest.cut()

    def _is_trusted(self, host: str | None) -> bool:
        return bool(self._trusted) and host is not None and _among(host, self._trusted)

    def _sweep(self) -> None:
        self._next = self._loop.call_later(SWEEP_S, self._sweep)
        now, limits = self._loop.time(), self.limits
        for guest in _older(self._by_phase["head"], now - limits.header_s):
            guest.end("header_timeout")
        for guest in _older(self._aside, now - ASIDE_S):
            guest.end("header_timeout")
        for guest in _older(self._by_phase["idle"], now - limits.idle_s):
            self._end_idle(guest)
        for guest in [guest for guest in self._by_phase["body"] if guest.body_is_late(now)]:
            guest.end("body_timeout")
        for guest in _older(self._by_phase["lingering"], now - LINGER_S):
            guest.cut()
        self._sweeps += 1
        if self._sweeps % 4 == 0:
            self._look_for_descriptors(now)

    def _end_idle(self, guest: Guest) -> None:
        """One that takes what is left of its answer may go on for as long again."""
        if guest.is_stalled():
            self.refusals.note("stalled")
            guest.cut()
        else:
            guest.end("idle")

    def _look_for_descriptors(self, now: float) -> None:
        """A process without descriptors cannot even be asked how it is: sockets that ask nothing give theirs back."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                return
        else:
            return
        self.refusals.note("descriptors")
        self._short_until = now + SHORT_S
        self._short_max = max(1, self._admitted - MADE_AT_ONCE)
        for _ in range(MADE_AT_ONCE):
            waiting = self._waiting()
            if waiting is not None:
                self._make_room(waiting)


def _older(standing: "OrderedDict[Guest, float]", than: float) -> list[Guest]:
    found = []
    for guest, since in standing.items():
        if since > than:
            break
        found.append(guest)
    return found


@lru_cache(maxsize=1024)
def _among(host: str, networks: frozenset[str]) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return any(address in ip_network(network, strict=False) for network in networks)
