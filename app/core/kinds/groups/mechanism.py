"""A mechanism on every stratum: the same one, on disjoint people, charged as the dearest of them.

Samples of all strata stand side by side in one row, so that a prefix is the first k of every stratum and questions may compare
strata sample by sample. What was measured stands one stratum after the other. A stratum without people has nothing to protect:
its samples are those of the prior.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence, Whole
from app.core.kinds.groups.model import StratifiedModel, Stratum
from app.core.kinds.kind import Nobody
from app.core.kinds.protocols import MeasuringMechanism, ReleaseMechanism
from app.core.parameters import Parameter
from app.core.privacy.cost import Cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.groups import ExactGroups

RandomBytes = Callable[[int], bytes]
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stratified:
    """`inner` on every stratum; `nobody` has samples and beliefs of one without people."""

    inner: ReleaseMechanism
    nobody: Nobody

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def samples(self) -> int:
        return self.inner.samples

    @property
    def budget_epsilon_max(self) -> float:
        return self.inner.budget_epsilon_max

    @property
    def drawn_at(self) -> float | None:
        return self.inner.drawn_at

    @property
    def belief_points(self) -> int:
        return self.inner.belief_points

    def as_json(self) -> dict[str, Any]:
        return self.inner.as_json()

    def with_samples(self, samples: int) -> Self:
        return replace(self, inner=self.inner.with_samples(samples))

    def with_law(self, changed: Callable[[ReleaseMechanism], ReleaseMechanism]) -> Self:
        return replace(self, inner=changed(self.inner))

    def cost(self, model: StratifiedModel, people: int, unit_rows: int) -> ReleaseCost:
        found = [self.inner.cost(model.inner, size, unit_rows) for size in model.sizes]
        return dearest(found)

    def work(self, model: StratifiedModel, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        """One stratum after the other; a grid of the largest serves as a bound for all."""
        return sum(self.inner.work(model.inner, max(size, 1), unit_rows, cost) for size in model.people)

    def draw(
        self,
        model: StratifiedModel,
        people: int,
        unit_rows: int,
        statistic: ExactGroups,
        random_bytes: RandomBytes,
    ) -> Array:
        drawn = [
            self._drawn(model, stratum, unit_rows, part, random_bytes)
            for stratum, part in zip(model.strata(), statistic.parts, strict=True)
        ]
        return np.concatenate(drawn, axis=1)

    def _drawn(
        self, model: StratifiedModel, stratum: Stratum, unit_rows: int, part: Any, random_bytes: RandomBytes
    ) -> Array:
        if stratum.people == 0:
            return self.nobody.samples(model.inner, self.samples, random_bytes)
        return self.inner.draw(model.inner, stratum.people, unit_rows, part, random_bytes)

    def approximation(self, model: StratifiedModel) -> str | None:
        return self.inner.approximation(model.inner)

    def calibrated_parameters(self, model: StratifiedModel, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        """Ranges follow from the prior; who may be too few is asked of every stratum that holds anyone."""
        own = {size: self.inner.calibrated_parameters(model.inner, size, unit_rows) for size in model.sizes}
        return model.grouped([own.get(size, own[model.sizes[0]]) for size in model.people])

    def belief(self, model: StratifiedModel, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        """Strata are independent given what was released, and so are their points, by a seed of each one's own."""
        measured = self.parts(model, evidence.measured)
        found = []
        for place, stratum in enumerate(model.strata()):
            seed = hashlib.sha256(evidence.seed + b"stratum" + place.to_bytes(4, "big")).digest()
            if stratum.people == 0:
                found.append(self.nobody.belief(model.inner, seed))
                continue
            own = Evidence(np.ascontiguousarray(evidence.samples[:, stratum.parameters]), measured[place], seed)
            found.append(self.inner.belief(model.inner, stratum.people, unit_rows, own))
        return Belief(
            model.grouped([each.parameters for each in found]), np.concatenate([each.points for each in found], axis=1)
        )

    def parts(self, model: StratifiedModel, measured: Whole | None) -> list[Whole | None]:
        """Nothing is measured of a stratum without people; of the others equally much."""
        if measured is None:
            return [None] * len(model.people)
        parts = iter(np.split(measured, sum(size > 0 for size in model.people)))
        return [next(parts) if size > 0 else None for size in model.people]


@dataclass(frozen=True, slots=True)
class MeasuringStratified(Stratified):
    """Of a mechanism that adds noise once: every stratum its own."""

    def measure(self, model: StratifiedModel, people: int, unit_rows: int, statistic: ExactGroups) -> Whole:
        inner = _measuring(self.inner)
        found = [
            inner.measure(model.inner, size, unit_rows, part)
            for size, part in zip(model.people, statistic.parts, strict=True)
            if size > 0
        ]
        return np.concatenate(found)

    def infer(
        self, model: StratifiedModel, people: int, unit_rows: int, measured: Whole, random_bytes: RandomBytes
    ) -> Array:
        inner, found = _measuring(self.inner), []
        for size, part in zip(model.people, self.parts(model, measured), strict=True):
            if part is None:
                found.append(self.nobody.samples(model.inner, self.samples, random_bytes))
            else:
                found.append(inner.infer(model.inner, size, unit_rows, part, random_bytes))
        return np.concatenate(found, axis=1)


def stratified(inner: ReleaseMechanism, nobody: Nobody) -> Stratified:
    wrapped = MeasuringStratified if isinstance(inner, MeasuringMechanism) else Stratified
    return wrapped(inner, nobody)


def dearest(found: list[ReleaseCost]) -> ReleaseCost:
    """The largest of them, order by order, of pure ε and of everything else that is said; prefixes still add up."""
    worst = max(found, key=lambda cost: cost.total.curve)
    certified = next((cost.method for cost in found if not cost.method.startswith("exact")), worst.method)
    return ReleaseCost(
        per_sample=_largest([cost.per_sample for cost in found]),
        samples=worst.samples,
        kl_sup=max(cost.kl_sup for cost in found),
        papers_pure=max(cost.papers_pure for cost in found),
        method=certified if len(found) == 1 else f"{certified}; the dearest of {len(found)} sizes of strata",
        grid_points=max(cost.grid_points for cost in found),
        once=_largest([cost.once for cost in found]),
    )


def _largest(costs: list[Cost]) -> Cost:
    return Cost(
        max(cost.pure for cost in costs),
        tuple(max(values) for values in zip(*(cost.curve for cost in costs), strict=True)),
        max(cost.slack_delta for cost in costs),
        all(cost.gaussian for cost in costs),
    )


def _measuring(mechanism: ReleaseMechanism) -> MeasuringMechanism:
    if not isinstance(mechanism, MeasuringMechanism):
        raise TypeError("a mechanism that measures nothing")
    return mechanism
