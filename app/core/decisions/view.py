"""The two views of a release: its samples as they were drawn, and what may be believed after seeing them (docs/queries.md)."""

from typing import Final, Literal, get_args

View = Literal["samples", "calibrated"]
VIEWS: Final[tuple[View, ...]] = get_args(View)
SAMPLES: Final[View] = "samples"
CALIBRATED: Final[View] = "calibrated"


def view_asked(question: object) -> View:
    """Which view a question's body names; `samples` if none, or none there is: that is refused where it is compiled."""
    named = question.get("view") if isinstance(question, dict) else None
    return CALIBRATED if named == CALIBRATED else SAMPLES
