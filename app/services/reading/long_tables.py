"""Draws, summaries and curves in long format: one row a group and parameter, and draw or cell; the group's columns are columns.

What tools for tables expect of groups. The receipt is that of the draws the table comes from.
"""

import hmac
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from app import __version__
from app.core.decisions import CALIBRATED, View
from app.core.parameters import Parameter, out_of_part
from app.core.summaries import histogram, kernel_density, summarise
from app.errors import InvalidInput
from app.services.principals import Reader
from app.services.reading.built_files import file_stem
from app.services.reading.exports import LONG_FORMATS, ExportFormat
from app.services.reading.exports.draws import Draws, choose
from app.services.reading.exports.table import Table, TableColumn
from app.services.reading.published_release import open_release
from app.services.reading.receipts import receipt_for
from app.services.reading.small_print import print_of_row
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import TAG_LENGTH, PublicRelease, Receipt

ROWS_MAX = 2_000_000
Kind = Literal["histogram", "density"]
Figures = dict[str, NDArray[Any]]
"""Columns beside those that name the row, each with as many values a parameter."""


@dataclass(frozen=True, slots=True)
class Long:
    """What the rows are: `name` and `settings` are part of the tag, `rows` how many a parameter has."""

    name: str
    settings: str
    rows: int
    figures: Callable[[PublicRelease, Draws], tuple[Figures, dict[str, tuple[str, ...]]]]
    """Figures of all parameters, one after the other, and the texts that codes among them stand for."""


@dataclass(frozen=True, slots=True)
class LongFile:
    release: PublicRelease
    reader: Reader
    format: ExportFormat[Table]
    etag: str
    long: Long
    draws: Draws = field(repr=False)
    receipt: Receipt = field(repr=False)

    @property
    def values(self) -> int:
        """About: texts of groups take room too."""
        return self.long.rows * self.draws.width * (9 + len(self.draws.parameters[0].group))

    @property
    def filename(self) -> str:
        view = f"-{CALIBRATED}" if self.release.view == CALIBRATED else ""
        return f"{file_stem(self.release)}{view}-{self.long.name}-long.{self.format.suffix}"

    def write(self, file: BinaryIO) -> None:
        table = long_table(self.draws, self.long.rows, *self.long.figures(self.release, self.draws))
        self.format.write(table, self.receipt.fields, file)


async def describe_long(
    runtime: Runtime,
    *,
    reader: Reader,
    release_id: str,
    name: str,
    parameters: Sequence[str],
    view: View,
    long: Callable[[Draws], Long],
    part: str | None = None,
) -> LongFile:
    """Raises what `describe_export` does, and InvalidInput where parts by different columns would stand in one table."""
    chosen = LONG_FORMATS[name]
    chosen.require()
    release = await open_release(runtime, reader, release_id, view, part, [*parameters])
    draws = choose(release.samples, parameters)
    _refuse_mixed(draws)
    asked = long(draws)
    if asked.rows * draws.width > ROWS_MAX:
        raise InvalidInput("parameter", f"parameters that make at most {ROWS_MAX:,} rows: these make {asked.rows} each")
    receipt = await receipt_for(runtime, reader, release.public, draws)
    described = f"postern/{__version__} long {asked.name} {asked.settings} {chosen.made_with()}"
    etag = hmac.digest(receipt.mark, described.encode(), "sha256").hex()[:TAG_LENGTH]
    return LongFile(release.public, reader, chosen, etag, asked, draws, receipt)


def _refuse_mixed(draws: Draws) -> None:
    """A row has a level of every group's column, and nothing stands for none."""
    if len({tuple(name for name, _ in each.group) for each in draws.parameters}) > 1:
        raise InvalidInput("part", "one part, or parameters of such: these parts are not by the same columns")


def long_table(draws: Draws, rows: int, figures: Figures, texts: dict[str, tuple[str, ...]]) -> Table:
    """The group's columns, then `part` of several models, then `parameter` by the name it has without these, then the figures."""
    parameters = draws.parameters
    columns = [name for name, _ in parameters[0].group]
    keys = {name: [dict(each.group)[name] for each in parameters] for name in columns}
    if all(each.part is not None for each in parameters):
        keys[_free("part", [*keys])] = [each.part or "" for each in parameters]
    keys[_free("parameter", [*keys])] = [each.of or _plain(each) for each in parameters]
    shown = [_repeated(name, values, rows) for name, values in keys.items()]
    for name, figure in figures.items():
        shown.append(TableColumn(_free(name, [*keys]), figure, texts.get(name)))
    return Table(tuple(shown))


def _plain(parameter: Parameter) -> str:
    return parameter.name if parameter.part is None else out_of_part(parameter).name


def _repeated(name: str, values: Sequence[str], rows: int) -> TableColumn:
    levels = tuple(dict.fromkeys(values))
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([place[value] for value in values], np.int32)
    return TableColumn(name, np.repeat(codes, rows), levels)


def _free(name: str, taken: Sequence[str]) -> str:
    """A column of the steward's may have this name: then ours gets a `_`."""
    while name in taken:
        name += "_"
    return name


def long_samples(draws: Draws) -> Long:
    def figures(public: PublicRelease, chosen: Draws) -> tuple[Figures, dict[str, tuple[str, ...]]]:
        number = np.tile(np.arange(chosen.size, dtype=np.int32), chosen.width)
        return {"draw": number, "value": np.concatenate([*chosen.columns()])}, {}

    return Long("samples", "", draws.size, figures)


def long_summary(level: float, draws: Draws) -> Long:
    def figures(public: PublicRelease, chosen: Draws) -> tuple[Figures, dict[str, tuple[str, ...]]]:
        share = Fraction(repr(level))
        rows, told = [], []
        for parameter, column in zip(chosen.parameters, chosen.columns(), strict=True):
            found = summarise(parameter, column, share)
            small = print_of_row(public, found, share)
            told.append(" ".join(warning["code"] for warning in small.warnings))
            rows.append(
                {"lower": parameter.lower, "upper": parameter.upper, "mean": found.mean, "sd": found.sd}
                | {"mcse_mean": found.mcse_mean, "median": found.median}
                | {f"q{tau}": value for tau, value in found.quantiles.items()}
                | {"hdi_lower": found.hdi[0], "hdi_upper": found.hdi[1], "coverage": small.coverage}
            )
        shown: Figures = {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]}
        codes = _repeated("warnings", told, 1)
        return shown | {"warnings": codes.values}, {"warnings": codes.levels or ()}

    return Long("summary", f"{level!r}", 1, figures)


def long_density(kind: Kind, bins: int, draws: Draws) -> Long:
    """Of every parameter by itself. Raises InvalidInput."""
    if not all(math.isfinite(each.upper - each.lower) for each in draws.parameters):
        raise InvalidInput("parameter", "parameters whose public ranges are finite")

    def figures(public: PublicRelease, chosen: Draws) -> tuple[Figures, dict[str, tuple[str, ...]]]:
        parts: list[Figures] = []
        for parameter, column in zip(chosen.parameters, chosen.columns(), strict=True):
            if kind == "histogram":
                cells = histogram(parameter, column, bins)
                ends = {"lower": cells.edges[:-1], "upper": cells.edges[1:]}
                parts.append(ends | {"count": cells.counts.astype(np.int64), "density": cells.density})
            else:
                curve = kernel_density(parameter, column, bins)
                parts.append({"x": curve.x, "y": curve.y})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, {}

    return Long(kind, f"{bins}", bins, figures)


def of_level(level: float) -> Callable[[Draws], Long]:
    return partial(long_summary, level)


def of_bins(kind: Kind, bins: int) -> Callable[[Draws], Long]:
    return partial(long_density, kind, bins)
