"""The public range of a parameter where its caller left it open: as wide as costs nothing.

A trim bounds what one person can change of a drawn sample, so `baps` and `map` keep the family's default. Noise is scaled by
the bounds of the column alone: there the trim would only hold samples back, and the default hardly leaves anything beyond:

    a probability   [ω, 1−ω] with ω = 10⁻⁶
    a rate          all but 10⁻⁶ of the prior on either side, where the prior is a distribution without a range
    a location      the column's bounds

Where so wide a range would take more points than a grid may have, the family's default stays: samples would be too coarse.

What is stored names the range, so that a release keeps it whatever the default becomes.
"""

from dataclasses import replace
from typing import cast

from app.core.grids.bernoulli import TRIM_MIN
from app.core.grids.public_grid import GRID_POINTS_MAX
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.families.family_parts import RATE_MAX, RATE_MIN
from app.core.kinds.one_parameter.mechanisms import Gaussian, Laplace
from app.core.kinds.one_parameter.mechanisms.noisy_sum import grid_points
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.parameters import Parameter

BEYOND = 1e-6


def settled_model(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> Model:
    return settled_range(cast(Model, model), mechanism, people * unit_rows)


def settled_range(model: Model, mechanism: ReleaseMechanism, rows_max: int) -> Model:
    """With nothing left open about its range."""
    if not model.range_open:
        return model
    default = replace(model, range_open=False)
    if not isinstance(mechanism, Laplace | Gaussian):
        return default
    trim, ends = (TRIM_MIN, (TRIM_MIN, 1 - TRIM_MIN)) if model.trim is not None else (None, _widest(model))
    wide = replace(default, trim=trim, parameter=Parameter(model.parameter.name, *ends))
    return wide if grid_points(wide, rows_max) < GRID_POINTS_MAX else default


def _widest(model: Model) -> tuple[float, float]:
    lower, upper = model.parameter.lower, model.parameter.upper
    if model.family == "normal_mean":
        return model.statistic.lower, model.statistic.upper
    if model.prior.kind not in ("gamma", "exponential"):
        return lower, upper
    from scipy import special  # loaded when first needed: half a second

    shape = model.prior.value("shape") if model.prior.kind == "gamma" else 1.0
    ends = special.gammaincinv(shape, BEYOND), special.gammainccinv(shape, BEYOND)
    least, most = (float(end) / model.prior.value("rate") for end in ends)
    return max(min(least, lower), RATE_MIN), min(max(most, upper), RATE_MAX)
