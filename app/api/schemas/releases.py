"""Releases and access to them."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, COST, Budget, Cost
from app.api.schemas.checks import CHECK_BODY
from app.api.schemas.models import (
    AUTO_MECHANISM,
    COUNTS,
    LAPLACE_MECHANISM,
    MECHANISM,
    MODEL,
    Mechanism,
    MechanismBody,
    Model,
)
from app.api.schemas.shapes import Answer, Count, Description, Name, PageOf, ParameterRange, Time
from app.api.schemas.statistics import SealedSource
from app.core.decisions import View
from app.core.kinds.fit_check import CheckSpec
from app.core.kinds.groups.parsing import By, Where
from app.core.kinds.several import NAME_PATTERN, PARTS_MAX
from app.core.privacy.release_cost import SAMPLES_MAX
from app.core.specs import Maybe, Spec
from app.errors import InvalidInput, InvalidStatistics

RELEASE: JsonDict = {
    "id": "rel_p5n6t2dy4hgakq2m",
    "dataset": "ds_4kq2mz7w5x3ahgnd",
    "status": "published",
    "model": MODEL,
    "by": None,
    "where": None,
    "groups": None,
    "mechanism": MECHANISM,
    "parameters": [{"name": "theta", "lower": 0.05, "upper": 0.95}],
    "cost": COST,
    "n": 1000,
    "samples": 100,
    "views": ["samples", "calibrated"],
    "check": None,
    "created_at": "2026-03-01T09:30:00.000000Z",
    "published_at": "2026-03-01T09:30:01.000000Z",
    "title": "Cure rate of the second trial",
    "description": None,
    "rehearsal": False,
}


_REFUSALS: Mapping[str, type[InvalidInput]] = {"source": InvalidStatistics}


class ReleaseBody(Spec):
    REFUSALS: ClassVar = _REFUSALS
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": MODEL, "mechanism": MECHANISM},
                {"model": MODEL, "by": ["arm"], "mechanism": MECHANISM},
                {"model": COUNTS, "mechanism": AUTO_MECHANISM, "check": CHECK_BODY},
            ]
        }
    )

    model: Model = Field(description="What is fitted: a family with its columns, prior and public range.")
    by: By | None = Field(
        default=None,
        description="Columns to group by: one posterior for every combination of their declared levels. Public columns give "
        "strata of disjoint people, charged as the dearest; null: no groups.",
    )
    where: Where | None = Field(
        default=None,
        description="A condition on rows, such as age >= 65: of public columns it chooses people, of others it makes one "
        "measured group; null: all rows. It never changes n.",
        examples=["age >= 65 and region == 'north'"],
    )
    mechanism: MechanismBody = Field(description="How samples are drawn.")
    check: CheckSpec | None = Field(
        default=None,
        description="A check of fit, charged together with the release and read by all its readers; null: none.",
    )
    source: Maybe[SealedSource] = Field(
        default=None, description="Of a dataset whose source is `statistics`: what was sealed for this release."
    )
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")
    title: Name | None = Field(default=None, description="For lists and dashboards: printable, on one line.")
    description: Description | None = None


class PartOfRelease(Spec):
    """One of several models, under a name."""

    name: str | None = Field(
        default=None,
        pattern=f"^{NAME_PATTERN}$",
        description="What parameters and accesses are called by; null: the modelled column's, or `part_2` for the second.",
    )
    model: Model = Field(description="What is fitted.")
    by: By | None = Field(default=None, description="Columns to group it by, instead of those beside `models`.")
    where: Where | None = Field(default=None, description="A condition on rows, instead of the one beside `models`.")
    mechanism: MechanismBody = Field(description="How its samples are drawn.")
    check: CheckSpec | None = Field(
        default=None,
        description="A check of fit of it, charged with the release and paid by readers of this part; null: none.",
    )


class SeveralReleaseBody(Spec):
    """Several models of the same people: one charge, the sum of theirs, and one reading of the rows."""

    REFUSALS: ClassVar = _REFUSALS

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "models": [
                        {"model": MODEL, "mechanism": LAPLACE_MECHANISM},
                        {"name": "calls", "model": COUNTS, "mechanism": LAPLACE_MECHANISM},
                    ]
                }
            ]
        }
    )

    models: list[PartOfRelease] = Field(min_length=1, max_length=PARTS_MAX, description="In the order they are shown.")
    by: By | None = Field(default=None, description="Columns to group every model by that names none; null: no groups.")
    where: Where | None = Field(
        default=None, description="A condition on rows, for every model that has none; null: all rows."
    )
    source: Maybe[SealedSource] = Field(
        default=None, description="Of a dataset whose source is `statistics`: what was sealed for this release."
    )
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")
    title: Name | None = Field(default=None, description="For lists and dashboards: printable, on one line.")
    description: Description | None = None


class GroupSize(Answer):
    """A group, with the public number of people in it."""

    group: dict[str, str] = Field(examples=[{"arm": "drug"}])
    n: Count | None = Field(description="null where it is private, and known only as far as noisy numbers tell.")


class ReleasePart(Answer):
    """One of several models."""

    name: str
    model: Model
    by: list[str] | None
    where: str | None
    groups: list[GroupSize] | None
    mechanism: Mechanism
    parameters: list[ParameterRange] = Field(description="As they are called where `part` names it.")
    cost: Cost
    samples: Count
    views: list[View]
    check: CheckSpec | None = Field(default=None, description="The check of fit that was paid for with it.")


class Release(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [RELEASE]})

    id: str
    dataset: str
    status: Literal["pending", "published", "withdrawn"]
    model: Model | None = Field(description="null of several, which are in `models`.")
    by: list[str] | None = Field(default=None, description="The columns it is grouped by; null: no groups.")
    where: str | None = Field(default=None, description="The condition on rows; null: all rows.")
    groups: list[GroupSize] | None = Field(
        default=None, description="Every group, in the order of `parameters`; null: no groups."
    )
    mechanism: Mechanism | None = Field(description="null of several models, each of which has its own.")
    parameters: list[ParameterRange]
    cost: Cost
    n: Count
    samples: Count = Field(description="Of several models: the most that one of them has.")
    views: list[View] = Field(description="What questions and readings may ask for as `view`.")
    check: CheckSpec | None = Field(
        default=None,
        description="The check of fit that was paid for; its verdict is at `/check`. Of several models each has its own.",
    )
    created_at: Time = Field(validation_alias="created_us")
    published_at: Time | None = Field(validation_alias="published_us")
    title: str | None
    description: str | None
    rehearsal: bool = Field(description="Whether the rows behind it are made up.")
    models: list[ReleasePart] | None = Field(
        default=None, exclude_if=lambda models: models is None, description="Of a release of several models."
    )


class ReleasePage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [RELEASE], "next_cursor": None}]})

    items: list[Release]


class AccessBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [{"samples": 50}]})

    samples: int = Field(ge=1, le=SAMPLES_MAX, description="The length of the prefix, not an increment.")
    part: str | None = Field(
        default=None,
        max_length=200,
        description="Of several models: which one; null: every one, as many samples as it has and no more.",
    )


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
    parts: dict[str, Count] | None = Field(
        default=None,
        exclude_if=lambda parts: parts is None,
        description="Of several models: how many samples of each that was asked for are paid for now.",
    )
