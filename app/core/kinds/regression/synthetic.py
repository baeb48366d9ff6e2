"""Rows of a regression, and of normal laws of one column or several: by the model's law at a point of the belief.

A linear regression says how its target follows from features and nothing about these. They are made up evenly over what was
declared of them, bounds and levels, which is public; the target has the declared noise around its line. So whoever fits the
regression to such rows finds it again, and whoever counts the features finds the schema.
"""

from typing import Any

import numpy as np

from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.private.group_noise import group_weights, row_noise_sd
from app.core.kinds.regression.private.mechanism import group_perturbation
from app.core.kinds.regression.private.model import Inner, MeasuredRegressions
from app.core.kinds.synthetic import NOT_KEPT, Array, Codes, Known, RowLaw, Sketch, believed_rows
from app.core.schema import Column
from app.core.statistics.moments import LATTICE
from app.errors import SyntheticUnavailable

CELLS_AT_ONCE = 2**18
"""Entries of matrices gathered at a time: two megabytes, whatever the columns and rows."""
EDGE = 1e-9
"""Eigenvalues of a matrix below this share of its largest, or of 1, count as so much: samples are held to their public ranges
one by one, which may leave a matrix without an inverse."""
_EVEN = "the features of a regression are even over their declared bounds and levels, whatever they are among people"
_NO_NOISE = "its model does not state noise_sd: nothing says how far rows lie from the line"


def _names(model: Inner) -> tuple[str, ...]:
    if isinstance(model, LinearModel):
        return (*model.features, model.target.column)
    if isinstance(model, MeanAndSdModel):
        return (model.coordinate.column,)
    return tuple(c.column for c in model.coordinates)


def _work(model: Inner) -> int:
    return 4 * model.dimension**2 if isinstance(model, PrecisionMatrixModel) else 4 * (model.dimension + 1)


def _draw(model: Inner, sketch: Sketch) -> list[Array | Codes]:
    if isinstance(model, LinearModel):
        return _linear(model, sketch)
    if isinstance(model, MeanAndSdModel):
        return [sketch.parameter(0) + sketch.parameter(1) * _normals(sketch, model.coordinate.column)]
    normals = np.stack([_normals(sketch, c.column) for c in model.coordinates], axis=1)
    if isinstance(model, MeanModel):
        shifts = normals @ np.linalg.cholesky(np.array(model.covariance)).T
        return [sketch.parameter(place) + shifts[:, place] for place in range(model.dimension)]
    return _by_precision(model, sketch, normals)


def _by_precision(model: PrecisionMatrixModel, sketch: Sketch, normals: Array) -> list[Array | Codes]:
    """c + L⁻ᵀn with Ω = LLᵀ, which has covariance Ω⁻¹. In units of the half-widths, where entries are of one size."""
    d, upper = model.dimension, np.triu_indices(model.dimension)
    half_widths = np.array([c.half_width for c in model.coordinates])
    found = np.empty_like(normals)
    step = max(1, CELLS_AT_ONCE // d**2)
    for start in range(0, sketch.rows, step):
        rows = sketch.part(start, start + step)
        matrices = np.empty((rows.rows, d, d))
        for place, (i, j) in enumerate(zip(*upper, strict=True)):
            matrices[:, i, j] = matrices[:, j, i] = rows.parameter(place) * half_widths[i] * half_widths[j]
        values = np.linalg.eigvalsh(matrices)
        short = np.maximum(EDGE * np.maximum(values[:, -1], 1.0) - values[:, 0], 0.0) * (1 + EDGE)
        lower = np.linalg.cholesky(matrices + short[:, None, None] * np.eye(d))
        found[start : start + step] = np.linalg.solve(lower.transpose(0, 2, 1), normals[start : start + step, :, None])[
            :, :, 0
        ]
    return [c.centre + c.half_width * found[:, place] for place, c in enumerate(model.coordinates)]


def _linear(model: LinearModel, sketch: Sketch) -> list[Array | Codes]:
    line = sketch.parameter(0) if model.intercept else np.zeros(sketch.rows)
    made: list[Array | Codes] = []
    place = int(model.intercept)
    for name in model.features:
        column, uniform = sketch.columns[name], sketch.uniforms(f"column {name}")
        values = _even(column, uniform)
        made.append(values)
        if column.type != "categorical":
            line = line + sketch.parameter(place) * values
            place += 1
            continue
        for level in range(1, len(column.levels)):
            line = line + np.where(values == level, sketch.parameter(place), 0.0)
            place += 1
    return [*made, line + float(model.noise_sd or 0.0) * _normals(sketch, model.target.column)]


def _even(column: Column, uniform: Array) -> Array | Codes:
    """Codes of levels, or numbers."""
    if column.type in ("binary", "categorical"):
        levels = 2 if column.type == "binary" else len(column.levels)
        return np.minimum((uniform * levels).astype(np.int64), levels - 1)
    lower, upper = float(column.lower or 0.0), float(column.upper or 0.0)  # which a number that a model is of has
    if column.type == "real":
        return lower + uniform * (upper - lower)
    return np.minimum(lower + np.floor(uniform * (upper - lower + 1)), upper)


def _normals(sketch: Sketch, column: str) -> Array:
    from scipy.special import ndtri  # loaded when first needed: half a second

    return np.asarray(ndtri(sketch.uniforms(f"column {column}")))


def _refused(model: Inner) -> str | None:
    return _NO_NOISE if isinstance(model, LinearModel) and model.noise_sd is None else None


def _note(model: Inner) -> str | None:
    return _EVEN if isinstance(model, LinearModel) else None


def _weights(model: MeasuredRegressions, known: Known) -> tuple[float, ...]:
    """What every group's noisy number of rows implies."""
    if known.measured is None:
        raise SyntheticUnavailable(NOT_KEPT)
    unit = LATTICE**2 if isinstance(model.inner, (LinearModel, PrecisionMatrixModel)) else LATTICE
    scale = known.mechanism.scale(group_perturbation(model, known.people, known.unit_rows), known.unit_rows)
    weights, most = group_weights(model.inner, between=bool(model.groups.by)), known.people * known.unit_rows
    sd = row_noise_sd(weights, scale, unit)
    parts = np.split(known.measured, model.count)
    return tuple(believed_rows(float(part[-1]) / unit, sd, most) for part in parts)


def _width(model: Any) -> int:
    return len(model.parameters)


REGRESSION_ROWS = RowLaw(
    names=_names,
    work=_work,
    width=_width,
    weights=lambda model, known: (1.0,),
    draw=_draw,
    refused=_refused,
    note=_note,
)

GROUP_ROWS = RowLaw(
    names=lambda model: _names(model.inner),
    work=lambda model: _work(model.inner),
    width=lambda model: _width(model.inner),
    weights=_weights,
    draw=lambda model, sketch: _draw(model.inner, sketch),
    refused=lambda model: _refused(model.inner),
    note=lambda model: _note(model.inner),
)
