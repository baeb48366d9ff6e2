"""An installation made once and put back for every test at the same address: files, database, Redis.

A ledger knows the address of its database, so that a copy elsewhere would be another place to it.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Kept(Protocol):
    """Something whose state can be kept and brought back."""

    def keep(self) -> Any: ...

    def put_back(self, kept: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    def keep(self) -> Path:
        copy = self.path.with_name(f"{self.path.name}.kept")
        shutil.copytree(self.path, copy)
        return copy

    def put_back(self, kept: Path) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(kept, self.path)


class KeptPlace(Generic[T]):
    """`parts` as `make` left them, and what it said about them."""

    def __init__(self, make: Callable[[], T], *parts: Kept) -> None:
        self._value = make()
        self._parts = [(part, part.keep()) for part in parts]
        self._fresh = True

    def put_back(self) -> T:
        if not self._fresh:
            for part, kept in self._parts:
                part.put_back(kept)
        self._fresh = False
        return self._value
