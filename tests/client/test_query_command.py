"""`postern query`, `samples`, `release`, `upload` and `schema draft` against a real service."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.main import cli
from postern.client import load_samples
from tests.client.served_place import BAPS, COLUMNS, MODEL, Trial, csv_bytes

THETA = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}
BAD = {"utility": {"kind": "nonsense"}}
Postern = Callable[..., tuple[int, str, str]]


@pytest.fixture
def postern(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Postern:
    """The console script in this process, as the analyst unless told otherwise."""
    monkeypatch.setenv("POSTERN_URL", trial.place.url)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: str = "", key: str = trial.analyst_key) -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            patched.setenv("POSTERN_KEY", key)
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patched.setattr(sys, "argv", ["postern", *arguments])
            with pytest.raises(SystemExit) as left:
                cli()
        out, err = capfd.readouterr()
        return int(left.value.code or 0), out, err

    return invoke


def test_a_question_from_a_file_or_standard_input_is_answered_in_the_services_own_json(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    (tmp_path / "q.json").write_text(json.dumps(THETA))
    code, out, _ = postern("query", trial.release, "q.json")
    answer = json.loads(out)
    assert code == 0
    assert answer["cost"] == {"epsilon": 0}
    assert postern("query", trial.release, "-", stdin=json.dumps(THETA)) == (0, out, "")
    assert postern("query", trial.release, stdin=json.dumps(THETA)) == (0, out, "")


def test_short_options_become_a_table_that_lines_up(postern: Postern, trial: Trial) -> None:
    options = ("--mean", "theta", "--mean", "theta / (1 - theta)", "--interval", "theta", "--level", "0.8")
    code, out, _ = postern(
        "query", trial.release, *options, "--probability", "theta > 0.5", "--view", "samples", "--table"
    )
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split()[:2] == ["question", "response"]
    assert [line.partition("  ")[0] for line in lines[2:6]] == [
        "mean of theta",
        "mean of theta / (1 - theta)",
        "80 % interval of theta",
        "mean of theta > 0.5",
    ]
    foot = next(place for place, line in enumerate(lines) if line.startswith("8 samples, view samples"))
    assert {line.partition(":")[0] for line in lines[foot + 1 :]} == {"temperature", "too_few_samples"}
    assert len({line.rfind("0.95") for line in lines[2:6]}) == 1


def test_networks_are_asked_alike(postern: Postern, trial: Trial) -> None:
    question = {
        "estimand": {"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "drug"}},
        "utility": {"kind": "squared"},
    }
    code, out, _ = postern("query", trial.network, "-", "--table", stdin=json.dumps([question, question]))
    assert code == 0
    assert out.count("mean of P(cured=true | arm=drug)") == 2
    assert postern("query", trial.network, "--mean", "cured=true|arm=drug", "--json")[0] == 0


def test_a_refused_question_among_others_is_shown_and_ends_with_code_1(postern: Postern, trial: Trial) -> None:
    both = json.dumps({"queries": [THETA, BAD]})
    code, out, err = postern("query", trial.release, "-", "--table", stdin=both)
    assert (code, err) == (1, "")
    assert "mean of theta" in out
    assert "invalid_query" in out
    code, out, _ = postern("query", trial.release, "-", "--json", stdin=both)
    assert code == 1
    assert "problem" in json.loads(out)["answers"][1]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "said"),
    [
        (["-"], json.dumps(BAD), 1, "invalid_query"),
        (["-"], "[]", 1, "a list of questions"),
        (["-"], "nothing", 1, "JSON"),
        (["missing.json"], "", 1, "missing.json"),
        (["-", "--summary"], "{}", 2, "--summary"),
        (["--mean", "theta", "--summary"], "", 2, "--summary"),
        (["--mean", "theta +"], "", 1, "invalid_expression"),
    ],
)
def test_mistakes_are_one_sentence(
    postern: Postern, trial: Trial, arguments: list[str], stdin: str, code: int, said: str
) -> None:
    found, out, err = postern("query", trial.release, *arguments, stdin=stdin)
    assert (found, "Traceback" in err) == (code, False)
    assert said in err + out


def test_a_dry_run_answers_nothing_and_says_what_would_be_carried(postern: Postern, trial: Trial) -> None:
    code, out, _ = postern("query", trial.release, "--mean", "theta", "--dry-run", "--table")
    assert code == 0
    assert out.splitlines()[2].split()[:5] == ["mean", "of", "theta", "–", "–"]
    alone = json.loads(postern("query", trial.release, "-", "--dry-run", stdin=json.dumps(THETA))[1])
    assert alone["valid"] is True
    assert "response" not in alone
    code, _, err = postern("query", trial.release, "-", "--dry-run", stdin=json.dumps(BAD))
    assert code == 1
    assert "invalid_query" in err


def test_questions_asked_together_say_how_sure_all_are(postern: Postern, trial: Trial) -> None:
    both = json.dumps([THETA, THETA])
    code, out, _ = postern("query", trial.release, "-", "--together", "--table", stdin=both)
    assert code == 0
    assert out.splitlines()[-1] == "8 samples, view calibrated; all bounds hold at once with probability 0.95"


def test_the_summary_is_a_table_or_json(postern: Postern, trial: Trial) -> None:
    code, out, _ = postern("query", trial.network, "--summary", "--table")
    assert code == 0
    assert "HDI 90 % from" in out.splitlines()[0]
    shown: dict[str, Any] = json.loads(postern("query", trial.network, "--summary", "--level", "0.5")[1])
    assert shown["level"] == 0.5
    assert shown["receipts"][0]["release"] == trial.network


def test_samples_go_to_a_file_of_the_named_kind_or_to_the_terminal(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    code, out, err = postern("samples", trial.network, "--output", "draws.parquet")
    assert (code, out) == (0, "")
    assert "draws.parquet" in err
    whole = load_samples(tmp_path / "draws.parquet")
    code, out, _ = postern("samples", trial.network, "--parameter", "arm=drug")
    assert out.startswith("# postern-receipt: ")
    assert [float(line) for line in out.splitlines()[2:]] == list(whole["arm=drug"])
    code, _, err = postern("samples", trial.network, "-o", "draws.xlsx")
    assert code == 1
    assert ".parquet" in err


def test_long_tables_are_printed_or_written_by_layout(postern: Postern, trial: Trial, tmp_path: Path) -> None:
    assert postern("samples", trial.network, "--layout", "long", "-o", "long.csv")[0] == 0
    code, out, _ = postern("samples", trial.network, "--layout", "long")
    assert (code, (tmp_path / "long.csv").read_text()) == (0, out)
    assert out.splitlines()[1].split(",")[:2] == ['"parameter"', '"draw"']
    code, out, _ = postern("query", trial.network, "--summary", "--layout", "long")
    assert (code, out.splitlines()[1].split(",")[:2]) == (0, ['"parameter"', '"lower"'])
    assert postern("query", trial.network, "--mean", "x", "--layout", "long")[0] == 2
    code, _, err = postern("samples", trial.network, "--layout", "long", "-o", "long.nc")
    assert (code, "format" in err) == (1, True)


def test_several_files_are_one_release_and_a_part_is_paid_for_by_itself(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    key = trial.place.steward_key
    one = {"model": MODEL, "mechanism": BAPS | {"samples": 3, "temperature": 0.01}}
    (tmp_path / "cured.json").write_text(json.dumps(one))
    (tmp_path / "again.json").write_text(json.dumps(one | {"name": "again", "title": "overridden"}))
    asked = ("release", trial.dataset, "cured.json", "again.json", "--title", "Both", "--wait-s", "60")
    made = json.loads(postern(*asked, "--description", "Twice the same.", key=key)[1])
    assert (made["title"], made["description"]) == ("Both", "Twice the same.")
    assert [part["name"] for part in made["models"]] == ["cured", "again"]
    code, out, _ = postern("access", made["id"], "2", "--part", "again")
    assert (code, json.loads(out)["parts"]) == (0, {"again": 2})
    assert postern("query", made["id"], "--mean", "theta", "--part", "again")[0] == 0
    assert postern("query", made["id"], "--mean", "theta", "--part", "cured")[0] == 1
    code, _, err = postern(*asked, "--check-epsilon", "0.1", key=key)
    assert (code, "beside the model" in err) == (1, True)


def test_synthetic_rows_are_printed_or_written_with_a_warning_beside_them(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    code, out, err = postern("synthetic", trial.release, "--rows", "20", "--seed", "3")
    assert (code, len(out.splitlines()), "no more accurate" in err) == (0, 21, True)
    assert postern("synthetic", trial.release, "--rows", "20", "--seed", "3", "-o", "rows.csv")[0] == 0
    assert (tmp_path / "rows.csv").read_text() == out
    assert postern("synthetic", trial.release, "--rows", "0")[0] == 2


def test_a_release_is_requested_waited_for_and_printed(postern: Postern, trial: Trial) -> None:
    body = json.dumps({"model": MODEL, "mechanism": BAPS | {"samples": 1}})
    key = trial.place.steward_key
    first = postern("release", trial.dataset, "-", "--wait-s", "60", "--idempotency-key", "cli-1", stdin=body, key=key)
    again = postern("release", trial.dataset, "-", "--wait-s", "60", "--idempotency-key", "cli-1", stdin=body, key=key)
    assert first == again
    assert json.loads(first[1])["status"] == "published"
    unknown = json.dumps({"model": MODEL, "mechanism": BAPS, "colour": "red"})
    code, _, err = postern("release", trial.dataset, "-", stdin=unknown, key=key)
    assert code == 1
    assert "colour" in err


def test_rows_are_checked_and_uploaded_and_what_does_not_fit_is_told_by_column(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    key = trial.place.steward_key
    with trial.place.steward() as steward:
        dataset = steward.create_dataset(f"shell {tmp_path.name}", COLUMNS, epsilon=1.0, delta=1e-6).id
    (tmp_path / "rows.csv").write_bytes(csv_bytes())
    (tmp_path / "bad.csv").write_bytes(csv_bytes() + b"maybe,drug,1\n")
    code, out, err = postern("upload", dataset, "bad.csv", "--check", key=key)
    assert (code, out) == (1, "")
    assert err.startswith("column `cured`: 1 cell is neither yes nor no, at line ")
    code, out, _ = postern("upload", dataset, "rows.csv", "--check", "--separator", "comma", key=key)
    assert (code, json.loads(out)["stored"]) == (0, False)
    code, out, _ = postern("upload", dataset, "rows.csv", key=key)
    assert (code, json.loads(out)["stored"]) == (0, True)
    piped = postern("upload", dataset, "-", stdin=csv_bytes().decode(), key=key)
    assert (piped[0], json.loads(piped[1])) == (0, json.loads(out))


def test_a_schema_is_drafted_on_this_machine_without_a_key(postern: Postern, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age;arm\n412;Kanarie\n")
    code, out, err = postern("schema", "draft", "rows.csv", key="")
    assert (code, json.loads(out)["columns"]) == (0, {"age": {"type": None}, "arm": {"type": None}})
    assert "never from its rows" in err
    assert not any(cell in out + err for cell in ("412", "Kanarie"))
    code, _, err = postern("schema", "draft", "nowhere.csv", key="")
    assert (code, "No such file" in err) == (1, True)


def test_a_population_is_declared_and_a_dataset_rehearsed_from_a_shell(
    postern: Postern, trial: Trial, tmp_path: Path
) -> None:
    key, name = trial.place.steward_key, f"people {tmp_path.name}"
    code, out, _ = postern("population", "create", name, "--epsilon", "2", "--delta", "1e-6", key=key)
    made = json.loads(out)
    assert (code, made["name"], made["datasets"]) == (0, name, [])
    assert json.loads(postern("population", "show", made["id"], key=key)[1]) == made
    assert made in json.loads(postern("population", "list", key=key)[1])["items"]
    assert postern("population", "delete", made["id"], key=key)[0] == 0
    code, out, _ = postern("rehearse", trial.dataset, "--name", name, "--n", "20", key=trial.analyst_key)
    assert (code, json.loads(out)["rehearsal"]) == (0, True)
