"""A circuit breaker: while Redis is away, asking costs a comparison instead of a timeout."""

from collections.abc import Callable


class Breaker:
    """Opens at a failure; after `cooldown_s` lets a single caller try, and closes when one succeeds."""

    def __init__(self, clock: Callable[[], float], cooldown_s: float) -> None:
        self._clock = clock
        self._cooldown_s = cooldown_s
        self._retry_at: float | None = None

    def allows(self) -> bool:
        if self._retry_at is None:
            return True
        now = self._clock()
        if now < self._retry_at:
            return False
        self._retry_at = now + self._cooldown_s
        return True

    def succeeded(self) -> None:
        self._retry_at = None

    def failed(self) -> None:
        self._retry_at = self._clock() + self._cooldown_s
