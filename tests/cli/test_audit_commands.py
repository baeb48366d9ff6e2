"""`postern audit`: our own mechanisms, samples and commands; reports that are checked without a database."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.console import ROOT, Postern

OWN = {
    "columns": {"cured": {"type": "binary"}},
    "model": {"family": "bernoulli", "column": "cured"},
    "mechanism": {"kind": "baps", "samples": 5},
    "n": 8,
    "runs": 500,
}
GALLERY = ROOT / "examples" / "broken_mechanisms" / "gallery.py"


def written(folder: Path, name: str, value: object) -> str:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_a_report_is_checked_without_a_database_and_one_changed_byte_is_refused(
    postern: Postern, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    asked = postern("audit", "--own", written(tmp_path, "own.json", OWN), "--output", str(report))
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)["verdict"] == "certified"
    signed = json.loads(report.read_text())
    (key,) = signed["keys"].values()
    elsewhere = {"POSTERN_DATA_DIR": str(tmp_path / "nowhere")}
    checked = postern("audit", "verify", str(report), "--public-key", key, **elsewhere)
    assert checked.code == 0, checked.err
    assert json.loads(checked.out)["replayed"] is True
    assert not (tmp_path / "nowhere").exists()
    report.write_text(report.read_text().replace('"certified"', '"refuted"', 1))
    changed = postern("audit", "verify", str(report), "--public-key", key)
    assert changed.code == 1
    assert json.loads(changed.out)["fault"] == "report_changed"


@pytest.mark.slow
def test_a_broken_command_is_refuted_with_exit_code_one(postern: Postern, tmp_path: Path) -> None:
    x, y = written(tmp_path, "x.json", [0, 0]), written(tmp_path, "y.json", [5, 0])
    command = f"{sys.executable} {GALLERY} unclipped"
    found = postern("audit", "--command", command, "--x", x, "--y", y, "--epsilon", "1", "--runs", "600")
    assert found.code == 1, found.err
    body = json.loads(found.out)
    assert body["verdict"] == "refuted"
    assert body["subject"]["kind"] == "command"
    assert not any(test["replayable"] for test in body["tests"])


def test_an_audit_of_nothing_says_what_it_wants(postern: Postern) -> None:
    found = postern("audit")
    assert found.code == 1
    assert "--epsilon" in found.err
