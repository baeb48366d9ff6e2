"""A release as a thing to ask: the questions people ask most, written once for both clients.

Every method ends in `ask`, which a `Release` answers with an `Answer` and an `AsyncRelease` with something to await; the
parameter `A` is that difference, and the only one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from postern.client import questions as q
from postern.client.problems import Misconfigured
from postern.client.questions import About, AnyQuestion, Estimand, Question, Utility, View
from postern.client.questions.estimands import Levels, Names
from postern.client.results.accounts import Cost
from postern.client.results.releases import Parameter, ReleaseFacts
from postern.client.tables import cell, html_table, printable, text_table

A = TypeVar("A")
_PARAMETERS_SHOWN = 6


class AskedRelease(Generic[A]):
    """Public facts of a release, as they were when it was read, and questions about it."""

    def __init__(self, facts: ReleaseFacts, view: View | None = None, part: str | None = None) -> None:
        self.whole = facts
        self.part_name = part
        self.facts = facts if part is None else facts_of_part(facts, part)
        self._told = view

    def ask(self, question: AnyQuestion) -> A:
        raise NotImplementedError

    def mean(self, about: About, *, confidence: float | None = None) -> A:
        return self._under(q.squared(), about, confidence)

    def median(self, about: About, *, confidence: float | None = None) -> A:
        return self._under(q.absolute(), about, confidence)

    def quantile(self, about: About, tau: float, *, confidence: float | None = None) -> A:
        return self._under(q.pinball(tau), about, confidence)

    def interval(self, about: About, level: float = 0.9, *, confidence: float | None = None) -> A:
        return self._under(q.interval(level), about, confidence)

    def probability(self, event: Levels | str, given: Levels | None = None, *, confidence: float | None = None) -> A:
        """Of an event in a network given evidence; or of a condition on parameters, such as `"theta > 0.4"`."""
        about = q.expression(event) if isinstance(event, str) else q.probability(event, given)
        return self._under(q.squared(), about, confidence)

    def expectation(
        self,
        variable: str,
        given: Levels | None = None,
        scores: Mapping[str, float] | None = None,
        *,
        confidence: float | None = None,
    ) -> A:
        return self._under(q.squared(), q.expectation(variable, given, scores), confidence)

    def predict(
        self,
        features: Mapping[str, Any],
        *,
        what: Literal["mean", "probability", "quantile", "observation"] | None = None,
        variable: str | None = None,
        level: str | bool | int | float | None = None,
        at_most: float | None = None,
        confidence: float | None = None,
    ) -> A:
        about = q.prediction(features, what=what, variable=variable, level=level, at_most=at_most)
        return self._under(q.squared(), about, confidence)

    def classify(self, features: Levels, variable: str | None = None, *, confidence: float | None = None) -> A:
        """The likeliest level of a variable."""
        return self._under(q.zero_one(), q.classification(variable, features), confidence)

    def compare(self, left: About, right: About, *, confidence: float | None = None) -> A:
        """P(left > right), ties counting half."""
        about = q.comparison(self.estimand(left), self.estimand(right))
        return self._under(q.squared(), about, confidence)

    def decide(
        self,
        actions: Mapping[str, str],
        range: tuple[float, float],  # noqa: A002
        *,
        names: Names | None = None,
        confidence: float | None = None,
    ) -> A:
        """The best of named actions."""
        return self.ask(Question(q.actions(actions, range=range, names=names), confidence=confidence))

    def respond(
        self,
        utility: str,
        responses: Sequence[float] | Mapping[str, float],
        range: tuple[float, float],  # noqa: A002
        *,
        about: About | None = None,
        names: Names | None = None,
        confidence: float | None = None,
    ) -> A:
        """The response `r` that an expression of yours likes best."""
        estimand = None if about is None else self.estimand(about)
        by = q.utility(utility, responses=responses, range=range, names=names)
        return self.ask(Question(by, estimand, confidence))

    def estimand(self, about: About) -> Estimand:
        """Text names a parameter if there is one so called, and is an expression otherwise."""
        if isinstance(about, Estimand):
            return about
        return q.parameter(about) if about in self._names else q.expression(about)

    def _under(self, by: Utility, about: About, confidence: float | None) -> A:
        return self.ask(Question(by, self.estimand(about), confidence))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(parameter.name for parameter in self.facts.parameters)

    @property
    def view(self) -> View:
        """What is asked of, unless a question names its own: what `in_view` was told, or else calibrated where there is that."""
        return self._view or "samples"

    @property
    def _view(self) -> View | None:
        """None where only samples are known: a service that has no views takes no word for one."""
        return self._told or ("calibrated" if "calibrated" in self.facts.views else None)

    @property
    def id(self) -> str:
        return self.facts.id

    @property
    def dataset(self) -> str:
        return self.facts.dataset

    @property
    def status(self) -> str:
        return self.facts.status

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.facts.parameters

    @property
    def cost(self) -> Cost:
        return self.facts.cost

    @property
    def samples_drawn(self) -> int:
        """How many there are; how many of them you may read is in `client.me().accesses`."""
        return self.facts.samples

    def _cells(self) -> list[tuple[str, str]]:
        shown = [
            f"{each.name} in [{cell(each.lower)}, {cell(each.upper)}]"
            for each in self.facts.parameters[:_PARAMETERS_SHOWN]
        ]
        more = len(self.facts.parameters) - len(shown)
        cost = f"ε = {cell(self.facts.cost.epsilon)} at δ = {cell(self.facts.cost.delta)}"
        model = "; ".join(f"{name}{family} by {kind}" for name, family, kind in _models(self.facts))
        parameters = "; ".join(shown) + (f"; and {more} more" if more else "")
        return [
            ("release", self.id if self.part_name is None else f"{self.id}, part {self.part_name}"),
            ("status", self.status),
            ("model", model),
            ("parameters", parameters),
            ("samples", f"{self.facts.samples} of n = {self.facts.n}"),
            ("cost", cost),
            ("asked in", self.view),
        ]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {printable(self.id)}: {printable(self.status)}, {len(self.parameters)} parameters>"
        )

    def __str__(self) -> str:
        return text_table((), self._cells())

    def _repr_html_(self) -> str:
        return html_table(("", type(self).__name__), self._cells())


def facts_of_part(facts: ReleaseFacts, name: str) -> ReleaseFacts:
    """The release as if it were of that model alone. Raises Misconfigured where it has no such part."""
    found = next((part for part in facts.models or () if part.name == name), None)
    if found is None:
        known = ", ".join(part.name for part in facts.models or ()) or "none: it is of one model"
        raise Misconfigured(f"{facts.id} has no part {name!r}; its parts: {known}")
    return replace(
        facts,
        model=found.model,
        mechanism=found.mechanism,
        parameters=found.parameters,
        cost=found.cost,
        samples=found.samples,
        views=found.views,
        by=found.by,
        where=found.where,
        groups=found.groups,
        models=None,
    )


def _models(facts: ReleaseFacts) -> list[tuple[str, Any, Any]]:
    """(name as it is shown, family, mechanism) of each."""
    if facts.models is None:
        return [("", (facts.model or {}).get("family"), (facts.mechanism or {}).get("kind"))]
    return [(f"{part.name}: ", part.model.get("family"), part.mechanism.get("kind")) for part in facts.models]
