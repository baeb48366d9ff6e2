"""The statistic of one column: the sum of T over the rows, on its lattice, held to what the analysis covers."""

from app.core.grids.natural_model import NaturalModel as Model
from app.core.statistics.sums import ExactStatistic


def clamped(model: Model, people: int, unit_rows: int, statistic: ExactStatistic) -> ExactStatistic:
    """Only statistics the analysis covers reach a sampler, whatever a source returns."""
    rows = min(max(statistic.rows, people), people * unit_rows)
    low, high = model.statistic_range
    return ExactStatistic(min(max(statistic.total, rows * low), rows * high), rows)
