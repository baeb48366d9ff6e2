"""Joint draws of some parameters of a release, by column and by row, without a second copy of the samples."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.decisions import SampleSet
from app.core.parameters import Parameter, listed, places
from app.errors import InvalidInput

VALUES_PER_CHUNK = 2**18
"""What is turned into rows at a time: two megabytes."""
VALUES_AT_ONCE = 2**13
"""What is turned into text at a time: other threads wait meanwhile, the one that serves everyone among them."""
PARAMETERS_NAMED_MAX = 1_000

_FLOAT = np.dtype("<f8")


@dataclass(frozen=True, slots=True)
class Draws:
    """The first k draws; `indices` are the chosen parameters in the order asked, None is all of them."""

    samples: SampleSet
    indices: tuple[int, ...] | None = None

    @property
    def parameters(self) -> Sequence[Parameter]:
        everything = self.samples.parameters
        return everything if self.indices is None else [everything[index] for index in self.indices]

    @property
    def names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    @property
    def groups(self) -> dict[str, dict[str, str]]:
        """Of every parameter that has one, by its name: none of a release without groups."""
        return {parameter.name: dict(parameter.group) for parameter in self.parameters if parameter.group}

    @property
    def size(self) -> int:
        return self.samples.size

    @property
    def width(self) -> int:
        return len(self.samples.parameters) if self.indices is None else len(self.indices)

    def part(self, start: int, stop: int) -> "Draws":
        """The chosen parameters from `start` up to `stop`; all of them is this."""
        if start == 0 and stop >= self.width:
            return self
        chosen = range(self.width) if self.indices is None else self.indices
        return Draws(self.samples, tuple(chosen[start:stop]))

    def columns(self) -> Iterator[NDArray[np.float64]]:
        """Each parameter's draws: views, in the order of `names`."""
        for index in range(self.width) if self.indices is None else self.indices:
            yield self.samples.columns[index]

    def rows(self) -> Iterator[NDArray[np.float64]]:
        """Row-major pieces of the k × P matrix, one draw a row, each of about VALUES_PER_CHUNK values."""
        step = max(1, VALUES_PER_CHUNK // self.width)
        columns = self.samples.columns
        for start in range(0, self.size, step):
            piece = columns[:, start : start + step]
            chosen = piece if self.indices is None else piece[list(self.indices)]
            yield np.ascontiguousarray(chosen.T, _FLOAT)

    def lists(self) -> Iterator[list[list[float]]]:
        """The same rows as Python's numbers, a few thousand at a time or one row."""
        step = max(1, VALUES_AT_ONCE // self.width)
        for piece in self.rows():
            for start in range(0, len(piece), step):
                yield piece[start : start + step].tolist()

    def digest(self) -> str:
        """SHA-256 of the k × P matrix, row by row, each value 8 bytes little-endian."""
        found = hashlib.sha256()
        for piece in self.rows():
            found.update(piece.data)
        return found.hexdigest()


def choose(samples: SampleSet, names: Sequence[str]) -> Draws:
    """All parameters, or those named. Raises InvalidInput for a name that is unknown or given twice."""
    if not names:
        return Draws(samples)
    if len(names) > PARAMETERS_NAMED_MAX or len(set(names)) != len(names):
        raise InvalidInput("parameter", f"at most {PARAMETERS_NAMED_MAX} names, each once")
    known = places(samples.parameters)
    if not all(name in known for name in names):
        shown = listed([parameter.name for parameter in samples.parameters])
        raise InvalidInput("parameter", f"names of this release's parameters: {shown}")
    return Draws(samples, tuple(known[name] for name in names))
