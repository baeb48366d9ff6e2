"""Moments with a noisy number of rows beside them: of private groups, and of everybody where a person may have several rows.

Where everybody has one row their number is public; where a person may have from one to k it is not, and tells of whoever has
more or fewer. It is measured in the proportion that costs nothing (`group_noise.py`), and what is believed sums over it, every
number from one row a person to k alike before.
"""

from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.mechanisms.moment_noise import NOISE_S, Perturbation
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.private.group_noise import Rows, group_weights
from app.core.kinds.regression.private.linear import GroupLinear
from app.core.kinds.regression.private.mean import GroupMean
from app.core.kinds.regression.private.model import Inner
from app.core.kinds.regression.private.normal import GroupNormal
from app.core.kinds.regression.private.precision import GroupPrecision

GROUP_S = {"linear_regression": 0.01, "mvn_mean": 0.01, "normal": 0.1, "normal_precision_matrix": 1.5}
"""Of drawing one group's samples, on the machine of reference."""


def counted_seconds(model: Inner, numbers: int, samples: int) -> float:
    """Public: noise on so many numbers, and samples given them."""
    return GROUP_S[model.family] + numbers * NOISE_S + samples * 1e-6 * model.dimension


def counted_perturbation(model: Inner, people: int, unit_rows: int, rows: Rows, *, between: bool) -> Perturbation:
    """Of one group of so many rows. `between`: a person's rows may move from one to another."""
    weights = group_weights(model, between=between)
    if isinstance(model, LinearModel):
        return GroupLinear(model, people, unit_rows, rows, weights)
    if isinstance(model, PrecisionMatrixModel):
        return GroupPrecision(model, rows, weights)
    return GroupMean(model, rows, weights) if isinstance(model, MeanModel) else GroupNormal(model, rows, weights)
