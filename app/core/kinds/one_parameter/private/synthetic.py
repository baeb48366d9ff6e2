"""Rows of one column: a value by the family's law at a point of the belief; of private groups also how many rows each has."""

import numpy as np

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.predictive import RecordLaw
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.synthetic import Array, Codes, Known, RowLaw, Sketch
from app.errors import SyntheticUnavailable

WORK = 32
"""A quantile takes about as long as so many numbers looked at."""
_CELLS, _SDS = 4_096, 8.0
_NOT_KEPT = "what was measured of its groups was not kept, so nobody can say how many rows each has"


def _draw(model: NaturalModel, sketch: Sketch) -> list[Array | Codes]:
    """By the quantile of a uniform number. Whoever shows it holds it to the column's bounds, as rows that came in were."""
    uniform = sketch.uniforms(f"column {model.column}")
    return [RecordLaw(model).quantile(sketch.parameter(0), uniform, enough=model.statistic.upper)]


def _weights(model: MeasuredGroups, known: Known) -> tuple[float, ...]:
    """What the noisy numbers of rows imply: each group's mean number of rows given its own, any from none to all equally
    probable before."""
    if known.measured is None:
        raise SyntheticUnavailable(_NOT_KEPT)
    found = known.mechanism.noisy_rows(model, known.unit_rows, known.measured)
    return tuple(_mean_between(noisy, sd, known.people * known.unit_rows) for noisy, sd in found)


def _mean_between(noisy: float, sd: float, most: int) -> float:
    """E[m | noisy], m even on [0, most] before and the noise normal: a sum over the numbers near enough to matter."""
    near = min(max(noisy, 0.0), float(most))
    low, high = max(near - _SDS * sd, 0.0), min(near + _SDS * sd, float(most))
    rows = low + (np.arange(_CELLS) + 0.5) / _CELLS * (high - low)
    log_mass = -(((rows - noisy) / sd) ** 2) / 2
    mass = np.exp(log_mass - log_mass.max())
    return float(np.dot(rows, mass) / mass.sum())


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
