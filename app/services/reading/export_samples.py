"""Joint draws, or points of a belief, as a file. Nothing in it depends on more than the reader has a right to."""

import hmac
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from app import __version__
from app.core.decisions import CALIBRATED, SAMPLES, View
from app.errors import Unavailable
from app.services.principals import Reader
from app.services.reading.exports import FORMATS
from app.services.reading.exports.draws import Draws, choose
from app.services.reading.exports.format import ExportFormat
from app.services.reading.published_release import open_release, require_still_readable
from app.services.reading.receipts import receipt_for
from app.services.runtime.reading_rights import Reach
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import TAG_LENGTH, PublicRelease, Receipt

IN_MEMORY_BYTES_MAX = 1024 * 1024
"""Smaller files never touch the disk."""
COMPRESS_VALUES_MIN = 32
"""As text, with their receipt, more than a kilobyte."""


@dataclass(frozen=True, slots=True)
class Export:
    """What would be sent, known before it is built. `etag` is strong: it names all that the bytes depend on."""

    release: PublicRelease
    reader: Reader
    format: ExportFormat
    draws: Draws = field(repr=False)
    receipt: Receipt = field(repr=False)
    etag: str

    @property
    def worth_compressing(self) -> bool:
        return self.format.text and self.draws.size * self.draws.width >= COMPRESS_VALUES_MIN

    @property
    def filename(self) -> str:
        view = f"-{CALIBRATED}" if self.release.view == CALIBRATED else ""
        part = "" if self.release.reach is None or self.release.reach.part is None else f"-{self.release.reach.part}"
        return f"{self.release.id}{part}-{self.release.evidence}{view}.{self.format.suffix}"


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file without a name, from its beginning; whoever holds it closes it."""

    file: BinaryIO
    size: int
    on_close: Callable[[], None]

    def close(self) -> None:
        self.file.close()
        self.on_close()


async def describe_export(
    runtime: Runtime,
    *,
    reader: Reader,
    release_id: str,
    name: str,
    parameters: Sequence[str],
    view: View = SAMPLES,
    part: str | None = None,
) -> Export:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, CalibratedUnavailable, InvalidInput, NotAcceptable,
    TooBusy."""
    release = await open_release(runtime, reader, release_id, view, part, [*parameters])
    chosen = FORMATS[name]
    chosen.require()
    draws = choose(release.samples, parameters)
    receipt = await receipt_for(runtime, reader, release.public, draws)
    described = f"postern/{__version__} {chosen.made_with()}"
    etag = hmac.digest(receipt.mark, described.encode(), "sha256").hex()[:TAG_LENGTH]
    return Export(release.public, reader, chosen, draws, receipt, etag)


async def build_export(runtime: Runtime, export: Export) -> BuiltFile:
    """Raises TooBusy, NotAcceptable, Unavailable when there is no room on the disk."""
    room, reader = runtime.exports, export.reader.id
    size = export.draws.size * export.draws.width * export.format.bytes_per_value
    room.reserve(reader, size)
    try:
        file = await room.take_turn(reader, lambda: _built(export, str(runtime.settings.data_dir)))
        return BuiltFile(file, file.tell(), lambda: room.free(reader, size))
    except BaseException:
        room.free(reader, size)
        raise


def right_to(runtime: Runtime, export: Export) -> Callable[[], Awaitable[None]]:
    """Asked while a file is built and sent: the key still works and still reads as many samples. Raises what refuses it.

    It is held for as long as a slow reader takes, so it holds no samples.
    """
    return partial(require_still_readable, runtime, export.reader, export.release.id, _reach(export.release))


def _reach(release: PublicRelease) -> Reach:
    return release.reach or Reach(release.evidence)


def _built(export: Export, folder: str) -> BinaryIO:
    """In the data directory: the usual place for such files may be a disk in memory."""
    with ExitStack() as stack:
        file = cast(BinaryIO, stack.enter_context(SpooledTemporaryFile(IN_MEMORY_BYTES_MAX, dir=folder)))
        try:
            export.format.write(export.draws, export.receipt.fields, file)
            file.seek(0, SEEK_END)
        except ImportError:
            raise export.format.missing() from None
        except OSError:
            raise Unavailable("there is no room to prepare this file", retry_after_s=30) from None
        stack.pop_all()
        return file
