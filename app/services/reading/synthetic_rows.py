"""Synthetic rows of a release as a file: made up from what its reader may believe, and from nothing else.

Their bytes follow from the release, the reader's prefix, how many rows are asked for and the seed. They come from the calibrated
view where there is one. They are no more accurate than the release, which header, card and file say.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from app import __version__
from app.core.decisions import CALIBRATED, SAMPLES
from app.core.kinds import ReleaseModel, kind_of
from app.core.kinds.synthetic import Array, Codes, Known, MadeRows, RowLaw, make_rows
from app.core.schema import Column
from app.core.statistics.groups import declared_levels
from app.errors import CalibratedUnavailable, IntegrityFailure, InvalidInput, NumericalFailure, SyntheticUnavailable
from app.services.datasets.dataset_sources import dataset_columns
from app.services.principals import Reader
from app.services.reading.exports import SYNTHETIC_FORMATS, ExportFormat
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.table import Table, TableColumn
from app.services.reading.published_release import describe_release, open_view, reading_right
from app.services.reading.receipts import receipt_for
from app.services.releases.stored_release import stored_mechanism
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import TAG_LENGTH, PublicRelease, PublishedRelease
from app.storage import datasets, releases, sample_sets

ROWS_DEFAULT, ROWS_MAX = 1_000, 100_000
WORK_MAX = 20_000_000
"""Numbers looked at for all rows together: one to three seconds."""
LEVEL_LENGTH = 16
"""Of texts that take no more room than a number."""
SEED_MAX = 2**63 - 1
WARNING = "synthetic rows: made up, nobody's, and no more accurate than the release they were drawn from"
_NO_LAW = "its model says how some columns depend on others and nothing of these: there are no whole rows to draw"


@dataclass(frozen=True, slots=True)
class SyntheticFile:
    """Known before it is made; `points` are the reader's own."""

    release: PublicRelease
    reader: Reader
    format: ExportFormat[Table]
    etag: str
    rows: int
    seed: int
    law: RowLaw = field(repr=False)
    points: Array = field(repr=False)
    known: Known = field(repr=False)
    columns: Mapping[str, Column] = field(repr=False)

    @property
    def values(self) -> int:
        """A long level takes the room of several."""
        names = [name for name, _ in self.release.parameters[0].group]
        shown = [self.columns[name] for name in (*names, *self.law.names(self.release.model))]
        return self.rows * sum(1 + max(map(len, column.levels), default=0) // LEVEL_LENGTH for column in shown)

    @property
    def filename(self) -> str:
        kept = f"{self.release.id}-{self.release.evidence}"
        return f"{kept}-synthetic-{self.rows}-{self.seed}.{self.format.suffix}"

    @property
    def told(self) -> dict[str, Any]:
        """What goes with the rows where there is a place for it."""
        public = self.release
        shown = {"release": public.id, "view": public.view, "samples": public.evidence, "points": public.points}
        return shown | {"rows": self.rows, "seed": self.seed, "warning": WARNING}

    def write(self, file: BinaryIO) -> None:
        public = self.release
        groups = [parameter.group for parameter in public.parameters]
        seed = hashlib.sha256(f"postern synthetic\0{public.id}\0{self.seed}".encode()).digest()
        made = make_rows(self.law, public.model, groups, self.points, self.known, self.rows, seed)
        self.format.write(decoded(made, self.columns), self.told, file)


async def describe_synthetic(
    runtime: Runtime, *, reader: Reader, release_id: str, name: str, rows: int, seed: int
) -> SyntheticFile:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, SyntheticUnavailable, InvalidInput, NotAcceptable,
    TooBusy."""
    model = (await describe_release(runtime, reader, release_id)).model
    law, most = _law(model), rows_most(model)
    if not 1 <= rows <= most:
        raise InvalidInput("rows", f"a whole number from 1 to {most}, of this release")
    chosen = SYNTHETIC_FORMATS[name]
    chosen.require()
    release = await _believed(runtime, reader, release_id)
    known, columns = await _known(runtime, release.public)
    receipt = await receipt_for(runtime, reader, release.public, Draws(release.samples))
    described = f"postern/{__version__} synthetic {chosen.made_with()} {rows} {seed}"
    etag = hmac.digest(receipt.mark, described.encode(), "sha256").hex()[:TAG_LENGTH]
    return SyntheticFile(release.public, reader, chosen, etag, rows, seed, law, release.samples.columns, known, columns)


def rows_most(model: ReleaseModel) -> int:
    """In one file. Raises SyntheticUnavailable."""
    return min(ROWS_MAX, WORK_MAX // _law(model).work(model))


def _law(model: ReleaseModel) -> RowLaw:
    found = kind_of(model).rows
    if found is None:
        raise SyntheticUnavailable(_NO_LAW)
    return found


async def _believed(runtime: Runtime, reader: Reader, release_id: str) -> PublishedRelease:
    right = await reading_right(runtime, reader, release_id)
    try:
        return await open_view(runtime, release_id, right.samples, CALIBRATED)
    except CalibratedUnavailable:
        return await open_view(runtime, release_id, right.samples, SAMPLES)


async def _known(runtime: Runtime, public: PublicRelease) -> tuple[Known, dict[str, Column]]:
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, public.id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
        measured = await sample_sets.get_measured(connection, public.id)
    if release is None or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    mechanism = stored_mechanism(release, public.model)
    return Known(mechanism, release.n, release.unit_rows, measured), dataset_columns(dataset)


def decoded(made: MadeRows, columns: Mapping[str, Column]) -> Table:
    """The columns of the groups, then the modelled ones, in the values they were declared with."""
    shown = []
    for place, (name, _) in enumerate(made.groups[0]):
        levels = declared_levels(columns[name]) or ()
        codes = np.array([levels.index(group[place][1]) for group in made.groups], np.int64)
        shown.append(_column(columns[name], codes[made.place]))
    shown += [_column(columns[name], values) for name, values in zip(made.names, made.columns, strict=True)]
    return Table(tuple(shown))


def _column(column: Column, values: Array | Codes) -> TableColumn:
    """Of codes of its levels, or of numbers, which are held to the column's bounds as rows that came in were."""
    if values.dtype.kind == "f":
        return TableColumn(column.name, _held(column, np.asarray(values, np.float64)))
    if column.type == "categorical":
        return TableColumn(column.name, values, column.levels)
    return TableColumn(column.name, values == 1 if column.type == "binary" else values + int(column.lower or 0))


def _held(column: Column, values: Array) -> Any:
    lower, upper = (0.0, 1.0) if column.lower is None or column.upper is None else (column.lower, column.upper)
    inside = np.clip(values if column.type == "real" else np.floor(values + 0.5), lower, upper)
    if np.isnan(inside).any():
        raise NumericalFailure("a synthetic value came out undefined")
    if column.type == "real":
        return inside
    return inside >= 1 if column.type == "binary" else inside.astype(np.int64)
