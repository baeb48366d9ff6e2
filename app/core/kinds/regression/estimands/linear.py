"""Numbers that a linear regression's coefficients give: combinations of them, and what a new observation would be."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, NumberSpec, Observed, check_total_work
from app.core.decisions.mixture import HALVINGS, Mixture
from app.core.decisions.sample_set import SampleSet
from app.core.kinds.regression.combinations import WEIGHT_MAX, LinearCombination, contrast
from app.core.kinds.regression.model import LinearModel
from app.core.specs import Expects
from app.errors import InvalidQuery

Array = NDArray[np.float64]
What = Literal["mean", "probability", "quantile", "observation"]

Weight = Annotated[float, Field(ge=-WEIGHT_MAX, le=WEIGHT_MAX)]
Weights = Annotated[
    dict[str, Weight], Expects(f"an object of coefficients with numbers of size at most {WEIGHT_MAX:g}")
]


class ContrastSpec(NumberSpec):
    """A combination of a linear regression's coefficients."""

    kind: Literal["contrast"] = Field(description="The name of the estimand.")
    weights: Weights = Field(
        description="By coefficient, `intercept` among them; those not named weigh 0.",
        examples=[{"dose": 1, "age": -2}],
    )


@dataclass(frozen=True, slots=True)
class LinearEstimand:
    """g(θ) = Σ_j w_j·β_j. Its range is that of the ball the coefficients lie in, tighter than the sum of their own."""

    combination: LinearCombination
    nodes: ClassVar[int] = 0

    @property
    def lower(self) -> float:
        return self.combination.lower

    @property
    def upper(self) -> float:
        return self.combination.upper

    @property
    def work(self) -> int:
        return 2 * len(self.combination.weights)

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    def values(self, samples: SampleSet) -> Array:
        """Added one coefficient after the other, so that a sample's value is the same beside any others."""
        total = np.zeros(samples.size)
        for weight, column in zip(self.combination.weights, samples.columns, strict=True):
            total += weight * column
        return total.clip(self.lower, self.upper)

    def distribution(self, samples: SampleSet) -> Empirical:
        return Empirical(self.values(samples), self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class ObservationEstimand:
    """Of one new observation y ~ N(mean, σ²): P(y ≤ number) = Φ((number − mean)/σ), or its quantile mean + σ·Φ⁻¹(number)."""

    mean: LinearEstimand
    noise_sd: float
    what: What
    number: float
    nodes: ClassVar[int] = 0

    @property
    def lower(self) -> float:
        return min(self._ends)

    @property
    def upper(self) -> float:
        return max(self._ends)

    @property
    def work(self) -> int:
        return self.mean.work + 20

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    @property
    def _ends(self) -> list[float]:
        ends: list[float] = self._of(np.array([self.mean.lower, self.mean.upper])).tolist()
        return ends

    def _of(self, mean: Array) -> Array:
        from scipy.special import ndtr, ndtri  # two thirds of a second: not at start-up

        if self.what == "probability":
            return np.asarray(ndtr((self.number - mean) / self.noise_sd))
        return np.asarray(mean + self.noise_sd * ndtri(self.number))

    def distribution(self, samples: SampleSet) -> Empirical:
        values = self._of(self.mean.values(samples)).clip(self.lower, self.upper)
        return Empirical(values, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class NewObservation(Observed):
    """y ~ N(mean, σ²) itself, held to the target's public bounds as the data were."""

    mean: LinearEstimand
    noise_sd: float
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self.mean.work + HALVINGS * 10

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    def law(self, samples: SampleSet) -> Mixture:
        return Mixture(self.mean.values(samples), self.noise_sd, self.lower, self.upper)


def require_linear(context: Context, kind: str) -> LinearModel:
    if not isinstance(context.model, LinearModel):
        raise InvalidQuery(
            f"{context.where}.kind", f"an estimand for this release's model; {kind} is for linear regression"
        )
    same = tuple(context.parameters) == context.model.parameters
    return context.model if same else context.model.within(context.parameters)


def parse_contrast(spec: ContrastSpec, context: Context) -> LinearEstimand:
    """`{"kind": "contrast", "weights": {"dose": 1, "age": -2}}`: a linear combination of coefficients.

    Names are those of coefficients, `intercept` among them; those not named weigh 0. The range follows from the ball the
    weights lie in, which is tighter than what an expression of the same coefficients is given.
    """
    model = require_linear(context, "contrast")
    return LinearEstimand(contrast(model, spec.weights, f"{context.where}.weights"))
