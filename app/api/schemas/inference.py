"""What correlated people lose: the question, and an answer whose every field says what it rests on."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Amount, Answer, Count
from app.core.dependence.questions import InferenceSpec

HOUSEHOLD: JsonDict = {"people": {"kind": "household", "size": 4}, "exception": 1e-3}
RELATIVES: JsonDict = {
    "people": {"kind": "relatives", "count": 2, "agreement": 0.75},
    "secret": {"members": [0], "prior": [0.5, 0.5]},
    "target": {"nu": 1.0},
}
_RESTS: JsonDict = {"basis": "certified", "assumption": "…"}
ANSWER: JsonDict = {
    "assumption": "4 people whose data may depend on each other in any way; people who are not declared are independent …",
    "people": 4,
    "pure": {"nu": 33.8, "method": "sum of ε over 4 people", "one_person_epsilon": 8.45, **_RESTS},
    "probable": {
        "nu": 2.272,
        "exception": 1e-3,
        "order": 9.0,
        "fall_probability": 1e-4,
        "method": "coupling and Rényi curve of groups (H, I)",
        **_RESTS,
    },
    "approximate": {"epsilon": 2.86, "delta": 1e-6, **_RESTS},
    "guess": {"before": 0.5, "after": 0.642, "text": "a guess that is right half the time …", **_RESTS},
    "bits": {"value": 1.0, "values": 2, **_RESTS},
    "gain": None,
    "near": [{"share": 0.9, "nu": 30.4}, {"share": 1.1, "nu": 37.2}],
    "reconstruction": {"missed_at_least": 1.5, "group": 4, **_RESTS},
    "target": None,
    "cost": {"epsilon": 0.0},
    "samples": 100,
}

Basis = Annotated[
    Literal["exact", "certified"],
    Field(description="`exact`: some mechanism of this ε reaches it. `certified`: none exceeds it."),
]


class InferenceBody(InferenceSpec):
    """A question about people whose records depend on each other."""

    model_config = ConfigDict(json_schema_extra={"examples": [HOUSEHOLD, RELATIVES]})

    samples: int | None = Field(
        default=None, ge=1, description="Of how many samples, the first ones; all you have a right to if left out."
    )
    releases: list[str] | None = Field(
        default=None, max_length=20, description="Other releases of the dataset to take together with this one."
    )


class _Resting(Answer):
    basis: Basis
    assumption: str


class PureInference(_Resting):
    nu: Amount = Field(description="Log-odds move by no more, whatever comes out.")
    method: str
    one_person_epsilon: Amount


class ProbableInference(_Resting):
    nu: Amount = Field(description="Log-odds of the truth rise by more only with the probability `exception`.")
    exception: float
    order: float | None = Field(description="The Rényi order it comes from; null with a sampler's slack.")
    fall_probability: float = Field(description="At most how likely they fall by as much.")
    method: str


class ApproximateInference(_Resting):
    epsilon: Amount
    delta: float


class GuessInference(_Resting):
    before: float
    after: float
    text: str = Field(description="For a person without mathematics.")


class GainInference(_Resting):
    before: float
    after: float


class BitsInference(_Resting):
    value: Amount
    values: Count = Field(description="Of the secret.")


class NearInference(Answer):
    share: float = Field(description="Of the ε that was spent.")
    nu: Amount


class ReconstructionFloor(_Resting):
    missed_at_least: Amount = Field(description="People about whom any reconstruction is wrong, on average.")
    group: Count


class InferenceTarget(_Resting):
    nu: Amount
    epsilon: Amount = Field(description="The largest pure ε of one person found to keep it.")
    samples: Count | None = Field(description="The most samples; null where samples are free or releases are several.")


class InferenceFigures(Answer):
    """Every figure with what it rests on. What is null cannot be said of this release."""

    assumption: str = Field(
        description="What was declared about people, and what is taken for granted about the others."
    )
    people: Count = Field(description="Who depend on the secret, its own people included.")
    pure: PureInference | None = Field(
        description="From the pure ε, the least of all theorems that apply; null without one."
    )
    probable: ProbableInference | None
    approximate: ApproximateInference | None = Field(description="What holds between any two values of the secret.")
    guess: GuessInference
    bits: BitsInference = Field(description="Min-entropy leakage at most.")
    gain: GainInference | None = None
    near: list[NearInference] = Field(
        description="The pure figure at a little less and a little more, so that a cliff is seen."
    )
    reconstruction: ReconstructionFloor
    target: InferenceTarget | None = None
    cost: dict[str, Any] = Field(description="Nothing: public numbers only.")
    samples: Count


class Inference(InferenceFigures):
    """Of what a reader may read of a release."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"release": "rel_p5n6t2dy4hgakq2m", "releases": [], **ANSWER}]}
    )

    release: str
    releases: list[str] = Field(description="All that were taken together.")
