"""What makes a response good; each names the answer it leads to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postern.client.call import given as present
from postern.client.questions.estimands import Names


@dataclass(frozen=True, slots=True)
class Utility:
    kind: str
    fields: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **{name: _plain(value) for name, value in self.fields.items()}}


def squared() -> Utility:
    """The mean."""
    return Utility("squared", {})


def absolute() -> Utility:
    """The median."""
    return Utility("absolute", {})


def pinball(tau: float) -> Utility:
    """The τ-quantile."""
    return Utility("pinball", {"tau": tau})


def interval(level: float = 0.9) -> Utility:
    """The central interval of that level."""
    return Utility("interval", {"level": level})


def zero_one() -> Utility:
    """The likeliest of finitely many."""
    return Utility("zero_one", {})


def log_score(floor: float | None = None) -> Utility:
    """The probability to report (`log` in docs/queries.md)."""
    return Utility("log", present(floor=floor))


def actions(choices: Mapping[str, str], *, range: tuple[float, float], names: Names | None = None) -> Utility:  # noqa: A002
    """The best of named actions, each an expression of the parameters; `range` holds all their values."""
    return Utility("actions", present(actions=dict(choices), range=range, names=names))


def grid(lower: float, upper: float, steps: int | None = None) -> dict[str, float]:
    """Evenly spaced responses, both ends included; without `steps` every number between."""
    return present(lower=lower, upper=upper, steps=steps)


def utility(
    text: str,
    *,
    responses: Sequence[float] | Mapping[str, float],
    range: tuple[float, float],  # noqa: A002
    names: Names | None = None,
) -> Utility:
    """The response `r` that an expression of yours likes best (`expression` in docs/queries.md); `g` is the estimand."""
    return Utility("expression", present(utility=text, responses=responses, range=range, names=names))


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value
