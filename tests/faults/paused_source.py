"""A source whose first reader can be held between its first row and its last."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.services.releases import run_release
from app.sources.sources import RowSource

WAIT_S = 20


class PausedSource:
    """The first reader announces itself in `reading` and waits for `go`; later ones pass."""

    def __init__(self) -> None:
        self.reading = threading.Event()
        self.go = threading.Event()
        self._held = False

    def around(self, source: RowSource) -> RowSource:
        return _Held(self, source)

    def pass_or_wait(self) -> None:
        first, self._held = not self._held, True
        if first:
            self.reading.set()
            assert self.go.wait(WAIT_S)


class _Held:
    def __init__(self, pause: PausedSource, source: RowSource) -> None:
        self._pause = pause
        self._source = source

    def statistic(self, request: StatisticRequest, hash_key: bytes) -> ExactStatistic:
        found = self._source.statistic(request, hash_key)
        self._pause.pass_or_wait()
        return found


def pause_first_reader(monkeypatch: pytest.MonkeyPatch) -> PausedSource:
    pause = PausedSource()
    opened: Callable[..., RowSource] = run_release.dataset_source

    def paused(*given: Any, **named: Any) -> RowSource:
        return pause.around(opened(*given, **named))

    monkeypatch.setattr(run_release, "dataset_source", paused)
    return pause
