"""When to try again, without sockets, sleep or clock.

Tried again are a lost connection, 429, 502, 503 and 504, where the call is repeatable. The pause before attempt i + 1 is

    max(Retry-After, uniform(0, min(pause_s_max, first_pause_s · 2^(i−1))))        (full jitter)

and nothing is tried again after `attempts_max` attempts or if the pause would end later than `total_s` after the start.
A 503 `ledger_untrusted` waits for a person, not for time, and is not tried again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from postern.client.call import Call, Reply
from postern.client.problems import Unreachable

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

    def unreachable(self, where: str, attempts: int) -> Unreachable:
        tried = "" if attempts == 1 else f", {attempts} times"
        said = f"the answer of {where} was lost" if self.received else f"nothing answers at {where}"
        return Unreachable(f"{said}{tried} ({self.reason})", attempts)


def pause_before_next(
    call: Call[Any],
    outcome: Reply | Lost,
    retries: Retries,
    attempt: int,
    elapsed_s: float,
    uniform: Callable[[float, float], float],
) -> float | None:
    """Seconds until the call is to be tried again; None if this outcome is the one to keep."""
    if isinstance(outcome, Reply) and not _passes(outcome):
        return None
    pause_s = retries.pause_s(attempt, uniform, outcome.retry_after_s if isinstance(outcome, Reply) else None)
    harmless = call.repeatable or (isinstance(outcome, Lost) and not outcome.received)
    late = elapsed_s + pause_s > retries.total_s
    return None if late or not harmless or attempt >= retries.attempts_max else pause_s


def _passes(reply: Reply) -> bool:
    return reply.status in _PASSING and _FOR_A_PERSON not in reply.body
