"""`postern ledger` from the outside: export here, verify there, decide, rotate."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli.recost_table import recost_table
from app.ledger.recost import Recost
from app.ledger.signed_head import SigningKey
from app.services.ledger.watch_ledger import check_ledger_on_start, remember_head
from app.services.runtime.runtime import Runtime
from app.services.seed_demo import seed_demo
from app.settings import Settings
from app.storage.signing_keys import KEY_FILE
from tests.attacks import tampering
from tests.cli.console import Postern, Ran, environment
from tests.services.world import new_world, services


def settings_in(folder: Path) -> Settings:
    return Settings(data_dir=folder, embedded_worker=False)


@pytest.fixture(scope="session")
def demo_installation(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    """A data folder with the demo in it, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("demo") / "data"
    folder.mkdir()
    shutil.copyfile(migrated_file, folder / "postern.db")

    async def seed() -> None:
        async with services(settings_in(folder)) as runtime:
            await check_ledger_on_start(runtime)
            await seed_demo(runtime)
            await remember_head(runtime)

    asyncio.run(seed())
    return folder


@pytest.fixture
def installation(demo_installation: Path, tmp_path: Path) -> Settings:
    shutil.copytree(demo_installation, tmp_path / "data")
    return settings_in(tmp_path / "data")


def answer(done: Ran, code: int = 0) -> dict[str, Any]:
    assert done.code == code, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def bare(folder: Path, bytecode: Path | None, *arguments: str, stdin: str) -> Ran:
    """A process of its own in an empty folder, with no setting at all."""
    variables = environment(folder, bytecode)
    del variables["POSTERN_DATA_DIR"]
    folder.mkdir()
    command = [sys.executable, "-c", "from app.main import cli; cli()", "ledger", *arguments]
    done = subprocess.run(
        command, input=stdin, env=variables, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert list(folder.iterdir()) == []
    return Ran(done.returncode, done.stdout, done.stderr)


def test_an_export_verifies_on_a_machine_that_has_nothing_else(
    installation: Settings, postern: Postern, tmp_path: Path, bytecode: Path | None
) -> None:
    head = answer(postern("ledger", "head"))
    exported = postern("ledger", "export")
    assert exported.code == 0, exported.err
    offline, key = ("verify", "--offline"), head["public_key"]
    verdict = answer(bare(tmp_path / "bare", bytecode, *offline, "--public-key", key, stdin=exported.out))
    assert (verdict["ok"], verdict["head"], verdict["ledger"]) == (True, head["digest"], head["ledger"])
    forged = exported.out.replace('"actor":"an_', '"actor":"am_', 1)
    found = postern("ledger", *offline, "-", stdin=forged, POSTERN_DATA_DIR=None)
    assert answer(found, 1)["reason"] == "edited"
    stranger = postern("ledger", *offline, "--public-key", "0" * 64, stdin=exported.out, POSTERN_DATA_DIR=None)
    assert answer(stranger, 1)["reason"] == "unknown_key"


def test_charges_are_computed_again_from_an_export(installation: Settings, postern: Postern, tmp_path: Path) -> None:
    path = tmp_path / "ledger.ndjson"
    assert postern("ledger", "export", "--output", str(path)).code == 0
    counts = answer(postern("ledger", "recost", "--offline", str(path), POSTERN_DATA_DIR=None))["counts"]
    assert counts == answer(postern("ledger", "recost"))["counts"]
    assert (counts["exact"], counts["under_charged"], counts["not_recomputable"]) == (2, 0, 0)


def test_charges_are_shown_as_a_table_and_lowering_nothing_writes_nothing(
    installation: Settings, postern: Postern
) -> None:
    lines = answer(postern("ledger", "recost", "--json"))["lines"]
    assert {line["law"] for line in lines} == {2}
    table = postern("ledger", "recost", "--table")
    assert table.code == 0
    assert "charged ε" in table.out.splitlines()[0]
    assert table.out.rstrip().endswith("2 as charged.")
    account, head = lines[0]["account"], answer(postern("ledger", "head"))
    refused = postern("ledger", "recost", "--apply", account, "--reason", "no")
    assert (refused.code, "reason" in refused.err) == (1, True)
    applied = answer(postern("ledger", "recost", "--apply", account, "--reason", "nothing to gain, as it turns out"))
    assert applied == {"account": account, "lowered": [], "act": None}
    assert answer(postern("ledger", "head")) == head
    assert postern("ledger", "recost", "--offline", "-", "--apply", account).code == 2


def test_a_table_says_in_words_what_is_cheaper_and_what_is_wrong() -> None:
    facts: dict[str, Any] = {"sequence": 3, "account": "ds_a", "kind": "reserve", "release": "rel_1", "law": 1}
    facts |= {"delta": 1e-6, "charged_pure_nano": 5 * 10**9, "computed_pure_nano": None}
    cheaper = Recost(**facts, outcome="over_charged", charged_epsilon=6.5, computed_epsilon=5.25)
    wrong = Recost(**facts, outcome="under_charged", charged_epsilon=1.0, computed_epsilon=None)
    told = recost_table({"over_charged": 1, "under_charged": 1}, [cheaper, wrong])
    assert "6.5000     5.2500  1.2500  1e-06  5.0000     none      cheaper now" in told
    assert "TOO LITTLE WAS CHARGED" in told
    assert "Nothing was refunded." in told


def test_a_rollback_is_explained_accepted_and_recorded(installation: Settings, postern: Postern) -> None:
    asyncio.run(_roll_back(installation))
    found = answer(postern("ledger", "verify"), 1)
    assert (found["reason"], found["signature"]) == ("rolled_back", "valid")
    head = answer(postern("ledger", "head"))
    reason = "restored after a failed disk; budgets were lowered by hand"
    accept = ("ledger", "accept", "--head", f"{head['sequence']}:{head['digest']}", "--reason")
    refused = postern(*accept, "ok")
    assert (refused.code, "reason" in refused.err) == (1, True)
    act = answer(postern(*accept, reason, "--by", "ada"))
    assert (act["kind"], act["actor"], act["reason"]) == ("accepted", "ada", reason)
    assert answer(postern("ledger", "verify"))["ok"]
    exported = postern("ledger", "export").out
    acts = answer(postern("ledger", "verify", "--offline", stdin=exported, POSTERN_DATA_DIR=None))["acts"]
    assert [each["reason"] for each in acts] == [reason]


async def _roll_back(installation: Settings) -> None:
    async with services(installation) as runtime:
        before = await tampering.backup(runtime.database)
        await _another_release(runtime)
        await remember_head(runtime)
        await tampering.restore(runtime.database, before)


async def _another_release(runtime: Runtime) -> None:
    world = await new_world(runtime)
    await world.published(await world.dataset("second"), samples=2)


def test_a_rotated_key_signs_from_then_on_and_the_old_one_is_believed(installation: Settings, postern: Postern) -> None:
    before = answer(postern("ledger", "head"))
    old_secret = (installation.data_dir / KEY_FILE).read_text()
    new = answer(postern("ledger", "rotate", "--reason", "yearly"))["key_id"]
    after = answer(postern("ledger", "head"))
    assert (installation.data_dir / KEY_FILE).read_text() != old_secret
    assert (after["digest"], after["ledger"]) == (before["digest"], before["ledger"])
    assert after["key_id"] == new != before["key_id"]
    assert answer(postern("ledger", "verify"))["ok"]
    exported = postern("ledger", "export").out
    believed = ("verify", "--offline", "--public-key", after["public_key"])
    assert answer(postern("ledger", *believed, stdin=exported, POSTERN_DATA_DIR=None))["ok"]
    header = json.loads(exported.splitlines()[0])
    assert set(header["keys"]) == {before["key_id"], after["key_id"]}


def test_a_file_without_offline_is_a_mistake_that_is_said(postern: Postern) -> None:
    done = postern("ledger", "verify", "ledger.ndjson")
    assert done.code == 2
    assert "--offline" in done.err


def test_the_public_key_is_told_before_anything_was_signed(postern: Postern, tmp_path: Path) -> None:
    """Whoever rotates a secret has to list its public key everywhere first, and asks with nothing but the secret."""
    secret = "s" * 40
    told = postern("ledger", "public-key", POSTERN_SIGNING_KEY=secret)
    assert told.out == f"{SigningKey(secret).public.hex()}\n"
    assert not (tmp_path / "data" / "postern.db").exists()
    made = postern("ledger", "public-key").out
    assert made == postern("ledger", "public-key").out != told.out
