"""The statistic of a regression: sums of products on the lattice, held to what the analysis covers."""

import numpy as np

from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest
from app.errors import InvalidModel, NumericalFailure

ROWS_MAX = 2**29
"""Sums of products stay below 2⁶¹, with room for the noise."""


def clamped_moments(
    request: MomentsRequest, moments: ExactMoments, people: int, unit_rows: int, *, any_rows: bool = False
) -> ExactMoments:
    """Only sums the analysis covers reach a sampler, whatever a source returns.

    Clamping each sum to what this many rows can reach moves no two datasets apart. Of a private group there may be none.
    """
    d, most = request.dimension, rows_checked(people, unit_rows)
    shapes = (moments.products.shape, moments.cross.shape, moments.sums.shape)
    if shapes != ((d, d), (d,), (d,)):
        raise NumericalFailure("one sum for every pair of coordinates")
    area = most * LATTICE**2
    return ExactMoments(
        np.clip(moments.products, -area, area),
        np.clip(moments.cross, -area, area),
        min(max(moments.square, 0), area),
        np.clip(moments.sums, -most * LATTICE, most * LATTICE),
        min(max(moments.rows, 0 if any_rows else people), most),
    )


def rows_checked(people: int, unit_rows: int) -> int:
    if not 1 <= people * unit_rows <= ROWS_MAX:
        raise InvalidModel("model.family", f"a dataset of at most {ROWS_MAX} rows, counting all that people may have")
    return people * unit_rows
