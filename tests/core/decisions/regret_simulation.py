"""Posteriors on a grid, where U(r) is a finite sum, and how often an answer's regret exceeds its bound there."""

from dataclasses import dataclass

import numpy as np

from app.core.decisions import SampleSet, answer_question
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from tests.core.decisions.reference_utilities import UTILITIES, expression_spec

THETA = Parameter("theta", 0.0, 1.0)
POINTS = np.linspace(0, 1, 11)
POSTERIORS = {
    "uniform": np.full(11, 1 / 11),
    "two ends": np.array([0.48] + [0.0] * 9 + [0.52]),
    "skewed": np.array([0.93] + [0.0] * 9 + [0.07]),
    "peaked": np.exp(-((POINTS - 0.3) ** 2) / 0.01) / np.exp(-((POINTS - 0.3) ** 2) / 0.01).sum(),
}
RANKS = " + ".join(f"(theta >= {k / 10 - 0.05})" for k in range(1, 11))
GRID = np.linspace(0, 1, 101).tolist()
PARAMETER = {"kind": "parameter", "name": "theta"}
CURVE = "exp(-20 * (theta - r) ** 2)"
ACTIONS = {"up": "theta", "down": "1 - theta", "sure": "0.5", "bold": "where(theta > 0.9, 1, 0)"}
PAYOFF = {"up": POINTS, "down": 1 - POINTS, "sure": 0 * POINTS + 0.5, "bold": (POINTS > 0.9) + 0.0}
BODIES = {
    "squared": {"estimand": PARAMETER, "utility": {"kind": "squared"}},
    "absolute": {"estimand": PARAMETER, "utility": {"kind": "absolute"}},
    "pinball": {"estimand": PARAMETER, "utility": {"kind": "pinball", "tau": 0.9}},
    "interval": {"estimand": PARAMETER, "utility": {"kind": "interval", "level": 0.8}},
    "zero_one": {"estimand": {"kind": "expression", "expression": RANKS}, "utility": {"kind": "zero_one"}},
    "log": {"estimand": PARAMETER, "utility": {"kind": "log", "floor": 0.01}},
    "actions": {"utility": {"kind": "actions", "actions": ACTIONS, "range": [0, 1]}},
    "expression": {"estimand": PARAMETER, "utility": expression_spec(0, 1, GRID)},
    "expression, real": {"estimand": PARAMETER, "utility": expression_spec(0, 1, {"lower": 0, "upper": 1})},
    "expression, curved": {
        "utility": {"kind": "expression", "utility": CURVE, "responses": {"lower": 0, "upper": 1}, "range": [0, 1]}
    },
}


def utility_of(name: str, response) -> np.ndarray:
    """u at each grid point."""
    if name == "actions":
        return PAYOFF[response]
    if name == "expression, curved":
        return np.exp(-20 * (POINTS - response) ** 2)
    spec = BODIES[name]["utility"]
    if name == "zero_one":
        return (np.arange(11) == response) + 0.0
    return np.array([UTILITIES[spec["kind"]](g, response, 0.0, 1.0, spec) for g in POINTS.tolist()])


def best_utility(name: str, p: np.ndarray) -> float:
    """The greatest U(r): over all responses where they are finite, else over a grid finer than any regret that matters."""
    if name == "actions":
        tried = list(PAYOFF)
    elif name == "zero_one":
        tried = range(11)
    elif name == "interval":
        tried = [[a, b] for a in POINTS for b in POINTS if a <= b]
    else:
        floor = BODIES[name]["utility"].get("floor", 0.0)
        fine = GRID if name == "expression" else np.linspace(floor, 1 - floor, 1_001).tolist()
        tried = [*fine, min(max(float(p @ POINTS), floor), 1 - floor)]
    return max(float(p @ utility_of(name, response)) for response in tried)


@dataclass(frozen=True)
class Simulated:
    """Regrets and search gaps of answers to one question from independent sample sets of one size."""

    name: str
    size: int
    regrets: np.ndarray
    gaps: np.ndarray

    def violations(self, confidence: float, questions: int = 1) -> np.ndarray:
        question = compile_question(BODIES[self.name] | {"confidence": confidence}, [THETA])
        bound = question.preview(self.size, questions=questions).regret.bound
        return self.regrets > np.minimum(1.0, bound + self.gaps)


def simulate(name: str, p: np.ndarray, size: int, draws: np.ndarray) -> Simulated:
    """`draws` are places on the grid, one row a sample set."""
    question = compile_question(BODIES[name], [THETA])
    best, known = best_utility(name, p), {}
    regrets, gaps = [], []
    for row in draws:
        key = tuple(np.bincount(row, minlength=11))  # the order of samples does not matter to a maximiser
        if key not in known:
            answer = answer_question(question, SampleSet([THETA], POINTS[row][:, None]))
            bound = question.preview(size).regret.bound
            known[key] = best - float(p @ utility_of(name, answer.response)), max(0.0, answer.regret.bound - bound)
        regrets.append(known[key][0])
        gaps.append(known[key][1])
    return Simulated(name, size, np.array(regrets), np.array(gaps))
