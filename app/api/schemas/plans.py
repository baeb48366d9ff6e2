"""Plans: what is asked about a release that does not exist, and what is answered."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import COST, Cost
from app.api.schemas.checks import CHECK_BODY, PlanCheck
from app.api.schemas.inference import InferenceFigures
from app.api.schemas.models import COUNTS, LAPLACE_MECHANISM, MECHANISM, MODEL, Mechanism, Model, PlanMechanismBody
from app.api.schemas.plan_accuracy import HALF_WIDTH, PlannedRelease, PlanPrecision, PlanTargetBody
from app.api.schemas.shapes import PEOPLE_MAX, Amount, Answer, Count, Delta, ParameterRange
from app.core.dependence.questions import InferenceSpec
from app.core.kinds.fit_check import CheckSpec
from app.core.kinds.groups.parsing import GROUPS_MAX, By, Where
from app.core.schema import ROWS_PER_PERSON_MAX, ColumnName, Columns
from app.core.specs import Spec

_TARGET: JsonDict = {"epsilon": 1.0, "delta": 1e-6}
_ACCURACY: JsonDict = {
    "posterior_sd": 0.012,
    "sampling_sd": 0.0012,
    "total_sd": 0.0121,
    "limit_sd": 0.0121,
    "calibrated_sd": 0.0122,
    "measure": "root mean squared error of the mean answer as an estimate of the parameter, over prior and data",
    "method": "averaged over the prior, large-sample form; no data",
}
PLAN: JsonDict = {
    "model": MODEL,
    "by": None,
    "where": None,
    "mechanism": MECHANISM,
    "n": 1000,
    "privacy_unit_rows": 1,
    "parameters": [{"name": "theta", "lower": 0.05, "upper": 0.95}],
    "cost": {
        **COST,
        "best_order": 5.0,
        "method": "certified: ceilings of the curvature under its kernel",
        "papers_pure_epsilon": 599.1,
    },
    "vacuous": False,
    "accuracy": _ACCURACY,
    "prior_predictive": {"mean": 0.5, "quantiles": [{"level": 0.5, "value": 0.0}]},
    "grid_points": 215,
    "curves": {
        "by_samples": [{"samples": 100, "epsilon": 6.56, "total_sd": 0.0121}],
        "by_epsilon": [{"epsilon": 1.0, "samples": 4, "total_sd": 0.0135}],
        "by_range": [{"lower": 0.01, "upper": 0.99, "epsilon": 13.4, "beyond": 0.02}],
    },
    "scores": None,
    "bounds": [],
    "alternatives": [{"mechanism": LAPLACE_MECHANISM, "epsilon": 6.56, "accuracy": _ACCURACY}],
    "advice": "laplace: an expected error 1.01 times smaller than baps; noise on one sum costs less accuracy than …",
    "check": None,
    "target": None,
    "precision": None,
    "release": None,
}
PLAN_BODIES: list[Any] = [
    {"model": MODEL, "mechanism": MECHANISM, "n": 1000, "delta": 1e-6},
    {"model": MODEL, "mechanism": {"kind": "baps", "temperature": 1.0}, "n": 100_000, "target": _TARGET},
    {
        "model": MODEL,
        "mechanism": {"kind": "baps", "samples": 50},
        "calibrate": "temperature",
        "n": 1000,
        "target": _TARGET,
    },
    {
        "model": COUNTS,
        "columns": {"visits": {"type": "integer", "lower": 0, "upper": 40}},
        "mechanism": {"kind": "auto"},
        "n": 10_000,
        "target": _TARGET,
        "check": CHECK_BODY,
    },
    {"model": MODEL, "n": 3000, "target": HALF_WIDTH},
]


class PlanUnitBody(Spec):
    """`max_rows` rows a person; the column's name does not matter to the cost."""

    column: ColumnName | None = Field(default=None, description="The column that names the person.")
    max_rows: int = Field(ge=1, le=ROWS_PER_PERSON_MAX, description="Rows one person may own.")


class PlannedStratum(Spec):
    """People who would have these levels of the public columns."""

    group: dict[str, str] = Field(examples=[{"arm": "drug"}], description="A level of every public column in `by`.")
    n: int = Field(ge=0, le=PEOPLE_MAX, description="How many of them.")


class PlanBody(Spec):
    """A release that does not exist, on `n` people that need not exist either."""

    model_config = ConfigDict(json_schema_extra={"examples": PLAN_BODIES})

    model: Model = Field(description="What would be fitted: a family with its columns, prior and public range.")
    columns: Columns | None = Field(
        default=None, description="The public schema as in a dataset; a plan for `bernoulli` needs none."
    )
    by: By | None = Field(default=None, description="Columns to group by, as in a release; null: no groups.")
    where: Where | None = Field(default=None, description="A condition on rows, as in a release; null: all rows.")
    strata: list[PlannedStratum] | None = Field(
        default=None,
        max_length=GROUPS_MAX,
        description="How many people each combination of the public columns in `by` has; null: equally many.",
    )
    mechanism: PlanMechanismBody | None = Field(default=None, description="How samples would be drawn; null: `auto`.")
    n: int = Field(ge=1, le=PEOPLE_MAX, description="The public number of people.")
    delta: Delta | None = Field(default=None, description="The δ at which ε is shown.")
    target: PlanTargetBody | None = Field(
        default=None,
        description="What may be spent, or how accurate answers have to be: what is missing is then found.",
    )
    calibrate: Literal["samples", "temperature", "trim"] | None = Field(
        default=None,
        description="What of `baps` to find for `target`: most samples, highest temperature, smallest trim (a range is "
        "narrowed around its middle). "
        "Without it the samples, if they are left out.",
    )
    privacy_unit: PlanUnitBody | None = Field(default=None, description="null: one row a person.")
    check: CheckSpec | None = Field(default=None, description="A check of fit, on top of everything else; null: none.")
    inference: InferenceSpec | None = Field(
        default=None, description="What correlated people would lose by it; null: not asked."
    )


class PlanCost(Cost):
    best_order: float | None = Field(
        description="The Rényi order at which what is charged converts best; null if the pure bound, or the law of "
        "Gaussian noise, gives less."
    )
    method: str = Field(description="How the supremum over neighbours was certified.")
    papers_pure_epsilon: Amount | None = Field(description="The papers' figure, for comparison; never charged.")


class PlanAccuracy(Answer):
    """Expected over the prior, in units of the parameter: no data is looked at."""

    posterior_sd: Amount | None = Field(
        default=None, description="The spread that the samples show; one parameter only."
    )
    sampling_sd: Amount | None = Field(
        default=None, description="What drawing only so many adds to the error of their mean; one parameter only."
    )
    total_sd: Amount | None = Field(
        description="The error to expect of that mean, with this many samples; null where none can be simulated."
    )
    limit_sd: Amount | None = Field(
        default=None,
        description="What it falls to if free samples are drawn without end; `total_sd` where samples are paid for.",
    )
    calibrated_sd: Amount | None = Field(
        default=None,
        description="The spread that calibrated answers will show; one parameter only. Mechanisms are compared by this.",
    )
    kl: Amount | None = Field(
        default=None, description="networks: expected divergence of the joint distribution, in nats."
    )
    measure: str = Field(description="What these figures measure: the same for every mechanism.")
    method: str = Field(description="How they were computed.")


class PlanTarget(Answer):
    epsilon: Amount = Field(description="As asked; for a target by accuracy what reaches it.")
    delta: Amount
    fits: bool
    half_width: Amount | None = Field(default=None, description="As asked.")
    sd: Amount | None = Field(default=None, description="As asked.")
    level: float | None = Field(default=None, description="Of a target by accuracy.")


class SamplesPoint(Answer):
    samples: Count
    epsilon: Amount
    total_sd: Amount | None


class EpsilonPoint(Answer):
    epsilon: Amount
    samples: Count
    total_sd: Amount | None


class RangePoint(Answer):
    lower: float
    upper: float
    epsilon: Amount = Field(description="About what the same draws would cost: an estimate.")
    beyond: float = Field(description="How much of the prior lies beyond this range, where no sample can be.")


class PlanCurves(Answer):
    """To plot. Points that cannot be reached are left out."""

    by_samples: list[SamplesPoint] = Field(description="Cost and error for each number of samples; none for `map`.")
    by_epsilon: list[EpsilonPoint] = Field(
        description="`baps`: the most samples each ε pays for; otherwise the noise follows ε."
    )
    by_range: list[RangePoint] = Field(
        default_factory=list, description="`baps` of one parameter: what another public range (trim) would cost."
    )


class PlanAlternative(Answer):
    model: Model | None = Field(
        default=None,
        description="As it would be stored with this mechanism, where a public range was left open; null: as the plan's.",
    )
    mechanism: Mechanism
    epsilon: Amount = Field(description="At the same δ.")
    accuracy: PlanAccuracy


class PlanScore(Answer):
    """One score of `map` with its simulated error."""

    score: str
    total_sd: Amount
    chosen: bool


class PlanBound(Answer):
    """A bound of the papers, with constants that hold; never charged."""

    name: str
    value: float | None
    confidence: float | None = Field(description="null for a figure that is no bound on an error.")
    text: str


class QuantilePoint(Answer):
    level: float
    value: float | None = Field(description="null if it is beyond all numbers.")


class PriorPredictive(Answer):
    """One record of the model before any data is seen, not clipped: does it look like your column?"""

    mean: float | None = Field(description="null if it does not exist.")
    quantiles: list[QuantilePoint]


class Plan(Answer):
    """From public numbers only: costs nothing, touches no data."""

    model_config = ConfigDict(json_schema_extra={"examples": [PLAN]})

    model: Model
    by: list[str] | None = Field(default=None, description="The columns it would be grouped by; null: no groups.")
    where: str | None = Field(default=None, description="The condition on rows; null: all rows.")
    mechanism: Mechanism = Field(description="With what was found: ready to be sent in a release.")
    n: Count
    privacy_unit_rows: Count
    parameters: list[ParameterRange]
    cost: PlanCost
    vacuous: bool = Field(description="ε is above the configured ceiling: such a release needs `force`.")
    accuracy: PlanAccuracy
    prior_predictive: PriorPredictive | None = Field(default=None, description="null for more than one parameter.")
    grid_points: Count
    curves: PlanCurves
    scores: list[PlanScore] | None = Field(
        default=None, description="`map`: both scores, so that the choice can be checked; null for other mechanisms."
    )
    bounds: list[PlanBound] = Field(
        default_factory=list, description="What is proven about a network's utility, at the stated confidence."
    )
    alternatives: list[PlanAlternative] = Field(
        description="Other mechanisms at the same cost, where there are any; for a target by accuracy, at the same accuracy."
    )
    advice: str | None = Field(description="Which of these is the most accurate, and why; null without others.")
    check: PlanCheck | None = Field(
        default=None, description="The check of fit, if one was asked for: `cost` includes it."
    )
    target: PlanTarget | None = Field(default=None, description="Present if one was asked for.")
    precision: PlanPrecision | None = Field(
        default=None,
        description="What calibrated answers will show, and how often simulated intervals held the truth; null where only a "
        "target by accuracy tells.",
    )
    release: PlannedRelease | None = Field(default=None, description="Of a target by accuracy: ready to be sent.")
    inference: InferenceFigures | None = Field(
        default=None,
        exclude_if=lambda inference: inference is None,
        description="What correlated people would lose by it, if that was asked.",
    )
