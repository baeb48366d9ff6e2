"""Questions through the client, against a real service: what is sent is what docs/queries.md says, what comes back is typed."""

import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from postern.client import (
    AccessRequired,
    Answer,
    Client,
    InvalidInput,
    NotFound,
    Question,
    Refused,
    absolute,
    classification,
    comparison,
    expectation,
    expression,
    grid,
    interval,
    parameter,
    pinball,
    predictive,
    probability,
    squared,
    utility,
    zero_one,
)
from tests.client.conftest import Opener
from tests.client.served_place import Trial

GAIN = "100 * theta - 20"


def test_short_methods_ask_what_the_long_form_asks(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    theta = {"kind": "parameter", "name": "theta"}
    asked: list[tuple[Answer, dict[str, Any]]] = [
        (release.mean("theta"), {"estimand": theta, "utility": {"kind": "squared"}}),
        (release.median("theta"), {"estimand": theta, "utility": {"kind": "absolute"}}),
        (release.quantile("theta", 0.9), {"estimand": theta, "utility": {"kind": "pinball", "tau": 0.9}}),
        (
            release.interval("theta", 0.8, confidence=0.9),
            {"estimand": theta, "utility": {"kind": "interval", "level": 0.8}, "confidence": 0.9},
        ),
        (
            release.mean("theta / (1 - theta)"),
            {
                "estimand": {"kind": "expression", "expression": "theta / (1 - theta)"},
                "utility": {"kind": "squared"},
            },
        ),
        (
            release.decide({"treat": GAIN, "wait": "0"}, (-20, 100)),
            {"utility": {"kind": "actions", "actions": {"treat": GAIN, "wait": "0"}, "range": [-20, 100]}},
        ),
    ]
    for answer, question in asked:
        assert answer == release.ask(question)
        assert answer.samples == 8


def test_answers_say_what_kind_of_response_they_hold(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    mean = release.mean("theta")
    assert 0.05 <= float(mean) <= 0.95
    low, high = release.interval("theta").interval
    assert low <= high
    decision = release.decide({"treat": GAIN, "wait": "0"}, (-20, 100))
    assert decision.choice == "treat"
    assert decision.why is not None
    assert "treat" in repr(decision)
    with pytest.raises(TypeError):
        float(decision)
    with pytest.raises(TypeError):
        _ = mean.interval
    with pytest.raises(TypeError):
        _ = mean.choice


def test_networks_answer_through_every_builder(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.network)
    chance = release.probability({"cured": True, "visits": [0, 1]}, given={"arm": "drug"})
    assert 0 <= float(chance) <= 1
    assert 0 <= float(release.expectation("visits", given={"cured": True})) <= 2
    assert release.classify({"cured": True}, "arm").choice in ("drug", "placebo")
    assert 0 <= float(release.predict({"arm": "drug"}, variable="cured")) <= 1
    left, right = (probability({"cured": True}, given={"arm": arm}) for arm in ("drug", "placebo"))
    assert 0 <= float(release.compare(left, right)) <= 1
    assert 0 <= float(release.mean("cured=true|arm=drug")) <= 1
    assert isinstance(release.ask(Question(zero_one(), classification("visits", {"arm": "drug"}))).response, str)
    scored = expectation("arm", scores={"drug": 120, "placebo": 15})
    assert 15 <= float(release.ask(Question(absolute(), scored))) <= 120
    named = expression("100 * gain", {"gain": left})
    assert 0 <= float(release.mean(named)) <= 100


def test_a_condition_as_text_is_a_probability(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    always, some = release.probability("theta > 0.1"), release.probability("theta > 0.55")
    assert 0 <= float(some) <= float(always) <= 1


def test_own_utilities_choose_from_a_list_or_a_grid(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    by = "-4 * max(g - r, 0) - max(r - g, 0)"
    listed = release.respond(by, [0.1, 0.5, 0.9], (-5, 0), about="theta")
    assert listed.response in (0.1, 0.5, 0.9)
    spaced = release.ask(Question(utility(by, responses=grid(0, 1, 101), range=(-5, 0)), parameter("theta")))
    assert 0 <= float(spaced) <= 1
    everywhere = utility("-(g - r) ** 2", responses=grid(0, 1), range=(-1, 0))
    assert float(release.ask(Question(everywhere, parameter("theta")))) == pytest.approx(
        float(release.mean("theta")), abs=1e-3
    )
    assert float(release.ask(Question(squared(), predictive("probability", at_most=0)))) < 1
    assert float(release.ask(Question(squared(), comparison(parameter("theta"), expression("0.1 * theta"))))) == 1


def test_a_bad_question_names_field_and_position(analyst: Any, trial: Trial) -> None:
    with pytest.raises(InvalidInput) as refused:
        analyst.release(trial.release).mean("theta +* 2")
    assert refused.value.code == "invalid_expression"
    assert refused.value.status == 422
    assert refused.value.facts["position"] == 7
    assert refused.value.errors[0].field.startswith("estimand")
    assert refused.value.request_id


def test_one_bad_question_of_many_spoils_no_other(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    asked = [
        Question(squared(), parameter("theta")),
        {"utility": {"kind": "nonsense"}},
        Question(pinball(0.5), parameter("theta")),
    ]
    found = release.ask_many(asked)
    assert found[0] == release.mean("theta")
    assert found[2] == release.quantile("theta", 0.5)
    (refused,) = found.refused
    assert refused is found[1]
    assert refused.problem.code == "invalid_query"
    with pytest.raises(InvalidInput):
        found.all()
    assert [isinstance(item, Refused) for item in found] == [False, True, False]
    assert "invalid_query" in str(found)


def test_what_one_may_not_see_is_refused_in_kind(opened: Opener, analyst: Any, trial: Trial) -> None:
    with pytest.raises(NotFound):
        analyst.release("rel_aaaaaaaaaaaaaaaa")
    with opened(trial.place.url, trial.place.steward_key) as steward:
        other = steward.create_analyst(f"Outsider {id(steward)}")
        steward.set_cap(trial.dataset, other, epsilon=1.0, delta=1e-6)
        key = steward.create_key(other, "k")
        with opened(trial.place.url, key.token) as outsider, pytest.raises(AccessRequired):
            outsider.release(trial.release).mean("theta")


def test_an_interval_by_builder_equals_the_interval_by_method(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    assert release.ask(Question(interval(0.5), parameter("theta"))) == release.interval("theta", 0.5)


def test_threads_share_a_client(trial: Trial) -> None:
    with Client(trial.place.url, trial.analyst_key) as client, ThreadPoolExecutor(8) as pool:
        release = client.release(trial.release)
        levels = [level / 10 for level in range(1, 10)] * 8
        found = list(pool.map(lambda tau: release.quantile("theta", tau), levels))
    assert found == found[:9] * 8


def test_the_example_prints_a_report(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTERN_URL", trial.place.url)
    monkeypatch.setenv("POSTERN_KEY", trial.analyst_key)
    monkeypatch.setattr(sys, "argv", ["report.py", trial.release])
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "client" / "report.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert f"# Release {trial.release}" in printed
    assert "P(theta > 0.5)" in printed
    assert "receipt: verified" in printed
