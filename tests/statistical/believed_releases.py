"""Simulated releases with θ and data from the untrimmed prior, each asked for its calibrated posterior."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Evidence
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.protocols import MeasuringMechanism
from app.core.statistics.sums import ExactStatistic
from tests.statistical.noisy_sums import ROWS, Source

Array = NDArray[np.float64]


def prior_draw(source: Source, model: Model) -> float:
    """By numpy's own samplers: a second opinion on the untrimmed prior."""
    prior = model.prior
    draws: dict[str, Callable[[], float]] = {
        "beta": lambda: source.beta(prior.value("alpha"), prior.value("beta")),
        "gamma": lambda: source.gamma(prior.value("shape")) / prior.value("rate"),
        "normal": lambda: source.normal(prior.value("mean"), prior.value("sd")),
    }
    return float(draws[prior.kind]())


def lattice_total(source: Source, model: Model, theta: float, rows: int) -> int:
    """Σ of T over rows of the family, each T clipped and rounded as a source does."""
    request = model.statistic
    x = ROWS[model.family].draw(source, np.array([theta]), (rows, 1)).astype(np.float64)
    transforms: dict[str, Callable[[Array], Array]] = {
        "identity": lambda x: x,
        "absolute": lambda x: np.abs(x - request.anchor),
        "square": lambda x: (x - request.anchor) ** 2 / 2,
        "power": lambda x: x**request.anchor,
        "log_ratio": lambda x: np.log(x / request.anchor),
    }
    clipped = transforms[request.transform](x).clip(request.lower, request.upper)
    return int(np.floor((clipped - request.lower) / request.step + 0.5).sum())


def believed(
    source: Source, model: Model, mechanism: Any, people: int, statistic: ExactStatistic, unit_rows: int = 1
) -> tuple[Array, Array]:
    """(points of the belief, samples as they are; of noise none are drawn)."""
    samples, measured = np.zeros((1, 1)), None
    if isinstance(mechanism, MeasuringMechanism):
        measured = mechanism.measure(model, people, unit_rows, statistic)
    else:
        samples = mechanism.draw(model, people, unit_rows, statistic, source.bytes)
    belief = mechanism.belief(model, people, unit_rows, Evidence(samples, measured, source.bytes(8)))
    return belief.points[:, 0], samples[:, 0]
