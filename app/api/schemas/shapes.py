"""What every body and every answer has in common."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

PEOPLE_MAX = 10**10
"""More than there are; beyond it the certified cost takes longer than a request should."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Answer(BaseModel):
    """What a service's view becomes. Field for field by name; times change from `_us` to RFC 3339."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, from_attributes=True, serialize_by_alias=True
    )

    @classmethod
    def of(cls, view: object) -> Self:
        return cls.model_validate(view)


def rfc3339(at_us: int) -> str:
    """Microseconds since the epoch, exactly: `1970-01-01T00:00:00.000001Z`."""
    moment = _EPOCH + timedelta(microseconds=at_us)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _from_microseconds(value: Any) -> Any:
    return rfc3339(value) if isinstance(value, int) else value


def _only_text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("a time as text, such as 2030-01-01T00:00:00Z")
    return value


Time = Annotated[
    str,
    BeforeValidator(_from_microseconds),
    Field(json_schema_extra={"format": "date-time"}, examples=["2026-03-01T09:30:00.000000Z"]),
]
Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_only_text)]
Name = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", description="Printable, on one line."),
]
Description = Annotated[
    str,
    Field(
        max_length=4_000,
        pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$",
        description="For people: what this is, and whom to ask.",
    ),
]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Epsilon = Annotated[float, Field(gt=0, le=1e6, description="Nats. Above the configured ceiling it is vacuous.")]
Delta = Annotated[
    float,
    Field(
        gt=0,
        json_schema_extra={"exclusiveMaximum": 1},
        description="1 or more is vacuous, which is a refusal of its own.",
    ),
]
Slack = Annotated[
    float,
    Field(
        ge=0, lt=1, description="The part of δ kept for samplers exact up to a declared probability; 0 refuses them."
    ),
]


class ParameterRange(Answer):
    """A parameter of a model with its public range."""

    name: str = Field(description="As it is called in estimands and expressions.")
    lower: float = Field(description="It is never below.")
    upper: float = Field(description="It is never above.")
    group: dict[str, str] | None = Field(
        default=None,
        exclude_if=lambda group: group is None,
        description="Of a release by groups: whose parameter it is.",
    )
    part: str | None = Field(
        default=None,
        exclude_if=lambda part: part is None,
        description="Of several models together: whose parameter it is.",
    )


class PageOf(Answer):
    """A page; `next_cursor` is null on the last."""

    next_cursor: str | None = Field(description="Pass as `cursor` for the next page; null on the last.")
