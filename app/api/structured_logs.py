"""Logs: one JSON object (or one readable line) an event, on standard error.

structlog with cached loggers and a bytes writer costs about a quarter of standard-library logging a line. Libraries
that log through the standard library (the server, migrations) pass through the same processors. An exception is
shown by its type alone: messages and tracebacks can quote private rows.
"""

import asyncio
import atexit
import contextlib
import logging
import sys
import threading
from collections.abc import MutableMapping
from typing import Any, BinaryIO, Literal

import msgspec
import structlog
from structlog.typing import Processor

WAIT_S = 0.05
WAITING_BYTES_MAX = 65_536
_encode = msgspec.json.Encoder(enc_hook=repr).encode
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_TALKATIVE = ("uvicorn", "uvicorn.error", "app", "postern")
"""Loggers heard below WARNING. Database drivers are not among them: at DEBUG they print statements and values."""


class LineBuffer:
    """Lines on their way out; to structlog, a logger. In an event loop those below a warning wait for at most `WAIT_S`, so
    that a busy process writes many at once: a system call for every request costs a sixth of the request. Others, those
    from elsewhere and what waits at exit leave at once."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lines = bytearray()
        self._lock = threading.Lock()
        self._waits_in: asyncio.AbstractEventLoop | None = None
        atexit.register(self._leave_last)

    def write_soon(self, line: bytes) -> None:
        with self._lock:
            self._lines += line + b"\n"
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._leave()
            return
        if len(self._lines) >= WAITING_BYTES_MAX:
            self._leave()
        elif self._waits_in is not loop:
            self._waits_in = loop
            loop.call_later(WAIT_S, self._leave)

    def write_now(self, line: bytes) -> None:
        with self._lock:
            self._lines += line + b"\n"
        self._leave()

    debug = info = write_soon
    warning = error = critical = write_now

    def _leave(self) -> None:
        with self._lock:
            self._waits_in = None
            lines, self._lines = self._lines, bytearray()
            self._out.write(lines)
            self._out.flush()

    def _leave_last(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # whoever read them is gone
            self._leave()


def configure_logs(*, level: str, style: Literal["json", "text"]) -> None:
    """Call once in each process, before the first line is logged."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        hide_exception,
    ]
    lines = LineBuffer(sys.stderr.buffer)
    structlog.configure(
        processors=[*shared, _render_json if style == "json" else _render_text],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    _configure_standard_library(shared, level, style)


def hide_exception(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """`exc_info` becomes the exception's type, in place of its message and traceback."""
    info = event.pop("exc_info", None)
    event.pop("exception", None)
    if info:
        if info is True:
            info = sys.exc_info()
        kind = info[0] if isinstance(info, tuple) else type(info)
        event["error"] = getattr(kind, "__qualname__", "unknown")
    return event


def _configure_standard_library(shared: list[Processor], level: str, style: str) -> None:
    renderer = _render_json if style == "json" else _render_text
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                lambda logger, name, event: renderer(logger, name, event).decode(),
            ],
            keep_exc_info=False,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, _LEVELS[level]))
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(max(logging.INFO, _LEVELS[level]))


def _render_json(_: Any, __: str, event: MutableMapping[str, Any]) -> bytes:
    return _encode({"at": event.pop("at", None), **event})


def _render_text(_: Any, __: str, event: MutableMapping[str, Any]) -> bytes:
    at, level, name = event.pop("at", ""), event.pop("level", ""), event.pop("event", "")
    facts = " ".join(f"{key}={value}" for key, value in event.items())
    line = f"{at} {level:<8} {name} {facts}".rstrip()
    return line.encode("utf-8", "backslashreplace").replace(b"\n", b"\\n")
