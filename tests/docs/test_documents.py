"""README and docs: what they show is what happens, and what they name exists.

`bash` and `python` blocks run, in order and in one shell per document, against a really started server: on SQLite, and
below a heading that names PostgreSQL on throw-away PostgreSQL and Valkey; Python alone runs without one. A block that
must not run is marked `text`.
"""

import ast
import json
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
from pathlib import Path

import pytest

from app.settings import PREFIX, Settings, variable_name
from tests.docs.blocks import RUN, SHOWN, blocks_of, differences, expected_outputs, outputs_of, runs_by_place, script_of
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.servers.valkey import ValkeyServer

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "client" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
START_S_MAX = 60.0
COMMANDS_S = 600.0
"""For all commands of a page: they wait for public moments, which on a slow machine are minutes."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


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
            timeout=COMMANDS_S,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


def place_environment(folder: Path, bytecode: Path, **more: str) -> dict[str, str]:
    """Compiled modules are kept, if need be away from the sources: every command would compile them all again.

    Public moments are near, so that pages do not wait for those of a slow machine.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    if kept.pop("PYTHONDONTWRITEBYTECODE", None):
        kept["PYTHONPYCACHEPREFIX"] = str(bytecode)
    port = str(free_port())
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
        "POSTERN_DATA_DIR": str(folder / "data"),
        "POSTERN_PORT": port,
        "POSTERN_URL": f"http://127.0.0.1:{port}",
        "POSTERN_PUBLICATION_TICK_S": "0.05",
        "POSTERN_PUBLICATION_PACE": "1e-6",
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


@pytest.fixture
def nowhere(tmp_path: Path, bytecode: Path) -> Place:
    return Place(place_environment(tmp_path, bytecode))


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, bytecode: Path) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("embedded")
    environment = place_environment(folder, bytecode)
    with started(environment, folder, "serve"):
        wait_until_ready(environment["POSTERN_URL"])
        yield Place(environment)


@pytest.fixture(scope="module")
def production(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    redis_server: ValkeyServer,
    migrated_template: str,
    bytecode: Path,
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("production")
    name = postgres_server.create_database(template=migrated_template)
    environment = place_environment(
        folder, bytecode, POSTERN_DATABASE_URL=postgres_server.url(name), POSTERN_REDIS_URL=redis_server.url
    )
    with ExitStack() as stack:
        stack.callback(postgres_server.drop_database, name)
        for role in ("serve", "worker"):
            stack.enter_context(started(environment, folder, role))
        wait_until_ready(environment["POSTERN_URL"])
        yield Place(environment)


RUNNABLE = [
    pytest.param(path, kind, id=f"{name_of(path)} {kind}") for path in DOCUMENTS for kind in runs_by_place(path)
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the documents' commands use curl")
@pytest.mark.parametrize(("path", "kind"), RUNNABLE)
def test_every_command_works_and_prints_what_is_shown(
    path: Path, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place: Place = request.getfixturevalue(kind)
    printed = outputs_of(place.run(script_of(runs_by_place(path)[kind]), tmp_path))
    wrong = [
        f"line {before.line}: {difference}"
        for before, after in expected_outputs(blocks_of(path))
        if before.line in printed
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
    named = re.findall(r"\b((?:app|client|tests|migrations|examples)/[\w./]*\w\.py)(?::([A-Za-z_][\w.]*\w))?", text)
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
