"""How noise is shared between the numbers of a private group: moments as exact as for everybody, the number of rows for nothing.

A row adds f to the numbers of its group, in units of the lattice with weights C on the last moment and w on the number of rows:

    linear    f = (zzᵀ, zy, √C·y², √w),  ‖z‖, |y| ≤ 1:   ‖f‖² ≤ 2 + C + w,   and within a group ‖f − f'‖² ≤ 4.5 for C ≤ 3/2
    normal    f = (x, √C·x², √w),        |x| ≤ 1:        ‖f‖² ≤ 1 + C + w,   and ‖f − f'‖² ≤ 4 for C ≤ 2.77
    mean      f = (z, √w),               ‖z‖ ≤ 1:        ‖f‖² ≤ 1 + w,       and ‖f − f'‖² ≤ 4
    matrix    f = (zzᵀ, √w),             ‖z‖ ≤ 1:        ‖f‖² ≤ 1 + w,       and ‖f − f'‖² ≤ 2

(`perturbed_linear.py`, `perturbed_normal.py`). Who moves from one group to another changes ‖f‖² + ‖f'‖² ≤ 2·max‖f‖², who meets
a condition or no longer does ‖f‖². Weights are chosen so that neither is more than moving within a group: C + w = 1/4 and 1 of a
linear model and a normal one by groups, 5/2 and 3 by a condition alone. Of a matrix by groups nothing is left over: w = 1/8,
so that moving between groups changes 2(1 + w) = 9/4, an eighth more than within one; by a condition alone w = 1 is free. A
person's k rows are k such moves after each other: of a before and b after, min(a, b) change and the others come or go, and that
is so without any condition too, where people with several rows have from one to k of them.
"""

import math
from dataclasses import dataclass

from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.perturbed.perturbed_linear import SENSITIVITY
from app.core.kinds.regression.perturbed.perturbed_linear import SQUARE_WEIGHT as LINEAR_SQUARE
from app.core.kinds.regression.perturbed.perturbed_normal import SQUARE_WEIGHT as NORMAL_SQUARE
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.private.model import Inner

Rows = tuple[int, int]
"""The fewest and the most there may be: public."""

_BELOW = 1 - 1e-12
MATRIX_ROWS = 1 / 8
"""w of matrices by groups: noise is √(9/8) times as wide for a number of rows known to some twenty at ε = 1."""


@dataclass(frozen=True, slots=True)
class Weights:
    """`square` C, 0 where the last moment is not measured; `rows` w; `within` the largest ‖f − f'‖, in steps of 1, of a
    matrix by groups between two of them."""

    square: float
    rows: float
    within: float

    @property
    def square_ratio(self) -> float:
        """Of the noise on it to that on other moments."""
        return float(self.square**-0.5)

    @property
    def rows_ratio(self) -> float:
        return float(self.rows**-0.5)


def group_weights(model: Inner, *, between: bool) -> Weights:
    """The last moment gets what it can use, and not more than half of what is left over. `between`: rows may move from one group
    to another, and not only in or out of a single one."""
    if isinstance(model, PrecisionMatrixModel):
        rows = MATRIX_ROWS if between else 1.0
        return Weights(0.0, rows * _BELOW, math.sqrt(2 * (1 + rows) if between else 2.0))
    if isinstance(model, LinearModel):
        within, others, square_most = SENSITIVITY, 2.0, LINEAR_SQUARE if model.noise_sd is None else 0.0
    else:
        within, others, square_most = 2.0, 1.0, 0.0 if isinstance(model, MeanModel) else NORMAL_SQUARE
    free = within**2 / (2 if between else 1) - others
    square = min(square_most, free / 2)
    return Weights(square * _BELOW, (free - square) * _BELOW, within)


def row_noise_sd(weights: Weights, scale: float, unit: int) -> float:
    """Of the number of rows, where moments are counted in `unit`s."""
    return scale * weights.rows_ratio / unit


def rows_window(seen: float, sd: float, ends: Rows, points: int) -> tuple[float, float]:
    """Numbers of rows worth looking at: seven sds on either side, held to the fewest and the most there may be, never empty."""
    least, most = float(ends[0]), float(ends[1])
    low, high = min(max(seen - 7 * sd, least), most), max(min(seen + 7 * sd, most), least)
    reach = min(most - least, 7 * sd)
    if high - low < reach / points:  # what was seen lies beyond what is possible
        low, high = (least, least + reach) if seen < least else (most - reach, most)
    return low, high
