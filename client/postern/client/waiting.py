"""Waiting for a release without a clock of its own: what to do next, as a generator both clients follow."""

from collections.abc import Callable, Generator
from typing import Any

from postern.client.call import Call
from postern.client.calls import readers
from postern.client.problems import WaitedTooLong
from postern.client.results.releases import ReleaseFacts
from postern.client.retrying import Pause

Progress = Callable[[ReleaseFacts, float], None]
"""Called with what is known and the seconds since the start, after every look."""

_FIRST_S = 0.05
_LONGEST_S = 2.0


def wait_for_release(
    facts: ReleaseFacts, *, timeout_s: float, now: Callable[[], float], on_progress: Progress | None
) -> Generator[Call[ReleaseFacts] | Pause, Any, ReleaseFacts]:
    """Until it is published or withdrawn, looking less and less often. Raises WaitedTooLong."""
    began, pause_s = now(), _FIRST_S
    while True:
        elapsed_s = now() - began
        if on_progress is not None:
            on_progress(facts, elapsed_s)
        if facts.status != "pending":
            return facts
        if elapsed_s + pause_s > timeout_s:
            raise WaitedTooLong(f"{facts.id} is still pending after {elapsed_s:.1f} s", facts.id)
        yield Pause(pause_s)
        facts = yield readers.read_release(facts.id)
        pause_s = min(_LONGEST_S, pause_s * 1.5)
