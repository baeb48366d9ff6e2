"""The samples an answer is computed from: a release's first k draws, immutable, with their sums kept."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.empirical import SAMPLES_MAX, Empirical
from app.core.decisions.small_print import End, end_piled_at
from app.core.parameters import Parameter
from app.errors import NumericalFailure

MARGINALS_MAX = 64
"""Parameters whose sorted samples and sums are kept, the least recently asked about given up first."""
PARTS_MAX = 8
SUMS_PER_MARGINAL = 3
"""Of the length of a column: the sorted copy and two prefix sums."""

OtherName = tuple[str, str | None]
"""How another release is named: by its id, and, of several models, by the part of it that is meant."""


class SampleSet:
    """k samples of P parameters, each inside its public range; `columns` is (P, k), a contiguous row a parameter.

    Nothing here depends on a row beyond the k given: `prefix` shares the columns' memory but sorts and sums
    its own rows only, so an analyst's answers cannot show samples they did not pay for (PRIVACY §8).
    """

    parameters: tuple[Parameter, ...]
    columns: NDArray[np.float64]
    size: int

    def __init__(self, parameters: Sequence[Parameter], values: NDArray[np.float64]) -> None:
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(parameters) or not parameters:
            raise NumericalFailure("a sample set needs one column per parameter")
        if not 1 <= len(values) <= SAMPLES_MAX:
            raise NumericalFailure(f"a sample set needs 1 to {SAMPLES_MAX} samples")
        columns = np.array(values.T, order="C")
        lower = np.fromiter((parameter.lower for parameter in parameters), np.float64, len(parameters))
        upper = np.fromiter((parameter.upper for parameter in parameters), np.float64, len(parameters))
        # The least and the greatest of a column with a NaN are NaN, and every comparison with it is false.
        if not bool((columns.min(axis=1) >= lower).all() and (columns.max(axis=1) <= upper).all()):
            raise NumericalFailure("a sample lies outside its parameter's public range")
        self._keep(tuple(parameters), columns)

    def _keep(self, parameters: tuple[Parameter, ...], columns: NDArray[np.float64]) -> None:
        columns.flags.writeable = False
        self.parameters = parameters
        self.columns = columns
        self.size = columns.shape[1]
        self._marginals: OrderedDict[int, Empirical] = OrderedDict()
        self._parts: OrderedDict[tuple[int, tuple[Parameter, ...]], SampleSet] = OrderedDict()
        self._piled: dict[int, End | None] = {}
        self.beside: Mapping[OtherName, SampleSet] = {}
        self._lock = Lock()

    @property
    def matrix(self) -> NDArray[np.float64]:
        """(k, P): the same memory, a row a sample."""
        return self.columns.T

    @property
    def bytes_max(self) -> int:
        """The most memory this set comes to hold, whatever is asked of it."""
        kept = min(len(self.parameters), MARGINALS_MAX)
        if self.parameters[0].group or self.parameters[0].part:
            kept += min(len(self.parameters), PARTS_MAX * MARGINALS_MAX)
        return 8 * self.size * (len(self.parameters) + SUMS_PER_MARGINAL * kept)

    def prefix(self, samples: int) -> "SampleSet":
        """The set an analyst with a right to the first `samples` draws is answered from."""
        if not 1 <= samples <= self.size:
            raise ValueError(f"a prefix of {self.size} samples has 1 to {self.size}")
        part = object.__new__(SampleSet)
        part._keep(self.parameters, self.columns[:, :samples])
        return part

    def paired(self, others: Mapping[OtherName, "SampleSet"]) -> "SampleSet":
        """With those of other releases, by name, at its side: the first of each, as many as the shortest has."""
        shortest = min(self.size, *(other.size for other in others.values()))
        found = self.prefix(shortest)
        found.beside = {name: other.prefix(shortest) for name, other in others.items()}
        return found

    def part(self, start: int, parameters: tuple[Parameter, ...]) -> "SampleSet":
        """Some neighbouring parameters by themselves, under the names given; kept, so that their sums are."""
        with self._lock:
            found = self._parts.get((start, parameters))
            if found is None:
                found = object.__new__(SampleSet)
                found._keep(parameters, self.columns[start : start + len(parameters)])
                found.beside = self.beside
                self._parts[start, parameters] = found
                if len(self._parts) > PARTS_MAX:
                    self._parts.popitem(last=False)
        return found

    def marginal(self, index: int) -> Empirical:
        """One parameter's samples. Its sums are found when first needed; threads that race find the same."""
        with self._lock:
            found = self._marginals.get(index)
            if found is None:
                parameter = self.parameters[index]
                found = Empirical(self.columns[index], float(parameter.lower), float(parameter.upper))
                self._marginals[index] = found
                if len(self._marginals) > MARGINALS_MAX:
                    self._marginals.popitem(last=False)
            else:
                self._marginals.move_to_end(index)
        return found

    def is_summed(self, index: int) -> bool:
        """Whether questions about this parameter are answered from sums already at hand."""
        found = self._marginals.get(index)
        return found is not None and found.is_summed

    def piled_at(self, index: int) -> End | None:
        """Which end of its public range this parameter's values are piled up at, if any."""
        if index not in self._piled:
            values, parameter = self.columns[index], self.parameters[index]
            with np.errstate(all="ignore"):  # ranges may be as wide as doubles are; what overflows is near no end
                sd = float(np.std(values, ddof=1)) if self.size > 1 else None
                self._piled[index] = end_piled_at(parameter, float(np.mean(values)), sd)
        return self._piled[index]

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters[:8])
        return f"SampleSet({self.size} samples of {names})"
