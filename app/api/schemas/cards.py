"""The guarantee card: what is promised to the people in the data."""

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Amount, Answer, Count

CARD: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "status": "published",
    "n": 1000,
    "samples": 100,
    "neighbours": "the same n people, one person's data replaced; presence and n are public",
    "privacy_unit_rows": 1,
    "epsilon": 6.22,
    "delta": 1e-6,
    "best_order": 5.0,
    "pure_epsilon": 588.9,
    "vacuous": False,
    "lines": [
        {
            "name": "approximate",
            "value": {"epsilon": 6.22, "delta": 1e-6},
            "basis": "certified",
            "assumption": "the same n people, one person's data replaced; presence and n are public",
            "text": "Whatever everyone together concludes from this release, with any number of questions, …",
        }
    ],
    "not_promised": ["The same people in another dataset are not tracked: their losses add up."],
    "digest": "5b0d4f2f7d1e6a83c9b2a4e5f60718293a4b5c6d7e8f90112233445566778899",
}


class CardLine(Answer):
    name: str
    value: Any
    basis: str = Field(description="Whether the figure is exact, certified, asymptotic or measured in simulations.")
    assumption: str
    text: str = Field(description="The same for a person without mathematics.")
    part: str | None = Field(
        default=None, exclude_if=lambda part: part is None, description="Of several models: which one it is about."
    )


class CardPart(Answer):
    """What one of several models costs by itself."""

    name: str
    samples: Count
    epsilon: Amount
    delta: Amount
    best_order: float | None
    pure_epsilon: Amount | None


class Card(Answer):
    """From public numbers only: the same for everyone who may see the release."""

    model_config = ConfigDict(json_schema_extra={"examples": [CARD]})

    release: str
    status: Literal["pending", "published", "withdrawn"]
    n: Count
    samples: Count
    neighbours: str
    privacy_unit_rows: Count
    epsilon: Amount
    delta: Amount
    best_order: float | None = Field(
        description="The Rényi order at which what is charged converts best; null if the pure bound, or the law of "
        "Gaussian noise, gives less."
    )
    pure_epsilon: Amount | None
    vacuous: bool
    lines: list[CardLine] = Field(
        description="One a promise. For composing elsewhere, `zcdp_rho` is ρ with D_α ≤ ρ·α at every order and `gdp_mu` a "
        "certified μ of Gaussian differential privacy; their value is null where there is none."
    )
    not_promised: list[str]
    parts: list[CardPart] | None = Field(
        default=None,
        exclude_if=lambda parts: parts is None,
        description="Of several models: each one's figures; those of the card are of all together.",
    )
    digest: str = Field(
        description="SHA-256 of the figures: canonical JSON of every field but `lines`, `not_promised`, `vacuous`, `status` "
        "and this one. Receipts of exports name it as `card_sha256`."
    )
