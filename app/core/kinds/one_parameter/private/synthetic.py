"""Rows of one column: a value by the family's law at a point of the belief; of private groups also how many rows each has."""

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.predictive import RecordLaw
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.synthetic import NOT_KEPT, Array, Codes, Known, RowLaw, Sketch, believed_rows
from app.errors import SyntheticUnavailable

WORK = 32
"""A quantile takes about as long as so many numbers looked at."""


def _draw(model: NaturalModel, sketch: Sketch) -> list[Array | Codes]:
    """By the quantile of a uniform number. Whoever shows it holds it to the column's bounds, as rows that came in were."""
    uniform = sketch.uniforms(f"column {model.column}")
    return [RecordLaw(model).quantile(sketch.parameter(0), uniform, enough=model.statistic.upper)]


def _weights(model: MeasuredGroups, known: Known) -> tuple[float, ...]:
    """What the noisy numbers of rows imply: each group's mean number of rows given its own, any from none to all equally
    probable before."""
    if known.measured is None:
        raise SyntheticUnavailable(NOT_KEPT)
    found = known.mechanism.noisy_rows(model, known.unit_rows, known.measured)
    return tuple(believed_rows(noisy, sd, known.people * known.unit_rows) for noisy, sd in found)


COLUMN_ROWS = RowLaw(
    names=lambda model: (model.column,),
    work=lambda model: WORK,
    width=lambda model: 1,
    weights=lambda model, known: (1.0,),
    draw=_draw,
)

GROUP_ROWS = RowLaw(
    names=lambda model: (model.inner.column,),
    work=lambda model: WORK,
    width=lambda model: 1,
    weights=_weights,
    draw=lambda model, sketch: _draw(model.inner, sketch),
)
