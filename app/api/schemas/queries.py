"""Questions and their answers. These models document; on the hot path bytes go to the service unparsed."""

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Body, Count
from app.core.decisions import CONFIDENCE_DEFAULT, ESTIMANDS, UTILITIES

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


class EstimandBody(Body):
    """What is asked about. `kind` decides which other fields there are, and checks them."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*ESTIMANDS]})


class UtilityBody(Body):
    """What makes a response good. `kind` decides which other fields there are, and checks them."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*UTILITIES]})


class QueryBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [QUERY]})

    estimand: EstimandBody | None = Field(default=None, description="Left out where the utility names its own.")
    utility: UtilityBody
    confidence: float = Field(default=CONFIDENCE_DEFAULT, gt=0, lt=1, description="Of the regret bound.")


class QueriesBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"queries": [QUERY]}]})

    queries: list[QueryBody] = Field(min_length=1, max_length=1000)


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


class QuestionProblem(Answer):
    """Like `Problem`, for one question of a batch: further facts stand beside `code`."""

    model_config = ConfigDict(extra="allow")

    code: str
    detail: str


class RefusedQuestion(Answer):
    problem: QuestionProblem


class QueryAnswers(Answer):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"answers": [ANSWER], "release": "rel_p5n6t2dy4hgakq2m", "samples": 100}]}
    )

    answers: list[QueryAnswer | RefusedQuestion] = Field(description="In the order asked.")
    release: str
    samples: Count
