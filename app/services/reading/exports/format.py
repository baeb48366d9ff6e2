"""What an export format is: a file that others can open, from the same draws or table and the same receipt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any, BinaryIO, Generic, TypeVar
from zlib import ZLIB_RUNTIME_VERSION

from app.errors import NotAcceptable

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class ExportFormat(Generic[Content]):
    """`write`: (draws or a table, the receipt's fields, a binary file that can be read and sought) → the file is written, memory
    stays bounded. `libraries` shape the bytes, so their versions are part of the tag; those in `needs` may be missing.

    `layout` changes with the shape of the file. Text is worth compressing on the way, numbers in binary are not.
    """

    name: str
    suffix: str
    media_type: str
    write: Callable[[Content, Mapping[str, Any], BinaryIO], None]
    libraries: tuple[str, ...]
    needs: tuple[str, ...] = ()
    layout: int = 1
    text: bool = False
    bytes_per_value: int = 10
    """Room to set aside: rarely less than what a value takes."""

    def require(self) -> None:
        """Raises NotAcceptable if the service was installed without what writes this."""
        if any(find_spec(library) is None for library in self.needs):
            raise self.missing()

    def missing(self) -> NotAcceptable:
        return NotAcceptable(
            "format",
            "json or csv: this service was installed without what writes "
            f"{self.name}; its operator can add {' and '.join(self.needs)} (the extra exports)",
        )

    def made_with(self) -> str:
        """Of what this depends on besides draws and receipt."""
        packed = [f"zlib/{ZLIB_RUNTIME_VERSION}"] if self.text else []
        return " ".join([f"{self.name}/{self.layout}", *map(_version, self.libraries), *packed])


@cache
def _version(library: str) -> str:
    return f"{library}/{metadata.version(library)}"
