"""`"responses": {"lower": a, "upper": b}` of an `expression` utility: any real r in [a, b], found by a certified search.

Over the public ranges the utility's slope in r must be bounded (`expressions/slopes.py`); what jumps with r is refused, and has
to be asked with `steps`. How many evaluations the search may spend follows from public numbers: `EVALUATIONS_MAX`, or what the
limit on operations × samples leaves. Tie rule: the smallest of the best points the search found. `why` is null: there is no
runner-up among real numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.estimands.names import NamedEstimands
from app.core.decisions.expressions import Expression, check_work
from app.core.decisions.expressions.slopes import Span, motion, public_box
from app.core.decisions.regret import Bound, bound_real
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.search import search
from app.core.decisions.utilities.utility import Decision, in_unit
from app.core.language.tree import OPERATIONS_MAX

Array = NDArray[np.float64]

EVALUATIONS_MIN = 32
"""Enough for a few cells and their slopes, however many samples and nodes there are."""
EVALUATIONS_MAX = 4_000
SLOPE_COST = 12
"""What a slope counts as, in evaluations: two ends of a value and of a slope, each from up to four products."""
CHUNK = 1_024
BLOCKS_MAX = 1_024
"""More samples than this are put into so many boxes of neighbours for slopes; means are always over every sample."""
PUBLIC_CELLS = 256
FIELD = "utility.utility"


@dataclass(frozen=True, slots=True)
class RealExpressionUtility:
    """`names` holds the estimand first, if there is one; `expression` was given the names and then `r`.

    In units of the declared range: `variation`, ∫(S₊ − S₋) dr with S± the public slopes at r; `steepest`, the largest |S±|;
    `error`, of one evaluation.
    """

    expression: Expression
    names: NamedEstimands
    low: float
    high: float
    lower: float
    upper: float
    variation: float
    steepest: float
    error: float

    @property
    def work(self) -> int:
        return self.expression.nodes * EVALUATIONS_MAX + self.names.work

    @property
    def responses(self) -> None:
        return None

    def check(self, samples: int) -> None:
        check_work(FIELD, self.expression.nodes * EVALUATIONS_MIN + self.names.nodes, samples)
        self.names.check(samples)

    def evaluations(self, samples: int) -> int:
        """How many the search may spend."""
        left = OPERATIONS_MAX // samples - self.names.nodes
        return min(EVALUATIONS_MAX, left // self.expression.nodes)

    def decide(self, samples: SampleSet) -> Decision:
        surface = MeanUtility(self, samples)
        found = search(surface, self.low, self.high, self.evaluations(samples.size), surface.slope_cost)
        return Decision(found.response, in_unit(found.value), None, found.gap)

    def regret(self, samples: int, delta: float) -> Bound:
        width = (self.expression.upper - self.expression.lower) / (self.upper - self.lower)
        return bound_real(width + 2 * self.error, self.variation, samples, delta)


def compile_real(
    expression: Expression, names: NamedEstimands, ends: tuple[float, float], lower: float, upper: float
) -> RealExpressionUtility:
    """Raises InvalidExpression where the utility jumps with r or is infinitely steep."""
    moving = len(expression.parameters) + len(expression.extra) - 1
    scale = upper - lower
    whole = motion(expression, public_box(expression, moving, ends), moving, FIELD, errors=True)
    points = np.linspace(*ends, PUBLIC_CELLS + 1)
    cells = motion(expression, public_box(expression, moving, (points[:-1], points[1:])), moving, FIELD)
    falls, rises = (np.broadcast_to(end, PUBLIC_CELLS) for end in cells.slope)
    variation = float(np.sum((rises - falls) * np.diff(points))) / scale
    steepest = float(max(np.max(rises), -np.min(falls), 0.0)) / scale
    return RealExpressionUtility(expression, names, *ends, lower, upper, variation, steepest, whole.error / scale)


class MeanUtility:
    """Û over one sample set, as `search` wants it."""

    def __init__(self, utility: RealExpressionUtility, samples: SampleSet) -> None:
        self._utility = utility
        self._samples = samples
        self._named = utility.names.columns(samples)
        self._scale = utility.upper - utility.lower
        self._moving = len(utility.expression.parameters) + len(utility.expression.extra) - 1

    @property
    def error(self) -> float:
        """Of one value, and of a pairwise sum of values inside the range, chunk after chunk."""
        reach = max(abs(self._utility.expression.lower), abs(self._utility.expression.upper)) / self._scale
        return self._utility.error + (64 + self._samples.size / CHUNK) * 2.0**-53 * (reach + 1)

    def slope_cost(self, cells: int) -> int:
        size = self._samples.size
        return -(-SLOPE_COST * cells * min(size, BLOCKS_MAX) // size)

    def means(self, points: Array) -> Array:
        """A response's mean is the same beside any others: rows are added by themselves, in chunks of one length."""
        utility, size = self._utility, self._samples.size
        totals = np.zeros(len(points))
        for start in range(0, size, CHUNK):
            part = slice(start, min(start + CHUNK, size))
            extra = [*(column[part] for column in self._named), points[:, None]]
            values = utility.expression.evaluate(self._samples.columns, extra, part)
            totals += np.ascontiguousarray(np.broadcast_to(values, (len(points), part.stop - start))).sum(axis=1)
        return (totals / size - utility.lower) / self._scale

    def slopes(self, low: Array, high: Array) -> tuple[Array, Array]:
        shares, boxes = self._blocks

        def box(column: int) -> Span:
            return (low[:, None], high[:, None]) if column == self._moving else boxes[column]

        found = motion(self._utility.expression, box, self._moving, FIELD).slope
        shape = len(low), len(shares)
        falls, rises = ((np.broadcast_to(end, shape) * shares).sum(axis=1) / self._scale for end in found)
        slack = self._utility.steepest * 2.0**-40
        return falls - slack, rises + slack

    @cached_property
    def _blocks(self) -> tuple[Array, dict[int, Span]]:
        """(share of the samples, column → least and greatest values) of each block."""
        tree = self._utility.expression.tree
        used = sorted({node.parameter for node in tree if node.operation == "parameter"} - {self._moving})
        columns = {column: self._column(column) for column in used}
        size = self._samples.size
        if size <= BLOCKS_MAX:
            return np.full(size, 1 / size), {column: (values, values) for column, values in columns.items()}
        order = neighbours([columns[column] for column in used], size)
        starts = np.arange(BLOCKS_MAX) * size // BLOCKS_MAX
        shares = np.diff(np.append(starts, size)) / size
        return shares, {
            column: (np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts))
            for column, values in columns.items()
        }

    def _column(self, column: int) -> Array:
        own = column - len(self._utility.expression.parameters)
        return self._samples.columns[column] if own < 0 else self._named[own]


def neighbours(columns: list[Array], size: int) -> NDArray[np.intp]:
    """An order in which `BLOCKS_MAX` equal parts hold samples near one another: halved by each column in turn."""
    order = np.arange(size)
    if len(columns) == 1:
        return np.argsort(columns[0], kind="stable")
    parts = 1
    while columns and parts < BLOCKS_MAX:
        column = columns[int(np.log2(parts)) % len(columns)]
        # The part a place belongs to, by the boundaries of the final blocks.
        part = np.searchsorted(np.arange(1, parts) * size // parts, np.arange(size), side="right")
        order = order[np.lexsort((column[order], part))]
        parts *= 2
    return order
