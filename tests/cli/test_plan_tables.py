"""`postern plan` for a person: a table, why, and what to send; `--json` for a program."""

import json
from pathlib import Path

from tests.cli.console import Postern

CURED = {"model": {"family": "bernoulli", "column": "cured"}, "n": 3000}
VISITS = {
    "model": {"family": "poisson", "column": "visits"},
    "columns": {"visits": {"type": "integer", "lower": 0, "upper": 20}},
    "n": 3000,
}


def test_a_plan_by_accuracy_is_a_table_that_ends_in_what_to_send(postern: Postern):
    asked = ("plan", "-", "--half-width", "0.02", "--level", "0.9")
    ran, machine = (postern(*asked, *more, stdin=json.dumps(CURED)) for more in ((), ("--json",)))
    assert ran.code == 0, ran.err
    found = json.loads(machine.out)
    head, _, titles, own, *rest = ran.out.splitlines()
    assert head.startswith("bernoulli cured, 3000 people: laplace reaches ± 0.02 (90 % intervals) for ε = 0.0")
    assert titles.split() == ["mechanism", "ε", "δ", "samples", "temperature", "±", "at", "90", "%", "sd", "coverage"]
    assert own.split()[:2] == ["→", "laplace"]
    assert "of 200 simulated" in own
    assert any(line.startswith("why") for line in rest)
    assert json.loads(rest[-1]) == found["release"]
    assert max(map(len, ran.out.splitlines()[:-1])) <= 130


def test_several_files_share_one_budget(postern: Postern, tmp_path: Path):
    for name, body in (("cured.json", CURED), ("visits.json", VISITS | {"target": {"sd": 0.05}})):
        (tmp_path / name).write_text(json.dumps(body))
    options = ("--half-width", "0.03", "--epsilon", "0.1", "--delta", "1e-7", "--n", "4000")
    ran = postern("plan", "cured.json", "visits.json", *options)
    assert ran.code == 0, ran.err
    head, _, _, first, second, *rest = ran.out.splitlines()
    assert head.startswith("2 models, 4000 people, ε = 0.1 at δ = 1e-07: answers")
    assert "± 0.03 at 90 %" in first
    assert "sd 0.05" in second
    sent = json.loads(rest[-1])["models"]
    assert [(part["name"], part["model"]["family"]) for part in sent] == [("cured", "bernoulli"), ("visits", "poisson")]


def test_options_that_contradict_each_other_are_refused_in_a_sentence(postern: Postern):
    for options, word in (
        (("--half-width", "0.1", "--sd", "0.1"), "--sd"),
        (("--sd", "0.1", "--epsilon", "1"), "--epsilon"),
        (("--sd", "-1"), "target.sd"),
    ):
        ran = postern("plan", "-", *options, stdin=json.dumps(CURED))
        assert ran.code == 1
        assert word in ran.err
    assert "n: expected" in postern("plan", "-", "--sd", "0.1", stdin=json.dumps({"model": CURED["model"]})).err


def test_a_check_of_fit_is_a_note_and_part_of_what_to_send(postern: Postern):
    body = VISITS | {"mechanism": {"kind": "laplace", "samples": 10, "epsilon": 0.5}}
    ran = postern("plan", "-", "--check-epsilon", "0.1", stdin=json.dumps(body))
    assert ran.code == 0, ran.err
    assert any(line.startswith("check") and "notices a variance 1." in line for line in ran.out.splitlines())
    assert json.loads(ran.out.splitlines()[-1])["check"] == {"epsilon": 0.1, "delta": None}
    assert postern("plan", "-", "--check-delta", "1e-6", stdin=json.dumps(body)).code == 1


ARM = {"type": "categorical", "levels": ["drug", "placebo"], "public": True}
LAPLACE = {"kind": "laplace", "samples": 10, "epsilon": 0.5}


def test_groups_of_a_declared_dataset_stand_in_the_headline_and_in_what_to_send(postern: Postern, tmp_path: Path):
    declared = {
        "name": "trial",
        "columns": {"cured": {"type": "binary"}, "arm": ARM},
        "privacy_unit": {"column": "id", "max_rows": 2},
    }
    (tmp_path / "trial.json").write_text(json.dumps(declared))
    asked = {"model": CURED["model"], "mechanism": LAPLACE}
    options = ("--declaration", "trial.json", "--n", "400", "--by", "arm", "--where", "arm == 'drug'")
    ran = postern("plan", "-", *options, stdin=json.dumps(asked))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("bernoulli cured by arm where arm == 'drug', 400 people: laplace costs")
    sent = json.loads(lines[-1])
    assert (sent["by"], sent["where"]) == (["arm"], "arm == 'drug'")
    machine = postern("plan", "-", *options, "--json", stdin=json.dumps(asked))
    assert json.loads(machine.out)["privacy_unit_rows"] == 2
