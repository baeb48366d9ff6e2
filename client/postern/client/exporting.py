"""Samples as a file: whole or not at all, whatever happens on the way."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from postern.client.calls.readers import MEDIA_TYPES, SUFFIXES
from postern.client.problems import Misconfigured


def form_of(target: Path, form: str | None, forms: Collection[str] = MEDIA_TYPES) -> str:
    """By the name unless it is said."""
    found = form or SUFFIXES.get(target.suffix.lower())
    if found is None or found not in forms:
        known = ", ".join(suffix for suffix, name in SUFFIXES.items() if name in forms)
        raise Misconfigured(f"{target.name}: expected a name that ends in one of {known}, or one of the formats")
    return found


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Written beside its place and moved there at the end; readable by its owner alone, as private answers should be."""
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    Path(file.name).replace(target)
