"""Questions and their answers. These models document; on the hot path bytes go to the service unparsed."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, RootModel
from pydantic.config import JsonDict

from app.api.schemas.readings import PARTS
from app.api.schemas.shapes import Answer, Count
from app.api.schemas.small_print import COVERAGE, AnswerWarning
from app.core.decisions import View
from app.core.kinds import QuestionSpec
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
    "view": "samples",
    "points": None,
    "coverage": None,
    "warnings": [],
    "release": "rel_p5n6t2dy4hgakq2m",
    "cost": {"epsilon": 0},
}
PREVIEW: JsonDict = {
    "valid": True,
    "work": 1,
    "samples": 100,
    "view": "samples",
    "points": None,
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


class QueryBody(QuestionSpec):
    """What is asked about, and what makes a response good."""

    model_config = ConfigDict(json_schema_extra={"examples": [QUERY]})


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
    """How much expected utility the response may give away, for a question fixed in advance."""

    bound: float = Field(ge=0, le=1, description="In units of the utility's range.")
    confidence: float = Field(gt=0, lt=1, description="The probability, over the draw of the samples, that it holds.")
    method: str = Field(description="From which inequality it follows.")


class LawByLevel(RootModel[dict[str, float]]):
    """The probability to report for each level, for `log` of a `classification`."""


class LevelByVariable(RootModel[dict[str, str]]):
    """A level of each variable that the evidence leaves open, for an `explanation`."""


class RunnerUp(Answer):
    """The best of the other responses."""

    runner_up: float | str | LevelByVariable = Field(description="A response, of the same form as the best.")
    expected_utility: float = Field(ge=0, le=1, description="Its mean utility over the samples.")


class NoCost(Answer):
    """Nothing: the release paid."""

    epsilon: Literal[0] = Field(description="Always zero.")


class QueryAnswer(Answer):
    """Equal bytes for equal questions, for ever: samples are drawn once."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER]})

    response: float | tuple[float, float] | str | LawByLevel | LevelByVariable = Field(
        description="A number, an interval, the name of an action or a level, or an object by level or by variable."
    )
    expected_utility: float = Field(ge=0, le=1, description="The response's mean utility over the samples.")
    regret: Regret
    why: RunnerUp | None = Field(description="Where responses are finitely many; otherwise null.")
    samples: Count = Field(description="How many the answer rests on.")
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    view: View = Field(description="Of the release: its samples, or the belief given them.")
    points: Count | None = Field(description="How many stand for the belief; null in the view `samples`.")
    coverage: float | None = Field(ge=0, le=1, description=COVERAGE)
    warnings: list[AnswerWarning] = Field(description="What stands in the way of taking the answer at its word.")
    release: str = Field(description="Its id.")
    cost: NoCost


class QueryPreview(Answer):
    """What a dry run says: the question is valid, and an answer would carry this. From public numbers only."""

    model_config = ConfigDict(json_schema_extra={"examples": [PREVIEW]})

    valid: Literal[True] = Field(description="What is not, is refused.")
    work: Count = Field(description="Operations a sample, about.")
    samples: Count = Field(description="How many an answer would rest on.")
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    view: View = Field(description="The view that was asked for.")
    points: Count | None = Field(description="How many stand for the belief; null in the view `samples`.")
    range: tuple[float, float] | None = Field(description="The estimand's public range, where it is a number.")
    responses: Count | None = Field(description="How many responses are compared; null for all real ones.")
    regret: Regret = Field(description="Before what a search may leave open.")
    release: str = Field(description="Its id.")
    cost: NoCost


class QuestionProblem(Answer):
    """Like `Problem`, for one question of a batch: further facts stand beside `code`."""

    model_config = ConfigDict(extra="allow")

    code: str = Field(description="Stable, such as `invalid_query`.")
    detail: str = Field(description="One sentence for a person.")


class RefusedQuestion(Answer):
    """In the place of an answer; it spoils no other."""

    problem: QuestionProblem


class Together(Answer):
    """By the union bound, over all answers given."""

    questions: Count = Field(description="How many were asked.")
    confidence: float = Field(ge=0, le=1, description="With which all regret bounds hold at once.")


class QueryAnswers(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answers": [ANSWER], **ENDING}]})

    answers: list[QueryAnswer | QueryPreview | RefusedQuestion] = Field(description="In the order asked.")
    together: Together
    release: str = Field(description="Its id.")
    samples: Count = Field(description="How many every answer rests on.")


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
