"""What correlated people may lose by a release. Every figure says what it rests on."""

from dataclasses import dataclass
from typing import Any

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class PureInference:
    """Log-odds move by at most `nu`, whatever comes out; from the pure ε alone."""

    nu: float
    method: str
    basis: str
    assumption: str
    one_person_epsilon: float


@dataclass(frozen=True, slots=True)
class ProbableInference:
    """Log-odds of the truth rise by more than `nu` only with the probability `exception`."""

    nu: float
    exception: float
    order: float | None
    fall_probability: float
    method: str
    basis: str
    assumption: str


@dataclass(frozen=True, slots=True)
class Guess:
    """How often the best guess of the secret is right."""

    before: float
    after: float
    text: str
    basis: str
    assumption: str


@dataclass(frozen=True, slots=True)
class Inference(Shown):
    """`near` is the pure figure at a little less and a little more ε; what is None cannot be said of this release."""

    release: str
    releases: tuple[str, ...]
    samples: int
    people: int
    assumption: str
    pure: PureInference | None
    probable: ProbableInference | None
    approximate: dict[str, Any] | None
    guess: Guess
    bits: dict[str, Any]
    gain: dict[str, Any] | None
    near: tuple[dict[str, float], ...]
    reconstruction: dict[str, Any]
    target: dict[str, Any] | None
    cost: dict[str, float]
