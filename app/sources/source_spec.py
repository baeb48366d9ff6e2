"""Where a dataset's rows come from, as declared: parsed and resolved, nothing read.

{"kind": "upload", "retain": false}      streamed in, wiped after use unless retained
{"kind": "file", "path": "trial.parquet"}  a file below one of the allowed roots
"""

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from app.errors import InvalidSchema
from app.sources.engine import GLOB_CHARACTERS

SourceKind = Literal["upload", "file"]
PATH_LENGTH_MAX = 1_024


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """`retain` concerns uploads, `path` (relative, as declared) files."""

    kind: SourceKind
    retain: bool = False
    path: str | None = None

    def as_json(self) -> dict[str, Any]:
        if self.kind == "upload":
            return {"kind": self.kind, "retain": self.retain}
        return {"kind": self.kind, "path": self.path}


def parse_source(spec: Mapping[str, Any] | None, roots: Sequence[Path] = ()) -> SourceSpec:
    """Raises InvalidSchema. A file has to exist now; it is resolved again each time it is read."""
    if spec is None:
        return SourceSpec("upload")
    if not isinstance(spec, Mapping) or spec.get("kind") not in ("upload", "file"):
        raise InvalidSchema("source.kind", "upload or file")
    if spec["kind"] == "upload":
        if not set(spec) <= {"kind", "retain"}:
            raise InvalidSchema("source", "an upload to carry nothing but `retain` beside its kind")
        retain = spec.get("retain", False)
        if not isinstance(retain, bool):
            raise InvalidSchema("source.retain", "true or false")
        return SourceSpec("upload", retain=retain)
    if set(spec) != {"kind", "path"}:
        raise InvalidSchema("source", "a file to carry exactly `path` beside its kind")
    if not roots:
        raise InvalidSchema("source.kind", "upload; this server allows no source roots")
    path = spec["path"]
    resolve_file(path, roots)
    return SourceSpec("file", path=path)


def resolve_file(path: object, roots: Sequence[Path]) -> Path:
    """The one regular file that `path` names below a root, symbolic links followed.

    Whatever is wrong, the answer is the same, so that nobody can ask which files exist
    elsewhere. Devices, pipes, sockets and directories are refused, and so is a link that
    leaves its root. Whoever may write below a root is trusted not to swap files meanwhile.
    """
    refused = InvalidSchema("source.path", "the relative path of a regular file below an allowed root")
    if not isinstance(path, str) or not 1 <= len(path) <= PATH_LENGTH_MAX or not path.isprintable():
        raise refused
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or "\\" in path or GLOB_CHARACTERS & set(path):
        raise refused
    for root in roots:
        found = _below(root, path)
        if found is not None:
            return found
    raise refused


def _below(root: Path, path: str) -> Path | None:
    try:
        base = root.resolve(strict=True)
        found = (base / path).resolve(strict=True)
        if found.is_relative_to(base) and stat.S_ISREG(found.stat().st_mode):
            return found
    except (OSError, RuntimeError, ValueError):  # missing, a loop of links, a name too long
        return None
    return None
