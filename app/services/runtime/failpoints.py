"""Named places in the life of a release, a purchase and an upload where a test can end or freeze the process.

Off, which is always except in fault tests, a failpoint is one lookup in an empty dictionary. `POSTERN_FAILPOINT`
arms some: `release.drawn` kills this process with SIGKILL when it gets there, `release.drawn:3` at the third pass,
`release.drawn:1:stop` freezes it with SIGSTOP until somebody continues it; several are separated by commas. Nothing
here looks at data, and what an armed failpoint does is what a power cut may do at the same line anyway. A server that
starts with one says so at the highest log level, a name that does not exist refuses the start.
"""

import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from app.errors import FieldProblem, InvalidRequest

VARIABLE = "POSTERN_FAILPOINT"
RELEASE = (
    "release.before_claim",
    "release.claimed",
    "release.reading",
    "release.rows_read",
    "release.drawn",
    "release.storing",
    "release.published",
    "release.wiping",
    "release.wiped",
)
REQUEST = ("request.before_reserve", "request.reserving", "request.reserved")
ACCESS = ("access.before_charge", "access.charging", "access.charged")
UPLOAD = ("upload.receiving", "upload.received", "upload.renamed", "upload.recording", "upload.recorded")
STATISTICS = ("statistics.kept", "statistics.wiping")
NAMES = frozenset((*RELEASE, *REQUEST, *ACCESS, *UPLOAD, *STATISTICS))

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
_WRITTEN = re.compile(r"(?P<name>[a-z_.]+)(?::(?P<pass>[1-9]\d{0,5}))?(?::(?P<action>kill|stop))?")

log = structlog.get_logger("postern.failpoints")


@dataclass(slots=True)
class _Armed:
    """Acts once, at pass number `at`; threads count together."""

    at: int
    action: Callable[[], None]
    passes: int = 0
    guard: threading.Lock = field(default_factory=threading.Lock)

    def reach(self) -> None:
        with self.guard:
            self.passes += 1
            due = self.passes == self.at
        if due:
            self.action()


_armed: dict[str, _Armed] = {}


def failpoint(name: str) -> None:
    """Nothing, unless armed."""
    if name in _armed:
        _armed[name].reach()


def chunks_through(name: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same stream; armed, it passes the failpoint after every chunk."""
    return _passing(name, chunks) if name in _armed else chunks


async def _passing(name: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk
        failpoint(name)


def arm(name: str, action: Callable[[], None], *, at: int = 1) -> None:
    if name not in NAMES:
        raise InvalidRequest([FieldProblem(VARIABLE, f"names among {', '.join(sorted(NAMES))}")])
    _armed[name] = _Armed(at, action)


def disarm() -> None:
    _armed.clear()


def arm_from(environment: Mapping[str, str]) -> None:
    """Once, at the start of a server or worker. Raises InvalidRequest for anything it does not understand."""
    written = environment.get(VARIABLE, "")
    for part in filter(None, written.split(",")):
        found = _WRITTEN.fullmatch(part)
        if found is None:
            raise InvalidRequest([FieldProblem(VARIABLE, "name, name:pass or name:pass:kill|stop, joined by commas")])
        number = _SIGNALS[found["action"] or "kill"]
        arm(found["name"], partial(os.kill, os.getpid(), number), at=int(found["pass"] or 1))
    if _armed:
        log.critical("this process will end or freeze itself: failpoints are armed", failpoints=sorted(_armed))
