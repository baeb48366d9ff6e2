"""What the families share: the fields every description has, columns with bounds, trims, statistics on a lattice."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from app.core.grids.bernoulli import TRIM_DEFAULT, TRIM_WORDS, Trim
from app.core.grids.priors import ProbabilityPrior, RatePrior
from app.core.parameters import Parameter
from app.core.schema import NAME_LENGTH_MAX, Column, ColumnType
from app.core.specs import Maybe, Spec
from app.core.statistics.sums import StatisticRequest, Transform
from app.errors import InvalidModel

REAL_STEPS = 2**20
INTEGER_STEPS_MAX = 2**20
RATE_MIN = 1e-12
RATE_MAX = 1e12

Known = Annotated[float, Field(ge=1e-6, le=1e6)]
"""A positive number that the family takes as given."""


class ColumnModel(Spec):
    """One parameter of one column."""

    family: str
    column: str = Field(min_length=1, max_length=NAME_LENGTH_MAX, description="The column the model is of.")


class TrimRange(Spec):
    """The public range of a parameter. An end that is left out follows from the column's bounds; without either, the range is
    wider where noise is added, which it costs nothing."""

    lower: Maybe[float] = Field(default=None, description="The parameter is never below.")
    upper: Maybe[float] = Field(default=None, description="The parameter is never above.")


class ProbabilityModel(ColumnModel):
    prior: ProbabilityPrior | None = Field(default=None, description="Uniform if null or left out.")
    trim: Maybe[Trim] = Field(default=None, description=TRIM_WORDS)

    @property
    def within(self) -> float:
        """The trim, or the default of draws."""
        return TRIM_DEFAULT if self.trim is None else self.trim


class RateModel(ColumnModel):
    prior: RatePrior | None = Field(
        default=None, description="Exponential, its mean inside the range, if null or left out."
    )
    trim: TrimRange = Field(default=TrimRange(), description="The public range of the parameter.")


def read_column(spec: ColumnModel, columns: Mapping[str, Column], types: tuple[ColumnType, ...]) -> Column:
    column = columns.get(spec.column)
    if column is None or column.type not in types:
        raise InvalidModel("model.column", f"the name of a column of type {' or '.join(types)}")
    return column


def bounds_of(column: Column) -> tuple[float, float]:
    if column.lower is None or column.upper is None:
        raise InvalidModel("model.column", "a column with bounds")
    return float(column.lower), float(column.upper)


def read_trim(trim: TrimRange, name: str, default: tuple[float, float], within: tuple[float, float]) -> Parameter:
    """The public range of the parameter, inside `within`."""
    lower = default[0] if trim.lower is None else trim.lower
    upper = default[1] if trim.upper is None else trim.upper
    for side, value in (("lower", lower), ("upper", upper)):
        if not within[0] <= value <= within[1]:
            raise InvalidModel(f"model.trim.{side}", f"a number from {within[0]:g} to {within[1]:g}")
    if not lower < upper or not upper - lower > 1e-9 * max(abs(lower), abs(upper)):
        raise InvalidModel("model.trim.upper", "a number clearly above `lower`")
    return Parameter(name, lower, upper)


def is_open(trim: TrimRange) -> bool:
    return trim.lower is None and trim.upper is None


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
