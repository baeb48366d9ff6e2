"""Questions and their answers. These models document; on the hot path bytes go to the service unparsed."""

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Amount, Answer, Body, Count

QUERY: JsonDict = {
    "estimand": {"kind": "parameter", "name": "theta"},
    "utility": {"kind": "squared"},
    "confidence": 0.95,
}
ANSWER: JsonDict = {
    "response": 0.3127,
    "expected_utility": 0.9991,
    "regret": {"bound": 0.31, "confidence": 0.95, "method": "hoeffding"},
    "samples": 100,
    "release": "rel_p5n6t2dy4hga",
    "cost": {"epsilon": 0},
}


class PartBody(Body):
    """`kind` decides which other fields there are; the kind checks them."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40)


class QueryBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [QUERY]})

    estimand: PartBody | None = Field(
        default=None, description="What is asked about: `parameter` or `expression`. Not with `actions`."
    )
    utility: PartBody = Field(
        description="What makes an answer good: `squared`, `absolute`, `pinball`, `interval` or `actions`."
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="Of the regret bound.")


class QueriesBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"queries": [QUERY]}]})

    queries: list[QueryBody] = Field(min_length=1, max_length=1000)


class Regret(Answer):
    bound: Amount | None
    confidence: float
    method: str


class QueryAnswer(Answer):
    """Equal bytes for equal questions, for ever: samples are drawn once."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [ANSWER]})

    response: Any = Field(description="A number, an interval, or the name of an action.")
    expected_utility: float
    regret: Regret = Field(description="For a question fixed in advance.")
    samples: Count
    release: str
    cost: dict[str, Any] = Field(description="Always zero: the release paid.")


class QueryAnswers(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answers": [ANSWER]}]})

    answers: list[dict[str, Any]] = Field(description="In the order asked; a refused one is a problem.")
