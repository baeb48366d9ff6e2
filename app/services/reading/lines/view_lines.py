"""What the guarantee card says about answers rather than privacy: the public range of samples, the views of the release,
and synthetic rows."""

from collections.abc import Sequence
from typing import Any

from app.core.decisions import CALIBRATED, View
from app.core.kinds import ReleaseModel, kind_of
from app.core.parameters import Parameter

PARAMETERS_SHOWN = 3
_BOUND = (
    "Samples keep to a public range ({ranges}): it binds the sampler, for the sake of what a sample costs. If the truth lies "
    "beyond it, samples pile up at its end and their answers say so (at_public_edge)."
)
_FREE = (
    "Samples keep to a public range ({ranges}), which costs this release nothing: its noise does not depend on it. Samples at an "
    "end of it say so (at_public_edge)."
)
_UNBOUND = " The calibrated view keeps to the range of the prior alone."
_SAMPLES = (
    "Answers come from the samples as they are: few, or drawn below temperature 1, they make intervals that do not fit."
)
_BOTH = (
    "Answers come in two views at no further cost to privacy: the samples as they are, and the calibrated posterior given what "
    "was released, whose intervals hold the truth as often as they say."
)
_NEARLY = (
    "Answers come in two views at no further cost to privacy: the samples as they are, and the calibrated posterior given what "
    "was released, whose intervals hold the truth about as often as they say: {measured}."
)
_SYNTHETIC = (
    "Synthetic rows can be drawn from this release at no further cost to privacy. They are made up from what it lets one "
    "believe, are nobody's, and are no more accurate than it is: what the model leaves out, and noise, are in them too."
)
_ON_AVERAGE = "on average over the declared prior, for data that follow the model within their bounds"


def range_line(parameters: Sequence[Parameter], views: Sequence[View], *, noisy: bool = False) -> dict[str, Any]:
    """`noisy`: samples were computed from a noisy statistic, not drawn at a price."""
    ranges = [f"{each.name} from {each.lower:g} to {each.upper:g}" for each in parameters[:PARAMETERS_SHOWN]]
    more = len(parameters) - len(ranges)
    text = (_FREE if noisy else _BOUND).format(ranges="; ".join([*ranges, f"and {more} more"] if more else ranges))
    value = [parameters[0].lower, parameters[0].upper] if len(parameters) == 1 else None
    return _line("range", value, "declared before the data were seen", text + (_UNBOUND if CALIBRATED in views else ""))


def views_line(views: Sequence[View], approximate: str | None) -> dict[str, Any]:
    """`approximate`: why the calibrated view is nearly the posterior, and what was measured; None where it is."""
    if CALIBRATED not in views:
        return _line("views", [*views], _ON_AVERAGE, _SAMPLES)
    if approximate is None:
        return _line("views", [*views], _ON_AVERAGE, _BOTH)
    return _line("views", [*views], _ON_AVERAGE, _NEARLY.format(measured=approximate), basis="measured")


def synthetic_line(model: ReleaseModel) -> list[dict[str, Any]]:
    """None for a model that makes no rows."""
    law = kind_of(model).rows
    if law is None or law.refused(model) is not None:
        return []
    note = law.note(model)
    more = "" if note is None else f" {note[0].upper()}{note[1:]}."
    return [_line("synthetic", None, "rows follow the model", _SYNTHETIC + more)]


def _line(name: str, value: Any, assumption: str, text: str, basis: str = "exact") -> dict[str, Any]:
    return {"name": name, "value": value, "basis": basis, "assumption": assumption, "text": text}
