"""Synthetic rows of a release as a file: made up from what its reader may believe, and from nothing else.

Their bytes follow from the release, the reader's prefix, how many rows are asked for and the seed. They come from the calibrated
view where there is one. Of several models one makes them, and its name goes into the bytes too. They are no more accurate than
the release, which header, card and file say.
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
from app.core.parameters import listed
from app.core.schema import Column
from app.core.statistics.groups import declared_levels
from app.errors import CalibratedUnavailable, IntegrityFailure, InvalidInput, NumericalFailure, SyntheticUnavailable
from app.services.datasets.dataset_sources import dataset_columns
from app.services.principals import Reader
from app.services.reading.built_files import file_stem
from app.services.reading.exports import SYNTHETIC_FORMATS, ExportFormat
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.table import Table, TableColumn
from app.services.reading.published_release import describe_view, open_view, reading_right
from app.services.reading.receipts import receipt_for
from app.services.releases.parts import part_release, read_part_measured
from app.services.releases.stored_release import stored_mechanism
from app.services.runtime.reading_rights import Reach
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import TAG_LENGTH, PublicRelease, PublishedRelease
from app.storage import datasets, releases

ROWS_DEFAULT, ROWS_MAX = 1_000, 100_000
WORK_MAX = 20_000_000
"""Numbers looked at for all rows together: one to three seconds."""
LEVEL_LENGTH = 16
"""Of texts that take no more room than a number."""
SEED_MAX = 2**63 - 1
WARNING = "synthetic rows: made up, nobody's, and no more accurate than the release they were drawn from"
_NO_LAW = "nothing says how many rows a private condition leaves of every stratum: there are no whole rows to draw"


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

    @property
    def values(self) -> int:
        """A long level takes the room of several."""
        names = [name for name, _ in self.release.parameters[0].group]
        shown = [self.known.columns[name] for name in (*names, *self.law.names(self.release.model))]
        return self.rows * sum(1 + max(map(len, column.levels), default=0) // LEVEL_LENGTH for column in shown)

    @property
    def filename(self) -> str:
        return f"{file_stem(self.release)}-synthetic-{self.rows}-{self.seed}.{self.format.suffix}"

    @property
    def part(self) -> str | None:
        return None if self.release.reach is None else self.release.reach.part

    @property
    def told(self) -> dict[str, Any]:
        """What goes with the rows where there is a place for it."""
        public = self.release
        part = {} if self.part is None else {"part": self.part}
        shown = {"release": public.id, **part, "view": public.view, "samples": public.evidence, "points": public.points}
        return shown | {"rows": self.rows, "seed": self.seed, "warning": self.warning}

    @property
    def warning(self) -> str:
        note = self.law.note(self.release.model)
        return WARNING if note is None else f"{WARNING}; {note}"

    def write(self, file: BinaryIO) -> None:
        public = self.release
        groups = [parameter.group for parameter in public.parameters]
        names = "postern synthetic", public.id, str(self.seed), *(() if self.part is None else (self.part,))
        seed = hashlib.sha256("\0".join(names).encode()).digest()
        made = make_rows(self.law, public.model, groups, self.points, self.known, self.rows, seed)
        self.format.write(decoded(made, self.known.columns), self.told, file)


async def describe_synthetic(
    runtime: Runtime, *, reader: Reader, release_id: str, name: str, rows: int, seed: int, part: str | None = None
) -> SyntheticFile:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, SyntheticUnavailable, InvalidInput, NotAcceptable,
    TooBusy."""
    right = await reading_right(runtime, reader, release_id)
    reach = right.reach(part)
    if reach.joint:
        raise InvalidInput("part", f"one of {listed([each for each, _ in right.parts])}: rows are made by one model")
    model = (await describe_view(runtime, release_id, reach, SAMPLES)).model
    law, most = _law(model), rows_most(model)
    if not 1 <= rows <= most:
        raise InvalidInput("rows", f"a whole number from 1 to {most}, of this release")
    chosen = SYNTHETIC_FORMATS[name]
    chosen.require()
    release = await _believed(runtime, release_id, reach)
    known = await _known(runtime, release.public, part)
    receipt = await receipt_for(runtime, reader, release.public, Draws(release.samples))
    described = f"postern/{__version__} synthetic {chosen.made_with()} {rows} {seed}"
    etag = hmac.digest(receipt.mark, described.encode(), "sha256").hex()[:TAG_LENGTH]
    return SyntheticFile(release.public, reader, chosen, etag, rows, seed, law, release.samples.columns, known)


def rows_most(model: ReleaseModel) -> int:
    """In one file. Raises SyntheticUnavailable."""
    return min(ROWS_MAX, WORK_MAX // _law(model).work(model))


def _law(model: ReleaseModel) -> RowLaw:
    found = kind_of(model).rows
    refused = _NO_LAW if found is None else found.refused(model)
    if found is None or refused is not None:
        raise SyntheticUnavailable(refused or _NO_LAW)
    return found


async def _believed(runtime: Runtime, release_id: str, reach: Reach) -> PublishedRelease:
    """For who has a right to as much."""
    try:
        return await open_view(runtime, release_id, reach, CALIBRATED)
    except CalibratedUnavailable:
        return await open_view(runtime, release_id, reach, SAMPLES)


async def _known(runtime: Runtime, public: PublicRelease, part: str | None) -> Known:
    """What was measured is cut to the part: of the others nothing goes into its rows."""
    async with runtime.database.read() as connection:
        whole = await releases.get_release(connection, public.id)
        dataset = None if whole is None else await datasets.get_dataset(connection, whole.dataset_id)
    if whole is None or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    release, measured = part_release(whole, part), await read_part_measured(runtime, whole, part)
    mechanism = stored_mechanism(release, public.model)
    return Known(mechanism, release.n, release.unit_rows, measured, dataset_columns(dataset))


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
