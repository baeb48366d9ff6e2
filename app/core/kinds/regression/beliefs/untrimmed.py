"""Models whose ball holds the whole prior: the ball binds the sampler, for the sake of the charge, and not what may be believed.

`untrimmed` widens the radius, never narrows it, so that the prior has no more than LEFT_OUT beyond the public ranges that
follow from it.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel

Balled = TypeVar("Balled", LinearModel, MeanModel, PrecisionMatrixModel)

LEFT_OUT = 1e-12


def untrimmed(model: Balled) -> Balled:
    return replace(model, radius=max(model.radius, _reach(model)))


@lru_cache(maxsize=64)
def _reach(model: LinearModel | MeanModel | PrecisionMatrixModel) -> float:
    from scipy.special import gammainccinv, ndtri  # loaded when first needed: half a second

    if isinstance(model, LinearModel):  # λ‖w‖² is χ² with d degrees of freedom
        return math.sqrt(2 * float(gammainccinv(model.dimension / 2, LEFT_OUT)) / model.precision)
    if isinstance(model, MeanModel):  # ranges are those of the coordinates, each N(0, 1/λ)
        return -float(ndtri(LEFT_OUT)) / math.sqrt(model.precision)
    # νλ·Ω_ii is χ² with ν degrees of freedom, |Ω_ij| ≤ max Ω_ii, and an entry beside the diagonal reaches R/√2
    return math.sqrt(2) * 2 * float(gammainccinv(model.degrees / 2, LEFT_OUT)) / (model.degrees * model.scale)
