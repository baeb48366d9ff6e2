"""Where a dataset's rows come from, as declared: parsed and resolved, nothing read."""

import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter
from typing_extensions import TypeAliasType

from app.core.specs import Expects, Maybe, OneOf, Spec, read_spec
from app.errors import InvalidSchema
from app.sources.engine import GLOB_CHARACTERS
from app.sources.files.found_files import FILES_EXPECTED, resolve_files, safe_pattern

SourceKind = Literal["upload", "file", "files", "postgresql", "statistics"]
PATH_LENGTH_MAX = 1_024
ROWS_MAX = 1_000_000_000
_IDENTIFIER_BYTES_MAX = 63
_TABLE_EXPECTED = "the name of a table or view, or schema.table, each part of at most 63 bytes"
_EXPECTED = "the relative path of a regular file below an allowed root"


def _relative(path: str) -> str:
    away = PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts
    if not path.isprintable() or away or "\\" in path or GLOB_CHARACTERS & set(path):
        raise ValueError
    return path


RelativePath = Annotated[
    str, Field(min_length=1, max_length=PATH_LENGTH_MAX), AfterValidator(_relative), Expects(_EXPECTED)
]
RowsMax = Annotated[int, Field(ge=1, le=ROWS_MAX)]
_PATH: TypeAdapter[str] = TypeAdapter(RelativePath)


class UploadSource(Spec):
    """Rows that are streamed in."""

    kind: Literal["upload"] = Field(description="The name of the source.")
    retain: bool = Field(default=False, description="Keep the rows after a release was drawn instead of wiping them.")


class FileSource(Spec):
    """A CSV or Parquet file on the server, read where it lies."""

    kind: Literal["file"] = Field(description="The name of the source.")
    path: RelativePath = Field(description="Relative to one of the allowed roots.")
    rows_max: Maybe[RowsMax] = Field(
        default=None,
        description=(
            "A public limit of rows, from which the moment of publication follows. A file with more is refused, and one that "
            "grew beyond it withdraws its releases, whose charges stand."
        ),
    )


class StatisticsSource(Spec):
    """No rows: each release is of statistics that its steward computed elsewhere and sealed to this service (`postern
    statistics`)."""

    kind: Literal["statistics"] = Field(description="The name of the source.")


def _table_name(table: str) -> str:
    parts = table.split(".")
    if (
        not table.isprintable()
        or len(parts) > 2
        or not all(0 < len(part.encode()) <= _IDENTIFIER_BYTES_MAX for part in parts)
    ):
        raise ValueError
    return table


class FilesSource(Spec):
    """CSV, Parquet and Arrow files on the server that together are one table, read where they lie."""

    kind: Literal["files"] = Field(description="The name of the source.")
    path: Annotated[
        str, Field(min_length=1, max_length=PATH_LENGTH_MAX), AfterValidator(safe_pattern), Expects(FILES_EXPECTED)
    ] = Field(
        description=(
            "Relative to one of the allowed roots: a directory, or a pattern with `*` and `?` within a name and `**` for any "
            "directories. Parts of the path like `year=2024` are cells of a column."
        )
    )
    rows_max: Maybe[RowsMax] = Field(default=None, description="A public limit of rows, as of a `file`.")


class PostgresSource(Spec):
    """A table or view of a PostgreSQL database, added up where it is."""

    kind: Literal["postgresql"] = Field(description="The name of the source.")
    connection: Annotated[str, Field(pattern="^[a-z][a-z0-9_-]{0,62}$")] = Field(
        description="A connection by the name that the operator of the service gave it."
    )
    table: Annotated[
        str, Field(min_length=1, max_length=127), AfterValidator(_table_name), Expects(_TABLE_EXPECTED)
    ] = Field(description="Of the schema `public`, or with another in front, as in `clinic.visits`.")
    rows_max: RowsMax = Field(
        description=(
            "A public limit of rows, from which the moment of publication follows. A table with more is refused, and one that "
            "grew beyond it withdraws its releases, whose charges stand."
        )
    )


SOURCE_SPECS: dict[SourceKind, type[Spec]] = {
    "upload": UploadSource,
    "file": FileSource,
    "statistics": StatisticsSource,
    "files": FilesSource,
    "postgresql": PostgresSource,
}
Source = TypeAliasType("Source", Annotated[Spec, OneOf("kind", {**SOURCE_SPECS})])
_SOURCE: TypeAdapter[Spec] = TypeAdapter(Source)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """`retain` concerns uploads, `path` (relative, as declared) files, `connection` and `table` databases, `rows_max` (public)
    both."""

    kind: SourceKind
    retain: bool = False
    path: str | None = None
    rows_max: int | None = None
    connection: str | None = None
    table: str | None = None

    def as_json(self) -> dict[str, Any]:
        if self.kind == "statistics":
            return {"kind": self.kind}
        if self.kind == "upload":
            return {"kind": self.kind, "retain": self.retain}
        limit = {} if self.rows_max is None else {"rows_max": self.rows_max}
        if self.kind == "postgresql":
            return {"kind": self.kind, "connection": self.connection, "table": self.table, **limit}
        return {"kind": self.kind, "path": self.path, **limit}


def parse_source(
    spec: Mapping[str, Any] | None, roots: Sequence[Path] = (), connections: Collection[str] = ()
) -> SourceSpec:
    """Raises InvalidSchema. A file has to exist now; it is resolved again each time it is read."""
    if spec is None:
        return SourceSpec("upload")
    read = read_spec(_SOURCE, spec, "source", InvalidSchema)
    if isinstance(read, FileSource | FilesSource):
        if not roots:
            raise InvalidSchema("source.kind", "upload; this server allows no source roots")
        _ = resolve_file(read.path, roots) if isinstance(read, FileSource) else resolve_files(read.path, roots)
    if isinstance(read, PostgresSource) and read.connection not in connections:
        raise InvalidSchema("source.connection", "the name of a connection of this server")
    return SourceSpec(**dict(read))


def resolve_file(path: object, roots: Sequence[Path]) -> Path:
    """The one regular file that `path` names below a root, symbolic links followed.

    Whatever is wrong, the answer is the same, so that nobody can ask which files exist
    elsewhere. Devices, pipes, sockets and directories are refused, and so is a link that
    leaves its root. Whoever may write below a root is trusted not to swap files meanwhile.
    """
    name = read_spec(_PATH, path, "source.path", InvalidSchema)
    for root in roots:
        found = _below(root, name)
        if found is not None:
            return found
    raise InvalidSchema("source.path", _EXPECTED)


def _below(root: Path, path: str) -> Path | None:
    try:
        base = root.resolve(strict=True)
        found = (base / path).resolve(strict=True)
        if found.is_relative_to(base) and stat.S_ISREG(found.stat().st_mode):
            return found
    except (OSError, RuntimeError, ValueError):  # missing, a loop of links, a name too long
        return None
    return None
