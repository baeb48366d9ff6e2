"""README and docs: what they show is what happens.

`bash` and `python` blocks run, in order and in one shell per document, against a really started server: on SQLite,
and below a heading that names PostgreSQL on throw-away PostgreSQL and Valkey. A `json` block after one of them is what
it prints: the same fields and kinds of value, the same values too if it says `exact`; `…` stands for anything.
A block that must not run is marked `text`.
"""

import ast
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.settings import PREFIX, Settings, variable_name
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.servers.valkey import ValkeyServer

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"bash", "python"}
SHOWN = {"text", "json", "mermaid", ""}
ELLIPSIS = "…"
END = "==== end of block"
START_S_MAX = 60.0
pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the documents' commands use curl")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `note` is what follows the language on the opening fence."""

    line: int
    heading: str
    language: str
    note: str
    text: str

    @property
    def production(self) -> bool:
        return "PostgreSQL" in self.heading


def blocks_of(path: Path) -> list[Block]:
    found: list[Block] = []
    heading, opened, lines = "", None, list[str]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if opened is None and line.startswith("```"):
            opened, lines = (number, *line[3:].partition(" ")[::2]), []
        elif opened is not None and line.strip() == "```":
            found.append(Block(opened[0], heading, opened[1], opened[2], "\n".join(lines) + "\n"))
            opened = None
        elif opened is not None:
            lines.append(line)
        elif line.startswith("#"):
            heading = line
    assert opened is None, f"{path.name}: the block at line {opened and opened[0]} never ends"
    return found


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def script_of(blocks: list[Block]) -> str:
    """One shell script; a mark after each block tells their outputs apart."""
    parts = ["set -euo pipefail"]
    for block in blocks:
        if block.language == "python":
            parts.append(f"python3 - <<'END_OF_PYTHON'\n{block.text}END_OF_PYTHON")
        else:
            parts.append(block.text)
        parts.append(f"printf '\\n{END} %s\\n' {block.line}")
    return "\n".join(parts)


def outputs_of(printed: str) -> dict[int, str]:
    pieces = re.split(rf"\n{END} (\d+)\n", printed)
    return {int(line): text for text, line in zip(pieces[::2], pieces[1::2], strict=False)}


def expected_outputs(blocks: list[Block]) -> Iterator[tuple[Block, Block]]:
    for before, after in pairwise(blocks):
        if before.language in RUN and after.language == "json":
            yield before, after


def differences(shown: Any, got: Any, exact: bool, where: str = "$") -> Iterator[str]:
    """Where what was printed is not what the document shows."""
    if shown in (ELLIPSIS, {ELLIPSIS: ELLIPSIS}) or (not exact and (shown is None or got is None)):
        return
    if isinstance(shown, dict) and isinstance(got, dict):
        named = {name for name in shown if name != ELLIPSIS}
        if not named <= set(got) or (ELLIPSIS not in shown and named != set(got)):
            yield f"{where}: shown {sorted(named)}, got {sorted(got)}"
            return
        for name in named:
            yield from differences(shown[name], got[name], exact, f"{where}.{name}")
    elif isinstance(shown, str) and isinstance(got, str):
        pattern = ".*".join(re.escape(part) for part in shown.split(ELLIPSIS))
        if exact and not re.fullmatch(pattern, got):
            yield f"{where}: shown {shown!r}, got {got!r}"
    elif is_number(shown) and is_number(got):
        if exact and not math.isclose(shown, got, rel_tol=5e-3):
            yield f"{where}: shown {shown}, got {got}"
    elif type(shown) is not type(got) or (exact and shown != got):
        yield f"{where}: shown {shown!r}, got {got!r}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Place:
    """A running installation and the environment in which its commands are typed."""

    environment: dict[str, str]

    def run(self, script: str, folder: Path) -> str:
        file = folder / "document.sh"
        file.write_text(script, encoding="utf-8")
        done = subprocess.run(
            ["bash", str(file)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


def place_environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    port = str(free_port())
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
        "POSTERN_DATA_DIR": str(folder / "data"),
        "POSTERN_PORT": port,
        "POSTERN_URL": f"http://127.0.0.1:{port}",
        **more,
    }


@contextmanager
def started(environment: dict[str, str], folder: Path, *arguments: str) -> Iterator[None]:
    with (folder / f"{arguments[0]}.log").open("w+") as log:
        command = [sys.executable, "-c", "from app.main import cli; cli()", *arguments]
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + START_S_MAX
    while True:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, "the server did not become ready"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("embedded")
    environment = place_environment(folder)
    with started(environment, folder, "serve"):
        wait_until_ready(environment["POSTERN_URL"])
        yield Place(environment)


@pytest.fixture(scope="module")
def production(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    redis_server: ValkeyServer,
    migrated_template: str,
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("production")
    name = postgres_server.create_database(template=migrated_template)
    environment = place_environment(
        folder, POSTERN_DATABASE_URL=postgres_server.url(name), POSTERN_REDIS_URL=redis_server.url
    )
    with ExitStack() as stack:
        stack.callback(postgres_server.drop_database, name)
        for role in ("serve", "worker"):
            stack.enter_context(started(environment, folder, role))
        wait_until_ready(environment["POSTERN_URL"])
        yield Place(environment)


RUNNABLE = [
    pytest.param(path, kind, id=f"{name_of(path)} on {kind}")
    for path in DOCUMENTS
    for kind in ("embedded", "production")
    if any(block.language in RUN and block.production == (kind == "production") for block in blocks_of(path))
]


@pytest.mark.parametrize(("path", "kind"), RUNNABLE)
def test_every_command_works_and_prints_what_is_shown(
    path: Path, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place: Place = request.getfixturevalue(kind)
    blocks = [block for block in blocks_of(path) if block.production == (kind == "production")]
    printed = outputs_of(place.run(script_of([block for block in blocks if block.language in RUN]), tmp_path))
    wrong = [
        f"line {before.line}: {difference}"
        for before, after in expected_outputs(blocks)
        for difference in differences(json.loads(after.text), json.loads(printed[before.line]), after.note == "exact")
    ]
    assert wrong == []


def test_the_readme_walks_through_the_whole_life_of_a_release() -> None:
    run = "".join(block.text for block in blocks_of(ROOT / "README.md") if block.language in RUN)
    for step in ("keys create", "/datasets ", "/data", "/plans", "Idempotency-Key", "/card", "/analysts", "/access"):
        assert step in run
    for kind in ("squared", "interval", "actions", "/ledger/verify"):
        assert kind in run
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_block_says_whether_it_runs(path: Path) -> None:
    unknown = [(block.line, block.language) for block in blocks_of(path) if block.language not in RUN | SHOWN]
    assert unknown == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_to_a_file(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (path.parent / target).exists()] == []


def defined_in(path: Path) -> set[str]:
    """Names a module defines, and `Class.member`."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for name in _names(node):
            names.add(name)
            if isinstance(node, ast.ClassDef):
                names |= {f"{name}.{member}" for inner in node.body for member in _names(inner)}
    return names


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_file_and_function_named_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"\b((?:app|tests|migrations|examples)/[\w./]*\w\.py)(?::([A-Za-z_][\w.]*\w))?", text)
    missing = [file for file, _ in named if not (ROOT / file).is_file()]
    assert missing == []
    assert [f"{file}:{name}" for file, name in named if name and name not in defined_in(ROOT / file)] == []


def test_the_index_of_decisions_lists_every_record_once() -> None:
    folder = ROOT / "docs" / "adr"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert listed == sorted(path.name for path in folder.glob("0*.md"))


def test_the_table_of_settings_is_what_the_code_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable once, in order; a default that is written down gives the default when it is set."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| `({PREFIX}\w+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    assert [row[0] for row in rows] == [variable_name(field) for field in Settings.model_fields]
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    default = Settings()
    for (name, shown, expected), (field, facts) in zip(rows, Settings.model_fields.items(), strict=True):
        assert expected == facts.description, name
        if shown.startswith("`"):
            monkeypatch.setenv(name, shown.strip("`"))
            assert getattr(Settings(), field) == getattr(default, field), name
        else:
            assert getattr(default, field) in (None, ()) or facts.default_factory is not None, name
