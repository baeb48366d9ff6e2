"""What services need of any model and any mechanism, whatever its statistic is."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.families.parameters import Parameter
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.schema import Column
from app.errors import InvalidMechanism


class ReleaseModel(Hashable, Protocol):
    """Pure data, validated before anything is read. `statistic` is a request that a source can answer exactly."""

    @property
    def family(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def statistic(self) -> Any: ...
    def as_json(self) -> dict[str, Any]: ...


class ReleaseMechanism(Protocol):
    """`cost` uses public numbers only, `draw` alone sees a statistic. Each takes the models of its own kind."""

    @property
    def kind(self) -> str: ...
    @property
    def samples(self) -> int: ...
    def as_json(self) -> dict[str, Any]: ...
    def with_samples(self, samples: int) -> "ReleaseMechanism": ...
    def cost(self, model: Any, people: int, unit_rows: int, /) -> ReleaseCost: ...
    def draw(
        self, model: Any, people: int, unit_rows: int, statistic: Any, random_bytes: Callable[[int], bytes], /
    ) -> NDArray[np.float64]:
        """(samples, parameters), from the operating system's randomness in production."""
        ...


def budget_epsilon_max(mechanism: ReleaseMechanism) -> float:
    """An inexact sampler's δ-slack, (1 + e^ε)·η, is worked out for budgets up to this ε; infinite for exact ones."""
    return float(getattr(mechanism, "budget_epsilon_max", math.inf))


def refuse_wide_budget(mechanism: ReleaseMechanism, budget_epsilon: float) -> None:
    """Raises InvalidMechanism where the δ-slack of this mechanism would not cover the dataset's budget."""
    largest = budget_epsilon_max(mechanism)
    if not budget_epsilon <= largest:
        raise InvalidMechanism(
            "mechanism.kind", f"another: {mechanism.kind} of this model needs a budget with ε at most {largest:g}"
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """Families that share a class of models, and the mechanisms that release it."""

    name: str
    families: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Column]], ReleaseModel]]
    mechanisms: Mapping[str, Callable[[Mapping[str, Any]], ReleaseMechanism]]

    def parse_mechanism(self, spec: Mapping[str, Any]) -> ReleaseMechanism:
        """Raises InvalidMechanism."""
        if not isinstance(spec, Mapping):
            raise InvalidMechanism("mechanism", "an object")
        kind = spec.get("kind")
        if not isinstance(kind, str) or kind not in self.mechanisms:
            raise InvalidMechanism(
                "mechanism.kind", f"one of {', '.join(sorted(self.mechanisms))} for this kind of model"
            )
        return self.mechanisms[kind](spec)
