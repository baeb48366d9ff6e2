"""Every family on a column whose bounds hardly clip, with a prior that leaves its trim; every mechanism at every setting."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.drawn_settings import best_drawn
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint, Mechanism
from app.core.privacy.targets import Target
from tests.statistical.believed_releases import prior_draw
from tests.statistical.noisy_sums import ROWS, Rows, Source, lattice_steps

Array = NDArray[np.float64]

PEOPLE = (100, 1_000, 10_000)
EPSILONS = (0.3, 1.0, 5.0)
DELTA = 1e-6
DRAWN = [(samples, temperature) for samples in (1, 3, 20, 1_000) for temperature in (1.0, 0.1, 0.02)]
DRAWN_MAX = 1_000


@dataclass(frozen=True)
class Case:
    """`prior` keeps rows within the bounds; `value` is one that a record may be above or below, `apart` one inside the prior."""

    prior: Mapping[str, Any]
    value: float
    apart: float


def _beta(alpha: float, beta: float) -> dict[str, Any]:
    return {"kind": "beta", "alpha": alpha, "beta": beta}


def _gamma(mean: float) -> dict[str, Any]:
    return {"kind": "gamma", "shape": 4, "rate": 4 / mean}


CASES: dict[str, Case] = {
    "bernoulli": Case(_beta(1, 1), 0, 0.4),
    "binomial": Case(_beta(0.5, 2), 1, 0.2),
    "geometric": Case(_beta(6, 5), 1, 0.5),
    "negative_binomial": Case(_beta(7, 5), 2, 0.6),
    "poisson": Case(_gamma(2.5), 2, 2.0),
    "exponential": Case(_gamma(1.4), 0.5, 1.2),
    "gamma": Case(_gamma(2.2), 1, 2.0),
    "weibull": Case(_gamma(1.8), 0.7, 1.5),
    "pareto": Case(_gamma(4.5), 1.2, 4.0),
    "laplace": Case(_gamma(2.5), 0.8, 2.2),
    "normal_precision": Case(_gamma(0.5), 1.5, 0.4),
    "normal_mean": Case({"kind": "normal", "mean": 0.5, "sd": 2.5}, 1, 0.3),
}
"""A trim leaves a tenth of the prior or more beyond it, for most: it binds the sampler and not the belief."""


def clipless(family: str) -> Rows:
    rows = ROWS[family]
    return replace(rows, known=rows.known | {"prior": CASES[family].prior})


def noisy(epsilon: float) -> dict[str, Mechanism]:
    return {
        "laplace": Laplace(1, epsilon),
        "gaussian": Gaussian(1, epsilon, DELTA),
        "map, log_density": MapPoint(epsilon, "log_density"),
        "map, probability": MapPoint(epsilon, "probability"),
    }


def cells(model: Model, people: int) -> list[tuple[str, Mechanism]]:
    """27 of a family and size: mechanisms at every ε, draws at every N and τ and as plans choose them for that ε."""
    found = [each for epsilon in EPSILONS for each in noisy(epsilon).items()]
    found += [("baps", Baps(*drawn)) for drawn in DRAWN]
    planned = [best_drawn(model, people, 1, Target(epsilon, DELTA), DRAWN_MAX) for epsilon in EPSILONS]
    return found + [("baps, planned", each) for each in planned]


@dataclass(frozen=True)
class Datasets:
    """Truths of the untrimmed prior, how many rows each brought, their sums as a source adds them up, whether any was clipped."""

    theta: Array
    rows: NDArray[np.int64]
    totals: NDArray[np.int64]
    clipped: NDArray[np.bool_]


def datasets(source: Source, family: str, rows: Rows, people: int, count: int, unit_rows: int = 1) -> Datasets:
    model = rows.model(family)
    theta = np.array([prior_draw(source, model) for _ in range(count)])
    numbers = source.integers(people, people * unit_rows + 1, count)
    totals, clipped = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.bool_)
    lower, upper = rows.column.get("lower", 0), rows.column.get("upper", 1)
    for i in range(count):
        x = rows.draw(source, theta[i : i + 1], (int(numbers[i]), 1)).astype(np.float64)
        totals[i] = lattice_steps(model, rows.column, x).sum()
        clipped[i] = ((x < lower) | (x > upper)).any()
    return Datasets(theta, numbers, totals, clipped)


def questions(model: Model, case: Case) -> list[dict[str, Any]]:
    """The parameter; that a record is at most so much; its mean or, of a continuous one, a quantile; a squared distance."""
    name = model.parameter.name
    middle = {"what": "mean"} if model.sums.discrete else {"what": "quantile", "level": 0.55}
    return [
        {"kind": "parameter", "name": name},
        {"kind": "predictive", "what": "probability", "at_most": case.value},
        {"kind": "predictive", **middle},
        {"kind": "expression", "expression": f"({name} - {case.apart}) ** 2"},
    ]


def seeded(*words: object) -> Source:
    return np.random.Generator(np.random.PCG64([ord(letter) for letter in "".join(map(str, words))]))
