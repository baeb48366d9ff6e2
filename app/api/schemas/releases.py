"""Releases, plans, cards and access."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, COST, Budget, BudgetBody, Cost
from app.api.schemas.shapes import PEOPLE_MAX, Amount, Answer, Body, Count, Name, PageOf, Time
from app.core.families import FAMILIES
from app.core.mechanisms import MECHANISMS, SAMPLES_MAX
from app.core.schema import ROWS_PER_PERSON_MAX

MODEL: JsonDict = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
MECHANISM: JsonDict = {"kind": "baps", "samples": 100, "temperature": 1.0}
RELEASE: JsonDict = {
    "id": "rel_p5n6t2dy4hgakq2m",
    "dataset": "ds_4kq2mz7w5x3ahgnd",
    "status": "published",
    "model": MODEL,
    "mechanism": MECHANISM,
    "parameters": [{"name": "theta", "lower": 0.05, "upper": 0.95}],
    "cost": COST,
    "n": 1000,
    "samples": 100,
    "created_at": "2026-03-01T09:30:00.000000Z",
    "published_at": "2026-03-01T09:30:01.000000Z",
}

PLAN: JsonDict = {
    "model": MODEL,
    "mechanism": MECHANISM,
    "n": 1000,
    "privacy_unit_rows": 1,
    "parameters": [{"name": "theta", "lower": 0.05, "upper": 0.95}],
    "cost": {**COST, "best_order": 5.0, "method": "enumeration", "papers_pure_epsilon": 599.1},
    "vacuous": False,
    "accuracy": {
        "posterior_sd": 0.012,
        "sampling_sd": 0.0012,
        "total_sd": 0.0121,
        "method": "averaged over the prior; no data",
    },
    "grid_points": 212,
    "target": None,
}


class ModelBody(Body):
    """Family, columns, prior and public trim. The other fields belong to the family, which checks them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [MODEL]})

    family: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*sorted(FAMILIES)]})


class MechanismBody(Body):
    """How samples are drawn. The other fields belong to the mechanism, which checks them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [MECHANISM]})

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*sorted(MECHANISMS)]})


class ReleaseBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": MODEL, "mechanism": MECHANISM}]})

    model: ModelBody
    mechanism: MechanismBody
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")


class PlanUnitBody(Body):
    """`max_rows` rows a person; the column's name does not matter to the cost."""

    column: Name | None = None
    max_rows: int = Field(ge=1, le=ROWS_PER_PERSON_MAX)


class PlanBody(Body):
    """A release that does not exist, on `n` people that need not exist either."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": MODEL, "mechanism": MECHANISM, "n": 1000, "delta": 1e-6},
                {
                    "model": MODEL,
                    "mechanism": {"kind": "baps", "temperature": 1.0},
                    "n": 100000,
                    "target": {"epsilon": 1.0, "delta": 1e-6},
                },
            ]
        }
    )

    model: ModelBody
    mechanism: MechanismBody
    n: int = Field(ge=1, le=PEOPLE_MAX, description="The public number of people.")
    delta: float | None = Field(default=None, gt=0, lt=1, description="The δ at which ε is shown.")
    target: BudgetBody | None = Field(default=None, description="Instead of `samples`: what may be spent.")
    privacy_unit: PlanUnitBody | None = Field(default=None, description="null: one row a person.")


class PlanCost(Cost):
    best_order: float | None = Field(description="The Rényi order that gives ε; null if the pure bound does.")
    method: str = Field(description="How the supremum over neighbours was certified.")
    papers_pure_epsilon: Amount = Field(description="The papers' 2NτL, for comparison; never charged.")


class PlanAccuracy(Answer):
    """Expected over the prior: no data is looked at."""

    posterior_sd: Amount
    sampling_sd: Amount
    total_sd: Amount
    method: str


class PlanTarget(Answer):
    epsilon: Amount
    delta: Amount
    fits: bool


class Plan(Answer):
    """From public numbers only: costs nothing, touches no data."""

    model_config = ConfigDict(json_schema_extra={"examples": [PLAN]})

    model: dict[str, Any]
    mechanism: dict[str, Any]
    n: Count
    privacy_unit_rows: Count
    parameters: list[dict[str, Any]]
    cost: PlanCost
    vacuous: bool = Field(description="ε is above the configured ceiling: such a release needs `force`.")
    accuracy: PlanAccuracy
    grid_points: Count
    target: PlanTarget | None = Field(default=None, description="Present if one was asked for.")


class Release(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [RELEASE]})

    id: str
    dataset: str
    status: Literal["pending", "published", "withdrawn"]
    model: dict[str, Any]
    mechanism: dict[str, Any]
    parameters: list[dict[str, Any]]
    cost: Cost
    n: Count
    samples: Count
    created_at: Time = Field(validation_alias="created_us")
    published_at: Time | None = Field(validation_alias="published_us")


class ReleasePage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [RELEASE], "next_cursor": None}]})

    items: list[Release]


class AccessBody(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"samples": 50}]})

    samples: int = Field(ge=1, le=SAMPLES_MAX, description="The length of the prefix, not an increment.")


class Access(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"release": "rel_p5n6t2dy4hgakq2m", "samples": 50, "charged": COST, "budget": BUDGET}]
        }
    )

    release: str
    samples: Count
    charged: Cost = Field(description="What this call added; zero if the prefix was already paid for.")
    budget: Budget
