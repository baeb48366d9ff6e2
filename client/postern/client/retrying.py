"""When to try again, without sockets, sleep or clock: a generator that says what to do next and is told how it went.

Tried again are a lost connection, 429, 502, 503 and 504, where the call is repeatable. The pause before attempt i + 1 is

    max(Retry-After, uniform(0, min(pause_s_max, first_pause_s · 2^(i−1))))        (full jitter)

and nothing is tried again after `attempts_max` attempts or if the pause would end later than `total_s` after the start.
A 503 `ledger_untrusted` waits for a person, not for time, and is not tried again.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from postern.client.call import Call, Reply
from postern.client.problems import Unreachable

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741

_PASSING = frozenset({429, 502, 503, 504})
_FOR_A_PERSON = b'"ledger_untrusted"'


@dataclass(frozen=True, slots=True)
class Retries:
    attempts_max: int = 5
    total_s: float = 60.0
    first_pause_s: float = 0.2
    pause_s_max: float = 8.0

    def pause_s(self, attempt: int, uniform: Callable[[float, float], float], floor_s: float | None) -> float:
        ceiling = min(self.pause_s_max, self.first_pause_s * 2.0 ** (attempt - 1))
        return max(floor_s or 0.0, uniform(0.0, ceiling))


NO_RETRIES = Retries(attempts_max=1)


@dataclass(frozen=True, slots=True)
class Lost:
    """No whole answer came. `received` is False if the service cannot have seen the request."""

    reason: str
    received: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """Send it now."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


def persist(
    call: Call[Any],
    retries: Retries,
    *,
    where: str,
    now: Callable[[], float],
    uniform: Callable[[float, float], float],
) -> Generator[Attempt | Pause, "Reply | Lost | O | None", "Reply | O"]:
    """Returns the reply to keep, a refusal included. Raises Unreachable where there is none.

    An outcome that is neither a reply nor a loss (an opened stream) is kept as it is.
    """
    began = now()
    for attempt in count(1):
        outcome = yield Attempt()
        if outcome is None:
            raise RuntimeError("an attempt has an outcome")
        if not isinstance(outcome, Reply | Lost):
            return outcome
        if isinstance(outcome, Reply) and not _passes(outcome):
            return outcome
        floor_s = outcome.retry_after_s if isinstance(outcome, Reply) else None
        pause_s = retries.pause_s(attempt, uniform, floor_s)
        harmless = call.repeatable or (isinstance(outcome, Lost) and not outcome.received)
        late = now() - began + pause_s > retries.total_s
        if not harmless or attempt >= retries.attempts_max or late:
            if isinstance(outcome, Reply):
                return outcome
            raise Unreachable(_sentence(outcome, where, attempt), attempt)
        yield Pause(pause_s)
    raise AssertionError("the loop ends by itself")


def _passes(reply: Reply) -> bool:
    return reply.status in _PASSING and _FOR_A_PERSON not in reply.body


def _sentence(lost: Lost, where: str, attempts: int) -> str:
    tried = "" if attempts == 1 else f", {attempts} times"
    if lost.received:
        return f"the answer of {where} was lost{tried} ({lost.reason})"
    return f"nothing answers at {where}{tried} ({lost.reason})"
