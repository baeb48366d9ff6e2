"""Statistics that come without rows: the plan they are sealed by, the key they are sealed to, and what is sent."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.models import LAPLACE_MECHANISM, MODEL
from app.api.schemas.shapes import Answer, Count, Time
from app.core.specs import Spec

_KEY = "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"
PLAN: JsonDict = {
    "version": 1,
    "dataset": "ds_4kq2mz7w5x3ahgnd",
    "columns": {"cured": {"type": "binary"}},
    "privacy_unit": None,
    "n": 1000,
    "model": MODEL,
    "mechanism": LAPLACE_MECHANISM,
    "check": None,
    "nonce": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "expires_at": "2026-03-08T09:30:00.000000Z",
    "key": _KEY,
    "numbers": 2,
}


class SealedSource(Spec):
    """What `postern statistics` wrote for a plan of this very release."""

    kind: Literal["statistics"] = Field(description="The name of the source.")
    sealed: str = Field(min_length=1, description="Base64. Opened by the worker alone, once the charge is on disk.")


class SealingPlan(Answer):
    """All of it public. Save it as it is, and hand it to `postern statistics` beside the data."""

    model_config = ConfigDict(json_schema_extra={"examples": [PLAN]})

    version: Literal[1]
    dataset: str
    columns: dict[str, Any] = Field(description="The dataset's public schema, as it is stored.")
    privacy_unit: dict[str, Any] | None = Field(description="null: one row a person.")
    n: Count = Field(description="The declared number of people.")
    model: dict[str, Any] = Field(description="With nothing left open.")
    mechanism: dict[str, Any] = Field(description="With nothing left open.")
    check: dict[str, Any] | None = Field(description="The check of fit that goes with it; null: none.")
    nonce: str = Field(description="Good for one release.")
    expires_at: Time = Field(validation_alias="expires_us", description="Until when what is sealed by it is taken.")
    key: str = Field(description="The public key that is sealed to. Compare it with what you were told.")
    numbers: Count = Field(description="How many whole numbers are sealed; the length of the seal follows from it.")


class SealingKey(Answer):
    """The public half of a key pair that this service has for nothing else."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"key_id": "5c1f7a90be3d2846", "key": _KEY, "algorithm": "X25519-HKDF-SHA256-AES-256-GCM"},
            ]
        }
    )

    key_id: str
    key: str
    algorithm: str
