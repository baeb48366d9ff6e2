"""Named priors on a trimmed range, each a combination: the analysis and the sampler read the same one.

beta(α, β)          (α−1)·log θ + (β−1)·log(1−θ)        probabilities
gamma(shape, rate)  (shape−1)·log θ − rate·θ            rates
exponential(rate)   −rate·θ                             rates
normal(mean, sd)    −(θ−mean)²/(2·sd²)                  locations
uniform             0
log_uniform         −log θ                              rates
jeffreys            −log dθ/dφ, flat in the coordinate the grid is even in
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypeAliasType

from app.core.grids.combination import Combination
from app.core.grids.spacing import Spacing
from app.core.specs import OneOf, Spec, read_spec
from app.errors import InvalidModel

SHAPE_MIN = 1e-3
SHAPE_MAX = 1e6
SCALE_MAX = 1e12

_Shape = Annotated[float, Field(ge=SHAPE_MIN, le=SHAPE_MAX)]
_Positive = Annotated[float, Field(ge=1 / SCALE_MAX, le=SCALE_MAX)]


class PriorSpec(Spec):
    """On the trimmed range of the parameter."""

    kind: str


class BetaPrior(PriorSpec):
    """∝ θ^(alpha−1)·(1−θ)^(beta−1), the conjugate prior of a probability: meant where `kind` is left out."""

    kind: Literal["beta"] = Field(default="beta", description="The name of the prior.")
    alpha: _Shape = Field(default=1.0, description="Counts like alpha − 1 successes seen before.")
    beta: _Shape = Field(default=1.0, description="Counts like beta − 1 failures seen before.")


class GammaPrior(PriorSpec):
    """∝ θ^(shape−1)·e^(−rate·θ), the conjugate prior of a rate: meant where `kind` is left out."""

    kind: Literal["gamma"] = Field(default="gamma", description="The name of the prior.")
    shape: _Shape = Field(default=1.0, description="The shape; 1 makes it exponential.")
    rate: _Positive = Field(default=1.0, description="The inverse scale, in units of one over the parameter.")


class NormalPrior(PriorSpec):
    """∝ e^(−(θ−mean)²/(2·sd²)), the conjugate prior of a location: meant where `kind` is left out."""

    kind: Literal["normal"] = Field(default="normal", description="The name of the prior.")
    mean: Annotated[float, Field(ge=-SCALE_MAX, le=SCALE_MAX)] = Field(
        default=0.0, description="The middle, in the column's units."
    )
    sd: _Positive = Field(default=1.0, description="The standard deviation, in the column's units.")


class ExponentialPrior(PriorSpec):
    """∝ e^(−rate·θ)."""

    kind: Literal["exponential"] = Field(description="The name of the prior.")
    rate: _Positive = Field(default=1.0, description="The inverse scale, in units of one over the parameter.")


class UniformPrior(PriorSpec):
    """Flat in the parameter."""

    kind: Literal["uniform"] = Field(description="The name of the prior.")


class LogUniformPrior(PriorSpec):
    """Flat in the parameter's logarithm."""

    kind: Literal["log_uniform"] = Field(description="The name of the prior.")


class JeffreysPrior(PriorSpec):
    """Flat in the coordinate in which every record tells as much: Jeffreys' prior."""

    kind: Literal["jeffreys"] = Field(description="The name of the prior.")


@dataclass(frozen=True, slots=True)
class Prior:
    """`values` are the numbers as given, for the model's JSON."""

    kind: str
    values: tuple[tuple[str, float], ...]
    log_density: Combination

    def value(self, name: str) -> float:
        return dict(self.values)[name]

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **dict(self.values)}


Numbers = Mapping[str, Fraction]


def _beta(v: Numbers, spacing: Spacing) -> Combination:
    return Combination(log=v["alpha"] - 1, complement=v["beta"] - 1)


def _gamma(v: Numbers, spacing: Spacing) -> Combination:
    return Combination(log=v["shape"] - 1, linear=-v["rate"])


def _exponential(v: Numbers, spacing: Spacing) -> Combination:
    return Combination(linear=-v["rate"])


def _normal(v: Numbers, spacing: Spacing) -> Combination:
    precision = 1 / v["sd"] ** 2
    return Combination(square=-precision / 2, origin=v["mean"])


def _uniform(v: Numbers, spacing: Spacing) -> Combination:
    return Combination()


def _log_uniform(v: Numbers, spacing: Spacing) -> Combination:
    return Combination(log=Fraction(-1))


def _jeffreys(v: Numbers, spacing: Spacing) -> Combination:
    return spacing.log_width.times(Fraction(-1))


_PRIORS: dict[str, tuple[type[PriorSpec], Callable[[Numbers, Spacing], Combination]]] = {
    "beta": (BetaPrior, _beta),
    "gamma": (GammaPrior, _gamma),
    "exponential": (ExponentialPrior, _exponential),
    "normal": (NormalPrior, _normal),
    "uniform": (UniformPrior, _uniform),
    "log_uniform": (LogUniformPrior, _log_uniform),
    "jeffreys": (JeffreysPrior, _jeffreys),
}

SUPPORTS: dict[str, tuple[str, ...]] = {
    "probability": ("beta", "uniform", "jeffreys"),
    "rate": ("gamma", "exponential", "uniform", "log_uniform", "jeffreys"),
    "location": ("normal", "uniform", "jeffreys"),
}
"""The first is the conjugate one, which is meant where `kind` is left out."""


def _named(kinds: tuple[str, ...], untagged: str | None = None) -> OneOf:
    return OneOf("kind", {kind: _PRIORS[kind][0] for kind in kinds}, untagged)


ProbabilityPrior = TypeAliasType(
    "ProbabilityPrior", Annotated[PriorSpec, _named(SUPPORTS["probability"], SUPPORTS["probability"][0])]
)
RatePrior = TypeAliasType("RatePrior", Annotated[PriorSpec, _named(SUPPORTS["rate"], SUPPORTS["rate"][0])])
LocationPrior = TypeAliasType(
    "LocationPrior", Annotated[PriorSpec, _named(SUPPORTS["location"], SUPPORTS["location"][0])]
)
_ANY: TypeAdapter[PriorSpec] = TypeAdapter(Annotated[PriorSpec, _named(tuple(_PRIORS))])


def build_prior(spec: PriorSpec | None, spacing: Spacing, default: str, **numbers: float) -> Prior:
    """As described, or the default with these numbers. Raises InvalidModel where they are out of bounds."""
    if spec is None:
        spec = read_spec(_ANY, {"kind": default, **numbers}, "model.prior", InvalidModel)
    values = {name: float(value) for name, value in spec if name != "kind"}
    exact = {name: Fraction(value) for name, value in values.items()}
    return Prior(spec.kind, tuple(values.items()), _PRIORS[spec.kind][1](exact, spacing))
