"""Which view of a release the client and the command line ask: calibrated where there is one, unless told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from postern.client import Question, load_samples, parameter, squared
from postern.client.asking import AskedRelease
from postern.client.calls import readers
from tests.client.served_place import Trial
from tests.client.test_query_command import THETA, Postern, postern

__all__ = ["postern"]

MEAN = Question(squared(), parameter("theta"))


def test_a_release_is_asked_in_its_calibrated_view_unless_told(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    drawn = release.in_view("samples")
    assert (release.view, drawn.view, release.facts.views) == ("calibrated", "samples", ("samples", "calibrated"))
    assert (release.refresh().view, drawn.refresh().view) == ("calibrated", "samples")
    for asked, view, points in ((release, "calibrated", 2048), (drawn, "samples", None)):
        answers = [asked.mean("theta"), asked.ask(MEAN), *asked.ask_many([MEAN, THETA]), *asked.stream([MEAN])]
        checks = [asked.check(MEAN), *asked.check_many([MEAN])]
        tables = [asked.summary(), asked.density("theta"), asked.density("theta", kind="density")]
        for found in (*answers, *checks, *tables):
            assert (found.view, found.points, found.samples) == (view, points, 8)
        assert asked.samples().receipt.view == asked.summary().receipts[0].view == view
    one = drawn.interval("theta")
    assert one.coverage is None
    assert {warning.code for warning in one.warnings} == {"too_few_samples", "temperature"}
    assert release.interval("theta").warnings == ()
    assert "too_few_samples" in repr(one)
    assert {warning.code for warning in drawn.summary().warnings} == {"too_few_samples", "temperature"}


def test_a_question_that_names_its_view_is_asked_in_that(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    told = release.ask_many([replace(MEAN, view="samples"), {**THETA, "view": "samples"}, MEAN])
    assert [answer.view for answer in told] == ["samples", "samples", "calibrated"]
    assert release.in_view("samples").ask({**THETA, "view": "calibrated"}).view == "calibrated"


def test_a_calibrated_file_read_back_verifies(analyst: Any, trial: Trial, tmp_path: Path) -> None:
    release = analyst.release(trial.release)
    loaded = load_samples(release.export(tmp_path / "points.csv"))
    assert (loaded.view, len(loaded), loaded.receipt.samples) == ("calibrated", 2048, 8)
    assert loaded == release.samples()
    assert release.verify_receipt(loaded)


def test_a_service_that_knows_no_views_is_sent_no_word_of_them(trial: Trial) -> None:
    with trial.place.steward() as steward:
        facts = steward.release(trial.release).facts
    old: AskedRelease[Any] = AskedRelease(replace(facts, views=("samples",)))
    assert (old.view, old._view) == ("samples", None)
    assert "view" not in json.loads(readers.ask("rel_x", MEAN, old._view).body or b"{}")
    assert "view" not in readers.summary_page("rel_x", 0.9, None, None, old._view).target


def test_the_command_line_takes_the_calibrated_view_unless_told(postern: Postern, trial: Trial) -> None:
    told = {}
    for options in ((), ("--view", "samples"), ("--view", "calibrated")):
        answer = json.loads(postern("query", trial.release, "-", *options, stdin=json.dumps(THETA))[1])
        short = json.loads(postern("query", trial.release, "--mean", "theta", *options)[1])["answers"][0]
        summary = json.loads(postern("query", trial.release, "--summary", *options)[1])
        file = postern("samples", trial.release, *options)[1].splitlines()
        receipt = json.loads(file[0].removeprefix("# postern-receipt: "))
        told[options[1:]] = {found["view"] for found in (answer, short, summary, receipt)}
        assert len(file) - 2 == (receipt["points"] or receipt["samples"])
    assert told == {(): {"calibrated"}, ("samples",): {"samples"}, ("calibrated",): {"calibrated"}}
    named = json.dumps(THETA | {"view": "samples"})
    assert json.loads(postern("query", trial.release, "-", stdin=named)[1])["view"] == "samples"
