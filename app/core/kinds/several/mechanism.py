"""A mechanism for every part, each drawing by itself from its own statistic of the same rows.

Parts may have different numbers of samples, so what is stored is one row of numbers: the samples of the first part, one after
another, then those of the second, and so on. Beside them stands what was measured, behind as many lengths as there are parts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Drawn, Evidence, Whole
from app.core.kinds.protocols import ReleaseMechanism, drawn_once
from app.core.kinds.several.cost import composed
from app.core.kinds.several.model import FAMILY, PARTS, SeveralModels
from app.core.parameters import Parameter
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics import ExactSeveral
from app.errors import CalibratedUnavailable, IntegrityFailure

RandomBytes = Callable[[int], bytes]
Array = NDArray[np.float64]
NOTHING = -1
"""The length of what a part measured that draws."""


@dataclass(frozen=True, slots=True)
class SeveralMechanisms:
    """`parts[i]` is that of the i-th model."""

    parts: tuple[ReleaseMechanism, ...]

    @property
    def kind(self) -> str:
        return FAMILY

    @property
    def samples(self) -> int:
        """The most that a part has."""
        return max(part.samples for part in self.parts)

    @property
    def budget_epsilon_max(self) -> float:
        return min(part.budget_epsilon_max for part in self.parts)

    @property
    def drawn_at(self) -> float | None:
        """That of all parts, the lowest if they differ; None where one of them is not drawn at any."""
        found = [part.drawn_at for part in self.parts]
        return None if None in found else min(each for each in found if each is not None)

    @property
    def belief_points(self) -> int:
        return min(part.belief_points for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        return {"kind": FAMILY, PARTS: [part.as_json() for part in self.parts]}

    def with_samples(self, samples: int) -> Self:
        """No more than so many of any part."""
        return replace(
            self, parts=tuple(each if each.samples <= samples else each.with_samples(samples) for each in self.parts)
        )

    def with_law(self, changed: Callable[[ReleaseMechanism], ReleaseMechanism]) -> Self:
        return replace(self, parts=tuple(map(changed, self.parts)))

    def cost(self, model: SeveralModels, people: int, unit_rows: int) -> ReleaseCost:
        pairs = zip(self.parts, model.models, strict=True)
        return composed([part.cost(own, people, unit_rows) for part, own in pairs])

    def work(self, model: SeveralModels, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        each = zip(self.parts, model.models, cost.parts, strict=True)
        return sum(part.work(own, people, unit_rows, paid) for part, own, paid in each)

    def drawn(
        self, model: SeveralModels, people: int, unit_rows: int, statistic: ExactSeveral, random_bytes: RandomBytes
    ) -> Drawn:
        """Every part, one after the other; whichever fails, fails all."""
        each = zip(self.parts, model.models, statistic.parts, strict=True)
        found = [drawn_once(part, own, people, unit_rows, exact, random_bytes) for part, own, exact in each]
        flat = np.concatenate([part.samples.ravel() for part in found])
        return Drawn(flat.reshape(1, -1), _packed([part.measured for part in found]))

    def draw(
        self, model: SeveralModels, people: int, unit_rows: int, statistic: ExactSeveral, random_bytes: RandomBytes
    ) -> Array:
        return self.drawn(model, people, unit_rows, statistic, random_bytes).samples

    def approximation(self, model: SeveralModels) -> str | None:
        found = [(name, part.approximation(own)) for part, (name, own) in zip(self.parts, model, strict=True)]
        told = [f"{name}: {why}" for name, why in found if why is not None]
        return "; ".join(told) or None

    def calibrated_parameters(self, model: SeveralModels, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        """Where every part has them."""
        pairs = zip(self.parts, model.models, strict=True)
        return model.joined([part.calibrated_parameters(own, people, unit_rows) for part, own in pairs])

    def belief(self, model: SeveralModels, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        """Readers have a prefix of every part, and beliefs are made of each by itself, and then paired."""
        raise CalibratedUnavailable("beliefs of several models are made part by part")


def stored_values(model: SeveralModels, mechanism: SeveralMechanisms) -> int:
    """How many numbers the samples of all parts are."""
    return sum(part.samples * len(own.parameters) for part, own in zip(mechanism.parts, model.models, strict=True))


def part_values(model: SeveralModels, mechanism: SeveralMechanisms, values: Array, name: str) -> Array:
    """(samples, parameters) of one part, from what is stored of all."""
    start = 0
    for part, (known, own) in zip(mechanism.parts, model, strict=True):
        width = len(own.parameters)
        if known == name:
            return values.reshape(-1)[start : start + part.samples * width].reshape(part.samples, width)
        start += part.samples * width
    raise IntegrityFailure("a part that the release does not have")


def _packed(measured: list[Whole | None]) -> Whole | None:
    if all(each is None for each in measured):
        return None
    lengths = np.array([NOTHING if each is None else len(each) for each in measured], dtype=np.int64)
    return np.concatenate([lengths, *(each for each in measured if each is not None)])


def part_measured(packed: Whole | None, parts: int, place: int) -> Whole | None:
    """What the part at `place` measured, from what is stored of all."""
    if packed is None:
        return None
    lengths = [max(int(length), 0) for length in packed[:parts]]
    if len(packed) != parts + sum(lengths):
        raise IntegrityFailure("what was measured is not what was stored")
    start = parts + sum(lengths[:place])
    return None if packed[place] == NOTHING else packed[start : start + lengths[place]]
