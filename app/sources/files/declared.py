"""What whoever sends a file says about it: content type, packing, character set, separator. Nothing here looks at the body."""

from dataclasses import dataclass

from app.errors import InvalidInput, UnsupportedFormat
from app.sources.files.formats import SentFormat, format_of_content_type

CHARSETS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-1": "cp1252",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
"""Names of character sets and their codecs. What is called Latin-1 is read as Windows-1252, as browsers do: the one adds
printable characters where the other has control characters, and spreadsheets write the one by the name of the other."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
ENCODINGS = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
_CHARSETS_TOLD = "utf-8, windows-1252 (iso-8859-1 is read as that) or utf-16"


@dataclass(frozen=True, slots=True)
class DeclaredForm:
    """None: not said. A packing, a format and the mark of UTF-16 are then known by the first bytes, the separator by the header
    line; the character set is UTF-8."""

    file_format: SentFormat | None = None
    packing: str | None = None
    charset: str | None = None
    separator: str | None = None


UNDECLARED = DeclaredForm()


def read_declared(
    content_type: str | None = None,
    content_encoding: str | None = None,
    charset: str | None = None,
    separator: str | None = None,
) -> DeclaredForm:
    """Headers first, query parameters in their place. Raises UnsupportedFormat, InvalidInput before a body is read."""
    packing = (content_encoding or "").strip().lower()
    if packing not in ("", "identity") and packing not in ENCODINGS:
        raise UnsupportedFormat("content-encoding", "gzip, zstd or none")
    if separator is not None and separator not in SEPARATORS:
        raise InvalidInput("separator", "one of " + ", ".join(SEPARATORS))
    named = _charset_of(content_type)
    if charset is not None and named is not None and _codec("charset", charset) != _codec("content-type", named):
        raise InvalidInput("charset", "the character set that the content type names")
    said = charset or named
    return DeclaredForm(
        format_of_content_type(content_type),
        ENCODINGS.get(packing),
        None if said is None else _codec("content-type" if charset is None else "charset", said),
        None if separator is None else SEPARATORS[separator],
    )


def _charset_of(content_type: str | None) -> str | None:
    for part in (content_type or "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"')
    return None


def _codec(field: str, name: str) -> str:
    codec = CHARSETS.get(name.lower())
    if codec is None:
        raise UnsupportedFormat(field, f"text in {_CHARSETS_TOLD}")
    return codec
