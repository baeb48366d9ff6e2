"""A time that only moves when told: the clock, the clock that cannot be set, and a sleep that moves both."""

import os
from dataclasses import dataclass
from typing import Any

START_US = 1_800_000_000_000_000


@dataclass
class Clockwork:
    """Hand it to `services` as `**clockwork.parts()`. `draw_s` is how long every call for random bytes takes."""

    now_us: int = START_US
    draw_s: float = 0.0

    def advance(self, seconds: float) -> None:
        self.now_us += round(seconds * 1e6)

    async def sleep(self, seconds: float) -> None:
        self.advance(max(0.0, seconds))

    def random_bytes(self, count: int) -> bytes:
        self.advance(self.draw_s)
        return os.urandom(count)

    def parts(self) -> dict[str, Any]:
        return {
            "clock": lambda: self.now_us,
            "monotonic": lambda: self.now_us / 1e6,
            "sleep": self.sleep,
            "random_bytes": self.random_bytes,
        }
