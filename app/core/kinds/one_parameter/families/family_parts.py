"""What the families' parsers share: columns with bounds, trims, statistics on a lattice."""

from collections.abc import Mapping
from typing import Any

from app.core.parameters import Parameter
from app.core.reading import read_number, read_object
from app.core.schema import Column, ColumnType
from app.core.statistics.sums import StatisticRequest, Transform
from app.errors import InvalidModel

REAL_STEPS = 2**20
INTEGER_STEPS_MAX = 2**20
RATE_MIN = 1e-12
RATE_MAX = 1e12


def read_column(fields: Mapping[str, Any], columns: Mapping[str, Column], types: tuple[ColumnType, ...]) -> Column:
    name = fields["column"]
    if not isinstance(name, str) or name not in columns or columns[name].type not in types:
        raise InvalidModel("model.column", f"the name of a column of type {' or '.join(types)}")
    return columns[name]


def bounds_of(column: Column) -> tuple[float, float]:
    if column.lower is None or column.upper is None:
        raise InvalidModel("model.column", "a column with bounds")
    return float(column.lower), float(column.upper)


def read_trim(spec: object, name: str, default: tuple[float, float], within: tuple[float, float]) -> Parameter:
    """{"lower", "upper"}: the public range of the parameter, inside `within`."""
    fields = read_object("model.trim", spec, required=set(), optional={"lower", "upper"})
    lower = read_number("model.trim.lower", fields.get("lower", default[0]))
    upper = read_number("model.trim.upper", fields.get("upper", default[1]))
    for side, value in (("lower", lower), ("upper", upper)):
        if not within[0] <= value <= within[1]:
            raise InvalidModel(f"model.trim.{side}", f"a number from {within[0]:g} to {within[1]:g}")
    if not lower < upper or not upper - lower > 1e-9 * max(abs(lower), abs(upper)):
        raise InvalidModel("model.trim.upper", "a number clearly above `lower`")
    return Parameter(name, lower, upper)


def read_positive(field: str, value: object, default: float | None = None) -> float:
    number = read_number(field, default if value is None else value)
    if not 1e-6 <= number <= 1e6:
        raise InvalidModel(field, "a number from 1e-6 to 1e6")
    return number


def whole_statistic(column: Column, transform: Transform = "identity") -> StatisticRequest:
    """An integer column counts in its own units."""
    lower, upper = bounds_of(column)
    if upper - lower > INTEGER_STEPS_MAX:
        raise InvalidModel("model.column", f"bounds at most {INTEGER_STEPS_MAX} apart")
    return StatisticRequest(column.name, transform, 0.0, lower, upper, int(upper - lower))


def real_statistic(column: Column, transform: Transform, anchor: float, lower: float, upper: float) -> StatisticRequest:
    """Rounded to a millionth of its range; integer columns under `identity` keep their own units."""
    if column.type == "integer" and transform == "identity" and upper - lower <= INTEGER_STEPS_MAX:
        return StatisticRequest(column.name, transform, anchor, lower, upper, int(upper - lower))
    return StatisticRequest(column.name, transform, anchor, lower, upper, REAL_STEPS)
