"""Audits of one column: worst neighbours by their sums, tables and draws as they are, noise by the numbers it is added to.

Nothing here is of anyone: sums are made up. The worst are looked for in doubles, by divergences of order 1.25, 2, 8 and 64 where
posteriors peak all over the range; what is then compared with the charge is the table of whole weights itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.audits.draw_map import Feed, draws_right, jumps_of
from app.core.audits.exact_laws import Divergences, exact_divergences, larger
from app.core.audits.noise_law import Spy
from app.core.audits.own_mechanism import (
    Effort,
    known_law_test,
    map_certificate,
    noise_certificate,
    people_looked_at,
    statistic_name,
    table_certificate,
)
from app.core.audits.verdict import Certificate, Findings
from app.core.grids.integer_table import IntegerTable, integer_weights
from app.core.grids.public_grid import Direction, PublicGrid, person_corners
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint, Mechanism
from app.core.kinds.one_parameter.mechanisms.map_point import likelihood_power
from app.core.kinds.one_parameter.statistic import clamped
from app.core.numerics.remainder import phi
from app.core.privacy.cost import Cost
from app.core.statistics.sums import ExactStatistic

Array = NDArray[np.float64]
Pair = tuple[ExactStatistic, ExactStatistic]

WITNESS_ORDERS = (2.0, 8.0, 1.25, 64.0)
PEAKS, PEAKS_LEAST = 65, 9
ZOOMS, ZOOM_SUMS = 3, 9
SEARCH_ELEMENTS = 200_000
EXPONENT_MAX = 500.0
THROUGH_DRAW = 3


def audit_column(model: Model, mechanism: Mechanism, people: int, unit_rows: int, effort: Effort) -> Findings:
    if isinstance(mechanism, Laplace | Gaussian):
        return _noise_findings(model, mechanism, people, unit_rows)
    if isinstance(mechanism, MapPoint):
        mechanism = mechanism.settled(model, people, unit_rows)
    fewer = people_looked_at(people, lambda n: _Drawn(model, mechanism, n, unit_rows).grid().size, effort)
    drawn, people = _Drawn(model, mechanism, fewer, unit_rows), fewer
    if effort.points == 0:
        return _map_findings(drawn)
    cost = mechanism.cost(model, people, unit_rows)
    return _table_findings(drawn, cost.per_sample if isinstance(mechanism, Baps) else cost.once, effort)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """`baps` or a settled `map`: the table of any statistic, and draws from it."""

    model: Model
    mechanism: Mechanism
    people: int
    unit_rows: int

    def grid(self) -> PublicGrid:
        rows = self.people * self.unit_rows
        if isinstance(self.mechanism, Baps):
            return self.model.grid(rows, self.mechanism.temperature)
        if isinstance(self.mechanism, MapPoint) and self.mechanism.score == "log_density":
            power = likelihood_power(self.model, self.mechanism.epsilon, self.people, self.unit_rows)
            return self.model.grid(rows, power)
        return self.model.grid(rows, 1.0)

    def weights(self, grid: PublicGrid) -> Callable[[ExactStatistic], list[int]]:
        """Whole weights as they are drawn from."""
        mechanism = self.mechanism
        if isinstance(mechanism, MapPoint) and mechanism.score != "log_density":
            return lambda statistic: _weights(self.table(statistic), grid.size)
        constants = self.model.constants(grid)
        return lambda statistic: integer_weights(constants, clamped(self.model, self.people, self.unit_rows, statistic))

    def table(self, statistic: ExactStatistic) -> IntegerTable:
        if not isinstance(self.mechanism, MapPoint):
            raise TypeError("only `map` shows its table")
        return self.mechanism.table(self.model, self.people, self.unit_rows, statistic)[1]

    def draw(self, statistic: ExactStatistic, count: int, random_bytes: Callable[[int], bytes]) -> Array:
        mechanism = self.mechanism.with_samples(count)
        found: Array = mechanism.draw(self.model, self.people, self.unit_rows, statistic, random_bytes)[:, 0]
        return found


def _weights(table: IntegerTable, size: int) -> list[int]:
    found = table.cumulative[:size]
    return [found[0], *(after - before for before, after in pairwise(found))]


def _map_findings(drawn: _Drawn) -> Findings:
    """Of a sum in the middle; what it would be charged is not asked."""
    grid, middle = drawn.grid(), ExactStatistic(drawn.model.statistic_range[1] * drawn.people // 2, drawn.people)
    return Findings(certificates=(_map_certificate(drawn, grid, middle, drawn.weights(grid)(middle)),), covers=True)


def _table_findings(drawn: _Drawn, charged: Cost, effort: Effort) -> Findings:
    grid = drawn.grid()
    weights_of = drawn.weights(grid)
    most = max(1, effort.points // (2 * grid.size))
    pairs = witnesses(drawn.model, grid, drawn.people, drawn.unit_rows)[:most]
    laws = [(weights_of(before), weights_of(after)) for before, after in pairs]
    names = [f"{statistic_name(before)} and {statistic_name(after)}" for before, after in pairs]
    found: list[tuple[str, Divergences]] = [
        (name, larger(exact_divergences(p, q), exact_divergences(q, p)))
        for name, (p, q) in zip(names, laws, strict=True)
    ]
    certificates = table_certificate(found, charged), _map_certificate(drawn, grid, pairs[0][0], laws[0][0])
    if effort.runs == 0 or effort.random_bytes is None:
        return Findings(certificates=certificates, covers=True)
    p, q = (np.array([weight / sum(law) for weight in law]) for law in laws[0])
    places = [
        _places(grid, drawn.draw(statistic, effort.runs, effort.random_bytes(role)))
        if isinstance(drawn.mechanism, Baps)
        else drawn.table(statistic).draw(effort.runs, effort.random_bytes(role)).astype(np.float64)
        for role, statistic in zip(("x", "y"), pairs[0], strict=True)
    ]
    test, kappa = known_law_test((p, q), (places[0], places[1]), charged, effort)
    return Findings((test,), certificates, kappa, "the worst pair, by its exact tables", covers=True)


def _places(grid: PublicGrid, theta: Array) -> Array:
    order = np.argsort(grid.theta)
    found: Array = order[np.searchsorted(grid.theta[order], theta)].astype(np.float64)
    return found


def _map_certificate(drawn: _Drawn, grid: PublicGrid, statistic: ExactStatistic, weights: list[int]) -> Certificate:
    """All jumps through `draw`; a `map` point is one draw, so its table has all of them and `draw` the first few."""
    jumps = jumps_of(weights)

    def places(feed: Feed, count: int) -> NDArray[np.int64]:
        return _places(grid, drawn.draw(statistic, count, feed)).astype(np.int64)

    if isinstance(drawn.mechanism, Baps):
        return map_certificate(draws_right(jumps, places), len(jumps.places))
    table = drawn.table(statistic)
    right = draws_right(jumps, lambda feed, count: table.draw(count, feed))
    for place in range(min(THROUGH_DRAW, len(jumps.places))):
        feed = Feed(jumps.fed[32 * place : 32 * (place + 1)])
        right = right and bool((places(feed, 1) == jumps.places[place]).all()) and feed.used_up
    return map_certificate(right, len(jumps.places))


def witnesses(model: Model, grid: PublicGrid, people: int, unit_rows: int) -> list[Pair]:
    """Pairs of neighbours whose divergence is largest, at each of a few orders; the first is that of order 2."""
    cases = [*_cases(model, people, unit_rows)]
    count = min(PEAKS, max(PEAKS_LEAST, SEARCH_ELEMENTS // (grid.size * len(cases))))
    looked = []
    for case in cases:
        sums = _peaks(grid, case.rows, model.statistic_range[1] * case.rows, count)
        looked.append((case, sums, _divergences(grid, sums, case)))
    found: list[Pair] = []
    for place in range(len(WITNESS_ORDERS)):
        case, sums, figures = max(looked, key=lambda each: float(each[2][place].max()))
        pair = case.pair(_summit(grid, case, sums, figures[place], place))
        if pair not in found:
            found.append(pair)
    return found


@dataclass(frozen=True, slots=True)
class _Case:
    """One person of (sum, rows) `old` becomes `new`; the others have `rows` rows in all."""

    old: tuple[int, int]
    new: tuple[int, int]
    rows: int

    @property
    def change(self) -> Direction:
        return self.new[0] - self.old[0], self.new[1] - self.old[1]

    def pair(self, others: int) -> Pair:
        held = ExactStatistic(others, self.rows)
        return _moved(held, self.old), _moved(held, self.new)


def _cases(model: Model, people: int, unit_rows: int) -> Iterator[_Case]:
    """From any corner to any other, the others having the fewest rows or the most."""
    for old, new in combinations(person_corners(model.statistic_range, unit_rows), 2):
        for rows in sorted({people - 1, (people - 1) * unit_rows}):
            yield _Case(old, new, rows)


def _summit(grid: PublicGrid, case: _Case, sums: Array, figures: Array, place: int) -> int:
    """The sum of the others at which it is worst, looked for again and again between the neighbours of the best so far."""
    for _ in range(ZOOMS):
        at = int(figures.argmax())
        ends = sums[max(0, at - 1)], sums[min(len(sums) - 1, at + 1)]
        sums = np.unique(np.rint(np.linspace(*ends, ZOOM_SUMS)))
        figures = _divergences(grid, sums, case, WITNESS_ORDERS[place : place + 1])[0]
    return int(sums[int(figures.argmax())])


def _moved(before: ExactStatistic, change: Direction) -> ExactStatistic:
    return ExactStatistic(before.total + change[0], before.rows + change[1])


def _peaks(grid: PublicGrid, rows: int, most: int, count: int) -> Array:
    """Sums at which posteriors peak at points all over the grid, and both ends."""
    chosen = grid.mean[np.linspace(0, grid.size - 1, count).astype(np.int64)] * rows
    return np.unique(np.rint(np.clip(np.r_[chosen, 0, most], 0, most)))


def _divergences(grid: PublicGrid, sums: Array, case: _Case, orders: tuple[float, ...] = WITNESS_ORDERS) -> Array:
    """D_α(P‖Q), a row an order, from centred sums of positive terms; without the share of the uniform table."""
    total, rows = sums[:, None] + case.old[0], case.rows + case.old[1]
    log_w = grid.log_prior + grid.temperature * (total * grid.eta - rows * grid.partition)
    p = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    b = grid.change(case.change)
    centred = b - (p @ b)[:, None]
    powers = (1.0, *(1 - order for order in orders))
    found = [np.log1p((p * phi(np.minimum(power * centred, EXPONENT_MAX))).sum(axis=1)) for power in powers]
    return np.stack([found[0] + other / (order - 1) for other, order in zip(found[1:], orders, strict=True)])


def _noise_findings(model: Model, mechanism: Laplace | Gaussian, people: int, unit_rows: int) -> Findings:
    """One person from any corner to any other, everybody else having one row at 0."""
    others = ExactStatistic(0, people - 1)
    corners = person_corners(model.statistic_range, unit_rows)

    def spied(own: tuple[int, int]) -> Spy:
        spy = Spy()
        mechanism.measure(model, people, unit_rows, _moved(others, own), spy)
        return spy

    told = [(own, spied(own)) for own in corners]
    pairs = [(f"{a} and {b}", before, after) for i, (a, before) in enumerate(told) for b, after in told[i + 1 :]]
    charged = mechanism.cost(model, people, unit_rows).once
    certificate, _ = noise_certificate(pairs, charged, gaussian=isinstance(mechanism, Gaussian))
    return Findings(certificates=(certificate,), covers=True)
