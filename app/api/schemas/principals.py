"""People and their keys."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Moment, Name, PageOf, Time
from app.core.specs import Spec

PRINCIPAL: JsonDict = {
    "id": "an_7v3c5qk2b6jmw4xz",
    "role": "analyst",
    "name": "ada",
    "created_at": "2026-03-01T09:30:00.000000Z",
}
KEY: JsonDict = {
    "id": "k3v7q2m5x4a6b2nd",
    "principal": "an_7v3c5qk2b6jmw4xz",
    "role": "analyst",
    "label": "notebook",
    "created_at": "2026-03-01T09:30:00.000000Z",
    "expires_at": "2027-03-01T00:00:00.000000Z",
    "revoked_at": None,
    "last_used_at": None,
}
_TOKEN = "pstn_k3v7q2m5x4a6b2nd_" + "x" * 43


class AnalystBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ada"}, {"name": "wall", "role": "dashboard"}]})

    name: Name
    role: Literal["analyst", "dashboard", "auditor"] = "analyst"


class Analyst(Answer):
    """Whoever holds keys: an analyst, a dashboard, an auditor or a steward."""

    model_config = ConfigDict(json_schema_extra={"examples": [PRINCIPAL]})

    id: str
    role: str
    name: str
    created_at: Time = Field(validation_alias="created_us")


class AnalystPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [PRINCIPAL], "next_cursor": None}]})

    items: list[Analyst]


class KeyBody(Spec):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"label": "notebook", "expires_at": "2030-01-01T00:00:00Z"}]}
    )

    label: Name
    expires_at: Moment | None = Field(default=None, description="RFC 3339 with an offset; null: never.")
    role: Literal["analyst", "dashboard", "auditor"] | None = Field(
        default=None, description="Narrow an analyst's key to `dashboard`: it reads and buys nothing."
    )


class Key(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [KEY]})

    id: str
    principal: str
    role: str
    label: str
    created_at: Time = Field(validation_alias="created_us")
    expires_at: Time | None = Field(validation_alias="expires_us")
    revoked_at: Time | None = Field(validation_alias="revoked_us")
    last_used_at: Time | None = Field(validation_alias="last_used_us")


class NewKey(Key):
    """The only answer that ever holds the token: only its hash is stored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**KEY, "token": _TOKEN}]})

    token: str = Field(description="Use as `Authorization: Bearer <token>`. It cannot be shown again.")


class KeyList(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [KEY], "next_cursor": None}]})

    items: list[Key]
