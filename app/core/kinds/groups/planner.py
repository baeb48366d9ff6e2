"""Plans by strata: found for the smallest, where draws cost most and answers are widest, and charged as the dearest."""

import math
from dataclasses import replace
from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch, Coverage, Offer, Price
from app.core.kinds.groups.mechanism import Stratified, stratified
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.kind import Kind, Nobody
from app.core.kinds.plan_figures import DRAWS, SAMPLES, Choice, Figures, Intervals, Planner, PlanQuestion, is_auto
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target
from app.errors import InvalidMechanism


class StratifiedPlanner:
    """Everything is a function of the strata's public numbers of people."""

    def __init__(self, inner: Kind, nobody: Nobody) -> None:
        self._inner, self._nobody = inner, nobody

    def planner(self) -> Planner:
        return Planner(self.figures, self.choose, self.settled, self.settled_model, self.accuracy)

    def figures(self, question: PlanQuestion) -> Figures:
        model = _of(question.model)
        least = model.sizes[0]
        asked = replace(question, model=model.inner, people=least, read_mechanism=self._inner.parse_mechanism)
        found = self._inner.planner.figures(asked)
        mechanism = self._wrapped(found.mechanism)
        whole = replace(model, inner=found.model)
        target = question.target or (question.auto_target if is_auto(question.mechanism) else None)
        found_here = question.calibrate in (SAMPLES, DRAWS) or is_auto(question.mechanism)
        mechanism, cost = self._fitting(mechanism, whole, question, target if found_here else None)
        intervals = found.intervals
        return replace(
            found,
            model=whole,
            mechanism=mechanism,
            cost=cost,
            advice=". ".join(each for each in (_about(model), found.advice) if each),
            intervals=None
            if intervals is None
            else Intervals(_Search(intervals.search, self, model, question.unit_rows), intervals.sd),
        )

    def choose(self, choice: Choice) -> ReleaseMechanism:
        model = _of(choice.model)
        found = self._inner.planner.choose(replace(choice, model=model.inner, people=model.sizes[0]))
        mechanism = self._wrapped(found)
        return self._reduced(mechanism, model, choice.people, choice.unit_rows, choice.target)[0]

    def settled(
        self, mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int
    ) -> ReleaseMechanism:
        whole, wrapped = _of(model), cast(Stratified, mechanism)
        return self._wrapped(self._inner.planner.settled(wrapped.inner, whole.inner, whole.sizes[0], unit_rows))

    def settled_model(
        self, model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int
    ) -> ReleaseModel:
        """One range for all strata: that of the largest, whose grid is the finest."""
        whole, wrapped = _of(model), cast(Stratified, mechanism)
        settled = self._inner.planner.settled_model(whole.inner, wrapped.inner, whole.sizes[-1], unit_rows)
        return replace(whole, inner=settled)

    def accuracy(self, question: AccuracyQuestion) -> AccuracySearch:
        model = _of(question.model)
        inner = self._inner.planner.accuracy(replace(question, model=model.inner, people=model.sizes[0]))
        return _Search(inner, self, model, question.unit_rows)

    def wrapped(self, offer: Offer, model: StratifiedModel, unit_rows: int) -> Offer:
        mechanism = self._wrapped(offer.mechanism)
        return replace(offer, mechanism=mechanism, cost=mechanism.cost(model, sum(model.people), unit_rows))

    def _wrapped(self, mechanism: ReleaseMechanism) -> Stratified:
        return stratified(mechanism, self._nobody)

    def _fitting(
        self, mechanism: Stratified, model: StratifiedModel, question: PlanQuestion, target: Target | None
    ) -> tuple[Stratified, ReleaseCost]:
        if target is None:
            return mechanism, mechanism.cost(model, question.people, question.unit_rows)
        return self._reduced(mechanism, model, question.people, question.unit_rows, target)

    def _reduced(
        self, mechanism: Stratified, model: StratifiedModel, people: int, unit_rows: int, target: Target
    ) -> tuple[Stratified, ReleaseCost]:
        """Draws of the smallest stratum cost most as a rule, which nobody has proven: fewer of them where another's do."""
        cost = mechanism.cost(model, people, unit_rows)
        while not target.fits(cost):
            samples = min(mechanism.samples - 1, math.floor(mechanism.samples * 0.98))
            if samples < 1 or cost.per_sample.pure == 0:
                raise InvalidMechanism("mechanism.epsilon", "more: not one sample of every stratum fits")
            mechanism = mechanism.with_samples(samples)
            cost = mechanism.cost(model, people, unit_rows)
        return mechanism, cost


class _Search:
    """The smallest stratum's, with mechanisms on all of them."""

    def __init__(
        self, inner: AccuracySearch, planner: StratifiedPlanner, model: StratifiedModel, unit_rows: int
    ) -> None:
        self._inner, self._planner, self._model, self._unit_rows = inner, planner, model, unit_rows

    @property
    def meaning(self) -> str:
        return f"{self._inner.meaning}, in the smallest stratum"

    @property
    def best_sd(self) -> float:
        return self._inner.best_sd

    def people_for(self, sd: float) -> int | None:
        return self._inner.people_for(sd)

    def offers(self, sd: float, price: Price) -> list[Offer]:
        return [self._planner.wrapped(each, self._model, self._unit_rows) for each in self._inner.offers(sd, price)]

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        return self._inner.accuracy(replace(offer, mechanism=cast(Stratified, offer.mechanism).inner))

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage:
        return self._inner.coverage(cast(Stratified, mechanism).inner, level)


def _of(model: ReleaseModel) -> StratifiedModel:
    return cast(StratifiedModel, model)


def _about(model: StratifiedModel) -> str:
    sizes, empty = model.sizes, sum(size == 0 for size in model.people)
    nobody = f", {empty} without anyone" if empty else ""
    return (
        f"{len(model.people)} strata of {sizes[0]} to {sizes[-1]} people{nobody}: accuracy is that of the smallest, "
        "the cost that of the dearest"
    )
