"""The samples an answer is computed from: a release's first k draws, immutable, with their sums kept."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.empirical import SAMPLES_MAX, Empirical
from app.core.families.parameters import Parameter
from app.errors import NumericalFailure


class SampleSet:
    """k samples of P parameters, each inside its public range.

    Nothing here depends on a row beyond the k given: `prefix` shares the columns' memory but sorts and sums
    its own rows only, so an analyst's answers cannot show samples they did not pay for (PRIVACY §8).
    """

    def __init__(self, parameters: Sequence[Parameter], values: NDArray[np.float64]) -> None:
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(parameters) or not parameters:
            raise NumericalFailure("a sample set needs one column per parameter")
        if not 1 <= len(values) <= SAMPLES_MAX:
            raise NumericalFailure(f"a sample set needs 1 to {SAMPLES_MAX} samples")
        for parameter, column in zip(parameters, values.T, strict=True):
            if not bool(((column >= parameter.lower) & (column <= parameter.upper)).all()):
                raise NumericalFailure("a sample lies outside its parameter's public range")
        self._keep(tuple(parameters), tuple(values[:, index].copy() for index in range(len(parameters))))

    def _keep(self, parameters: tuple[Parameter, ...], columns: tuple[NDArray[np.float64], ...]) -> None:
        for column in columns:
            column.flags.writeable = False
        self.parameters = parameters
        self.columns = columns
        self.size = len(columns[0])
        self._marginals: dict[int, Empirical] = {}

    def prefix(self, samples: int) -> "SampleSet":
        """The set an analyst with a right to the first `samples` draws is answered from."""
        if not 1 <= samples <= self.size:
            raise ValueError(f"a prefix of {self.size} samples has 1 to {self.size}")
        part = object.__new__(SampleSet)
        part._keep(self.parameters, tuple(column[:samples] for column in self.columns))
        return part

    def marginal(self, index: int) -> Empirical:
        """One parameter's samples. Threads that race here compute the same thing; the first one stays."""
        found = self._marginals.get(index)
        if found is None:
            parameter = self.parameters[index]
            fresh = Empirical(self.columns[index], float(parameter.lower), float(parameter.upper))
            found = self._marginals.setdefault(index, fresh)
        return found

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters[:8])
        return f"SampleSet({self.size} samples of {names})"
