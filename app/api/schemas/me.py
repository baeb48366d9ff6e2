"""What a key is and may do."""

from typing import Any

from pydantic import ConfigDict, Field

from app.api.schemas.accounts import BUDGET
from app.api.schemas.datasets import Cap
from app.api.schemas.shapes import Answer


class Me(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "an_7v3c5qk2b6jm",
                    "role": "analyst",
                    "name": "ada",
                    "key": "k3v7q2m5x4a6b2nd",
                    "caps": [
                        {
                            "dataset": "ds_4kq2mz7w5x3a",
                            "analyst": "an_7v3c5qk2b6jm",
                            "budget": BUDGET,
                            "samples": None,
                        }
                    ],
                    "accesses": [{"release": "rel_p5n6t2dy4hga", "samples": 50}],
                }
            ]
        }
    )

    id: str
    role: str
    name: str
    key: str = Field(description="The id of the key that asked.")
    caps: list[Cap]
    accesses: list[dict[str, Any]]
