"""How often calibrated intervals hold the truth: exactly, given what each of a few dozen simulated releases published.

Truth, rows and R are simulated, the interval is the service's own answer, and P(interval holds θ | R) is worked out by conjugacy
(`conjugate_beliefs.py`). Its average over releases is the coverage, with hardly any error left where intervals are right; whether
the very truth was held is counted beside it, and tests the law of the rows as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.question import Question
from app.core.grids.public_grid import PublicGrid
from app.core.kinds import compile_question
from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import likelihood_power, score_gain, score_sensitivity
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.statistics.sums import ExactStatistic
from tests.statistical.conjugate_beliefs import Conjugate, LogLikelihood, Sums, probability
from tests.statistical.coverage_cells import Case, Datasets, questions
from tests.statistical.noisy_sums import Source, discrete_laplace

Array = NDArray[np.float64]

LEVELS = (0.9, 0.5)
NOISE_REACH = np.linspace(-45, 45, 451)
ROW_NODES, ROW_TURNS, ROW_CUT = 81, 4, 20.0
_CELLS = 2_000_000


@dataclass(frozen=True)
class Coverage:
    """(releases, estimands, levels): P(held | R) of those with no row clipped, which conjugacy knows nothing of, and whether
    the truth was held, of all of them."""

    given: Array
    held: NDArray[np.bool_]


def coverage(
    source: Source, model: Model, case: Case, mechanism: Any, people: int, data: Datasets, unit_rows: int = 1
) -> Coverage:
    parameters = mechanism.calibrated_parameters(model, people, unit_rows)
    asked = [[_interval(each, level, parameters, model) for level in LEVELS] for each in questions(model, case)]
    truth = np.stack([_values(each[0], parameters, data.theta[:, None]) for each in asked], axis=1)
    released = [
        release(source, model, mechanism, people, unit_rows, ExactStatistic(int(total), int(rows)))
        for total, rows in zip(data.totals, data.rows, strict=True)
    ]
    sums = (
        _one_row_each(model, mechanism, people, released)
        if unit_rows == 1
        else (several_rows_each(model, mechanism, people, unit_rows, each) for each in released)
    )
    given, held = [], []
    for evidence, seen, true in zip(released, sums, truth, strict=True):
        belief = mechanism.belief(model, people, unit_rows, evidence)
        samples = SampleSet(belief.parameters, belief.points)
        ends = np.array([[answer_question(one, samples).response for one in each] for each in asked])
        held.append((ends[..., 0] <= true[:, None]) & (true[:, None] <= ends[..., 1]))
        own = [probability(seen, _theta(asked[i][0], belief, ends[i])) for i in range(3)]
        given.append([*own, _squared(seen, case.apart, ends[3])])
    return Coverage(np.array(given)[~data.clipped], np.array(held))


def _interval(estimand: dict[str, Any], level: float, parameters: Any, model: Model) -> Question:
    return compile_question({"estimand": estimand, "utility": {"kind": "interval", "level": level}}, parameters, model)


def _values(question: Any, parameters: Any, theta: Array) -> Array:
    inside = theta.clip(parameters[0].lower, parameters[0].upper)
    return np.asarray(question.utility.estimand.distribution(SampleSet(parameters, inside)).values)


def _theta(question: Question, belief: Belief, ends: Array) -> Array:
    """The θ at which a monotone estimand has these values."""
    theta = np.sort(belief.points[:, 0])
    values = _values(question, belief.parameters, theta[:, None])
    if values[0] > values[-1]:
        return np.asarray(np.interp(ends, values[::-1], theta[::-1])[:, ::-1])
    return np.asarray(np.interp(ends, values, theta))


def _squared(seen: Sequence[Sums], apart: float, ends: Array) -> Array:
    """P(low ≤ (θ − c)² ≤ high | R): on either side of c."""
    distance = np.sqrt(np.maximum(ends, 0))
    return probability(seen, apart + distance) + probability(seen, apart - distance[:, ::-1])


def release(
    source: Source, model: Model, mechanism: Any, people: int, unit_rows: int, statistic: ExactStatistic
) -> Evidence:
    """What the mechanism publishes; its noise is numpy's, so that a seed repeats it."""
    seed, nothing = source.bytes(8), np.zeros((1, 1))
    if isinstance(mechanism, Laplace):
        measured = mechanism.measure(
            model,
            people,
            unit_rows,
            statistic,
            lambda values, scale: values + discrete_laplace(source, scale, len(values)),
        )
        return Evidence(nothing, measured, seed)
    if isinstance(mechanism, Gaussian):
        return Evidence(nothing, mechanism.measure(model, people, unit_rows, statistic, seeded_noise(source)), seed)
    return Evidence(mechanism.draw(model, people, unit_rows, statistic, source.bytes), None, seed)


def _one_row_each(model: Model, mechanism: Any, people: int, released: Sequence[Evidence]) -> Iterator[list[Sums]]:
    conjugate = Conjugate(model, people)
    even = conjugate.even()
    for likelihood, near in measurements(model, mechanism, people, released, even):
        yield [conjugate.masses(likelihood, conjugate.snapped(np.concatenate([even, near])))]


def several_rows_each(model: Model, mechanism: Any, people: int, unit_rows: int, evidence: Evidence) -> list[Sums]:
    """The number of rows m is flat from one a person to the most; some numbers, closer where they count, stand for all."""
    low, high = float(people), float(people * unit_rows)
    told = _noisy_rows if evidence.measured is not None else _drawn_rows
    for _ in range(ROW_TURNS):
        found = []
        for rows in np.unique(np.rint(np.linspace(low, high, ROW_NODES))).tolist():
            conjugate = Conjugate(model, int(rows))
            even = conjugate.even()
            likelihood, near = told(model, mechanism, people * unit_rows, unit_rows, int(rows), evidence, even)
            found.append(conjugate.masses(likelihood, conjugate.snapped(np.concatenate([even, near]))))
        tops = np.array([float(each.log_mass.max()) for each in found])
        near_top = np.flatnonzero(tops > tops.max() - ROW_CUT)
        if len(near_top) > len(found) // 3 or high - low < ROW_NODES:
            break
        low = float(found[max(near_top[0] - 1, 0)].of.people)
        high = float(found[min(near_top[-1] + 1, len(found) - 1)].of.people)
    return found


def _noisy_rows(
    model: Model, mechanism: Any, most: int, unit_rows: int, rows: int, evidence: Evidence, even: Array
) -> tuple[LogLikelihood, Array]:
    """(2t − hm, m), each times its factor, with noise."""
    assert evidence.measured is not None
    seen, steps = evidence.measured.astype(np.float64), model.statistic.steps
    laplace = isinstance(mechanism, Laplace)
    scales, factors = (mechanism.scales(model, unit_rows), (1, 1)) if laplace else mechanism.scales(model, unit_rows)
    log_law, middle = _log_laplace if laplace else _log_normal, float(steps * rows)
    near = (((seen[0] + scales[0] * NOISE_REACH) / factors[0] + middle) / 2).clip(even[0], even[-1])
    told = log_law(np.array((seen[1] - factors[1] * rows) / scales[1]))
    return lambda t: log_law((seen[0] - factors[0] * (2 * t - middle)) / scales[0]) + told, near


def _drawn_rows(
    model: Model, mechanism: Any, most: int, unit_rows: int, rows: int, evidence: Evidence, even: Array
) -> tuple[LogLikelihood, Array]:
    grid, gain = _drawn_from(model, mechanism, most // unit_rows, unit_rows)
    return next(_drawn_each(grid, gain, rows, [evidence], even)), np.empty(0)


def _log_laplace(z: Array) -> Array:
    return -np.abs(z)


def _log_normal(z: Array) -> Array:
    return -(z**2) / 2


def measurements(
    model: Model, mechanism: Any, people: int, released: Sequence[Evidence], even: Array
) -> list[tuple[LogLikelihood, Array]]:
    """(t → log p(R|t), sums to look at beside the even ones) of every release."""
    if isinstance(mechanism, Laplace):
        scale = mechanism.scales(model, 1)[0]
        return [_noisy(each, scale, 1, _log_laplace, even) for each in released]
    if isinstance(mechanism, Gaussian):
        (scale,), (factor,) = mechanism.scales(model, 1)
        return [_noisy(each, scale, factor, _log_normal, even) for each in released]
    grid, gain = _drawn_from(model, mechanism, people, 1)
    return [(each, np.empty(0)) for each in _drawn_each(grid, gain, people, released, even)]


def _drawn_from(model: Model, mechanism: Any, people: int, unit_rows: int) -> tuple[PublicGrid, float | None]:
    """The grid, and the gain of a point scored by probability."""
    rows = people * unit_rows
    if isinstance(mechanism, Baps):
        return model.grid(rows, mechanism.temperature), None
    if mechanism.score == "log_density":
        return model.grid(rows, likelihood_power(model, mechanism.epsilon, people, unit_rows)), None
    return model.grid(rows, 1.0), score_gain(mechanism.epsilon, score_sensitivity(model, people, unit_rows))


def _drawn_each(
    grid: PublicGrid, gain: float | None, rows: int, released: Sequence[Evidence], even: Array
) -> Iterator[LogLikelihood]:
    if gain is not None:
        drawn = np.array([np.abs(grid.theta - each.samples[0, 0]).argmin() for each in released])
        logs = np.concatenate([_scored(np.exp(table), gain)[:, drawn] for table in _log_tables(grid, even, rows)])
        yield from (CubicSpline(even, column) for column in logs.T)
    else:
        middle = grid.size // 2
        mass = CubicSpline(even, np.concatenate([table[:, middle] for table in _log_tables(grid, even, rows)]))
        yield from (_drawn(grid, rows, each.samples[:, 0], mass, middle) for each in released)


def _noisy(
    evidence: Evidence, scale: float, factor: int, log_law: Callable[[Array], Array], even: Array
) -> tuple[LogLikelihood, Array]:
    assert evidence.measured is not None
    seen = float(evidence.measured[0])
    near = ((seen + scale * NOISE_REACH) / factor).clip(even[0], even[-1])
    return lambda t: log_law((seen - factor * t) / scale), near


def _drawn(grid: PublicGrid, rows: int, samples: Array, log_middle: LogLikelihood, middle: int) -> LogLikelihood:
    """Σ_i log P_t(θ_i), each as far from log P_t of the middle point as τ·(t·(η_i − η) − m·(A_i − A)) says, and the prior."""
    places = np.abs(grid.theta[:, None] - samples[None, :]).argmin(axis=0)
    tilt = grid.temperature * float((grid.eta[places] - grid.eta[middle]).sum())
    fixed = grid.temperature * rows * float((grid.partition[places] - grid.partition[middle]).sum())
    return lambda t: tilt * t - fixed + len(samples) * log_middle(t)


def _log_tables(grid: PublicGrid, totals: Array, people: int) -> Iterator[Array]:
    """log P_t at every point, without the uniform share, a few sums at a time."""
    fixed = grid.log_prior - grid.temperature * people * grid.partition
    each = max(1, _CELLS // grid.size)
    for start in range(0, len(totals), each):
        exponent = fixed + grid.temperature * totals[start : start + each, None] * grid.eta
        exponent -= exponent.max(axis=1, keepdims=True)
        yield exponent - np.log(np.exp(exponent).sum(axis=1, keepdims=True))


def _scored(table: Array, gain: float) -> Array:
    """log of the weights exp(g·p), as probabilities."""
    score = gain * (table - table.max(axis=1, keepdims=True))
    return np.asarray(score - np.log(np.exp(score).sum(axis=1, keepdims=True)))
