"""`map` on a network: one point near the posterior's peak in every block, by the exponential mechanism (Algorithm 3).

On a continuum the papers' density score has no sensitivity; on the public grids two scores do:

  log_density   the log-likelihood. The log-ratio of two records has range at most r = u·ln((1−ω)/ω), u = `range_units`, so the
                tempered posterior at τ = ε/(k·r) has range ε: pure at most ε, charged by its own certified curve.
  probability   in every block the posterior probability p_k of the point, weights ∝ exp(g·p_k). A block moves by at most its
                total variation distance Δ_b ≤ min(√(KL/2), tanh(r_b/4)); with Δ the largest sum of Δ_b over the blocks one
                record touches, g = ε/(2·k·Δ) gives range ε: pure ε, D_α ≤ min(ε, α·ε²/8).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.mechanism_fields import AUTO_SCORE, SCORES, MapFields
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
from app.core.kinds.networks.cost import block_shapes, range_units, record_cost
from app.core.kinds.networks.mechanisms.baps import draw_cost, method_of
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import clamped_counts
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.counts import ExactCounts
from app.errors import InvalidMechanism

Array = NDArray[np.float64]

_BELOW = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class NetworkMap(MapFields):
    """One table for every node; the release is charged once. `auto` stands for a score that a plan still has to name."""

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        if self.score == AUTO_SCORE:
            raise InvalidMechanism("mechanism.score", "one of " + ", ".join(SCORES))
        temperature = self.temperature(model, unit_rows)
        record = record_cost(model, people, unit_rows, temperature)
        if self.score == "log_density":
            once, method = draw_cost(model, people, unit_rows, temperature), method_of(record, unit_rows)
            error = largest_error(block_shapes(model, people * unit_rows, unit_rows, temperature))
            kl = kl_with_slack(record.kl_sup, record.touched, error)
        else:
            once, method = self._probability_cost(model, people, unit_rows), "certified: bounded range"
            ideal = min(self.epsilon, self.epsilon**2 / 8)
            kl = kl_with_slack(ideal, record.touched, self._error(model, people, unit_rows))
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=1,
            kl_sup=kl,
            papers_pure=self.epsilon,
            method=method,
            grid_points=record.grid_points,
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
        """g for the probability score, from what of ε the sampler's slack leaves."""
        left = self.epsilon - self._slack(model, people, unit_rows)
        if not left > 0:
            raise InvalidMechanism("mechanism.epsilon", "a number above what rounding may add for so many people")
        return left / (2 * record_cost(model, people, unit_rows, 1.0).distance) * _BELOW

    def _error(self, model: NetworkModel, people: int, unit_rows: int) -> float:
        """A probability in error by 2s of itself moves its log-weight by 2·g·s more; g is at most ε/(2Δ)."""
        error = largest_error(block_shapes(model, people * unit_rows, unit_rows, 1.0))
        return error * (1 + self.epsilon / record_cost(model, people, unit_rows, 1.0).distance)

    def _slack(self, model: NetworkModel, people: int, unit_rows: int) -> float:
        return 4 * record_cost(model, people, unit_rows, 1.0).touched * self._error(model, people, unit_rows)

    def _probability_cost(self, model: NetworkModel, people: int, unit_rows: int) -> Cost:
        record = record_cost(model, people, unit_rows, 1.0)
        reach = 2 * record.distance * self.gain(model, people, unit_rows)
        curve = tuple(min(reach, order * reach**2 / 8) for order in ORDERS)
        return with_slack(Cost(reach, curve), record.touched, self._error(model, people, unit_rows))


def sharpener(gain: float) -> Sharpen:
    """p ↦ exp(g·(p − max p)), exponents held as the sampler holds its own: no number takes longer than another."""

    def sharpen(probabilities: Array) -> Array:
        best = probabilities.max(axis=1, keepdims=True)
        return np.asarray(np.exp(np.maximum(gain * (probabilities - best), LOWEST)))

    return sharpen
