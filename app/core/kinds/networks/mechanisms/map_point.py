"""`map` on a network: one point near the posterior's peak in every block, by the exponential mechanism (Algorithm 3).

On a continuum the papers' density score has no sensitivity; on the public grids two scores do:

  log_density   the log-likelihood. The log-ratio of two records has range at most r = u·ln((1−ω)/ω), u = `range_units`, so the
                tempered posterior at τ = ε/(k·r) has range ε: pure at most ε, charged by its own certified curve.
  probability   in every block the posterior probability p_k of the point, weights ∝ exp(g·p_k). Log-weights of a block move by
                g times the change of p_k, up to a constant: a range of g·Γ_b, Γ_b the largest rise of a point plus the largest
                fall. With Γ the largest sum of Γ_b over the blocks one person touches, g = ε/Γ gives pure ε and
                D_α ≤ min(ε, α·ε²/8). Where counts are few every pair of tables is visited instead, g is the largest whose pure
                cost so found is at most ε, and the curve is that of the tables (`blocks/sharpened.py`). With g set, what is
                charged comes from more pairs than that, or from a search over all counts (`sharpened_cost.py`).

Law 1, of releases drawn before, took g = ε/(2·Δ), Δ the largest sum of the blocks' total variation distances, k times that for k
rows a person. It is still drawn from where a release says so, and charged in the same way as law 2 at its own gain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.mechanism_fields import AUTO_SCORE, SCORES, MapFields
from app.core.kinds.networks.beliefs.drawn_posterior import DRAWN_MEASURED, DrawnTables, drawn_belief
from app.core.kinds.networks.beliefs.posterior import calibrated_range
from app.core.kinds.networks.blocks.block_sampler import (
    LOWEST,
    Settings,
    Sharpen,
    draw_network,
    draw_seconds,
    kl_with_slack,
    largest_error,
    with_slack,
)
from app.core.kinds.networks.cost import range_units, record_cost
from app.core.kinds.networks.mechanisms.baps import draw_cost, method_of
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import block_shapes, largest_grid, touched_blocks
from app.core.kinds.networks.sharpened_cost import (
    SharpenedCost,
    largest_gap,
    sharpened_bound,
    sharpened_cost,
    sharpened_pure_cost,
    total_variation,
)
from app.core.kinds.networks.statistic import clamped_counts
from app.core.parameters import Parameter
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.counts import ExactCounts
from app.errors import InvalidMechanism

Array = NDArray[np.float64]

_BELOW = 1 - 1e-9
_GAIN_WIDTH = 1e-3
_GAIN_STEPS_MAX = 2.0**10


@dataclass(frozen=True, slots=True)
class NetworkMap(MapFields):
    """One table for every node; the release is charged once. `auto` stands for a score that a plan still has to name."""

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        return self._cost(model, people, unit_rows, sharpened_cost)

    def cost_at_most(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        """No less than `cost`, and quick enough for a search over ε."""
        return self._cost(model, people, unit_rows, sharpened_bound)

    def _cost(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        sharpened: Callable[[NetworkModel, int, int, float], SharpenedCost],
    ) -> ReleaseCost:
        if self.score == AUTO_SCORE:
            raise InvalidMechanism("mechanism.score", "one of " + ", ".join(SCORES))
        temperature = self.temperature(model, unit_rows)
        touched, error = touched_blocks(model, unit_rows), self._error(model, people, unit_rows)
        if self.score == "log_density":
            record = record_cost(model, people, unit_rows, temperature)
            once, method = draw_cost(model, people, unit_rows, temperature), method_of(record, unit_rows)
            kl = kl_with_slack(record.kl_sup, touched, error)
        else:
            found = sharpened(model, people, unit_rows, self.gain(model, people, unit_rows))
            once = with_slack(found.cost, touched, error)
            kl = kl_with_slack(found.kl_sup, touched, error)
            method = found.method
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=1,
            kl_sup=kl,
            papers_pure=self.epsilon,
            method=method,
            grid_points=largest_grid(model, people, unit_rows, temperature),
        )

    def draw(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        random_bytes: Callable[[int], bytes],
    ) -> Array:
        """(1, cells)."""
        rows = people * unit_rows
        cells = clamped_counts(model.network, counts, rows).astype(np.float64)
        settings = Settings(rows, unit_rows, self.temperature(model, unit_rows), 1)
        if self.score == "log_density":
            return draw_network(model, settings, cells, random_bytes)
        gain = self.gain(model, people, unit_rows)

        return draw_network(model, settings, cells, random_bytes, sharpener(gain))

    def approximation(self, model: NetworkModel) -> str:
        return DRAWN_MEASURED

    def calibrated_parameters(self, model: NetworkModel, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model)

    def belief(self, model: NetworkModel, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        return drawn_belief(model, self.drawn_tables(model, people, unit_rows), evidence.samples, evidence.seed)

    def drawn_tables(self, model: NetworkModel, people: int, unit_rows: int) -> DrawnTables:
        gain = None if self.score == "log_density" else self.gain(model, people, unit_rows)
        return DrawnTables(people, unit_rows, self.temperature(model, unit_rows), gain)

    def work(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        """Sharpening weighs every point once more."""
        return 2 * draw_seconds(model, cost.grid_points, 1)

    def temperature(self, model: NetworkModel, unit_rows: int) -> float:
        """The power on the likelihood."""
        if self.score == "probability":
            return 1.0
        odds = math.log((1 - model.trim) / model.trim)
        return self.epsilon / (unit_rows * range_units(model) * odds) * _BELOW

    def gain(self, model: NetworkModel, people: int, unit_rows: int) -> float:
        """g for the probability score: what is charged with it, the sampler's slack included, is at most ε."""
        if self.law == 1:
            return _law_1_gain(model, people, unit_rows, self.epsilon)
        return _largest_gain(model, people, unit_rows, self.epsilon)

    def _error(self, model: NetworkModel, people: int, unit_rows: int) -> float:
        temperature = self.temperature(model, unit_rows)
        error = largest_error(block_shapes(model, people * unit_rows, unit_rows, temperature))
        return error if self.score == "log_density" else _sharpened_error(error, self.gain(model, people, unit_rows))


@lru_cache(maxsize=256)
def _largest_gain(model: NetworkModel, people: int, unit_rows: int, epsilon: float) -> float:
    """From ε/Γ, which always fits, up as far as tables that can all be visited allow."""
    error = largest_error(block_shapes(model, people * unit_rows, unit_rows, 1.0))
    touched = touched_blocks(model, unit_rows)

    def left(gain: float) -> float:
        return epsilon - 4 * touched * _sharpened_error(error, gain)

    gap = largest_gap(model, people, unit_rows)
    low = left(epsilon / gap) / gap * _BELOW
    if not low > 0:
        raise InvalidMechanism("mechanism.epsilon", "a number above what rounding may add for so many people")

    def fits(gain: float) -> bool:
        pure = sharpened_pure_cost(model, people, unit_rows, gain)
        return pure is not None and pure <= left(gain) * _BELOW

    high = low
    while high < low * _GAIN_STEPS_MAX and fits(2 * high):
        high *= 2
    low, high = high, 2 * high
    while high / low > 1 + _GAIN_WIDTH:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _sharpened_error(error: float, gain: float) -> float:
    """A probability in error by 2s of itself moves its log-weight by 2·g·s more."""
    return error * (1 + 2 * gain)


def _law_1_gain(model: NetworkModel, people: int, unit_rows: int, epsilon: float) -> float:
    distance = total_variation(model, people, unit_rows)
    error = largest_error(block_shapes(model, people * unit_rows, unit_rows, 1.0)) * (1 + epsilon / distance)
    left = epsilon - 4 * touched_blocks(model, unit_rows) * error
    if not left > 0:
        raise InvalidMechanism("mechanism.epsilon", "a number above what rounding may add for so many people")
    return left / (2 * distance) * _BELOW


def sharpener(gain: float) -> Sharpen:
    """p ↦ exp(g·(p − max p)), exponents held as the sampler holds its own: no number takes longer than another."""

    def sharpen(probabilities: Array) -> Array:
        best = probabilities.max(axis=1, keepdims=True)
        return np.asarray(np.exp(np.maximum(gain * (probabilities - best), LOWEST)))

    return sharpen
