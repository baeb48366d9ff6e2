"""Which files a pattern below an allowed root means: plain files reached through plain directories, and nothing else.

No symbolic link is followed, neither as a file nor on the way: whoever can write below a root could point one anywhere. What is
wrong is never said, so that nobody can ask which files exist elsewhere.
"""

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from app.errors import InvalidSchema

FILES_MAX = 10_000
ENTRIES_MAX = 200_000
FILES_EXPECTED = (
    f"a directory below an allowed root, relative to it, or a pattern of 1 to {FILES_MAX} files; no symbolic link"
)
SUFFIXES = frozenset({".parquet", ".csv", ".tsv", ".txt", ".arrow", ".arrows", ".feather", ".ipc"})
"""Of files that a directory stands for."""
_HIDDEN = (".", "_")
_ANYWHERE = "**"
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_UNREADABLE = frozenset("*?[")
"""In the name of a file the engine would take them for a pattern."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """`partition` is what the directories above it say of all its rows, as texts."""

    path: Path
    partition: tuple[tuple[str, str | None], ...]


FoundFiles = tuple[FoundFile, ...]


class _Refused(Exception):
    """A link, or more than anybody would list."""


def safe_pattern(path: str) -> str:
    """ValueError for what cannot be one."""
    parts = PurePosixPath(path).parts
    away = path.startswith("/") or ".." in path.split("/") or not parts
    if (
        not path.isprintable()
        or away
        or "\\" in path
        or "[" in path
        or any("**" in part and part != _ANYWHERE for part in parts)
    ):
        raise ValueError
    return path


def resolve_files(path: str | None, roots: Sequence[Path]) -> FoundFiles:
    """In order of their names, of the first root that has any. Raises InvalidSchema."""
    for root in roots:
        try:
            base = root.resolve(strict=True)
            found = sorted(_matching(base, PurePosixPath(safe_pattern(path or "")).parts))
        except (OSError, RuntimeError, ValueError, _Refused):  # missing, not readable, a link on the way
            continue
        if 0 < len(found) <= FILES_MAX:
            return tuple(FoundFile(each, _partition(each.relative_to(base))) for each in found)
    raise InvalidSchema("source.path", FILES_EXPECTED)


def _matching(base: Path, parts: Sequence[str]) -> set[Path]:
    """Directories that the whole pattern names stand for what is in them."""
    places, budget = {base}, _Budget()
    for part in parts:
        places = {found for place in places for found in _step(place, part, budget)}
    found = {place for place in places if place.is_file()}
    for place in places - found:
        below = (each for folder in _below(place, budget) for each in _entries(folder, budget))
        found |= {each for each in below if each.suffix.lower() in SUFFIXES and each.is_file()}
    if any(_UNREADABLE & set(str(each)) for each in found):
        raise _Refused
    return found


@dataclass(slots=True)
class _Budget:
    entries: int = ENTRIES_MAX


def _step(place: Path, part: str, budget: _Budget) -> Iterator[Path]:
    if not place.is_dir():
        return
    if part == _ANYWHERE:
        yield from _below(place, budget)
    elif _UNREADABLE & set(part):
        yield from (each for each in _entries(place, budget) if fnmatch.fnmatchcase(each.name, part))
    else:
        found = place / part
        _refuse_odd(found.lstat())
        yield found


def _below(place: Path, budget: _Budget) -> Iterator[Path]:
    """The directory itself and all in it."""
    yield place
    for each in _entries(place, budget):
        if each.is_dir():
            yield from _below(each, budget)


def _entries(place: Path, budget: _Budget) -> list[Path]:
    found = []
    with os.scandir(place) as entries:
        for entry in entries:
            budget.entries -= 1
            if budget.entries < 0:
                raise _Refused
            if not entry.name.startswith(_HIDDEN):
                _refuse_odd(entry.stat(follow_symlinks=False))
                found.append(place / entry.name)
    return found


def _refuse_odd(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise _Refused


def _partition(path: Path) -> tuple[tuple[str, str | None], ...]:
    found = {}
    for part in path.parts[:-1]:
        named = _PARTITION.fullmatch(part)
        if named is not None:
            value = unquote(named[2])
            found[unquote(named[1])] = None if value == _NO_VALUE else value
    return tuple(found.items())
