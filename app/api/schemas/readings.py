"""Tables, curves and draws of a release, each with its receipt."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Count, PageOf, ParameterRange
from app.api.schemas.small_print import COVERAGE, AnswerWarning
from app.core.decisions import View

PARTS = "Of several models: how many samples of each that was read; draws together are as many as the fewest."
POINTS = "How many stand for the belief; null in the view `samples`."

_SHA = "5b0d4f2f7d1e6a83c9b2a4e5f60718293a4b5c6d7e8f90112233445566778899"
RECEIPT: JsonDict = {
    "version": 2,
    "release": "rel_p5n6t2dy4hgakq2m",
    "dataset": "ds_4kq2mz7w5x3ahgnd",
    "view": "samples",
    "samples": 100,
    "points": None,
    "parameters": ["theta"],
    "values_sha256": _SHA,
    "card_sha256": _SHA,
    "ledger": {"id": "led_7v3c5qk2b6jmw4xz", "sequence": 4, "digest": _SHA},
}
SUMMARY: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "view": "samples",
    "samples": 100,
    "points": None,
    "level": 0.9,
    "rows": [
        {
            "parameter": "theta",
            "lower": 0.05,
            "upper": 0.95,
            "mean": 0.3127,
            "sd": 0.0151,
            "mcse_mean": 0.00151,
            "median": 0.3121,
            "quantiles": {"0.05": 0.2885, "0.25": 0.3024, "0.5": 0.3121, "0.75": 0.3229, "0.95": 0.3377},
            "hdi": [0.2871, 0.3352],
            "coverage": 0.891,
            "warnings": [],
        }
    ],
    "next_cursor": None,
    "receipt": RECEIPT,
}
DENSITY: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "view": "samples",
    "samples": 100,
    "points": None,
    "kind": "histogram",
    "parameters": [{"name": "theta", "lower": 0.05, "upper": 0.95}],
    "edges": [0.05, 0.35, 0.65, 0.95],
    "counts": [98, 2, 0],
    "density": [3.267, 0.067, 0.0],
    "receipt": RECEIPT,
}
DRAWS: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "view": "samples",
    "samples": 3,
    "points": None,
    "parameters": ["theta"],
    "values": [[0.3127], [0.2984], [0.3301]],
    "receipt": RECEIPT | {"samples": 3},
}


LONG: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "view": "samples",
    "samples": 3,
    "points": None,
    "columns": ["arm", "parameter", "draw", "value"],
    "rows": [["drug", "theta", 0, 0.3127], ["drug", "theta", 1, 0.2984], ["drug", "theta", 2, 0.3301]],
    "receipt": RECEIPT | {"samples": 3, "parameters": ["theta[arm=drug]"]},
}


class LedgerLine(Answer):
    id: str | None = Field(description="Of the ledger.")
    sequence: int
    digest: str


class Receipt(Answer):
    """Which samples these are, what was promised about them, and where it was charged."""

    version: int
    release: str
    dataset: str
    view: View
    samples: Count
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    points: Count | None = Field(description=POINTS)
    parameters: list[str]
    values_sha256: str = Field(description="Of the matrix of doubles, a draw or a point a row, little-endian.")
    card_sha256: str = Field(description="`digest` of the guarantee card.")
    ledger: LedgerLine = Field(description="The line at which the release's charge became final.")


class SummaryRow(Answer):
    parameter: str
    part: str | None = Field(
        default=None, exclude_if=lambda part: part is None, description="Of several models together: whose it is."
    )
    group: dict[str, str] | None = Field(
        default=None, exclude_if=lambda group: group is None, description="Of a release by groups: the parameter's."
    )
    lower: float = Field(description="Of the public range.")
    upper: float
    mean: float
    sd: float | None = Field(description="With n − 1; null for one sample.")
    mcse_mean: float | None = Field(description="sd/√k: draws are independent. Null for one sample.")
    median: float
    quantiles: dict[str, float] = Field(description="Order statistics at the ends of the level and the quarters.")
    hdi: tuple[float, float] = Field(description="The narrowest interval with the share `level` of the samples.")
    coverage: float | None = Field(ge=0, le=1, description=f"Between the outer two quantiles. {COVERAGE}")
    warnings: list[AnswerWarning] = Field(description="What stands in the way of taking the row at its word.")


class SummaryTable(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [SUMMARY]})

    release: str
    view: View
    samples: Count
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    points: Count | None = Field(description=POINTS)
    level: float
    rows: list[SummaryRow]
    receipt: Receipt = Field(description="Of the parameters on this page.")


class DensitySeries(Answer):
    """A histogram has `edges`, `counts` and `density`, each by parameter where there are two; a curve `x` and `y`."""

    model_config = ConfigDict(json_schema_extra={"examples": [DENSITY]})

    release: str
    view: View
    samples: Count
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    points: Count | None = Field(default=None, description=POINTS)
    kind: Literal["histogram", "density"]
    parameters: list[ParameterRange]
    edges: list[float] | list[list[float]] | None = None
    counts: list[int] | list[list[int]] | None = None
    density: list[float] | list[list[float]] | None = None
    x: list[float] | None = None
    y: list[float] | None = None
    bandwidth: float | None = None
    receipt: Receipt


class DrawRows(Answer):
    """Joint draws, or points of the belief given them: one list each, one number a parameter."""

    model_config = ConfigDict(json_schema_extra={"examples": [DRAWS]})

    release: str
    view: View
    samples: Count
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    points: Count | None = Field(description=POINTS)
    parameters: list[str]
    groups: list[dict[str, str]] | None = Field(
        default=None,
        exclude_if=lambda groups: groups is None,
        description="Of a release by groups: whose each parameter is.",
    )
    values: list[list[float]]
    receipt: Receipt


class LongTable(Answer):
    """With `layout=long`: one row a group and parameter, and draw or cell, with the group's columns as columns."""

    model_config = ConfigDict(json_schema_extra={"examples": [LONG]})

    release: str
    view: View
    samples: Count
    parts: dict[str, Count] | None = Field(default=None, exclude_if=lambda parts: parts is None, description=PARTS)
    points: Count | None = Field(description=POINTS)
    columns: list[str] = Field(description="The group's, `part` of several models, `parameter`, and the figures.")
    rows: list[list[str | int | float | None]]
    receipt: Receipt
