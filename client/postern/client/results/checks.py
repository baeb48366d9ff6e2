"""A check of fit: the noisy histogram that was paid for with a release, and the verdict on it."""

from dataclasses import dataclass, field
from typing import Any

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Dispersion:
    """How many times as much rows vary as the model says; `interval` holds it with probability `level`."""

    ratio: float
    interval: tuple[float, float]
    level: float
    probability: float


@dataclass(frozen=True, slots=True)
class ShapeDistance:
    """The χ² distance from the model's histogram; `expected` is its median for data of the model."""

    value: float
    expected: float
    probability: float


@dataclass(frozen=True, slots=True)
class Noticed:
    """Rows that vary `ratio` times as much are found doubtful in `share` of all cases; None: not even 30 times."""

    ratio: float | None
    share: float


@dataclass(frozen=True, slots=True)
class CheckBin:
    """Rows from `lower` to `upper`: counted with noise, and expected by the model; `sd` of the difference."""

    lower: float
    upper: float
    noisy: float
    expected: float
    sd: float


@dataclass(frozen=True, slots=True)
class FitCheck(Shown):
    """`verdict` is `doubtful` where `probability` is at most `level`, otherwise `no_objection`; `text` says it in a sentence."""

    release: str
    verdict: str
    text: str
    advice: str | None
    probability: float
    level: float
    dispersion: Dispersion
    distance: ShapeDistance
    noticed: Noticed
    quantity: str
    noise_sd: float
    check: dict[str, Any]
    cost: dict[str, Any]
    method: str = field(repr=False)
    bins: tuple[CheckBin, ...] = field(repr=False)

    @property
    def doubtful(self) -> bool:
        return self.verdict == "doubtful"
