"""Several models on one budget: what is asked, and how the budget would be split."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BudgetBody
from app.api.schemas.models import COUNTS, LAPLACE_MECHANISM, MODEL, Mechanism, Model, PlanMechanismBody
from app.api.schemas.plan_accuracy import PRECISION, RELEASE_BODY, PartTargetBody, PlannedRelease, PlanPrecision
from app.api.schemas.plans import PlanUnitBody
from app.api.schemas.shapes import PEOPLE_MAX, Amount, Answer, Count, Delta
from app.core.kinds.groups.parsing import By, Where
from app.core.schema import Columns
from app.core.specs import Spec
from app.services.plans.plan_together import MODELS_MAX

SHARED_BODIES: list[Any] = [
    {
        "models": [
            {"model": MODEL, "target": {"half_width": 0.02, "level": 0.9}},
            {"model": COUNTS, "target": {"sd": 0.1}},
        ],
        "columns": {"cured": {"type": "binary"}, "visits": {"type": "integer", "lower": 0, "upper": 40}},
        "n": 10_000,
        "target": {"epsilon": 1.0, "delta": 1e-6},
    }
]
SHARED_PLAN: JsonDict = {
    "models": [
        {
            "model": MODEL,
            "mechanism": LAPLACE_MECHANISM,
            "release": RELEASE_BODY,
            "target": {"half_width": 0.02, "level": 0.9},
            "epsilon": 0.5,
            "share": 1.0,
            "precision": PRECISION,
            "wider_by": 0.99,
            "why": "laplace: reaches it at a charge of 0.5, against gaussian 0.8",
        }
    ],
    "release": {"models": [{"name": "cured", **RELEASE_BODY}]},
    "n": 10_000,
    "privacy_unit_rows": 1,
    "account": None,
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "spent_epsilon": 0.5,
    "filter": "renyi",
    "order": 24.0,
    "reached": True,
    "short_by": 1.0,
    "advice": "Every target is reached. Together the account then reads ε = 0.5",
}


class PartBody(Spec):
    """One of several models."""

    model: Model = Field(description="What would be fitted.")
    by: By | None = Field(default=None, description="Columns to group it by, as in a release; null: no groups.")
    where: Where | None = Field(default=None, description="A condition on rows, as in a release; null: all rows.")
    target: PartTargetBody | None = Field(
        default=None,
        description="Its own accuracy; null: it shares what the others leave, like every other without one.",
    )
    mechanism: PlanMechanismBody | None = Field(
        default=None, description="`auto`, which may say how many samples it has to give; the mechanism is found."
    )


class SharedPlanBody(Spec):
    """Releases that do not exist, on the same `n` people and one budget."""

    model_config = ConfigDict(json_schema_extra={"examples": SHARED_BODIES})

    models: list[PartBody] = Field(
        min_length=1, max_length=MODELS_MAX, description="In the order in which they would be released."
    )
    columns: Columns | None = Field(default=None, description="The public schema as in a dataset, for all of them.")
    n: int | None = Field(default=None, ge=1, le=PEOPLE_MAX, description="The public number of people.")
    delta: Delta | None = Field(default=None, description="Without `target`: the δ at which the least ε is looked for.")
    target: BudgetBody | None = Field(
        default=None,
        description="What all may spend together; null, without an account: the least at which all targets are reached.",
    )
    account: str | None = Field(
        default=None,
        max_length=200,
        description="A dataset of yours: what is left of its budget is split, and columns, people and δ are its own.",
    )
    privacy_unit: PlanUnitBody | None = Field(default=None, description="null: one row a person.")


class PartTarget(Answer):
    """As asked."""

    half_width: Amount | None = None
    sd: Amount | None = None
    level: float


class PlannedBudget(Answer):
    epsilon: Amount
    delta: Amount


class PlanPart(Answer):
    model: Model
    by: list[str] | None = Field(default=None, description="The columns it would be grouped by; null: no groups.")
    where: str | None = Field(default=None, description="The condition on rows; null: all rows.")
    mechanism: Mechanism
    release: PlannedRelease = Field(description="Ready to be sent.")
    target: PartTarget | None = Field(description="null if none was asked for.")
    epsilon: Amount = Field(description="What it would cost by itself; inside an account charges add, ε does not.")
    share: float = Field(description="Of what all are charged together.")
    precision: PlanPrecision
    wider_by: Amount = Field(
        description="Expected over asked, 1 or below where the target is reached; without a target, over what no noise gives."
    )
    why: str


class PlannedPopulation(Answer):
    """The account that all of it would be charged to as well."""

    id: str
    epsilon: Amount
    delta: Amount
    spent_epsilon: Amount = Field(description="What it would read afterwards, what it has spent included.")


class PlannedReleasePart(PlannedRelease):
    name: str


class PlannedSeveral(Answer):
    """The body to send to `POST /v1/datasets/{id}/releases`."""

    models: list[PlannedReleasePart]


class SharedPlan(Answer):
    """From public numbers only: costs nothing, touches no data. Composed as the ledger would charge it, one by one."""

    model_config = ConfigDict(json_schema_extra={"examples": [SHARED_PLAN]})

    models: list[PlanPart]
    release: PlannedSeveral = Field(
        description="All of them as one release: one charge, one reading. Ready to be sent."
    )
    n: Count
    privacy_unit_rows: Count
    account: str | None
    population: PlannedPopulation | None = Field(
        default=None, description="That of the account's dataset, whose budget has to hold it too; null if it has none."
    )
    budget: PlannedBudget = Field(description="Asked for, the account's, or the least that reaches every target.")
    spent_epsilon: Amount = Field(
        description="What the account would read after all of them, what it has spent included."
    )
    filter: Literal["renyi", "gaussian", "pure"] = Field(description="What admits charges beside the pure filter.")
    order: float | None = Field(description="The Rényi order in force.")
    reached: bool = Field(description="Whether every target is.")
    short_by: float | None = Field(
        description="All models with a target are this many times wider than asked, 1 if none is; null if none has a target."
    )
    advice: str
