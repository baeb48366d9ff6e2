"""gzip and zstd around a file: one layer, and no more bytes inside than an upload may have."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from gzip import BadGzipFile, GzipFile
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Protocol

from app.errors import PayloadTooLarge, UnsupportedFormat
from app.sources.private_files import CHUNK_BYTES, disk_full_as_unavailable

_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


class _Damaged(Exception):
    """What is not what its first bytes promise."""


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


def packing_of(path: Path, declared: str | None) -> str | None:
    """By the first bytes, which what was declared has to agree with. Raises UnsupportedFormat."""
    with path.open("rb") as file:
        opening = file.read(4)
    found = next((name for name, magic in _MAGIC.items() if opening.startswith(magic)), None)
    if declared is not None and found != declared:
        raise UnsupportedFormat("body", f"{declared}, as its content encoding says")
    return found


def unpack(path: Path, packing: str, target: Path, bytes_max: int) -> None:
    """Into a new file. Raises PayloadTooLarge once more than `bytes_max` came out, UnsupportedFormat if it is cut off or damaged.

    What comes out is written a mebibyte at a time, so whatever a few bytes promise to become, no more than that is in memory.
    """
    broken = False
    with disk_full_as_unavailable(), target.open("xb") as file:
        try:
            with _OPENERS[packing](path) as inside:
                _copy(inside, file, bytes_max)
        except (BadGzipFile, EOFError, zlib.error, _Damaged):
            broken = True
    if broken:
        raise UnsupportedFormat("body", f"an intact {packing} file")


def _copy(inside: _Reads, file: BinaryIO, bytes_max: int) -> None:
    size = 0
    while chunk := inside.read(CHUNK_BYTES):
        size += len(chunk)
        if size > bytes_max:
            raise PayloadTooLarge("body", f"at most {bytes_max} bytes once unpacked")
        file.write(chunk)


@contextmanager
def _open_gzip(path: Path) -> Iterator[_Reads]:
    with path.open("rb") as file, GzipFile(fileobj=file, mode="rb") as inside:
        yield inside


@contextmanager
def _open_zstd(path: Path) -> Iterator[_Reads]:
    if find_spec("pyarrow") is None:
        told = "gzip or no packing: this service was installed without what reads zstd; its operator can add pyarrow"
        raise UnsupportedFormat("body", told)
    import pyarrow as pa

    damaged = False
    with pa.OSFile(str(path), "rb") as file, pa.CompressedInputStream(file, "zstd") as inside:
        try:
            yield inside
        except (OSError, pa.ArrowException) as error:
            # A full disk is an error of ours, and has a number; those of the library have none.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            damaged = True
    if damaged:
        raise _Damaged


_OPENERS: dict[str, Callable[[Path], AbstractContextManager[_Reads]]] = {"gzip": _open_gzip, "zstd": _open_zstd}
