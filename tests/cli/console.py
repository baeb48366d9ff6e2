"""The console script in this process: a fresh interpreter for each command would cost seconds."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from app.cli.main import run
from app.cli.wiring import Wiring
from app.main import openapi_text, running, server
from tests.end_to_end.served import inherited

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


Postern = Callable[..., Ran]


@pytest.fixture
def postern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Postern]:
    """`postern("ledger", "head", POSTERN_PORT="1")`, in the test's folder; a variable set to None is taken away."""
    for name in [name for name in os.environ if name.startswith("POSTERN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("POSTERN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: str = "", **variables: str | None) -> Ran:
        capsys.readouterr()
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.delenv(name) if value is None else patched.setenv(name, value)
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            with pytest.raises(SystemExit) as left:
                run(Wiring(server, _log_to_standard_error, openapi_text, running), list(arguments))
        out, err = capsys.readouterr()
        code = left.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), out, err)

    yield invoke
    structlog.reset_defaults()


def _log_to_standard_error(_settings: Any) -> None:
    """As a process of its own would, but nothing is kept after the test."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))


def environment(folder: Path, bytecode: Path | None) -> dict[str, str]:
    """For a process of its own."""
    return inherited(bytecode) | {"POSTERN_DATA_DIR": str(folder)}
