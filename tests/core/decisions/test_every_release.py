"""Every family a release can be of is asked every kind of question that makes sense of it; every other is refused by kind."""

import json

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.kinds import ESTIMANDS, compile_question, model_specs, parse_model
from app.core.schema import parse_columns
from app.errors import InvalidQuery
from tests.core.decisions.reference_utilities import expression_spec
from tests.core.families.family_cases import CASES, build
from tests.core.regression.regression_cases import COLUMNS, wage_model

BINARY = parse_columns({name: {"type": "binary"} for name in "abcd"})
NODES = {"a": {}, "b": {"parents": ["a"]}, "c": {"parents": ["a", "b"]}, "d": {}}
COVARIANCE = [[9.0, 1.0], [1.0, 25.0]]
MODELS = {
    **{name: build(name) for name in CASES},
    "network": parse_model({"family": "network", "nodes": NODES}, BINARY),
    "naive_bayes": parse_model({"family": "naive_bayes", "class": "d", "features": ["a", "b", "c"]}, BINARY),
    "linear_regression": wage_model(),
    "normal": parse_model({"family": "normal", "column": "wage"}, COLUMNS),
    "mvn_mean": parse_model({"family": "mvn_mean", "columns": ["educ", "wage"], "covariance": COVARIANCE}, COLUMNS),
    "normal_precision_matrix": parse_model(
        {"family": "normal_precision_matrix", "columns": ["educ", "wage"], "radius": 30.0}, COLUMNS
    ),
}
NETWORK_ONLY = {
    "probability": {"kind": "probability", "event": {"b": True}, "evidence": {"a": False}},
    "expectation": {"kind": "expectation", "variable": "c"},
    "classification": {"kind": "classification", "variable": "d", "features": {"a": True}},
    "explanation": {"kind": "explanation", "evidence": {"a": True}},
}
FEATURES = {"educ": 12, "exper": 3, "female": False}


def samples_of(model, size: int = 40) -> SampleSet:
    """Anywhere inside the public ranges, ends included; a network's tables add to one."""
    rng = np.random.default_rng(5)
    if model.family in ("network", "naive_bayes"):
        halves = rng.uniform(0.1, 0.9, size=(size, len(model.parameters) // 2))
        return SampleSet(model.parameters, np.stack([1 - halves, halves], axis=2).reshape(size, -1))
    share = rng.choice([0.0, 1.0, 0.5, 0.25, 0.9], size=(size, len(model.parameters)))
    lower, upper = (np.array([getattr(p, end) for p in model.parameters], dtype=float) for end in ("lower", "upper"))
    return SampleSet(model.parameters, np.clip(lower + share * (upper - lower), lower, upper))


def estimands_of(family: str, model) -> dict[str, dict]:
    first, last = model.parameters[0].name, model.parameters[-1].name
    found = {
        "parameter": {"kind": "parameter", "name": first},
        "expression": {"kind": "expression", "expression": f"min(2 * `{first}`, `{last}` + 1)"},
        "comparison": {
            "kind": "comparison",
            "left": {"kind": "parameter", "name": first},
            "right": {"kind": "expression", "expression": f"`{last}` * 0.9"},
        },
    }
    if family in CASES and family not in ("pareto", "laplace", "normal_precision"):
        found["predictive"] = {"kind": "predictive", "what": "mean"}
    elif family in CASES:
        found["predictive"] = {"kind": "predictive", "what": "quantile", "level": 0.9}
    if family in ("network", "naive_bayes"):
        predicted = {"variable": "c"} if family == "network" else {}
        found |= NETWORK_ONLY | {"prediction": {"kind": "prediction", "features": {"a": True}, **predicted}}
    if family == "linear_regression":
        found["prediction"] = {"kind": "prediction", "what": "observation", "features": FEATURES}
        found["contrast"] = {"kind": "contrast", "weights": {"educ": 1, "exper": -1}}
    return found


def utilities_of(kind: str, family: str, bounds: tuple[float, float] | None) -> list[dict]:
    if kind == "classification":
        return [{"kind": "zero_one"}, {"kind": "log"}]
    if kind == "explanation":
        return [{"kind": "zero_one"}]
    found = [
        {"kind": "squared"},
        {"kind": "absolute"},
        {"kind": "pinball", "tau": 0.1},
        {"kind": "interval", "level": 0.5},
    ]
    if kind == "comparison":
        found += [{"kind": "zero_one"}, {"kind": "log"}]
    if kind != "prediction" or family != "linear_regression":
        lower, upper = bounds
        responses = [np.linspace(lower, upper, 5).tolist(), {"lower": lower, "upper": upper}]
        found += [expression_spec(lower, upper, each) for each in responses]
    return found


@pytest.mark.parametrize("family", MODELS)
def test_every_question_that_makes_sense_of_a_release_is_answered(family):
    model = MODELS[family]
    samples = samples_of(model)
    first = model.parameters[0]
    reach = [float(first.lower) - 1, float(first.upper) + 1]
    actions = {"kind": "actions", "actions": {"go": f"`{first.name}`", "stay": f"{reach[0]!r}"}, "range": reach}
    bodies = [{"utility": actions}]
    for kind, spec in estimands_of(family, model).items():
        asked = {"kind": "zero_one"} if kind in ("classification", "explanation") else {"kind": "squared"}
        bounds = compile_question({"estimand": spec, "utility": asked}, model.parameters, model).range
        bodies += [{"estimand": spec, "utility": utility} for utility in utilities_of(kind, family, bounds)]
    for body in bodies:
        question = compile_question(body, model.parameters, model)
        answer = answer_question(question, samples)
        json.dumps(answer.as_json(), allow_nan=False)
        assert 0 <= answer.expected_utility <= 1
        assert 0 < answer.regret.bound <= 1
        assert (answer.why is None) == (question.preview(samples.size).responses is None)


@pytest.mark.parametrize("family", MODELS)
def test_an_estimand_of_another_kind_of_release_is_refused_by_its_kind(family):
    model = MODELS[family]
    asked = estimands_of(family, model)
    others = NETWORK_ONLY | {
        "prediction": {"kind": "prediction", "features": FEATURES},
        "contrast": {"kind": "contrast", "weights": {"educ": 1}},
        "predictive": {"kind": "predictive", "what": "quantile", "level": 0.5},
        "group": {"kind": "group", "group": {"arm": "drug"}, "estimand": {"kind": "parameter", "name": "theta"}},
        "part": {"kind": "part", "part": "cured", "estimand": {"kind": "parameter", "name": "theta"}},
    }
    assert set(asked) | set(others) == set(ESTIMANDS)
    for kind in set(ESTIMANDS) - set(asked):
        with pytest.raises(InvalidQuery) as caught:
            compile_question({"estimand": others[kind], "utility": {"kind": "squared"}}, model.parameters, model)
        assert caught.value.problems[0].field == "estimand.kind"


def test_every_family_was_asked():
    assert set(MODELS) == set(model_specs())
