"""How often calibrated intervals of a release would hold the truth, and how wide they would be, before anything is released.

Truths come from the untrimmed prior, sums from the law of the clipped statistic given each, R from the mechanism, all from one
generator seeded by public names; then p(θ|R) ∝ π(θ)·Σ_t p(t|θ)·p(R|t), the sum that answers calibrated questions, is taken
over cells of θ coarse enough for 200 releases to take a fraction of a second. Draws of `baps` go through the table of beliefs
itself. People bring one row each. No data.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.accuracy_goal import Coverage
from app.core.kinds.one_parameter.beliefs.measurements import DrawnPoints, Measurement
from app.core.kinds.one_parameter.beliefs.posterior import calibrated_table
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw, row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import sum_slices
from app.core.kinds.one_parameter.calibrated_accuracy import CLIPPED_MOST
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, Mechanism
from app.core.statistics.sums import ExactStatistic
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

RELEASES, RELEASES_DRAWN = 200, 60
DRAWN_MAX = 1_000
"""Draws a release: more take too long to simulate."""
CELLS = 128
SUM_NODES, GRADED = 512, 96
NODE_SDS = 0.25
NOISE_REACH, SUM_REACH = 8.0, 7.0
FLAT = 24.0
"""Sds, as many as the whole range of θ counts for beside what sums tell apart: where rows are all clipped they tell nothing."""
WIDE_NOISE = 12.0
"""Noise so many times wider than the sum's own law leaves of that law only its mean."""
SIMULATED = "simulated releases, truths from the prior, seeded by public names; no data"
SEVERAL_ROWS = "not simulated with several rows a person; measured beforehand (docs/privacy.md, what may be believed)"
MANY_DRAWN = "not simulated for so many draws; measured beforehand (docs/privacy.md, what may be believed)"
TOO_WIDE = "not simulated: the prior is too wide for doubles"
POINT = "not simulated for a single point"


@dataclass(frozen=True, slots=True)
class _Cases:
    """Truths, the sums of their rows, and noise as uniforms: the same whatever the mechanism."""

    theta: Array
    totals: Array
    uniforms: Array
    told: NDArray[np.bool_]
    """Truths most of whose rows lie within the column's bounds: nothing is learned about others."""


def simulated_coverage(model: Model, mechanism: Mechanism, people: int, unit_rows: int, level: float) -> Coverage:
    if unit_rows > 1:
        return Coverage.unknown(SEVERAL_ROWS)
    if not isinstance(mechanism, Laplace | Gaussian | Baps):
        return Coverage.unknown(POINT)
    if isinstance(mechanism, Baps) and mechanism.samples > DRAWN_MAX:
        return Coverage.unknown(MANY_DRAWN)
    kept = mechanism if isinstance(mechanism, Baps) else mechanism.with_samples(1)
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what overflows is not shown
            found = _simulated(model, kept, people, level)
    except CalibratedUnavailable as unavailable:
        return Coverage.unknown(unavailable.detail)
    shown = (found.share, found.half_width, found.sd)
    return found if all(each is not None and math.isfinite(each) for each in shown) else Coverage.unknown(TOO_WIDE)


@lru_cache(maxsize=256)
def _simulated(model: Model, mechanism: Laplace | Gaussian | Baps, people: int, level: float) -> Coverage:
    law = row_law(model)
    law.check(people)
    cases = _cases(model, people, RELEASES_DRAWN if isinstance(mechanism, Baps) else RELEASES)
    held, halves, spreads = [], [], []
    source = _seeded(model, people, mechanism.kind)
    for i, theta in enumerate(cases.theta):
        edges, masses = (
            _drawn_table(law, mechanism, people, cases.totals[i], source)
            if isinstance(mechanism, Baps)
            else _noisy_table(law, mechanism, people, float(cases.totals[i]), cases.uniforms[i])
        )
        low, high = _ends(law, edges, masses, level)
        held.append(low <= theta <= high)
        halves.append((high - low) / 2)
        spreads.append(_sd(law, edges, masses))
    share = float(np.mean(held))
    error = math.sqrt(max(share * (1 - share), 1 / len(held)) / len(held))
    half_width, sd = (float(np.mean(np.array(each)[cases.told])) for each in (halves, spreads))
    return Coverage(share, error, len(held), half_width, sd, SIMULATED)


def _sd(law: RowLaw, edges: Array, masses: Array) -> float:
    theta = law.prior.theta((edges[:-1] + edges[1:]) / 2)
    return math.sqrt(float(np.cov(theta, aweights=masses, ddof=0)))


def _ends(law: RowLaw, edges: Array, masses: Array, level: float) -> tuple[float, float]:
    """Of the central interval in θ."""
    below = np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum()
    theta = law.prior.theta(np.interp([(1 - level) / 2, (1 + level) / 2], below, edges))
    return float(theta.min()), float(theta.max())


def _seeded(model: Model, people: int, *words: str) -> np.random.Generator:
    name = json.dumps([model.as_json(), people, *words], sort_keys=True).encode()
    return np.random.default_rng(list(hashlib.sha256(b"postern plan" + name).digest()))


@lru_cache(maxsize=64)
def _cases(model: Model, people: int, releases: int) -> _Cases:
    law, source = row_law(model), _seeded(model, people)
    order = np.argsort(law.phi)
    weight = np.exp(law.log_weight[order] - law.log_weight.max())
    levels = source.permutation((np.arange(releases) + source.random(releases)) / releases)
    phi = np.interp(levels, (np.cumsum(weight) - weight / 2) / weight.sum(), law.phi[order])
    theta = law.prior.theta(phi)
    told = law.row.clipped(theta) <= CLIPPED_MOST
    totals = _sums(law, phi, people, source.random(releases))
    return _Cases(theta, totals, source.random((releases, 2)), told if told.any() else ~told)


def _sums(law: RowLaw, phi: Array, people: int, levels: Array) -> Array:
    """Whole, by the inverse of their law given φ."""
    mean, variance, _ = law.moments(phi, people)
    reach = 9 * np.sqrt(variance)
    last = float(people * law.model.statistic.steps)
    low, high = np.floor((mean - reach).clip(0, last)), np.ceil((mean + reach).clip(0, last))
    found = np.empty(len(phi))
    for i in range(len(phi)):
        nodes = np.unique(np.rint(np.linspace(low[i], high[i], SUM_NODES)))
        log_p = law.log_sum(nodes, phi[i : i + 1], people)[0]
        below = np.cumsum(np.exp(log_p - log_p.max()))
        found[i] = np.rint(np.interp(levels[i], below / below[-1], nodes))
    return found


def _noisy_table(
    law: RowLaw, mechanism: Laplace | Gaussian, people: int, total: float, uniforms: Array
) -> tuple[Array, Array]:
    """(edges in φ, masses) of p(θ|R)."""
    if isinstance(mechanism, Laplace):
        scale, factor = mechanism.scales(law.model, 1)[0], 1
        noise, spread = _discrete_laplace(scale, uniforms), math.sqrt(2) * scale
    else:
        scales, factors = mechanism.scales(law.model, 1)
        factor, spread = factors[0], scales[0] / factors[0]
        noise = round(scales[0] * math.sqrt(-2 * math.log1p(-uniforms[0])) * math.cos(2 * math.pi * uniforms[1]))
    measured = int(total) * factor + noise
    measurement = mechanism.measurement(law.model, 1, np.array([measured]))
    return _table(law, measurement, people, measured / factor, spread)


def _discrete_laplace(scale: float, uniforms: Array) -> int:
    """P(|K| ≥ m) = 2qᵐ/(1+q) for m ≥ 1, q = e^{−1/b}."""
    q = math.exp(-1 / scale)
    tail = (1 - uniforms[0]) * (1 + q) / 2
    size = math.floor(-math.log(tail) * scale) if tail <= q else 0
    return size if uniforms[1] < 0.5 else -size


def _table(law: RowLaw, measurement: Measurement, people: int, centre: float, spread: float) -> tuple[Array, Array]:
    mean, depth = people * law.mean, math.sqrt(people) * law.depth
    ends = np.clip([centre - NOISE_REACH * spread, centre + NOISE_REACH * spread], mean[0], mean[-1])
    deep = np.interp(ends, mean, depth)
    even = depth + FLAT * np.linspace(0, 1, len(depth))
    low = np.interp(deep[0] - SUM_REACH, depth, even) if deep[0] - SUM_REACH > depth[0] else even[0]
    high = np.interp(deep[1] + SUM_REACH, depth, even) if deep[1] + SUM_REACH < depth[-1] else even[-1]
    edges = np.interp(np.linspace(low, high, CELLS + 1), even, law.phi)
    phi = (edges[:-1] + edges[1:]) / 2
    evidence = _evidence(law, measurement, people, phi, ends, deep)
    log_mass = law.prior.log_weight(phi) + np.log(np.maximum(np.abs(np.diff(edges)), 1e-300)) + evidence
    return edges, np.exp(log_mass - log_mass.max())


def _evidence(law: RowLaw, measurement: Measurement, people: int, phi: Array, ends: Array, deep: Array) -> Array:
    """log Σ_t p(t|φ)·p(R|t), over sums a quarter of an sd apart, and close enough for the noise."""
    if deep[1] - deep[0] > 2 * NOISE_REACH * WIDE_NOISE:
        return measurement.log_likelihood(law.moments(phi, people)[0], people)
    mean, depth = people * law.mean, math.sqrt(people) * law.depth
    count = math.ceil((deep[1] - deep[0]) / NODE_SDS) + 2
    even = np.interp(np.linspace(deep[0], deep[1], count), depth, mean)
    last = float(people * law.model.statistic.steps)
    graded = np.geomspace(1, max(last, 2), GRADED)  # at either end the law narrows down to a single sum
    wanted = np.concatenate([even, np.linspace(ends[0], ends[1], CELLS), graded, last - graded, ends])
    totals = np.unique(np.rint(wanted.clip(*ends)))
    middles = np.floor((totals[:-1] + totals[1:]) / 2)
    stands_for = np.diff(np.concatenate([[totals[0] - 1], middles, [totals[-1]]]))
    weight = measurement.log_likelihood(totals, people) + np.log(stands_for)
    exponent = law.log_sum(totals, phi, people) + weight
    top = exponent.max(axis=1)
    top = np.where(np.isfinite(top), top, -1e300)
    return np.asarray(top + np.log(np.maximum(np.exp(exponent - top[:, None]).sum(axis=1), 1e-300)))


def _drawn_table(
    law: RowLaw, baps: Baps, people: int, total: float, source: np.random.Generator
) -> tuple[Array, Array]:
    samples = baps.draw(law.model, people, 1, ExactStatistic(int(total), people), source.bytes)
    drawn = DrawnPoints(law.model.grid(people, baps.temperature), samples[:, 0])
    return calibrated_table(law, sum_slices(law, drawn, (people, people)))
