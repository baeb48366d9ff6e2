"""Log lines are one JSON object each, and never hold what an exception says."""

import asyncio
import io
import json
import subprocess
import sys
from typing import Any

import pytest

from app.api.structured_logs import WAIT_S, WAITING_BYTES_MAX, LineBuffer, hide_exception

SCRIPT = """
import logging, sys, structlog
from app.api.structured_logs import configure_logs
configure_logs(level=sys.argv[1], style=sys.argv[2])
log = structlog.get_logger("postern.test")
structlog.contextvars.bind_contextvars(request_id="r1")
log.info("hello", route="/v1/me")
log.debug("quiet")
try:
    raise ValueError("canary-12")
except ValueError:
    log.error("failed", exc_info=True)
    logging.getLogger("uvicorn.error").exception("server failed")
logging.getLogger("uvicorn.error").info("started %s", 1)
logging.getLogger("aiosqlite").debug("canary-13")
logging.getLogger("sqlalchemy.engine").info("canary-14")
log.info("two\\nlines", text="a\\nb")
"""


def lines(level: str, style: str) -> list[str]:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, level, style], capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    return ran.stderr.splitlines()


@pytest.fixture(scope="module")
def debug_json():
    return [json.loads(line) for line in lines("debug", "json")]


def test_every_line_is_one_object_with_time_level_event_and_request(debug_json):
    for line in debug_json:
        assert {"at", "level", "event", "request_id"} <= set(line)
    assert debug_json[0]["route"] == "/v1/me"


def test_exceptions_are_named_by_type_and_say_nothing_more(debug_json):
    assert [line["error"] for line in debug_json if line["level"] == "error"] == ["ValueError", "ValueError"]
    assert "canary" not in json.dumps(debug_json)


def test_database_drivers_stay_silent_even_at_debug(debug_json):
    assert not any("aiosqlite" in str(line) or "sqlalchemy" in str(line) for line in debug_json)


def test_the_level_is_respected():
    events = [json.loads(line)["event"] for line in lines("error", "json")]
    assert events == ["failed", "server failed"]


def test_text_lines_cannot_be_split_by_their_content():
    found = lines("info", "text")
    assert len(found) == 5
    assert any("two\\nlines" in line for line in found)


def test_an_exception_given_as_an_object_is_hidden_too():
    event = hide_exception(None, "error", {"event": "x", "exc_info": ValueError("canary"), "exception": "canary"})
    assert event == {"event": "x", "error": "ValueError"}


async def test_lines_of_an_event_loop_wait_a_moment_and_leave_together():
    written: list[bytes] = []
    buffer = LineBuffer(Recorded(written))
    for line in (b"one", b"two"):
        buffer.info(line)
    assert written == []
    await asyncio.sleep(2 * WAIT_S)
    assert written == [b"one\ntwo\n"]
    buffer.info(b"x" * WAITING_BYTES_MAX)
    assert len(written) == 2
    await asyncio.to_thread(buffer.info, b"thread")
    assert written[2] == b"thread\n"


@pytest.mark.parametrize("level", ["warning", "error", "critical"])
async def test_a_warning_does_not_wait_and_takes_along_what_waited(level: str):
    written: list[bytes] = []
    buffer = LineBuffer(Recorded(written))
    buffer.info(b"before")
    getattr(buffer, level)(b"after")
    assert written == [b"before\nafter\n"]


def test_a_line_left_by_a_loop_that_ended_leaves_with_the_next_and_at_exit():
    written: list[bytes] = []
    buffer = LineBuffer(Recorded(written))

    async def log(line: bytes, wait_s: float) -> None:
        buffer.info(line)
        await asyncio.sleep(wait_s)

    asyncio.run(log(b"early", 0))
    asyncio.run(log(b"late", 2 * WAIT_S))
    assert written == [b"early\nlate\n"]
    script = "import asyncio, structlog; from app.api.structured_logs import configure_logs\n"
    script += "configure_logs(level='info', style='json')\n"
    script += "async def main(): structlog.get_logger('x').info('last words')\nasyncio.run(main())"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(ran.stderr)["event"] == "last words"


class Recorded(io.BytesIO):
    def __init__(self, written: list[bytes]) -> None:
        super().__init__()
        self._written = written

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)
