"""Summary tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from postern.client.libraries import library
from postern.client.results.answers import AnswerWarning
from postern.client.results.receipts import Receipt
from postern.client.tables import cell, html_table, text_table


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One parameter. `sd` and `mcse_mean` are None for a single sample; `hdi` is the narrowest interval of the level, `coverage`
    that of the one between the outer quantiles: at least how often it holds the truth, or None if nobody can say."""

    parameter: str
    lower: float
    upper: float
    mean: float
    sd: float | None
    mcse_mean: float | None
    median: float
    quantiles: dict[str, float]
    hdi: tuple[float, float]
    coverage: float | None = None
    warnings: tuple[AnswerWarning, ...] = ()
    group: dict[str, str] | None = None
    """Whose it is, in a release by groups."""


@dataclass(frozen=True, slots=True)
class SummaryPage:
    release: str
    samples: int
    level: float
    rows: tuple[SummaryRow, ...]
    next_cursor: str | None
    receipt: Receipt
    view: str = "samples"
    points: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """All rows asked for; `summary["theta"]` is one. A receipt covers the parameters it names: long tables have several."""

    release: str
    samples: int
    level: float
    rows: tuple[SummaryRow, ...]
    receipts: tuple[Receipt, ...]
    view: str = "samples"
    points: int | None = None

    @classmethod
    def of(cls, pages: list[SummaryPage]) -> Summary:
        first = pages[0]
        rows = tuple(row for page in pages for row in page.rows)
        receipts = tuple(page.receipt for page in pages)
        return cls(first.release, first.samples, first.level, rows, receipts, first.view, first.points)

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """Of all rows, each once."""
        return tuple(dict.fromkeys(warning for row in self.rows for warning in row.warnings))

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, parameter: str) -> SummaryRow:
        for row in self.rows:
            if row.parameter == parameter:
                return row
        raise KeyError(parameter)

    def to_pandas(self) -> Any:
        """One row a parameter, as ArviZ's summary has them; of groups, their columns too. The receipts are in `.attrs`."""
        pandas = library("pandas")

        flat = [
            {
                name: value
                for name, value in asdict(row).items()
                if name not in ("quantiles", "hdi", "warnings", "group")
            }
            | (row.group or {})
            | {f"hdi_{side}": value for side, value in zip(("lower", "upper"), row.hdi, strict=True)}
            | {f"q{tau}": value for tau, value in row.quantiles.items()}
            | {"warnings": ", ".join(warning.code for warning in row.warnings)}
            for row in self.rows
        ]
        frame = pandas.DataFrame(flat).set_index("parameter")
        frame.attrs["postern_receipt"] = [receipt.to_json() for receipt in self.receipts]
        return frame

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        share = f"{100 * self.level:g} %"
        header = ("parameter", "mean", "sd", "mcse", "median", f"HDI {share} from", "to")
        rows = [(row.parameter, *map(cell, (row.mean, row.sd, row.mcse_mean, row.median, *row.hdi))) for row in self]
        return header, rows

    def __str__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        header, rows = self.table()
        return html_table(header, rows, caption=f"{self.release}, {self.samples} samples, {self.view}")
