"""Converted ε for every kind and mechanism: as charged, by the exact curve, and from the exact law of the privacy loss.

The exact ε is that of single pairs of neighbours, those that are farthest apart at the order which converts best and at the two
beside it: the largest found, so that a ratio to it is never too small.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkMap
from app.core.kinds.networks.shapes import block_shapes
from app.core.kinds.regression.cost import regression_divergences
from app.core.privacy import ORDERS, Cost
from app.core.privacy.drawn_cost import drawn_cost
from tests.contracts.charge_cases import DELTA, DRAWS
from tests.contracts.charge_cases import Setting as FamilySetting
from tests.contracts.privacy_loss import Loss, exact_epsilon, loss_of
from tests.contracts.test_network_charges import Setting as NetworkSetting
from tests.core.brute_force import epsilon_by_rdp
from tests.core.families.drawn_tables import drawn_tables, owed_by_tables
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.core.networks.drawn_oracle import between, exact_suprema, mixed, neighbours, posterior_table, sharpened
from tests.core.networks.test_record_costs import model_of, plain_network
from tests.core.regression.exact_divergence import (
    Row,
    Setting,
    ball_points,
    divergences_at,
    few_rows,
    log_posterior,
    worst_of_few,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Figures:
    """ε of so many draws: charged, converted from the exact curve and pure cost, and exact."""

    draws: int
    charged: float
    by_curve: float
    exact: float

    @property
    def curve(self) -> float:
        """What the charge has above the exact curve, converted alike."""
        return self.charged / self.by_curve

    @property
    def conversion(self) -> float:
        """What conversion of the exact curve loses by itself."""
        return self.by_curve / self.exact


def converted(pure: float, curve: Array, draws: int) -> float:
    return min(draws * pure, epsilon_by_rdp(ORDERS, draws * curve, DELTA))


def best_orders(curve: Array, draws: int) -> list[float]:
    """That which converts best, and the two beside it."""
    whole = np.array(ORDERS)
    shown = draws * curve + np.log1p(-1 / whole) - (math.log(DELTA) + np.log(whole)) / (whole - 1)
    place = int(shown.argmin())
    return [float(each) for each in whole[max(place - 1, 0) : place + 2]]


def table_figures(tables: Array, places: Sequence[tuple[int, int]], charged: Cost) -> list[Figures]:
    """From log-probabilities as they are drawn with, one row each, and ordered pairs of rows."""
    exact = owed_by_tables(tables.astype(np.longdouble), list(places))
    sides, found = np.array(places), []
    for draws in DRAWS:
        farthest: set[int] = set()
        for order in best_orders(exact.curve, draws):
            parts = np.array_split(sides, max(1, len(sides) * tables.shape[1] // 400_000))
            apart = np.concatenate([_renyi(tables[part[:, 0]], tables[part[:, 1]], order) for part in parts])
            farthest |= set(np.argsort(apart)[-2:].tolist())
        pairs = [loss_of(tables[sides[i, 0]], tables[sides[i, 1]]) for i in farthest]
        needed = max(exact_epsilon([pair], draws, DELTA) for pair in pairs)
        shown = charged.times(draws).epsilon(DELTA)
        found.append(Figures(draws, shown, converted(exact.pure, exact.curve, draws), needed))
    return found


def _renyi(log_p: Array, log_q: Array, order: float) -> Array:
    exponent = (order - 1) * (log_p - log_q) + log_p
    top = exponent.max(axis=1)
    return np.asarray((top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))) / (order - 1))


def family_figures(at: FamilySetting) -> list[Figures]:
    """`baps` of a one-parameter family, every pair of the tables really drawn."""
    model = at.model()
    pairs = reachable_pairs(model.statistic.steps, at.people, at.unit_rows)
    statistics = sorted({side for pair in pairs for side in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    tables = drawn_tables(model, at.people * at.unit_rows, at.temperature, statistics).astype(np.float64)
    charged = drawn_cost(model, at.people, at.unit_rows, at.temperature).cost
    return table_figures(tables, [(place[first], place[second]) for first, second in pairs], charged)


def network_figures(at: NetworkSetting, mechanism: NetworkBaps | NetworkMap) -> list[Figures]:
    """All neighbouring datasets; blocks are independent, so a pair's loss is the sum of its blocks'."""
    model = model_of(at.levels, at.graph, at.strength, at.splits, at.trim)
    cost = mechanism.cost(model, at.people, at.unit_rows)
    if isinstance(mechanism, NetworkBaps):
        temperature, gain, charged = mechanism.temperature, 0.0, cost.per_sample
    else:
        temperature, charged = mechanism.temperature(model, at.unit_rows), cost.once
        gain = mechanism.gain(model, at.people, at.unit_rows) if mechanism.score == "probability" else 0.0
    shapes = block_shapes(model, at.people * at.unit_rows, at.unit_rows, temperature)
    points = {(shape.alpha, shape.beta): block_grid(shape).theta for shape in shapes}

    def table(theta: Array, prior: tuple[float, float], counts: tuple[int, int]) -> Array:
        posterior = posterior_table(theta, prior, counts, temperature)
        return sharpened(posterior, gain) if gain else posterior

    pairs = neighbours(plain_network(at.levels, at.graph, at.splits), at.people, at.unit_rows)
    priors = [(at.strength * len(yes), at.strength * len(no)) for _, _, yes, no in pairs.blocks]
    drawn: dict[tuple[int, int], Array] = {}

    def drawn_at(block: int, code: int) -> Array:
        if (block, code) not in drawn:
            drawn[block, code] = mixed(table(points[priors[block]], priors[block], pairs.places[code]))
        return drawn[block, code]

    def losses(pair: int) -> list[Loss]:
        sides = [(i, int(pairs.first[pair, i]), int(pairs.second[pair, i])) for i in range(len(priors))]
        return [loss_of(np.log(drawn_at(i, a)), np.log(drawn_at(i, b))) for i, a, b in sides if a != b]

    def apart(order: float) -> Array:
        total = np.zeros(len(pairs.first))
        for i in range(len(priors)):
            moved, where = np.unique(np.stack([pairs.first[:, i], pairs.second[:, i]]), axis=1, return_inverse=True)
            p, q = (np.stack([drawn_at(i, int(code)) for code in side]) for side in moved)
            total += between(p, q, (order,))[where.ravel(), 1]
        return total

    exact = exact_suprema(pairs, at.strength, points, ORDERS, table)
    return searched_figures(charged, exact[1:-1], float(exact[-1]), apart, losses)


def searched_figures(
    charged: Cost, curve: Array, pure: float, apart: Callable[[float], Array], losses: Callable[[int], list[Loss]]
) -> list[Figures]:
    """Of pairs by number: `apart` has the divergence of each at an order, `losses` the parts of one pair's loss."""
    found = []
    for draws in DRAWS:
        farthest = {int(i) for order in best_orders(curve, draws) for i in np.argsort(apart(order))[-2:]}
        needed = max(exact_epsilon(losses(i), draws, DELTA) for i in farthest)
        found.append(Figures(draws, charged.times(draws).epsilon(DELTA), converted(pure, curve, draws), needed))
    return found


def laplace_loss(shift: int, scale: float) -> Loss:
    """Of discrete Laplace noise, q^{|z|} on the whole numbers, moved by `shift`."""
    z = np.arange(-int(45 * scale) - 2 * shift, int(45 * scale) + 3 * shift + 1)
    norm = math.log(math.tanh(1 / (2 * scale)))
    return loss_of(norm - np.abs(z) / scale, norm - np.abs(z - shift) / scale)


def gaussian_loss(shift: float) -> Loss:
    """Of normal noise of sd 1, which whole numbers with a scale of hundreds are: 2,000 points a standard deviation."""
    z = np.arange(-11, 11 + shift, 1 / 2_000)
    norm = math.log(2_000 * math.sqrt(2 * math.pi))
    return loss_of(-(z**2) / 2 - norm, -((z - shift) ** 2) / 2 - norm)


def noise_figures(charged: Cost, parts: list[Loss]) -> list[Figures]:
    """Of releases of the same noise, the moved parts of the farthest pair given; Gaussian noise is converted by its own law."""
    pure = sum(float(value.max()) for value, _ in parts)
    curve = np.array([sum(_order(loss, order) for loss in parts) for order in ORDERS])
    found = []
    for draws in DRAWS:
        shown = charged.times(draws).epsilon(DELTA)
        by_curve = shown if charged.gaussian else converted(pure, curve, draws)
        found.append(Figures(draws, shown, by_curve, exact_epsilon(parts, draws, DELTA)))
    return found


def _order(loss: Loss, order: float) -> float:
    exponent = (order - 1) * loss[0] + np.log(np.maximum(loss[1], 1e-320))
    top = float(exponent.max())
    return (top + math.log(float(np.exp(exponent - top).sum()))) / (order - 1)


def regression_figures(at: Setting, people: int, starts: int) -> list[Figures]:
    """`baps` on a ball: the worst datasets that a search at each best order finds, integrated."""
    curve = np.array(regression_divergences(ORDERS, at.strength, people, 1, at.prior, at.radius, at.dimension))
    points, logs = ball_points(at.radius, at.dimension)
    found = []
    for draws in DRAWS:
        worst, needed = np.zeros(len(ORDERS)), 0.0
        for order in best_orders(curve, draws)[:: 2 if starts > 1 else 1]:
            rows: list[Row] = few_rows(at.dimension, np.array(worst_of_few(at, order, people, starts)[1]))
            own, other, *others = rows
            laws = [log_posterior(points, logs, at, [row, *others]) for row in (own, other)]
            worst = np.maximum(worst, divergences_at(*laws, ORDERS))
            p, q = (law - np.logaddexp.reduce(law) for law in laws)
            needed = max(needed, exact_epsilon([loss_of(p, q)], draws, DELTA))
        charged = epsilon_by_rdp(ORDERS, draws * curve, DELTA)
        found.append(Figures(draws, charged, epsilon_by_rdp(ORDERS, draws * worst, DELTA), needed))
    return found
