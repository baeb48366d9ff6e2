"""The command line: quick to start, plain in its errors, and enough to get going."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.serve import base_url, paste_commands
from tests.cli.console import ROOT, Postern, environment
from tests.servers.postgres import PostgresServer

TOKEN = re.compile(r"pstn_[a-z2-7]{16}_[A-Za-z0-9_-]{43}")
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
PLAN = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 100, "temperature": 1.0}, "n": 1000, "delta": 1e-6}


def test_help_comes_without_loading_numerics(tmp_path: Path, bytecode: Path | None):
    script = (
        "import sys; sys.argv = ['postern', '--help']; import atexit; from app.main import cli;"
        "atexit.register(lambda: print([m for m in ('numpy', 'fastapi', 'sqlalchemy', 'duckdb') if m in sys.modules]));"
        "cli()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path, bytecode), capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("[]\n")
    for name in ("serve", "worker", "migrate", "keys", "plan", "release", "query", "ledger", "doctor", "openapi"):
        assert name in ran.stdout


def test_a_key_is_printed_alone_and_can_be_revoked(postern: Postern):
    made = postern("keys", "create", "--role", "steward", "--name", "Florence", "--expires-days", "30")
    assert made.code == 0, made.err
    token = made.out.strip()
    assert TOKEN.fullmatch(token)
    revoked = postern("keys", "revoke", token)
    assert revoked.code == 0, revoked.err
    assert token.split("_")[1] in revoked.out
    assert token not in revoked.out
    unknown = postern("keys", "revoke", "a" * 16)
    assert unknown.code == 1
    assert unknown.err.startswith("postern: no key")


@pytest.mark.parametrize(
    ("arguments", "variables", "expected", "code"),
    [
        (["keys", "create", "--role", "king", "--name", "x"], {}, "king", 2),
        (["keys", "create", "--role", "steward"], {}, "--name", 2),
        (["plan", "missing.json"], {}, "missing.json", 1),
        (["plan", "-"], {}, "JSON", 1),
        (["migrate"], {"POSTERN_DATABASE_URL": "mysql://x"}, "POSTERN_DATABASE_URL", 1),
        (["serve"], {"POSTERN_PORT": "many"}, "POSTERN_PORT", 1),
        (["worker"], {"POSTERN_LEASE_S": "0"}, "POSTERN_LEASE_S", 1),
        (["query", "rel_x"], {}, "POSTERN_KEY", 1),
        (["query", "rel_x"], {"POSTERN_KEY": "k", "POSTERN_URL": "ftp://x"}, "POSTERN_URL", 1),
        (["query", "rel_x"], {"POSTERN_KEY": "k", "POSTERN_URL": "http://127.0.0.1:1"}, "nothing answers", 1),
        (["nonsense"], {}, "nonsense", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_and_no_traceback(
    postern: Postern, arguments: list[str], variables: dict[str, str], expected: str, code: int
):
    ran = postern(*arguments, stdin="not json" if arguments[0] == "plan" else "{}", **variables)
    assert ran.code == code, ran.err
    assert expected in ran.err
    assert "Traceback" not in ran.err + ran.out
    if code == 1:
        assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["migrate"], ["ledger", "head"], ["keys", "revoke", "x"]])
def test_an_unreachable_postgresql_is_one_sentence_without_its_password(postern: Postern, arguments: list[str]):
    url = "postgresql://me:canary-secret@127.0.0.1:1/none"
    ran = postern(*arguments, POSTERN_DATABASE_URL=url)
    assert ran.code == 1
    assert len(ran.err.strip().splitlines()) == 1
    assert "canary-secret" not in ran.err + ran.out


def test_a_postgresql_without_its_schema_is_not_served_or_migrated_silently(
    postern: Postern, postgres_server: PostgresServer
):
    name = postgres_server.create_database()
    url = postgres_server.url(name)
    refused = postern("ledger", "head", POSTERN_DATABASE_URL=url)
    assert refused.code == 1
    assert "postern migrate" in refused.err
    assert postern("migrate", POSTERN_DATABASE_URL=url).code == 0
    assert postern("ledger", "head", POSTERN_DATABASE_URL=url).code == 0
    postgres_server.drop_database(name)


def test_migrating_twice_says_the_same(postern: Postern):
    first, second = postern("migrate"), postern("migrate")
    assert first.code == second.code == 0, first.err
    assert first.out == second.out
    assert "revision" in first.out


def test_a_plan_needs_no_server(postern: Postern):
    ran = postern("plan", "-", "--json", stdin=json.dumps(PLAN))
    assert ran.code == 0, ran.err
    assert 6.15 < json.loads(ran.out)["cost"]["epsilon"] < 6.3
    bad = postern("plan", "-", stdin=json.dumps({**PLAN, "model": {**MODEL, "trim": 7}}))
    assert bad.code == 1
    assert "model.trim" in bad.err


def test_a_new_ledger_verifies_and_has_a_head(postern: Postern):
    verified = postern("ledger", "verify")
    assert verified.code == 0, verified.err
    head = json.loads(postern("ledger", "head").out)
    assert json.loads(verified.out)["head"] == head["digest"]


def test_the_doctor_finds_a_new_installation_healthy(postern: Postern):
    postern("migrate")
    healthy = postern("doctor")
    assert healthy.code == 0, healthy.out + healthy.err
    for what in (
        "clock",
        "entropy",
        "data directory",
        "data key",
        "sealing key",
        "database",
        "migrations",
        "redis",
        "POSTERN_DATABASE_URL",
    ):
        assert what in healthy.out


@pytest.mark.parametrize(
    ("variables", "advice"),
    [
        ({"POSTERN_DATABSE_URL": "postgresql://x"}, "did you mean POSTERN_DATABASE_URL?"),
        ({"POSTERN_PORT": "-1"}, "correct the variable"),
        ({"POSTERN_REDIS_URL": "redis://127.0.0.1:1"}, "POSTERN_REDIS_URL"),
        ({"POSTERN_DATABASE_URL": "postgresql://me:canary@127.0.0.1:1/x"}, "accepts connections"),
    ],
    ids=["misspelt", "wrong", "Redis away", "PostgreSQL away"],
)
def test_the_doctor_says_what_to_do_about_what_is_wrong(postern: Postern, variables: dict[str, str], advice: str):
    postern("migrate")
    ran = postern("doctor", **variables)
    assert ran.code == 1
    assert "FAIL" in ran.out
    assert advice in ran.out
    assert "canary" not in ran.out + ran.err


def test_a_database_behind_its_migrations_fails_the_doctor(postern: Postern):
    ran = postern("doctor")
    assert ran.code == 1
    assert "postern migrate" in ran.out


def test_the_description_is_written_byte_for_byte(postern: Postern, tmp_path: Path):
    target = tmp_path / "openapi.json"
    assert postern("openapi", "--output", str(target)).code == 0
    assert target.read_bytes() == (ROOT / "openapi" / "openapi.json").read_bytes()
    assert postern("openapi").out == target.read_text()


def test_addresses_to_paste_can_be_reached():
    assert base_url("0.0.0.0", 80) == "http://127.0.0.1:80"  # noqa: S104
    assert base_url("::", 80) == "http://[::1]:80"
    assert base_url("127.0.0.1", 8000) == "http://127.0.0.1:8000"


def test_three_commands_carry_the_real_address_and_key():
    found = paste_commands("http://h:1", token="pstn_t", release_id="rel_r")
    assert len(found) == 3
    assert all("http://h:1/v1/" in line and "Bearer pstn_t" in line for line in found)


BIF = """network rain { }
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 3 ] { dry, damp, soaked }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( wet | rain ) { (no) 0.9, 0.08, 0.02; (yes) 0.1, 0.3, 0.6; }
"""


def test_a_network_file_becomes_columns_and_a_model_that_can_be_planned(postern: Postern, tmp_path: Path):
    (tmp_path / "rain.bif").write_text(BIF)
    shown = json.loads(postern("network", "rain.bif", "--strength", "2").out)
    assert shown["columns"]["wet"] == {"type": "categorical", "levels": ["dry", "damp", "soaked"]}
    assert shown["model"]["nodes"]["wet"] == {"parents": ["rain"]}
    plan = shown | {"mechanism": {"kind": "laplace", "samples": 10, "epsilon": 1.0}, "n": 60}
    planned = postern("plan", "-", "--json", stdin=json.dumps(plan))
    assert json.loads(planned.out)["cost"]["epsilon"] <= 1.0
    assert json.loads(postern("network", "-", stdin=BIF).out)["model"]["prior"] == {"strength": 1.0}


def test_a_file_that_is_no_network_is_refused_with_its_line(postern: Postern, tmp_path: Path):
    (tmp_path / "bad.bif").write_text(BIF.replace("table 0.8, 0.2;", "table 0.8, 0.2"))
    refused = postern("network", "bad.bif")
    assert refused.code == 1
    assert "line 4" in refused.err
    (tmp_path / "odd.bif").write_text(BIF.replace("0.8, 0.2", "0.8, 0.3"))
    assert "file.rain" in postern("network", "odd.bif").err
    (tmp_path / "bad.json").write_text('{"nodes": 3}')
    assert postern("network", "bad.json").code == 1
