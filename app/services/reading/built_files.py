"""Files on their way out: built in a thread in the reader's turn, into a file without a name, and sent while the right lasts."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Protocol, cast

from app.errors import Unavailable
from app.services.principals import Reader
from app.services.reading.exports.format import ExportFormat
from app.services.reading.published_release import require_still_readable
from app.services.runtime.reading_rights import Reach
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import PublicRelease

IN_MEMORY_BYTES_MAX = 1024 * 1024
"""Smaller files never touch the disk."""
COMPRESS_VALUES_MIN = 32
"""As text, with their receipt, more than a kilobyte."""


class PlannedFile(Protocol):
    """What would be sent, known before it is built. `etag` is strong: it names all that the bytes depend on."""

    @property
    def release(self) -> PublicRelease: ...
    @property
    def reader(self) -> Reader: ...
    @property
    def format(self) -> ExportFormat[Any]: ...
    @property
    def etag(self) -> str: ...
    @property
    def filename(self) -> str: ...
    @property
    def values(self) -> int:
        """How many there are in the file: what room is set aside for."""
        ...

    def write(self, file: BinaryIO) -> None:
        """In a thread."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file without a name, from its beginning; whoever holds it closes it."""

    file: BinaryIO
    size: int
    on_close: Callable[[], None]

    def close(self) -> None:
        self.file.close()
        self.on_close()


def file_stem(release: PublicRelease) -> str:
    """Names of files begin with what they were made from: the release, the part where it is of several models, and how far."""
    part = None if release.reach is None else release.reach.part
    return "-".join((release.id, *(() if part is None else (part,)), str(release.evidence)))


def worth_compressing(planned: PlannedFile) -> bool:
    return planned.format.text and planned.values >= COMPRESS_VALUES_MIN


async def build_export(runtime: Runtime, planned: PlannedFile) -> BuiltFile:
    """Raises TooBusy, NotAcceptable, Unavailable when there is no room on the disk."""
    room, reader = runtime.exports, planned.reader.id
    size = planned.values * planned.format.bytes_per_value
    room.reserve(reader, size)
    try:
        file = await room.take_turn(reader, lambda: _built(planned, str(runtime.settings.data_dir)))
        return BuiltFile(file, file.tell(), lambda: room.free(reader, size))
    except BaseException:
        room.free(reader, size)
        raise


def right_to(runtime: Runtime, planned: PlannedFile) -> Callable[[], Awaitable[None]]:
    """Asked while a file is built and sent: the key still works and still reads as many samples. Raises what refuses it.

    It is held for as long as a slow reader takes, so it holds no samples.
    """
    return partial(require_still_readable, runtime, planned.reader, planned.release.id, _reach(planned.release))


def _reach(release: PublicRelease) -> Reach:
    return release.reach or Reach(release.evidence)


def _built(planned: PlannedFile, folder: str) -> BinaryIO:
    """In the data directory: the usual place for such files may be a disk in memory."""
    with ExitStack() as stack:
        file = cast(BinaryIO, stack.enter_context(SpooledTemporaryFile(IN_MEMORY_BYTES_MAX, dir=folder)))
        try:
            planned.write(file)
            file.seek(0, SEEK_END)
        except ImportError:
            raise planned.format.missing() from None
        except OSError:
            raise Unavailable("there is no room to prepare this file", retry_after_s=30) from None
        stack.pop_all()
        return file
