"""Estimands of networks against the joint law written out record by record, and refusals that name the field."""

import math

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.estimands.estimand import check_total_work
from app.core.decisions.sample_set import MARGINALS_MAX
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import compile_question
from app.core.kinds.networks.blocks.block_sampler import Settings, draw_network
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.structure import Node, build_network
from app.core.parameters import Parameter
from app.errors import InvalidQuery
from tests.core.decisions.clinic import ARMS, MODEL, RECORDS, VISITS, joint, network_samples

SAMPLES = network_samples(200)
SQUARED = {"kind": "squared"}


def ask(estimand, utility=SQUARED, samples=SAMPLES, **more):
    question = compile_question({"estimand": estimand, "utility": utility, **more}, MODEL.parameters, MODEL)
    return answer_question(question, samples)


def conditional(event, evidence=lambda *record: True, samples=SAMPLES):
    law = joint(samples)
    given = sum(law[record] for record in RECORDS if evidence(*record))
    return sum(law[record] for record in RECORDS if evidence(*record) and event(*record)) / given


def test_a_probability_is_the_mean_of_the_samples_conditional_probabilities():
    estimand = {
        "kind": "probability",
        "event": {"cured": True, "visits": [1, 2]},
        "evidence": {"arm": ["drug", "none"]},
    }
    expected = conditional(lambda a, c, v: c == "true" and v in "12", lambda a, c, v: a != "placebo")
    answer = ask(estimand)
    assert answer.response == pytest.approx(expected.mean(), abs=1e-12)
    assert answer.expected_utility == pytest.approx(1 - expected.var(), abs=1e-12)
    low, high = ask(estimand, {"kind": "interval", "level": 0.9}).response
    assert (low, high) == pytest.approx((np.sort(expected)[9], np.sort(expected)[189]), abs=1e-12)


def test_an_expectation_weighs_levels_by_their_scores():
    law = [conditional(lambda a, c, v, k=k: v == k, lambda a, c, v: a == "drug") for k in VISITS]
    expected = (law[1] + 2 * law[2]).mean()
    estimand = {"kind": "expectation", "variable": "visits", "evidence": {"arm": "drug"}}
    assert ask(estimand).response == pytest.approx(expected, abs=1e-12)
    scored = {**estimand, "scores": {"0": 10, "1": 0, "2": -10}}
    assert ask(scored).response == pytest.approx((10 * law[0] - 10 * law[2]).mean(), abs=1e-11)


def test_a_prediction_is_the_probability_of_a_level_given_features():
    expected = conditional(lambda a, c, v: c == "true", lambda a, c, v: a == "drug" and v == "0").mean()
    for level in ({}, {"level": True}, {"level": "true"}):
        estimand = {"kind": "prediction", "variable": "cured", "features": {"arm": "drug", "visits": 0}, **level}
        assert ask(estimand).response == pytest.approx(expected, abs=1e-12)
    assert ask({**estimand, "level": False}).response == pytest.approx(1 - expected, abs=1e-12)


def test_naive_bayes_predicts_its_class_unless_another_variable_is_named():
    naive = NetworkModel("naive_bayes", MODEL.network, MODEL.trim, target="cured")
    named = {"kind": "prediction", "variable": "cured", "features": {"visits": 2}}
    unnamed = {"kind": "prediction", "features": {"visits": 2}}
    first, second = (
        compile_question({"estimand": e, "utility": SQUARED}, naive.parameters, naive) for e in (named, unnamed)
    )
    assert answer_question(first, SAMPLES) == answer_question(second, SAMPLES)
    guess = {"estimand": {"kind": "classification", "features": {"visits": 2}}, "utility": {"kind": "zero_one"}}
    assert answer_question(compile_question(guess, naive.parameters, naive), SAMPLES).response in ("false", "true")


def test_a_class_is_the_level_with_the_highest_mean_probability():
    for cured in (True, False):
        means = {
            arm: conditional(lambda a, c, v, arm=arm: a == arm, lambda a, c, v, k=cured: c == str(k).lower()).mean()
            for arm in ARMS
        }
        first, second, _ = sorted(means, key=means.__getitem__, reverse=True)
        answer = ask({"kind": "classification", "variable": "arm", "features": {"cured": cured}}, {"kind": "zero_one"})
        assert (answer.response, answer.why["runner_up"]) == (first, second)
        assert answer.expected_utility == pytest.approx(means[first], abs=1e-12)
        assert answer.why["expected_utility"] == pytest.approx(means[second], abs=1e-12)


def test_levels_that_the_features_rule_out_are_never_answered():
    features = {"arm": ["drug", "none"], "cured": True}
    answer = ask({"kind": "classification", "variable": "arm", "features": features}, {"kind": "log"})
    assert set(answer.response) == {"drug", "none"}
    assert sum(answer.response.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("evidence", [{}, {"visits": [1, 2]}, {"cured": True}, {"arm": "none", "visits": 0}])
def test_an_explanation_is_the_likeliest_record_or_its_regret_says_how_much_it_may_miss(seed, evidence):
    samples = network_samples(30, seed, width=3.0)
    law = joint(samples)
    allowed = {name: levels if isinstance(levels, list) else [levels] for name, levels in evidence.items()}
    texts = {name: {str(level).lower() for level in levels} for name, levels in allowed.items()}
    left = [
        r
        for r in RECORDS
        if all(dict(zip(("arm", "cured", "visits"), r, strict=True))[n] in t for n, t in texts.items())
    ]
    given = sum(law[record] for record in left)
    scores = {record: (law[record] / given).mean() for record in left}
    ceiling = np.max([law[record] / given for record in left], axis=0).mean()
    answer = ask({"kind": "explanation", "evidence": evidence}, {"kind": "zero_one"}, samples)
    fixed = {name for name, levels in allowed.items() if len(levels) == 1}
    assert set(answer.response) == {"arm", "cured", "visits"} - fixed
    record = tuple(answer.response.get(name) or next(iter(texts[name])) for name in ("arm", "cured", "visits"))
    assert answer.expected_utility == pytest.approx(scores[record], abs=1e-12)
    assert answer.expected_utility == pytest.approx(max(scores.values()), abs=1e-12)
    statistical = compile_question(
        {"estimand": {"kind": "explanation", "evidence": evidence}, "utility": {"kind": "zero_one"}},
        MODEL.parameters,
        MODEL,
    ).utility.regret(30, 0.05)
    assert answer.regret.bound == pytest.approx(min(1, statistical.value + ceiling - scores[record]), abs=1e-9)


def test_a_comparison_is_the_share_of_samples_on_one_side():
    left = {"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "drug"}}
    right = {"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "placebo"}}
    drug, placebo = (conditional(lambda a, c, v: c == "true", lambda a, c, v, x=x: a == x) for x in ("drug", "placebo"))
    answer = ask({"kind": "comparison", "left": left, "right": right})
    assert answer.response == pytest.approx((drug > placebo).mean(), abs=1e-12)
    assert ask({"kind": "comparison", "left": right, "right": left}).response == pytest.approx(1 - answer.response)


def test_expressions_use_cells_in_backticks_and_estimands_by_name():
    cell = {"kind": "expression", "expression": "`cured=true|arm=drug` * 2"}
    index = [p.name for p in MODEL.parameters].index("cured=true|arm=drug")
    assert ask(cell).response == pytest.approx(2 * SAMPLES.columns[index].mean(), abs=1e-12)
    named = {
        "kind": "expression",
        "expression": "p * 2",
        "names": {"p": {"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "drug"}}},
    }
    assert ask(named).response == pytest.approx(ask(cell).response, abs=1e-12)


@pytest.mark.parametrize(
    ("estimand", "field"),
    [
        ({"kind": "probability"}, "estimand.event"),
        ({"kind": "probability", "event": None}, "estimand.event"),
        ({"kind": "probability", "event": {"cured": True}, "given": {}}, "estimand.given"),
        ({"kind": "probability", "event": {"cured": True}, "evidence": []}, "estimand.evidence"),
        ({"kind": "probability", "event": {"cured": True}, "evidence": "arm"}, "estimand.evidence"),
        ({"kind": "probability", "event": {"dose": 1}}, "estimand.event"),
        ({"kind": "probability", "event": {"cured": 3}}, "estimand.event.cured"),
        ({"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "x"}}, "estimand.evidence.arm"),
        ({"kind": "expectation", "variable": "arm"}, "estimand.scores"),
        ({"kind": "expectation", "variable": "visits", "scores": {"0": 1, "1": 2, "2": True}}, "estimand.scores"),
        ({"kind": "expectation", "variable": "visits", "scores": {"0": 1, "1": 2, "2": math.inf}}, "estimand.scores"),
        ({"kind": "expectation", "variable": "visits", "scores": {"0": 1, "1": 2, "2": 10**400}}, "estimand.scores"),
        ({"kind": "expectation", "variable": []}, "estimand.variable"),
        ({"kind": "classification", "features": {"arm": "drug"}}, "estimand.variable"),
        ({"kind": "prediction", "variable": "cured", "level": [["true"]]}, "estimand.level"),
        ({"kind": "prediction", "variable": "cured", "level": None}, "estimand.level"),
        ({"kind": "prediction", "features": {}}, "estimand.variable"),
        ({"kind": "prediction", "variable": "dose"}, "estimand.variable"),
        ({"kind": "prediction", "variable": "arm"}, "estimand.level"),
        ({"kind": "prediction", "variable": "arm", "level": "x"}, "estimand.level"),
        (
            {"kind": "prediction", "variable": "arm", "level": "drug", "features": {"cured": 7}},
            "estimand.features.cured",
        ),
        ({"kind": "prediction", "variable": "arm", "level": "drug", "features": {"arm": "none"}}, "estimand.level"),
        ({"kind": "classification", "variable": "arm"}, "estimand.kind"),
        ({"kind": "explanation"}, "estimand.kind"),
        ({"kind": "predictive", "what": "mean"}, "estimand.kind"),
        ({"kind": "comparison"}, "estimand.left"),
        ({"kind": "comparison", "left": {"kind": "explanation"}, "right": {}}, "estimand.left.kind"),
        (
            {
                "kind": "comparison",
                "left": {"kind": "parameter", "name": "arm=drug"},
                "right": {"kind": "probability", "event": {"cured": "x"}},
            },
            "estimand.right.event.cured",
        ),
        ({"kind": "expression", "expression": "p", "names": {"p": {"kind": "probability"}}}, "estimand.names.p.event"),
        ({"kind": "expression", "expression": "p", "names": {"exp": {"kind": "probability"}}}, "estimand.names"),
        ({"kind": "expression", "expression": "p", "names": []}, "estimand.names"),
    ],
)
def test_refusals_name_the_field_as_it_was_written(estimand, field):
    with pytest.raises(InvalidQuery) as refusal:
        ask(estimand)
    assert refusal.value.problems[0].field == field


@pytest.mark.parametrize("kind", ["probability", "expectation", "prediction", "classification", "explanation"])
def test_releases_without_a_network_say_that_the_kind_is_not_theirs(kind):
    model = bernoulli("cured")
    with pytest.raises(InvalidQuery) as refusal:
        compile_question({"estimand": {"kind": kind}, "utility": SQUARED}, [Parameter("theta", 0.1, 0.9)], model)
    assert refusal.value.problems[0].field == "estimand.kind"
    assert "network" in refusal.value.problems[0].expected


def test_estimands_nest_only_so_deep():
    estimand = {"kind": "probability", "event": {"cured": True}}
    for _ in range(6):
        estimand = {"kind": "comparison", "left": estimand, "right": {"kind": "parameter", "name": "arm=drug"}}
    with pytest.raises(InvalidQuery, match="one inside the other"):
        ask(estimand)


def test_named_estimands_share_one_limit_of_work():
    """27 operations a sample each: sixteen of them are too much for three million samples, one is not."""
    question = {"kind": "probability", "event": {"cured": True}, "evidence": {"visits": 1}}
    estimand = {"kind": "expression", "expression": "p0 + p1", "names": {f"p{i}": question for i in range(16)}}
    many, one = (
        compile_question({"estimand": e, "utility": SQUARED}, MODEL.parameters, MODEL).estimand
        for e in (estimand, question)
    )
    assert many.work >= 16 * one.work
    check_total_work("estimand", one.work, 3_000_000)
    with pytest.raises(InvalidQuery, match="operations"):
        check_total_work("estimand", many.work, 3_000_000)


def test_a_question_says_how_much_work_it_is():
    """Reading a kept sum is next to nothing; elimination, many candidates and many responses are more."""
    event = {"kind": "probability", "event": {"cured": True}, "evidence": {"visits": 1}}
    table = {"kind": "expression", "utility": "-abs(g - r)", "range": [-1, 0]}
    table["responses"] = {"lower": 0, "upper": 1, "steps": 100}
    bodies = [
        {"estimand": {"kind": "parameter", "name": "arm=drug"}, "utility": SQUARED},
        {"estimand": event, "utility": SQUARED},
        {"estimand": {"kind": "explanation"}, "utility": {"kind": "zero_one"}},
        {"estimand": event, "utility": table},
    ]
    work = [compile_question(body, MODEL.parameters, MODEL).work for body in bodies]
    assert work == sorted(work)
    assert work[0] == 1
    assert work[-1] > 100 * 4


@pytest.mark.parametrize("trim", [0.05, 0.1, 0.2, 0.07, 1e-3])
@pytest.mark.parametrize("splits", ["tree", "chain"])
def test_draws_at_the_ends_of_the_grid_lie_inside_the_public_ranges(trim, splits):
    """1 − (1 − 0.1) is below 0.1 in doubles, so a draw at ω itself would be refused; the outermost points lie inside."""
    network = build_network([Node("a", tuple("0123456"), (), (1.0,) * 7)])
    model = NetworkModel("network", network, trim, splits)
    for at in range(7):
        counts = np.zeros(7)
        counts[at] = 1_000
        drawn = draw_network(model, Settings(1_000, 1, 1.0, 50), counts, np.random.default_rng(at).bytes)
        SampleSet(model.parameters, drawn)


def test_wide_sample_sets_share_one_block_of_memory_and_keep_few_sums():
    parameters = tuple(Parameter(f"p{i}", 0.0, 1.0) for i in range(3_000))
    values = np.random.default_rng(1).uniform(size=(50, 3_000))
    samples = SampleSet(parameters, values)
    assert np.shares_memory(samples.matrix, samples.columns)
    assert np.shares_memory(samples.prefix(20).columns, samples.columns)
    assert (samples.matrix == values).all()
    assert not samples.matrix.flags.writeable
    for index in range(3_000):
        assert samples.marginal(index).order_statistic(1) == values[:, index].min()
    assert len(samples._marginals) == MARGINALS_MAX
    assert samples.bytes_max == 8 * 50 * (3_000 + 3 * MARGINALS_MAX)


@pytest.mark.parametrize(
    ("estimand", "utility", "field"),
    [
        ({"kind": "classification", "variable": "arm", "features": {"cured": True}}, "zero_one", "estimand.features"),
        ({"kind": "prediction", "variable": "cured", "features": {"arm": "drug"}}, "squared", "estimand.features"),
        (
            {"kind": "probability", "event": {"cured": True}, "evidence": {"arm": "drug"}},
            "squared",
            "estimand.evidence",
        ),
    ],
)
def test_too_much_work_is_refused_under_the_questions_own_name_for_what_is_known(estimand, utility, field):
    body = {"estimand": estimand, "utility": {"kind": utility}}
    question = compile_question(body, MODEL.parameters, MODEL)
    with pytest.raises(InvalidQuery) as refused:
        question.estimand.check(10**12)
    assert refused.value.problems[0].field == field
