"""What a seal is bound to: everything public that decides which numbers are computed and what they are used for.

A steward gets a plan from the service, as JSON, and hands it to `postern statistics` beside the data. Both sides compute its
digest from the parsed declarations, never from the text, so that spacing and the order of fields do not matter.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from app.core.kinds import ReleaseModel, check_parsed, check_request, parse_model
from app.core.kinds.fit_check import AnyCheck
from app.core.schema import Column, PrivacyUnit, parse_columns, parse_unit
from app.core.specs import Spec, read_spec
from app.core.statistics import RowRequest
from app.core.statistics.whole_numbers import size_of
from app.errors import InvalidStatistics
from app.ledger.canonical import canonical_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Json = dict[str, Any]


class PlanFile(Spec):
    """A plan as the service gives it out."""

    version: Literal[1] = Field(description="Of this form.")
    dataset: str = Field(description="Whose release is asked for.")
    columns: Json = Field(description="The dataset's public schema.")
    privacy_unit: Json | None = Field(description="null: one row a person.")
    n: Annotated[int, Field(ge=1)] = Field(description="The declared number of people: the rows have to be of as many.")
    model: Json = Field(description="With nothing left open.")
    mechanism: Json = Field(description="With nothing left open.")
    check: Json | None = Field(description="The check of fit that was asked for with it; null: none.")
    nonce: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] = Field(description="Good for one release.")
    expires_at: str = Field(description="Until when.")
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] = Field(description="The public key that is sealed to.")
    numbers: Annotated[int, Field(ge=1)] = Field(description="How many whole numbers are sealed.")


_PLAN: TypeAdapter[PlanFile] = TypeAdapter(PlanFile)


@dataclass(frozen=True, slots=True)
class SealingPlan:
    """Parsed. `requests` is what is asked of the rows: the model's statistic, and the check's."""

    dataset: str
    columns: Mapping[str, Column]
    unit: PrivacyUnit
    n: int
    model: ReleaseModel
    model_json: Mapping[str, Any]
    mechanism_json: Mapping[str, Any]
    check: AnyCheck | None
    nonce: bytes
    expires_us: int
    key: bytes

    @property
    def requests(self) -> tuple[RowRequest[Any], ...]:
        own: tuple[RowRequest[Any], ...] = (self.model.statistic,)
        return own if self.check is None else (*own, check_request(self.model, self.check))

    @property
    def size(self) -> int:
        return sum(map(size_of, self.requests))

    @property
    def digest(self) -> bytes:
        bound = {
            "version": 1,
            "dataset": self.dataset,
            "columns": {name: column.as_json() for name, column in self.columns.items()},
            "privacy_unit": self.unit.as_json(),
            "n": self.n,
            "model": self.model_json,
            "mechanism": self.mechanism_json,
            "check": None if self.check is None else self.check.as_json(),
            "nonce": self.nonce.hex(),
            "expires_us": self.expires_us,
            "key": self.key.hex(),
        }
        return hashlib.sha256(b"postern statistics: plan\n" + canonical_json(bound).encode()).digest()


def plan_of(
    *,
    dataset: str,
    columns: Mapping[str, Any],
    unit: Mapping[str, Any] | None,
    n: int,
    model: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    check: Mapping[str, Any] | None,
    nonce: bytes,
    expires_us: int,
    key: bytes,
) -> SealingPlan:
    """From what a dataset and a release store."""
    declared = parse_columns(columns, stored=True)
    parsed = parse_model(model, declared)
    return SealingPlan(
        dataset=dataset,
        columns=declared,
        unit=parse_unit(unit, declared),
        n=n,
        model=parsed,
        model_json=model,
        mechanism_json=mechanism,
        check=check_parsed(check, parsed),
        nonce=nonce,
        expires_us=expires_us,
        key=key,
    )


def read_plan(value: object) -> SealingPlan:
    """A plan's JSON. Raises InvalidStatistics for what is no plan, and what its schema or model raise."""
    read = read_spec(_PLAN, value, "plan", InvalidStatistics)
    plan = plan_of(
        dataset=read.dataset,
        columns=read.columns,
        unit=read.privacy_unit,
        n=read.n,
        model=read.model,
        mechanism=read.mechanism,
        check=read.check,
        nonce=bytes.fromhex(read.nonce),
        expires_us=_microseconds(read.expires_at),
        key=bytes.fromhex(read.key),
    )
    if plan.size != read.numbers:
        raise InvalidStatistics("plan.numbers", "as many as this version computes; use the service's own version")
    return plan


def _microseconds(text: str) -> int:
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, TypeError):
        raise InvalidStatistics("plan.expires_at", "a time with its zone, as the service wrote it") from None
