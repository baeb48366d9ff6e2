"""Questions to a network: an event, a number or a variable's law, given evidence. Checked once, answered for any samples.

Evidence and events are objects `{"variable": "level"}` or `{"variable": ["level", "level"]}`; true and false name the levels
`true` and `false`, whole numbers the levels written so. Several variables mean all of them at once.

A sample may give the evidence probability zero. It then answers from the uniform law on what the evidence allows, the limit
of mixing a vanishing share of the uniform joint law into the sample's own: total, inside the public range, and still a
law (an event and its complement add to one). Leaving such samples out instead would make the number of samples, and with it
the regret bound, depend on them. Only evidence that bears on the question counts: what is d-separated from it cancels.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.core.kinds.networks.evidence.elimination import (
    Array,
    Columns,
    Elimination,
    Restriction,
    graph_of,
    prepare,
    sample_count,
    sizes_of,
)
from app.core.kinds.networks.evidence.elimination_order import ancestors, relevant_nodes
from app.core.kinds.networks.structure import Network, Node
from app.errors import InvalidQuery

Level = str | bool | int
Levels = Mapping[str, Level | Sequence[Level]]

NAMES_SHOWN_MAX = 8
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,15})")


@dataclass(frozen=True)
class CompiledEvidence:
    """P(event | evidence). One variable in the event: its law by one elimination, else Z(event, evidence)/Z(evidence)."""

    network: Network
    event: Restriction
    evidence: Restriction
    where: str = field(default="estimand", compare=False)
    _above: Elimination = field(init=False, repr=False, compare=False)
    _below: Elimination | None = field(init=False, repr=False, compare=False, default=None)

    lower = 0.0
    upper = 1.0

    def __post_init__(self) -> None:
        targets = tuple(v for v, _ in self.event)
        nodes = _relevant(self.network, self.evidence, targets)
        place = f"{self.where}.evidence"
        if len(targets) == 1:
            above = prepare(self.network, self.evidence, nodes, place, targets[0])
        else:
            both = tuple(sorted({**dict(self.evidence), **dict(self.event)}.items()))
            above = prepare(self.network, both, nodes, place)
            needed = ancestors(graph_of(self.network), [v for v, _ in self.evidence])
            below = tuple(node for node in nodes if node in needed)
            if below:
                object.__setattr__(self, "_below", prepare(self.network, self.evidence, below, place))
        object.__setattr__(self, "_above", above)

    @property
    def work(self) -> int:
        """Operations a sample."""
        return sum(part.plan.work for part in (self._above, self._below) if part is not None)

    def values(self, columns: Columns) -> Array:
        """(N,), each in [0, 1]. Raises InvalidQuery if there are too many samples for a question this large."""
        samples = sample_count(columns)
        for part in filter(None, (self._above, self._below)):
            part.plan.check_work(f"{self.where}.evidence", samples)
        table, power = self._above.result(columns)
        if len(self.event) == 1:
            variable, levels = self.event[0]
            left = _levels_left(self.network, self.evidence, variable)
            law = _shares(table)
            return _added([law[left.index(level)] for level in levels]).clip(0.0, 1.0)
        if self._below is None:
            answers: Array = np.ldexp(table[0], power)
        else:
            total, total_power = self._below.result(columns)
            possible = total[0] > 0
            ratio = np.divide(table[0], total[0], out=np.zeros(samples), where=possible)
            answers = np.where(possible, np.ldexp(ratio, power - total_power), self._uniform())
        return answers.clip(0.0, 1.0)

    def _uniform(self) -> float:
        return math.prod(
            len(levels) / len(_levels_left(self.network, self.evidence, v)) for v, levels in self.event
        )  # fmt: skip


@dataclass(frozen=True)
class CompiledLaw:
    """The law of one variable given evidence, for each sample: posterior class probabilities."""

    network: Network
    variable: int
    evidence: Restriction
    where: str = field(default="estimand", compare=False)
    _elimination: Elimination = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        nodes = _relevant(self.network, self.evidence, (self.variable,))
        made = prepare(self.network, self.evidence, nodes, f"{self.where}.evidence", self.variable)
        object.__setattr__(self, "_elimination", made)

    @property
    def levels(self) -> tuple[str, ...]:
        return self.network.nodes[self.variable].levels

    @property
    def work(self) -> int:
        """Operations a sample."""
        return self._elimination.plan.work

    def probabilities(self, columns: Columns) -> Array:
        """(levels, N): every level of the variable, zero where the evidence rules it out; columns sum to one."""
        samples = sample_count(columns)
        self._elimination.plan.check_work(f"{self.where}.evidence", samples)
        law = np.zeros((len(self.levels), samples))
        left = _levels_left(self.network, self.evidence, self.variable)
        law[list(left)] = _shares(self._elimination.result(columns)[0])
        return law


@dataclass(frozen=True)
class CompiledExpectation:
    """E[score(variable) | evidence], between the least and the greatest score of a level the evidence leaves."""

    law: CompiledLaw
    scores: tuple[float, ...]

    @property
    def lower(self) -> float:
        return min(self._possible())

    @property
    def upper(self) -> float:
        return max(self._possible())

    @property
    def work(self) -> int:
        return self.law.work

    def _possible(self) -> list[float]:
        return [self.scores[level] for level in _levels_left(self.law.network, self.law.evidence, self.law.variable)]

    def values(self, columns: Columns) -> Array:
        law = self.law.probabilities(columns)
        weighted = [probability * score for probability, score in zip(law, self.scores, strict=True)]
        return _added(weighted).clip(self.lower, self.upper)


def compile_evidence(
    network: Network, *, event: Levels, evidence: Levels | None = None, where: str = "estimand"
) -> CompiledEvidence:
    """Raises InvalidQuery with the field for anything unknown, and for an event that the evidence decides."""
    given = read_evidence(network, evidence, f"{where}.evidence")
    asked = []
    for v, levels in read_evidence(network, event, f"{where}.event"):
        left = _levels_left(network, given, v)
        both = tuple(level for level in levels if level in left)
        if not both:
            raise InvalidQuery(f"{where}.event.{network.nodes[v].name}", "a level that the evidence leaves possible")
        if len(both) < len(left):
            asked.append((v, both))
    if not asked:
        raise InvalidQuery(f"{where}.event", "levels of one or more variables, not decided by the evidence")
    return CompiledEvidence(network, tuple(asked), given, where)


def compile_law(
    network: Network, *, variable: str, evidence: Levels | None = None, where: str = "estimand"
) -> CompiledLaw:
    place = _read_variable(network, variable, f"{where}.variable")
    given = read_evidence(network, evidence, f"{where}.evidence")
    if len(_levels_left(network, given, place)) == 1:
        raise InvalidQuery(f"{where}.variable", "a variable that the evidence does not decide")
    return CompiledLaw(network, place, given, where)


def compile_expectation(
    network: Network,
    *,
    variable: str,
    evidence: Levels | None = None,
    scores: Mapping[str, float] | None = None,
    where: str = "estimand",
) -> CompiledExpectation:
    """Without `scores`, `{"level": number}` for every level, levels that are whole numbers or false and true are used."""
    law = compile_law(network, variable=variable, evidence=evidence, where=where)
    compiled = CompiledExpectation(law, _read_scores(network.nodes[law.variable], scores, f"{where}.scores"))
    if not compiled.lower < compiled.upper:
        raise InvalidQuery(f"{where}.scores", "different numbers for levels that the evidence leaves possible")
    return compiled


def read_evidence(network: Network, given: Levels | None, field: str) -> Restriction:
    """A variable with all its levels allowed says nothing and is left out. Levels may be anything that was sent."""
    found: dict[int, tuple[int, ...]] = {}
    for name, value in (given or {}).items():
        v = _read_variable(network, name, field)
        node = network.nodes[v]
        levels = _read_levels(node, value, f"{field}.{node.name}")
        if len(levels) < len(node.levels):
            found[v] = levels
    return tuple(sorted(found.items()))


def _read_variable(network: Network, name: str, field: str) -> int:
    try:
        return network.index(name)
    except KeyError:
        known = _listed([node.name for node in network.nodes])
        raise InvalidQuery(field, f"variables of this network: {known}") from None


def _read_levels(node: Node, value: object, field: str) -> tuple[int, ...]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    known = {level: i for i, level in enumerate(node.levels)}
    found = {known[text] for text in map(_level_text, values) if text in known}
    if not found or len(found) != len(values):
        raise InvalidQuery(field, f"one of its levels or a list of different ones: {_listed(node.levels)}")
    return tuple(sorted(found))


def _level_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Digits of a hostile whole number are never written out.
        return str(value) if abs(value) < 10**16 else None
    return value if isinstance(value, str) else None


def _read_scores(node: Node, scores: Mapping[str, float] | None, field: str) -> tuple[float, ...]:
    expected = f"an object with a number for each of {_listed(node.levels)}"
    if scores is None:
        if node.levels == ("false", "true"):
            return (0.0, 1.0)
        if not all(WHOLE.fullmatch(level) for level in node.levels):
            raise InvalidQuery(field, expected)
        return tuple(float(level) for level in node.levels)
    if set(scores) != set(node.levels):
        raise InvalidQuery(field, expected)
    return tuple(float(scores[level]) for level in node.levels)


def _relevant(network: Network, evidence: Restriction, targets: tuple[int, ...]) -> tuple[int, ...]:
    restricted = tuple(v for v, _ in evidence)
    return relevant_nodes(graph_of(network), sizes_of(network, evidence), restricted, targets)


def _levels_left(network: Network, evidence: Restriction, v: int) -> tuple[int, ...]:
    return dict(evidence).get(v, tuple(range(len(network.nodes[v].levels))))


def _added(rows: Sequence[Array]) -> Array:
    """From the first row on, whatever their length; `np.sum` takes another order when each row is one number."""
    total = np.zeros(rows[0].shape)
    for row in rows:
        total += row
    return total


def _shares(table: Array) -> Array:
    """Each column over its sum; a column of zeros becomes uniform."""
    total = _added(list(table))
    uniform = np.full(table.shape, 1.0 / len(table))
    shares: Array = np.divide(table, total, out=uniform, where=total > 0)
    return shares


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > NAMES_SHOWN_MAX else ""
    return ", ".join(names[:NAMES_SHOWN_MAX]) + more
