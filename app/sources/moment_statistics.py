"""Sums of products of coordinates on their lattice, in the order of operations of `app.core.statistics.moments`.

Each record is brought to whole numbers by subtraction, division, multiplication, addition, square root and floor of doubles,
one operation at a time. IEEE 754 rounds each of them in one way, and the engine works through a column an operation at a
time, so nothing is fused: the whole numbers are those of the reference to the last one, on every machine. Only they are added,
as 128-bit integers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.schema import Column
from app.core.statistics.coordinates import Coordinate
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
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
        self,
        request: MomentsRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> Sequence[str]:
        """Scaled coordinates, the target last."""
        return [_scaled(coordinate, rules[coordinate.column], dialect) for coordinate in _coordinates(request)]

    def width(self, request: MomentsRequest) -> int:
        return len([*_coordinates(request)])

    def totals(self, request: MomentsRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
        whole = _whole_numbers(request, table, keys, dialect)
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


def _scaled(coordinate: Coordinate, rule: CellRule, dialect: Dialect = DUCK) -> str:
    """SQL of `Coordinate.scaled`."""
    if coordinate.level is not None:
        held = f"CASE WHEN {rule.canonical} = {dialect.text(coordinate.level)} THEN 1 ELSE 0 END"
        return dialect.cast(held, "DOUBLE")
    number = dialect.number
    x = f"coalesce(nullif({rule.number}, {number(math.nan)}), {number(coordinate.missing)})"
    scaled = dialect.over_number(f"({x} - {number(coordinate.centre)})", coordinate.half_width)
    return f"least(greatest({scaled}, {number(-1.0)}), {number(1.0)})"


def _whole_numbers(request: MomentsRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
    """SQL of a table with the columns z0, z1, … and y, beside the keys."""
    features = [f"v{i}" for i in range(len(request.coordinates))]
    scaled = [dialect.number(1.0), *features] if request.intercept else features
    squares = " + ".join(dialect.square(value) for value in scaled)  # added from left to right
    divisor = f"greatest(sqrt({squares}), {dialect.number(request.norm_bound)})"
    z = [
        f"{_nearest(dialect.share(value, 'divisor'), request.steps, dialect)} AS z{i}" for i, value in enumerate(scaled)
    ]
    y = dialect.cast("0", "BIGINT") if request.target is None else _nearest(f"v{len(features)}", LATTICE, dialect)
    shown = ", ".join([*keys, *z, f"{y} AS y"])
    return f"(SELECT {shown} FROM {dialect.step([f'{divisor} AS divisor'], table)})"  # noqa: S608 - whole numbers


def _nearest(value: str, steps: int, dialect: Dialect) -> str:
    return dialect.cast(f"floor({value} * {dialect.number(float(steps))} + {dialect.number(0.5)})", "BIGINT")
