"""The command line: quick to start, plain in its errors, and enough to get going."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from app.cli.serve import base_url, paste_commands

ROOT = Path(__file__).parents[2]
TOKEN = re.compile(r"pstn_[a-z2-7]{16}_[A-Za-z0-9_-]{43}")
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
PLAN = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 100, "temperature": 1.0}, "n": 1000, "delta": 1e-6}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from app.main import cli; cli()", *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTERN_")}
    return {**kept, "PYTHONPATH": str(ROOT), "POSTERN_DATA_DIR": str(folder), **more}


def run(folder: Path, *arguments: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env=environment(folder, **more),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_help_comes_without_loading_numerics(tmp_path: Path):
    probe = "import sys; from app.cli.main import app; print([m for m in ('numpy', 'fastapi', 'sqlalchemy', 'duckdb')"
    script = f"{probe} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
    helped = run(tmp_path, "--help")
    assert helped.returncode == 0
    for name in ("serve", "worker", "migrate", "keys", "plan", "release", "query", "ledger", "doctor", "openapi"):
        assert name in helped.stdout


def test_a_key_is_printed_alone_and_can_be_revoked(tmp_path: Path):
    made = run(tmp_path, "keys", "create", "--role", "steward", "--name", "Florence", "--expires-days", "30")
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    assert TOKEN.fullmatch(token)
    revoked = run(tmp_path, "keys", "revoke", token)
    assert revoked.returncode == 0, revoked.stderr
    assert token.split("_")[1] in revoked.stdout
    assert token not in revoked.stdout
    unknown = run(tmp_path, "keys", "revoke", "a" * 16)
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("postern: no key")


@pytest.mark.parametrize(
    ("arguments", "variables", "expected", "code"),
    [
        (["keys", "create", "--role", "king", "--name", "x"], {}, "king", 2),
        (["keys", "create", "--role", "steward"], {}, "--name", 2),
        (["plan", "missing.json"], {}, "missing.json", 1),
        (["plan", "-"], {}, "JSON", 1),
        (["migrate"], {"POSTERN_DATABASE_URL": "mysql://x"}, "POSTERN_DATABASE_URL", 1),
        (["serve"], {"POSTERN_PORT": "many"}, "POSTERN_PORT", 1),
        (["query", "rel_x"], {}, "POSTERN_KEY", 1),
        (["nonsense"], {}, "nonsense", 2),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], expected: str, code: int
):
    ran = run(tmp_path, *arguments, stdin="not json" if arguments[0] == "plan" else "{}", **variables)
    assert ran.returncode == code, ran.stderr
    assert expected in ran.stderr
    assert "Traceback" not in ran.stderr + ran.stdout
    if code == 1:
        assert len(ran.stderr.strip().splitlines()) == 1


def test_an_unreachable_postgresql_is_one_sentence_without_its_password(tmp_path: Path):
    url = "postgresql://me:canary-secret@127.0.0.1:1/none"
    for arguments in (["migrate"], ["serve"], ["ledger", "head"]):
        ran = run(tmp_path, *arguments, POSTERN_DATABASE_URL=url)
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr
        assert "canary-secret" not in ran.stderr + ran.stdout


def test_migrating_twice_says_the_same(tmp_path: Path):
    first, second = run(tmp_path, "migrate"), run(tmp_path, "migrate")
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "revision" in first.stdout


def test_a_plan_needs_no_server(tmp_path: Path):
    ran = run(tmp_path, "plan", "-", stdin=json.dumps(PLAN))
    assert ran.returncode == 0, ran.stderr
    assert 6.5 < json.loads(ran.stdout)["cost"]["epsilon"] < 6.7
    bad = run(tmp_path, "plan", "-", stdin=json.dumps({**PLAN, "model": {**MODEL, "trim": 7}}))
    assert bad.returncode == 1
    assert "model.trim" in bad.stderr


def test_a_new_ledger_verifies_and_has_a_head(tmp_path: Path):
    verified = run(tmp_path, "ledger", "verify")
    assert verified.returncode == 0, verified.stderr
    head = json.loads(run(tmp_path, "ledger", "head").stdout)
    assert json.loads(verified.stdout)["head"] == head["digest"]


def test_the_doctor_finds_a_new_installation_healthy_and_a_broken_one_not(tmp_path: Path):
    run(tmp_path, "migrate")
    healthy = run(tmp_path, "doctor")
    assert healthy.returncode == 0, healthy.stdout + healthy.stderr
    for what in ("clock", "entropy", "database", "migrations", "redis", "POSTERN_DATABASE_URL"):
        assert what in healthy.stdout
    misspelt = run(tmp_path, "doctor", POSTERN_DATABSE_URL="postgresql://x")
    assert misspelt.returncode == 1
    assert "POSTERN_DATABASE_URL?" in misspelt.stdout
    wrong = run(tmp_path, "doctor", POSTERN_PORT="-1")
    assert wrong.returncode == 1
    assert "FAIL settings" in wrong.stdout


def test_a_database_behind_its_migrations_fails_the_doctor(tmp_path: Path):
    ran = run(tmp_path, "doctor")
    assert ran.returncode == 1
    assert "postern migrate" in ran.stdout


def test_the_description_is_written_byte_for_byte(tmp_path: Path):
    target = tmp_path / "openapi.json"
    ran = run(tmp_path, "openapi", "--output", str(target))
    assert ran.returncode == 0, ran.stderr
    assert target.read_bytes() == (ROOT / "openapi" / "openapi.json").read_bytes()
    assert run(tmp_path, "openapi").stdout == target.read_text()


def test_addresses_to_paste_can_be_reached():
    assert base_url("0.0.0.0", 80) == "http://127.0.0.1:80"  # noqa: S104
    assert base_url("::", 80) == "http://[::1]:80"
    assert base_url("127.0.0.1", 8000) == "http://127.0.0.1:8000"


def test_three_commands_carry_the_real_address_and_key():
    found = paste_commands("http://h:1", token="pstn_t", release_id="rel_r")
    assert len(found) == 3
    assert all("http://h:1/v1/" in line and "Bearer pstn_t" in line for line in found)


class Served:
    """`postern serve` in a process of its own, on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.log = (folder / "serve.err").open("w+")
        self.process = subprocess.Popen(
            command("serve", "--port", "0", *arguments),
            env=environment(folder),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def pasted(self) -> list[str]:
        """The commands it prints once it is ready."""
        lines: list[str] = []
        deadline = time.monotonic() + 120
        assert self.process.stdout is not None
        while time.monotonic() < deadline and not any(line.startswith("The steward") for line in lines):
            line = self.process.stdout.readline()
            assert line, (Path(self.log.name)).read_text()
            lines.append(line.strip())
        return [line for line in lines if line.startswith("curl")]

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()
        return code


def ask(line: str) -> Any:
    """What curl would do with the line, without needing curl."""
    url = re.search(r"http://\S+", line)
    headers = dict(item.split(": ", 1) for item in re.findall(r"-H '([^']*)'", line))
    body = re.search(r"-d '([^']*)'", line)
    assert url is not None
    request = urllib.request.Request(url[0], headers=headers, data=body[1].encode() if body else None)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_demo_prints_commands_that_work_and_starting_again_changes_nothing(tmp_path: Path, workers: str):
    answers = []
    for _ in range(2):
        served = Served(tmp_path, "--demo", "--workers", workers)
        try:
            me, query, card = [ask(line) for line in served.pasted()]
        finally:
            code = served.stop()
        assert code in (0, -15)
        assert me["role"] == "analyst"
        assert "cost" not in me or me["caps"]
        assert card["release"] == query["release"]
        answers.append((query, card))
    assert answers[0] == answers[1]
