"""What a key is and may do."""

from pydantic import ConfigDict, Field

from app.api.schemas.accounts import BUDGET
from app.api.schemas.datasets import Cap
from app.api.schemas.shapes import Answer, Count


class Prefix(Answer):
    """The first `samples` samples of a release, paid for."""

    release: str
    samples: Count
    part: str | None = Field(
        default=None, exclude_if=lambda part: part is None, description="Of a release of several models."
    )


class Me(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "an_7v3c5qk2b6jmw4xz",
                    "role": "analyst",
                    "name": "ada",
                    "key": "k3v7q2m5x4a6b2nd",
                    "caps": [
                        {
                            "dataset": "ds_4kq2mz7w5x3ahgnd",
                            "analyst": "an_7v3c5qk2b6jmw4xz",
                            "budget": BUDGET,
                            "samples": None,
                        }
                    ],
                    "accesses": [{"release": "rel_p5n6t2dy4hgakq2m", "samples": 50}],
                }
            ]
        }
    )

    id: str
    role: str
    name: str
    key: str = Field(description="The id of the key that asked.")
    caps: list[Cap]
    accesses: list[Prefix]
