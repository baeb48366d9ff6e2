"""The prior without the trim: the trim binds the sampler, for the sake of the charge, and not what may be believed.

A prior that is no distribution without a range (uniform or log-uniform on a rate, uniform on a location, Jeffreys' beside most
families) has the declared range as part of it and keeps it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.grids.spacing import ARCSINE, WAITING
from app.core.parameters import Parameter

Array = NDArray[np.float64]

LEFT_OUT = 1e-12
"""What an unbounded prior has beyond either end of its public range."""
HELD = 1e-12
"""How far a probability is held from 0 and 1, so that questions may divide by it and by what it leaves."""
SMALLEST_RATE = 1e-100


@dataclass(frozen=True, slots=True)
class Untrimmed:
    """`lower` … `upper` is the prior's range, `parameter` the public one; φ runs from `first` to `last`, short of where densities
    are infinite."""

    model: NaturalModel
    lower: float
    upper: float
    first: float
    last: float

    @property
    def parameter(self) -> Parameter:
        held = HELD if (self.lower, self.upper) == (0.0, 1.0) else 0.0
        return Parameter(self.model.parameter.name, self.lower + held, self.upper - held)

    def theta(self, phi: Array) -> Array:
        inside: Array = self.model.spacing.inverse(phi).clip(self.lower, self.upper)
        return inside

    def points(self, phi: Array) -> Array:
        """Inside the public range."""
        parameter = self.parameter
        return self.theta(phi).clip(parameter.lower, parameter.upper)

    def log_weight(self, phi: Array) -> Array:
        """The log density of φ, up to a constant."""
        form = self.model.prior.log_density.plus(self.model.spacing.log_width)
        return form.at(self.theta(phi))


def untrimmed(model: NaturalModel) -> Untrimmed:
    lower, upper = _range(model)
    spacing = model.spacing
    first = spacing.forward(max(lower, LEFT_OUT) if spacing is WAITING else lower)
    return Untrimmed(model, lower, upper, first, spacing.forward(upper))


def _range(model: NaturalModel) -> tuple[float, float]:
    from scipy import special  # loaded when first needed: half a second

    prior, declared = model.prior, (model.parameter.lower, model.parameter.upper)
    match prior.kind:
        case "beta":
            return 0.0, 1.0
        case "uniform" if model.trim is not None:
            return 0.0, 1.0
        case "jeffreys" if model.spacing is ARCSINE:
            return 0.0, 1.0
        case "gamma" | "exponential":
            shape = prior.value("shape") if prior.kind == "gamma" else 1.0
            ends = special.gammaincinv(shape, LEFT_OUT), special.gammainccinv(shape, LEFT_OUT)
            lower, upper = (float(end) / prior.value("rate") for end in ends)
            return max(lower, SMALLEST_RATE), upper
        case "normal":
            reach = -float(special.ndtri(LEFT_OUT)) * prior.value("sd")
            return prior.value("mean") - reach, prior.value("mean") + reach
        case _:
            return declared
