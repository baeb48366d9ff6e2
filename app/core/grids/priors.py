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
from typing import Any

from app.core.grids.combination import Combination
from app.core.grids.spacing import Spacing
from app.core.reading import read_number, read_object
from app.errors import InvalidModel

SHAPE_MIN = 1e-3
SHAPE_MAX = 1e6
SCALE_MAX = 1e12


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


def parse_prior(spec: object, support: str, default: Mapping[str, Any], spacing: Spacing) -> Prior:
    """`support` is probability, rate or location. Without a `kind`, the conjugate one of that support."""
    body = default if spec is None else spec
    kinds = SUPPORTS[support]
    kind = body.get("kind", kinds[0]) if isinstance(body, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidModel("model.prior.kind", "one of " + ", ".join(kinds))
    names, density = _DENSITIES[kind]
    fields = read_object("model.prior", body, required=set(), optional={"kind", *names})
    values = []
    for name, (fallback, low, high) in names.items():
        value = read_number(f"model.prior.{name}", fields.get(name, fallback))
        if not low <= value <= high:
            raise InvalidModel(f"model.prior.{name}", f"a number from {low:g} to {high:g}")
        values.append((name, value))
    exact = {name: Fraction(value) for name, value in values}
    return Prior(kind, tuple(values), density(exact, spacing))


Numbers = Mapping[str, Fraction]
_SHAPE = (1.0, SHAPE_MIN, SHAPE_MAX)
_POSITIVE = (1.0, 1 / SCALE_MAX, SCALE_MAX)


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


_DENSITIES: dict[str, tuple[dict[str, tuple[float, float, float]], Callable[[Numbers, Spacing], Combination]]] = {
    "beta": ({"alpha": _SHAPE, "beta": _SHAPE}, _beta),
    "gamma": ({"shape": _SHAPE, "rate": _POSITIVE}, _gamma),
    "exponential": ({"rate": _POSITIVE}, _exponential),
    "normal": ({"mean": (0.0, -SCALE_MAX, SCALE_MAX), "sd": _POSITIVE}, _normal),
    "uniform": ({}, _uniform),
    "log_uniform": ({}, _log_uniform),
    "jeffreys": ({}, _jeffreys),
}

SUPPORTS: dict[str, tuple[str, ...]] = {
    "probability": ("beta", "uniform", "jeffreys"),
    "rate": ("gamma", "exponential", "uniform", "log_uniform", "jeffreys"),
    "location": ("normal", "uniform", "jeffreys"),
}
