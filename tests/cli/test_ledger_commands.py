"""`postern ledger` from the outside: export here, verify there, decide, rotate."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.services.ledger.watch_ledger import check_ledger_on_start, remember_head
from app.services.runtime.runtime import Runtime
from app.services.seed_demo import seed_demo
from app.settings import Settings
from app.storage.migrate import upgrade
from app.storage.signing_keys import KEY_FILE
from tests.attacks import tampering
from tests.services.world import new_world, services

ROOT = Path(__file__).parents[2]
Postern = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def postern(tmp_path: Path) -> Postern:
    """A process of its own with the installation's data directory, or without anything."""

    def run(*arguments: str, stdin: str = "", data: Path | None = tmp_path / "data") -> Any:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTERN_")}
        variables = kept | {"PYTHONPATH": str(ROOT)} | ({} if data is None else {"POSTERN_DATA_DIR": str(data)})
        command = [sys.executable, "-c", "from app.main import cli; cli()", "ledger", *arguments]
        where = tmp_path / "elsewhere"
        where.mkdir(exist_ok=True)
        return subprocess.run(
            command, input=stdin, env=variables, cwd=where, capture_output=True, text=True, check=False, timeout=120
        )

    return run


@pytest.fixture
async def installation(tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "data", embedded_worker=False)
    settings.data_dir.mkdir()
    upgrade(settings.database_url)
    async with services(settings) as runtime:
        await check_ledger_on_start(runtime)
        await seed_demo(runtime)
        await remember_head(runtime)
    return settings


def answer(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_export_verifies_on_a_machine_that_has_nothing_else(installation: Settings, postern: Postern) -> None:
    head = answer(postern("head"))
    exported = postern("export")
    assert exported.returncode == 0, exported.stderr
    key = head["public_key"]
    verdict = answer(postern("verify", "--offline", "--public-key", key, stdin=exported.stdout, data=None))
    assert (verdict["ok"], verdict["head"], verdict["ledger"]) == (True, head["digest"], head["ledger"])
    assert not (installation.data_dir.parent / "elsewhere" / ".postern").exists()
    forged = exported.stdout.replace('"actor":"an_', '"actor":"am_', 1)
    assert answer(postern("verify", "--offline", "-", stdin=forged, data=None), 1)["reason"] == "edited"
    stranger = postern("verify", "--offline", "--public-key", "0" * 64, stdin=exported.stdout, data=None)
    assert answer(stranger, 1)["reason"] == "unknown_key"


def test_charges_are_computed_again_from_an_export(installation: Settings, postern: Postern, tmp_path: Path) -> None:
    path = tmp_path / "ledger.ndjson"
    assert postern("export", "--output", str(path)).returncode == 0
    counts = answer(postern("recost", "--offline", str(path), data=None))["counts"]
    assert counts == answer(postern("recost"))["counts"]
    assert (counts["exact"], counts["under_charged"], counts["not_recomputable"]) == (2, 0, 0)


async def test_a_rollback_is_explained_accepted_and_recorded(installation: Settings, postern: Postern) -> None:
    async with services(installation) as runtime:
        before = await tampering.backup(runtime.database)
        await _another_release(runtime)
        await remember_head(runtime)
        await tampering.restore(runtime.database, before)
    found = answer(postern("verify"), 1)
    assert (found["reason"], found["signature"]) == ("rolled_back", "valid")
    head = answer(postern("head"))
    reason = "restored after a failed disk; budgets were lowered by hand"
    named = f"{head['sequence']}:{head['digest']}"
    refused = postern("accept", "--head", named, "--reason", "ok")
    assert (refused.returncode, "reason" in refused.stderr) == (1, True)
    act = answer(postern("accept", "--head", named, "--reason", reason, "--by", "ada"))
    assert (act["kind"], act["actor"], act["reason"]) == ("accepted", "ada", reason)
    assert answer(postern("verify"))["ok"]
    exported = postern("export").stdout
    acts = answer(postern("verify", "--offline", stdin=exported, data=None))["acts"]
    assert [each["reason"] for each in acts] == [reason]


async def _another_release(runtime: Runtime) -> None:
    world = await new_world(runtime)
    await world.published(await world.dataset("second"), samples=2)


def test_a_rotated_key_signs_from_then_on_and_the_old_one_is_believed(installation: Settings, postern: Postern) -> None:
    before = answer(postern("head"))
    old_secret = (installation.data_dir / KEY_FILE).read_text()
    new = answer(postern("rotate", "--reason", "yearly"))["key_id"]
    after = answer(postern("head"))
    assert (installation.data_dir / KEY_FILE).read_text() != old_secret
    assert (after["digest"], after["ledger"]) == (before["digest"], before["ledger"])
    assert after["key_id"] == new != before["key_id"]
    assert answer(postern("verify"))["ok"]
    exported = postern("export").stdout
    assert answer(postern("verify", "--offline", "--public-key", after["public_key"], stdin=exported, data=None))["ok"]
    header = json.loads(exported.splitlines()[0])
    assert set(header["keys"]) == {before["key_id"], after["key_id"]}


def test_a_file_without_offline_is_a_mistake_that_is_said(postern: Postern) -> None:
    done = postern("verify", "ledger.ndjson")
    assert done.returncode == 2
    assert "--offline" in done.stderr
