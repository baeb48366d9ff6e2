"""Questions and their answers. These models document; on the hot path bytes go to the service unparsed."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Count
from app.core.decisions import CONFIDENCE_DEFAULT, UTILITIES
from app.core.kinds import ESTIMANDS
from app.core.specs import Spec
from app.services.reading.answer_batch import QUESTIONS_PER_BATCH_MAX, QUESTIONS_PER_STREAM_MAX

QUERY: JsonDict = {
    "estimand": {"kind": "parameter", "name": "theta"},
    "utility": {"kind": "squared"},
    "confidence": 0.95,
}
ANSWER: JsonDict = {
    "response": 0.3127,
    "expected_utility": 0.9991,
    "regret": {
        "bound": 0.31,
        "confidence": 0.95,
        "method": "Hoeffding's inequality for the mean, for a question fixed in advance",
    },
    "why": None,
    "samples": 100,
    "release": "rel_p5n6t2dy4hgakq2m",
    "cost": {"epsilon": 0},
}
PREVIEW: JsonDict = {
    "valid": True,
    "work": 1,
    "samples": 100,
    "range": [0.05, 0.95],
    "responses": None,
    "regret": ANSWER["regret"],
    "release": "rel_p5n6t2dy4hgakq2m",
    "cost": {"epsilon": 0},
}
ENDING: JsonDict = {
    "together": {"questions": 1, "confidence": 0.95},
    "release": "rel_p5n6t2dy4hgakq2m",
    "samples": 100,
}


class EstimandBody(Spec):
    """What is asked about. `kind` decides which other fields there are, and checks them."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*ESTIMANDS]})


class UtilityBody(Spec):
    """What makes a response good. `kind` decides which other fields there are, and checks them."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*UTILITIES]})


class QueryBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [QUERY]})

    estimand: EstimandBody | None = Field(default=None, description="Left out where the utility names its own.")
    utility: UtilityBody
    confidence: float = Field(default=CONFIDENCE_DEFAULT, gt=0, lt=1, description="Of the regret bound.")


class QueriesBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [{"queries": [QUERY], "together": True}]})

    queries: list[QueryBody] = Field(
        min_length=1,
        max_length=QUESTIONS_PER_STREAM_MAX,
        description=f"At most {QUESTIONS_PER_BATCH_MAX:,}, or {QUESTIONS_PER_STREAM_MAX:,} if answers are streamed.",
    )
    together: bool = Field(
        default=False, description="Every regret bound at 1 − δ/T for T questions, so that all hold at once."
    )


class Regret(Answer):
    bound: float = Field(ge=0, le=1, description="In units of the utility's range.")
    confidence: float
    method: str


class QueryAnswer(Answer):
    """Equal bytes for equal questions, for ever: samples are drawn once."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER]})

    response: float | list[float] | str | dict[str, Any] = Field(
        description="A number, an interval, the name of an action or a level, or an object by level or by variable."
    )
    expected_utility: float
    regret: Regret = Field(description="For a question fixed in advance.")
    why: dict[str, Any] | None = Field(default=None, description="The runner-up, where responses are finitely many.")
    samples: Count
    release: str
    cost: dict[str, Any] = Field(description="Always zero: the release paid.")


class QueryPreview(Answer):
    """What a dry run says: the question is valid, and an answer would carry this. From public numbers only."""

    model_config = ConfigDict(json_schema_extra={"examples": [PREVIEW]})

    valid: Literal[True]
    work: Count = Field(description="Operations a sample, about.")
    samples: Count
    range: tuple[float, float] | None = Field(description="The estimand's public range, where it is a number.")
    responses: Count | None = Field(description="How many responses are compared; null for all real ones.")
    regret: Regret = Field(description="Before what a search may leave open.")
    release: str
    cost: dict[str, Any] = Field(description="Always zero.")


class QuestionProblem(Answer):
    """Like `Problem`, for one question of a batch: further facts stand beside `code`."""

    model_config = ConfigDict(extra="allow")

    code: str
    detail: str


class RefusedQuestion(Answer):
    problem: QuestionProblem


class Together(Answer):
    """By the union bound, over all answers given."""

    questions: Count = Field(description="How many were asked.")
    confidence: float = Field(ge=0, le=1, description="With which all regret bounds hold at once.")


class QueryAnswers(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answers": [ANSWER], **ENDING}]})

    answers: list[QueryAnswer | QueryPreview | RefusedQuestion] = Field(description="In the order asked.")
    together: Together
    release: str
    samples: Count


_LINES = {
    "type": "string",
    "description": 'One JSON object a line: `{"index", "answer"}` or `{"index", "problem"}` for every question in order, then '
    '`{"done": true, "answers", "problems", "together", "release", "samples"}`, or `{"done": false, "problem"}` when the right '
    "to read ended first.",
}
_LINES_EXAMPLE = '{"index":0,"answer":{…}}\n{"index":1,"problem":{…}}\n{"done":true,"answers":1,"problems":1,…}\n'
_ANSWERS = {"an answer": {"value": ANSWER}, "a dry run": {"value": PREVIEW}}
EITHER: dict[str, Any] = {"responses": {"200": {"content": {"application/json": {"examples": _ANSWERS}}}}}
STREAM: dict[str, Any] = {
    "responses": {
        "200": {
            "content": {"application/x-ndjson": {"schema": _LINES, "examples": {"lines": {"value": _LINES_EXAMPLE}}}}
        }
    }
}
"""What the framework does not know about answers: examples of two shapes, and lines."""
