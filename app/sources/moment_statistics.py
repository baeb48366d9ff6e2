"""Sums of products of coordinates on their lattice, in the order of operations of `app.core.statistics.moments`.

Each record is brought to whole numbers by subtraction, division, multiplication, addition, square root and floor of doubles,
one operation at a time. IEEE 754 rounds each of them in one way, and the engine works through a column an operation at a
time, so nothing is fused: the whole numbers are those of the reference to the last one, on every machine. Only they are added,
as 128-bit integers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.schema import Column
from app.core.statistics.coordinates import Coordinate
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.engine import double, literal
from app.sources.grouping.keyed_rows import Keys, aggregated

_INT64 = 2**63 - 1


class ProductMoments:
    """A cell that is missing or no number counts as the coordinate's `missing`, an unknown level as the first one."""

    def check(self, request: MomentsRequest, columns: Mapping[str, Column]) -> None:
        for coordinate in _coordinates(request):
            column = columns.get(coordinate.column)
            if column is None or (column.type == "categorical") != (coordinate.kind == "level"):
                raise InvalidModel("model.features", "numbers of binary, integer or real columns, or levels of others")

    def cells(
        self, request: MomentsRequest, columns: Mapping[str, Column], rules: Mapping[str, CellRule]
    ) -> Sequence[str]:
        """Scaled coordinates, the target last."""
        return [_scaled(coordinate, rules[coordinate.column]) for coordinate in _coordinates(request)]

    def width(self, request: MomentsRequest) -> int:
        return len([*_coordinates(request)])

    def totals(self, request: MomentsRequest, table: str, keys: Keys = ()) -> str:
        whole = _whole_numbers(request, table, keys)
        names = [f"z{i}" for i in range(request.dimension)]
        columns = [*names, "y"]
        products = [f"sum({a} * {b})" for i, a in enumerate(columns) for b in columns[i:]]
        return aggregated(["count(*)", *products, *(f"sum({name})" for name in names)], whole, keys)

    def exact(self, request: MomentsRequest, found: Sequence[tuple[Any, ...]]) -> ExactMoments:
        """Sums of no rows are NULL. What int64 cannot hold, 2³¹ rows and more, is clamped: the caller clamps closer."""
        d = request.dimension
        rows, *sums = (min(max(int(value or 0), -_INT64), _INT64) for value in found[0])
        square = np.zeros((d + 1, d + 1), dtype=np.int64)
        upper = np.triu_indices(d + 1)
        square[upper] = sums[: len(upper[0])]
        products: NDArray[np.int64] = np.triu(square) + np.triu(square, 1).T
        totals = np.array(sums[len(upper[0]) :], dtype=np.int64)
        return ExactMoments(products[:d, :d].copy(), products[:d, d].copy(), int(square[d, d]), totals, rows)


def _coordinates(request: MomentsRequest) -> Iterator[Coordinate]:
    yield from request.coordinates
    if request.target is not None:
        yield request.target


def _scaled(coordinate: Coordinate, rule: CellRule) -> str:
    """SQL of `Coordinate.scaled`."""
    if coordinate.level is not None:
        return f"CASE WHEN {rule.canonical} = {literal(coordinate.level)} THEN 1 ELSE 0 END::DOUBLE"
    x = f"coalesce(nullif({rule.number}, 'nan'::DOUBLE), {double(coordinate.missing)})"
    scaled = f"({x} - {double(coordinate.centre)}) / {double(coordinate.half_width)}"
    return f"least(greatest({scaled}, {double(-1.0)}), {double(1.0)})"


def _whole_numbers(request: MomentsRequest, table: str, keys: Keys = ()) -> str:
    """SQL of a table with the columns z0, z1, … and y, beside the keys."""
    features = [f"v{i}" for i in range(len(request.coordinates))]
    scaled = [double(1.0), *features] if request.intercept else features
    squares = " + ".join(f"{value} * {value}" for value in scaled)  # added from left to right
    divisor = f"greatest(sqrt({squares}), {double(request.norm_bound)})"
    z = [f"{_nearest(f'{value} / divisor', request.steps)} AS z{i}" for i, value in enumerate(scaled)]
    y = "0::BIGINT" if request.target is None else _nearest(f"v{len(features)}", LATTICE)
    shown = ", ".join([*keys, *z, f"{y} AS y"])
    return f"(SELECT {shown} FROM (SELECT *, {divisor} AS divisor FROM {table}))"  # noqa: S608


def _nearest(value: str, steps: int) -> str:
    return f"floor({value} * {double(float(steps))} + {double(0.5)})::BIGINT"
