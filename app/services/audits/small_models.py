"""One small model of every kind and mechanism, of made-up columns: what the gates at the start and at the build look at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.kinds import KINDS, ReleaseMechanism, ReleaseModel, parse_mechanism, parse_model
from app.core.schema import Column, parse_columns

COLUMNS: Mapping[str, Column] = parse_columns(
    {
        "cured": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo", "none"]},
        "visits": {"type": "integer", "lower": 0, "upper": 5},
        "days": {"type": "real", "lower": 0, "upper": 60},
        "income": {"type": "real", "lower": 1, "upper": 100},
    }
)
_KNOWN: dict[str, dict[str, Any]] = {
    "bernoulli": {"column": "cured"},
    "binomial": {"column": "visits", "trials": 5},
    "geometric": {"column": "visits"},
    "negative_binomial": {"column": "visits", "successes": 3},
    "poisson": {"column": "visits"},
    "exponential": {"column": "days"},
    "gamma": {"column": "days", "shape": 2},
    "weibull": {"column": "days", "shape": 1.5},
    "pareto": {"column": "income", "scale": 1},
    "laplace": {"column": "days", "location": 30},
    "normal_precision": {"column": "days", "mean": 30},
    "normal_mean": {"column": "days", "sd": 10},
    "network": {"nodes": {"cured": {"parents": []}, "arm": {"parents": ["cured"]}}},
    "naive_bayes": {"class": "arm", "features": ["cured"]},
    "linear_regression": {"target": "income", "features": ["days"], "noise_sd": 10},
    "normal": {"column": "days"},
    "mvn_mean": {"columns": ["days"], "covariance": [[400]]},
    "normal_precision_matrix": {"columns": ["days", "income"]},
}
_MECHANISMS: dict[str, dict[str, Any]] = {
    "baps": {"samples": 4},
    "laplace": {"samples": 4, "epsilon": 1.0},
    "gaussian": {"samples": 4, "epsilon": 1.0, "delta": 1e-6},
    "fourier": {"samples": 4, "epsilon": 1.0},
    "map": {"epsilon": 1.0, "score": "log_density"},
    "perturbed_statistics": {"samples": 4, "epsilon": 1.0, "delta": 1e-6},
}
BINARY = {"family": "network", "nodes": {"cured": {"parents": []}}}
"""What `fourier` is for."""


@dataclass(frozen=True, slots=True)
class Small:
    name: str
    model: ReleaseModel
    mechanism: ReleaseMechanism


def small_models(mechanisms: tuple[str, ...] = tuple(_MECHANISMS)) -> Iterator[Small]:
    """Every family by every mechanism of its kind. A family or mechanism that is not known here raises KeyError: it has to be."""
    for kind in KINDS:
        for family in kind.families:
            for name in kind.mechanisms:
                if name in mechanisms and (name, family) not in NOT_OFFERED:
                    spec = BINARY if name == "fourier" else {"family": family, **_KNOWN[family]}
                    model = parse_model(spec, COLUMNS)
                    yield Small(
                        f"{family} by {name}", model, parse_mechanism({"kind": name, **_MECHANISMS[name]}, model)
                    )


NOT_OFFERED = {("baps", "normal"), ("baps", "normal_precision_matrix")}
"""No exact sampler."""
