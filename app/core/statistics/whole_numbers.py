"""Exact answers as lists of whole numbers whose length is public, and whether so many rows could have them.

For statistics that are computed elsewhere and arrive without rows: their form says nothing, and what no dataset of that size
could have is never handed to a mechanism, whose analysis is of the others. To add a request: a class below and a line in
`FORMS`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from app.core.statistics.counts import Counts, CountsRequest, ExactCounts, NodeCounts
from app.core.statistics.groups import ExactGroups, GroupedRequest
from app.core.statistics.histograms import ExactHistogram, HistogramRequest
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest
from app.core.statistics.several import ExactSeveral, SeveralRequest
from app.core.statistics.sums import ExactStatistic, RowRequest, StatisticRequest


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows there may be, ends included."""

    least: int
    most: int

    def hold(self, rows: int) -> bool:
        return self.least <= rows <= self.most


class Form(Protocol):
    """How the answers to one type of request are written."""

    def size(self, request: Any) -> int:
        """How many numbers, from the request alone."""

    def numbers(self, request: Any, exact: Any) -> list[int]: ...

    def exact(self, request: Any, numbers: Sequence[int]) -> Any: ...

    def rows(self, request: Any, exact: Any) -> int:
        """How many rows it is of."""

    def possible(self, request: Any, exact: Any, rows: Rows) -> bool:
        """Whether so many rows could have it."""


def size_of(request: RowRequest[Any]) -> int:
    return FORMS[type(request)].size(request)


def numbers_of(request: RowRequest[Any], exact: Any) -> list[int]:
    return FORMS[type(request)].numbers(request, exact)


def exact_of(request: RowRequest[Any], numbers: Sequence[int]) -> Any:
    if len(numbers) != size_of(request):
        raise ValueError("another number of numbers than the request has")
    return FORMS[type(request)].exact(request, numbers)


def is_possible(request: RowRequest[Any], exact: Any, rows: Rows) -> bool:
    return FORMS[type(request)].possible(request, exact, rows)


class _Sum:
    def size(self, request: StatisticRequest) -> int:
        return 2

    def numbers(self, request: StatisticRequest, exact: ExactStatistic) -> list[int]:
        return [exact.total, exact.rows]

    def exact(self, request: StatisticRequest, numbers: Sequence[int]) -> ExactStatistic:
        return ExactStatistic(*numbers)

    def rows(self, request: StatisticRequest, exact: ExactStatistic) -> int:
        return exact.rows

    def possible(self, request: StatisticRequest, exact: ExactStatistic, rows: Rows) -> bool:
        """Each row counts 0 … steps."""
        return rows.hold(exact.rows) and 0 <= exact.total <= request.steps * exact.rows


class _Counts:
    def size(self, request: CountsRequest) -> int:
        return sum(math.prod(node.shape) for node in request.nodes) + 1

    def numbers(self, request: CountsRequest, exact: ExactCounts) -> list[int]:
        return [*map(int, exact.cells), exact.rows]

    def exact(self, request: CountsRequest, numbers: Sequence[int]) -> ExactCounts:
        return ExactCounts(np.array(numbers[:-1], dtype=np.int64), numbers[-1])

    def rows(self, request: CountsRequest, exact: ExactCounts) -> int:
        return exact.rows

    def possible(self, request: CountsRequest, exact: ExactCounts, rows: Rows) -> bool:
        """Every row counts once in every node, and two nodes with a column in common count its levels alike."""
        if not rows.hold(exact.rows) or not _each_within(exact.cells, exact.rows):
            return False
        tables = [*_tables(request, exact.cells)]
        if any(int(table.sum()) != exact.rows for _, table in tables):
            return False
        return all(_agree(one, other) for one, other in combinations(tables, 2))


_Table = tuple[NodeCounts, Counts]


def _tables(request: CountsRequest, cells: Counts) -> Iterator[_Table]:
    place = 0
    for node in request.nodes:
        size = math.prod(node.shape)
        yield node, cells[place : place + size].reshape(node.shape)
        place += size


def _agree(one: _Table, other: _Table) -> bool:
    names = [[*node.parents, node.name] for node, _ in (one, other)]
    shared = sorted({*names[0]} & {*names[1]})
    margins = []
    for axes, (_, table) in zip(names, (one, other), strict=True):
        away = tuple(place for place, name in enumerate(axes) if name not in shared)
        kept = [name for name in axes if name in shared]
        margins.append(table.sum(axis=away).transpose([kept.index(name) for name in shared]))
    return bool(np.array_equal(*margins))


class _Histogram:
    def size(self, request: HistogramRequest) -> int:
        return request.bins

    def numbers(self, request: HistogramRequest, exact: ExactHistogram) -> list[int]:
        return [*map(int, exact.counts)]

    def exact(self, request: HistogramRequest, numbers: Sequence[int]) -> ExactHistogram:
        return ExactHistogram(np.array(numbers, dtype=np.int64))

    def rows(self, request: HistogramRequest, exact: ExactHistogram) -> int:
        return sum(map(int, exact.counts))

    def possible(self, request: HistogramRequest, exact: ExactHistogram, rows: Rows) -> bool:
        return _each_within(exact.counts, rows.most) and rows.hold(self.rows(request, exact))


class _Moments:
    def size(self, request: MomentsRequest) -> int:
        d = request.dimension
        return d * (d + 1) // 2 + d + 1 + d + 1

    def numbers(self, request: MomentsRequest, exact: ExactMoments) -> list[int]:
        upper = exact.products[np.triu_indices(request.dimension)]
        return [*map(int, upper), *map(int, exact.cross), exact.square, *map(int, exact.sums), exact.rows]

    def exact(self, request: MomentsRequest, numbers: Sequence[int]) -> ExactMoments:
        d = request.dimension
        whole, upper = np.array(numbers, dtype=np.int64), d * (d + 1) // 2
        products = np.zeros((d, d), dtype=np.int64)
        products[np.triu_indices(d)] = whole[:upper]
        products = products + np.triu(products, 1).T
        cross, sums = whole[upper : upper + d], whole[upper + d + 1 : -1]
        return ExactMoments(products, cross, int(whole[upper + d]), sums, int(whole[-1]))

    def rows(self, request: MomentsRequest, exact: ExactMoments) -> int:
        return exact.rows

    def possible(self, request: MomentsRequest, exact: ExactMoments, rows: Rows) -> bool:
        """‖Z‖² < LATTICE² and |Y| ≤ LATTICE in every row, and sums of products are positive semidefinite. A whole number and its
        square are even or odd together, and so are their sums."""
        squares = [int(value) for value in np.diagonal(exact.products)]
        if not rows.hold(exact.rows) or min(squares) < 0 or not 0 <= exact.square <= exact.rows * LATTICE**2:
            return False
        if sum(squares) > exact.rows * LATTICE**2 or (request.target is None and exact.square):
            return False
        if any((square - int(total)) % 2 for square, total in zip(squares, exact.sums, strict=True)):
            return False
        products = [[int(value) for value in row] for row in exact.products]
        with_rows = _bordered(products, [int(value) for value in exact.sums], exact.rows)
        with_target = _bordered(products, [int(value) for value in exact.cross], exact.square)
        return _positive_semidefinite(with_rows) and _positive_semidefinite(with_target)


def _bordered(matrix: list[list[int]], edge: list[int], corner: int) -> list[list[int]]:
    return [[corner, *edge], *([value, *row] for value, row in zip(edge, matrix, strict=True))]


def _positive_semidefinite(matrix: list[list[int]]) -> bool:
    """In whole numbers (Bareiss 1968): every pivot that remains is a minor. One of 0 is fine if its row is."""
    left, before = [row[:] for row in matrix], 1
    while left:
        pivot, edge = left[0][0], left[0][1:]
        if pivot < 0 or (pivot == 0 and any(edge)):
            return False
        rest = [row[1:] for row in left[1:]]
        if pivot == 0:
            left = rest
            continue
        left = [
            [(pivot * value - edge[i] * edge[j]) // before for j, value in enumerate(row)] for i, row in enumerate(rest)
        ]
        before = pivot
    return True


class _Groups:
    """Groups that hold every row, and groups that leave some out: those have no least number of rows."""

    def size(self, request: GroupedRequest) -> int:
        return request.size * size_of(request.of)

    def numbers(self, request: GroupedRequest, exact: ExactGroups) -> list[int]:
        return [number for part in exact.parts for number in numbers_of(request.of, part)]

    def exact(self, request: GroupedRequest, numbers: Sequence[int]) -> ExactGroups:
        each = size_of(request.of)
        cut = [numbers[place : place + each] for place in range(0, len(numbers), each)]
        return ExactGroups(tuple(exact_of(request.of, part) for part in cut))

    def rows(self, request: GroupedRequest, exact: ExactGroups) -> int:
        return sum(FORMS[type(request.of)].rows(request.of, part) for part in exact.parts)

    def possible(self, request: GroupedRequest, exact: ExactGroups, rows: Rows) -> bool:
        some = Rows(0, rows.most)
        inner = all(is_possible(request.of, part, some) for part in exact.parts)
        whole = request.where is None and not request.present and not _leaves_out(request.of)
        return inner and (rows if whole else some).hold(self.rows(request, exact))


def _leaves_out(request: RowRequest[Any]) -> bool:
    if not isinstance(request, GroupedRequest):
        return False
    return request.where is not None or bool(request.present) or _leaves_out(request.of)


class _Several:
    def size(self, request: SeveralRequest) -> int:
        return sum(map(size_of, request.parts))

    def numbers(self, request: SeveralRequest, exact: ExactSeveral) -> list[int]:
        pairs = zip(request.parts, exact.parts, strict=True)
        return [number for part, own in pairs for number in numbers_of(part, own)]

    def exact(self, request: SeveralRequest, numbers: Sequence[int]) -> ExactSeveral:
        found, place = [], 0
        for part in request.parts:
            found.append(exact_of(part, numbers[place : place + size_of(part)]))
            place += size_of(part)
        return ExactSeveral(tuple(found))

    def rows(self, request: SeveralRequest, exact: ExactSeveral) -> int:
        return max(FORMS[type(part)].rows(part, own) for part, own in zip(request.parts, exact.parts, strict=True))

    def possible(self, request: SeveralRequest, exact: ExactSeveral, rows: Rows) -> bool:
        """All parts that leave no row out are of the same rows."""
        pairs = [*zip(request.parts, exact.parts, strict=True)]
        seen = {FORMS[type(part)].rows(part, own) for part, own in pairs if not _leaves_out(part)}
        return len(seen) <= 1 and all(is_possible(part, own, rows) for part, own in pairs)


def _each_within(cells: Counts, most: int) -> bool:
    """So that sums of them cannot pass 2⁶³ either."""
    return all(0 <= int(cell) <= most for cell in cells)


FORMS: dict[type[RowRequest[Any]], Form] = {
    StatisticRequest: _Sum(),
    CountsRequest: _Counts(),
    HistogramRequest: _Histogram(),
    MomentsRequest: _Moments(),
    GroupedRequest: _Groups(),
    SeveralRequest: _Several(),
}
