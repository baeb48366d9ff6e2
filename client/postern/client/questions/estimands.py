"""What a question is about. The service checks what fields may hold; here they only get their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from postern.client.call import given as present

Level = str | bool | int
Levels = Mapping[str, Level | Sequence[Level]]
"""Variables, each with a level or several of which any will do."""

Names = Mapping[str, "Estimand"]


@dataclass(frozen=True, slots=True)
class Estimand:
    kind: str
    fields: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **_plain(self.fields)}


About = Estimand | str
"""An estimand; or text: the name of a parameter if the release has one so called, else an expression."""


def parameter(name: str) -> Estimand:
    return Estimand("parameter", {"name": name})


def expression(text: str, names: Names | None = None) -> Estimand:
    """Arithmetic of parameters, and of other estimands given `names`."""
    return Estimand("expression", present(expression=text, names=names))


def predictive(
    what: Literal["mean", "probability", "quantile"], *, at_most: float | None = None, level: float | None = None
) -> Estimand:
    """One more record of the model."""
    return Estimand("predictive", present(what=what, at_most=at_most, level=level))


def comparison(left: Estimand, right: Estimand) -> Estimand:
    """1 where left > right; under `squared` the answer is P(left > right)."""
    return Estimand("comparison", {"left": left, "right": right})


def in_group(group: Mapping[str, str], estimand: Estimand) -> Estimand:
    """Of one group of a release by groups, where parameters have the names they have without groups."""
    return Estimand("group", {"group": dict(group), "estimand": estimand})


def in_part(part: str, estimand: Estimand) -> Estimand:
    """Of one of several models, where parameters have the names they have in a release of it alone."""
    return Estimand("part", {"part": part, "estimand": estimand})


def in_release(release: str, estimand: Estimand, part: str | None = None) -> Estimand:
    """Inside a comparison or an expression: of another release of the dataset, by id; samples are paired as if independent.
    `part` is one of several models, as if that release were of it alone."""
    return Estimand(estimand.kind, {**estimand.fields, "release": release, **present(part=part)})


def probability(event: Levels, given: Levels | None = None) -> Estimand:
    """Of all of `event` at once, in a network, given evidence."""
    return Estimand("probability", present(event=event, evidence=given))


def expectation(variable: str, given: Levels | None = None, scores: Mapping[str, float] | None = None) -> Estimand:
    return Estimand("expectation", present(variable=variable, scores=scores, evidence=given))


def prediction(
    features: Mapping[str, Any],
    *,
    variable: str | None = None,
    level: str | bool | int | float | None = None,
    what: Literal["mean", "probability", "quantile", "observation"] | None = None,
    at_most: float | None = None,
) -> Estimand:
    """Of a network's `variable` being at `level`; or of a regression's target: its mean, unless `what` says otherwise."""
    return Estimand(
        "prediction", present(variable=variable, level=level, what=what, at_most=at_most, features=features)
    )


def classification(variable: str | None = None, features: Levels | None = None) -> Estimand:
    return Estimand("classification", present(variable=variable, features=features))


def explanation(given: Levels | None = None) -> Estimand:
    """The likeliest levels of all variables that the evidence leaves open, at once."""
    return Estimand("explanation", present(evidence=given))


def contrast(weights: Mapping[str, float]) -> Estimand:
    """A combination of a regression's coefficients."""
    return Estimand("contrast", {"weights": weights})


def _plain(value: Any) -> Any:
    if isinstance(value, Estimand):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
