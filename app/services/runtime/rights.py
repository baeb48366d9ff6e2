"""Who may do what, remembered by this process and forgotten the moment it may have changed.

The database keeps an epoch that every change of a key, cap, grant or access raises in its own transaction. A
background task (`watch_rights.py`) reads it a few times a second and clears this memory when it moved, so a warm
request asks nobody, and a revoked key dies everywhere within a second. If the epoch could not be read for
`stale_s`, nothing remembered here is believed any more.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

ENTRIES_MAX = 50_000


class Rights:
    """A generation of remembered facts. A fact read under an older generation is never remembered."""

    def __init__(self, stale_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stale_s = stale_s
        self._monotonic = monotonic
        self._confirmed_at: float | None = None
        self._epoch: int | None = None
        self.generation = 0
        self.used_us: dict[str, int] = {}
        self._forgetters: list[Callable[[], None]] = []

    def on_forget(self, forget: Callable[[], None]) -> None:
        self._forgetters.append(forget)

    @property
    def believed(self) -> bool:
        return self._confirmed_at is not None and self._monotonic() - self._confirmed_at <= self._stale_s

    def confirm(self, epoch: int, asked_at: float) -> None:
        """The epoch as read from the database in answer to a question asked at `asked_at`."""
        if epoch != self._epoch:
            self._epoch = epoch
            self.forget()
        self._confirmed_at = asked_at

    def forget(self) -> None:
        self.generation += 1
        for forget in self._forgetters:
            forget()


class RightsTable(Generic[T]):
    """One kind of fact, by key; bounded, oldest out first."""

    def __init__(self, rights: Rights) -> None:
        self._rights = rights
        self._entries: OrderedDict[Hashable, T] = OrderedDict()
        rights.on_forget(self._entries.clear)

    def get(self, key: Hashable) -> T | None:
        return self._entries.get(key) if self._rights.believed else None

    def put(self, key: Hashable, fact: T, generation: int) -> None:
        """Remember, unless something was forgotten since `generation` was noted, before the fact was read."""
        if generation != self._rights.generation:
            return
        self._entries[key] = fact
        while len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)
