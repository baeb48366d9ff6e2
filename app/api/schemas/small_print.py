"""What answers and summary rows say about how far they can be trusted."""

from typing import Literal

from pydantic import Field

from app.api.schemas.shapes import Answer

COVERAGE = (
    "Of an interval: at least how often it holds the truth, on average over the declared prior. 0 for an interval of one sample; "
    "null where nobody can say, as for samples drawn below temperature 1 or a belief from a finite chain (`approximate`), and "
    "where the response is no interval."
)


class AnswerWarning(Answer):
    """One reason not to take an answer at its word."""

    code: Literal[
        "rehearsal",
        "too_few_samples",
        "at_public_edge",
        "temperature",
        "approximate",
        "model_unchecked",
        "model_doubtful",
        "independence_assumed",
    ] = Field(description="Stable.")
    detail: str = Field(description="One sentence for a person.")
