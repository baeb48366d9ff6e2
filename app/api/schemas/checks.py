"""Checks of fit: what they cost, the noisy histogram, the verdict on it."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Amount, Answer, Count
from app.core.kinds.fit_check import CheckSpec

CHECK_BODY: JsonDict = {"epsilon": 0.1}
_COST: JsonDict = {"epsilon": 0.1, "delta": 1e-6, "pure_epsilon": 0.1}
CHECK: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "check": {"epsilon": 0.1, "delta": None},
    "cost": _COST,
    "noise_sd": 28.3,
    "verdict": "doubtful",
    "text": "counts vary 2.8 × as much as the model says (between 2.4 and 3.2 × at 90%)",
    "advice": "intervals of this release are about 1.7 × too narrow; a wider family, as another release: …",
    "probability": 0.00125,
    "level": 0.05,
    "dispersion": {"ratio": 2.79, "interval": [2.43, 3.21], "level": 0.9, "probability": 0.001},
    "distance": {"value": 214.6, "expected": 15.1, "probability": 0.0005},
    "noticed": {"ratio": 1.32, "share": 0.8},
    "quantity": "visits",
    "bins": [{"lower": 0, "upper": 0, "noisy": 231.0, "expected": 99.6, "sd": 30.0}],
    "method": "posterior predictive: 1999 histograms of data of the model, with the same noise, …",
}


class CheckCost(Answer):
    """What the check costs by itself; costs of release and check add on curves and pure sums."""

    epsilon: Amount = Field(description="At `delta`.")
    delta: Amount
    pure_epsilon: Amount | None = Field(description="null for Gaussian noise, which has none.")


class Noticed(Answer):
    """What the check can see: rows that vary `ratio` times as much are found doubtful in `share` of all cases."""

    ratio: Amount | None = Field(description="The smallest such ratio; null if not even 30 would be noticed.")
    share: float


class PlanCheck(CheckSpec):
    """A check of fit, its part of the cost, and what it could notice in the middle of the declared range."""

    cost: CheckCost
    bins: Count = Field(description="Public bins of the histogram.")
    noise_sd: Amount = Field(description="Of each count, in rows.")
    noticed: Noticed


class Dispersion(Answer):
    """How many times as much rows vary as the model says: the ratio of variances, fitted in a wider family."""

    ratio: Amount
    interval: list[Amount] = Field(min_length=2, max_length=2, description="Holds it with probability `level`.")
    level: float
    probability: float = Field(description="Of data of the model to differ in this as much, either way.")


class ShapeDistance(Answer):
    """The χ² distance between the noisy histogram and the model's, the parameter fitted."""

    value: Amount
    expected: Amount = Field(description="The median for data of the model, noise included.")
    probability: float = Field(description="Of data of the model to be as far away.")


class CheckBin(Answer):
    lower: float = Field(description="The smallest value counted here, of `quantity`.")
    upper: float = Field(
        description="The largest. The last bin holds everything above too, the first everything below."
    )
    noisy: float = Field(description="Rows counted, with noise: it may be negative.")
    expected: Amount = Field(description="What the model has here, the parameter fitted.")
    sd: Amount = Field(description="Of the difference between the two, noise included.")


class Check(Answer):
    """A function of the noisy counts, paid for with the release, and of public numbers: the same for every reader."""

    model_config = ConfigDict(json_schema_extra={"examples": [CHECK]})

    release: str
    part: str | None = Field(
        default=None, exclude_if=lambda part: part is None, description="Of several models: the one it is of."
    )
    check: CheckSpec
    cost: CheckCost
    noise_sd: Amount = Field(description="Of each count, in rows.")
    verdict: Literal["no_objection", "doubtful"] = Field(
        description="`doubtful` if `probability` is at most `level`: data of the model are found so no more often than that."
    )
    text: str = Field(description="One sentence for a person.")
    advice: str | None = Field(description="What follows for answers of this release; null without objection.")
    probability: float = Field(description="Of data of the model to look as odd by either measure.")
    level: float
    dispersion: Dispersion
    distance: ShapeDistance
    noticed: Noticed
    quantity: str = Field(description="What is counted in bins, in terms of the column.")
    bins: list[CheckBin]
    method: str
