"""What a question is about: a number for every sample, with a public range."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from app.core.decisions.empirical import Empirical
from app.core.decisions.sample_set import SampleSet
from app.core.families import Model
from app.core.families.parameters import Parameter


class Estimand(Protocol):
    """Frozen and hashable. `lower < upper` come from public numbers and contain every value."""

    @property
    def lower(self) -> float: ...

    @property
    def upper(self) -> float: ...

    def distribution(self, samples: SampleSet) -> Empirical:
        """Its value at each sample; fails for no sample."""
        ...


EstimandParser = Callable[[Mapping[str, Any], Sequence[Parameter], Model | None], Estimand]
"""The model is None where a release has no law of a single record to ask about."""
