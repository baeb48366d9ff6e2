"""Populations: one budget for the same people in several datasets."""

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, Budget, OpenedBudgetBody
from app.api.schemas.shapes import Answer, Description, Name, PageOf, Time
from app.core.specs import Maybe, Spec

POPULATION: JsonDict = {
    "id": "pop_6m3wz7x5qk2hagnd",
    "name": "patients",
    "description": "Everyone admitted since 2020, in whichever table.",
    "budget": BUDGET,
    "datasets": ["ds_4kq2mz7w5x3ahgnd"],
    "created_at": "2026-03-01T09:30:00.000000Z",
}


class PopulationBody(Spec):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "patients",
                    "budget": {"epsilon": 3.0, "delta": 1e-6},
                    "description": "Everyone admitted since 2020, in whichever table.",
                }
            ]
        }
    )

    name: Name
    budget: OpenedBudgetBody = Field(description="For all of its datasets together; it never changes.")
    description: Description | None = None
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")


class PopulationChange(Spec):
    """What is left out stays as it is; the budget always does."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "inpatients", "description": "Everyone admitted since 2020."}]}
    )

    name: Maybe[Name] = Field(default=None)
    description: Description | None = None


class Population(Answer):
    """The same people in several datasets. Whatever is charged to one of them is charged to this account too."""

    model_config = ConfigDict(json_schema_extra={"examples": [POPULATION]})

    id: str
    name: str
    description: str | None
    budget: Budget
    datasets: list[str] = Field(description="The ids of its datasets.")
    created_at: Time = Field(validation_alias="created_us")


class PopulationPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [POPULATION], "next_cursor": None}]})

    items: list[Population]


class PopulationName(Answer):
    """The population a dataset is in, as everyone with a right on the dataset sees it."""

    id: str = Field(examples=["pop_6m3wz7x5qk2hagnd"])
    name: str = Field(examples=["patients"])
