"""`{"kind": "explanation", "evidence": {…}}`: the levels of all other variables at once, given the evidence.

A new record with this evidence is to be guessed whole: naming the assignment a is right with probability u(θ, a) = P_θ(a | e),
so under `zero_one` the best response is the a with the highest mean of P_θ(a | e) over the samples, the mode of the predictive
law of the record. (The most frequent of the samples' own explanations would be another thing: with many variables each sample
has its own, and a vote among N strangers says nothing.)

There are too many assignments to try. Tried are the `CANDIDATES_MAX` most frequent of the samples' own explanations, and that
of the network whose tables are the samples' means; where these are all one, also it with one level changed, for a runner-up.
The best of them is the response, of equals the more frequent and then the one whose levels come first. What may have been
missed is certified: for every a
    (1/N)·Σ_θ P_θ(a | e) ≤ (1/N)·Σ_θ max_a P_θ(a | e),
and the difference between the right side and what the response reaches is added to the regret bound.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.decisions.estimands.estimand import Context, Guess, check_total_work
from app.core.decisions.sample_set import SampleSet
from app.core.kinds.networks.estimands.network_estimand import Levels as Evidence
from app.core.kinds.networks.estimands.network_estimand import network_of
from app.core.kinds.networks.evidence.elimination import Elimination, graph_of, prepare
from app.core.kinds.networks.evidence.elimination_order import ancestors
from app.core.kinds.networks.evidence.explanation import CompiledExplanation, compile_explanation
from app.core.specs import Spec

Array = NDArray[np.float64]
Levels = NDArray[np.int64]

CANDIDATES_MAX = 32
LOG_2 = math.log(2)


class ExplanationSpec(Spec):
    """The levels of all variables of a network that the evidence leaves open, at once."""

    kind: Literal["explanation"] = Field(description="The name of the estimand.")
    evidence: Evidence | None = Field(default=None, description="Levels by variable: what is known.")


@dataclass(frozen=True)
class Explanation:
    compiled: CompiledExplanation
    _evidence: Elimination | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        network, given = self.compiled.network, self.compiled.evidence
        needed = tuple(sorted(ancestors(graph_of(network), [v for v, _ in given])))
        if needed:
            made = prepare(network, given, needed, f"{self.compiled.where}.evidence")
            object.__setattr__(self, "_evidence", made)

    @property
    def outcomes(self) -> int:
        left = dict(self.compiled.evidence)
        return math.prod(len(left.get(v, node.levels)) for v, node in enumerate(self.compiled.network.nodes))

    @property
    def tried(self) -> int:
        return min(self.outcomes, CANDIDATES_MAX + 1)

    @property
    def work(self) -> int:
        """Two eliminations, and a logarithm a node for every candidate and for the sample's own."""
        evidence = 0 if self._evidence is None else self._evidence.plan.work
        return self.compiled.work + evidence + (CANDIDATES_MAX + 2) * len(self.compiled.network.nodes)

    def check(self, samples: int) -> None:
        check_total_work(self.compiled.where, self.work, samples)

    def guess(self, samples: SampleSet) -> Guess:
        own = self.compiled.levels(samples.matrix)
        candidates = self._candidates(own, samples)
        evidence = self._log_evidence(samples)
        scores = [_mean(self._log_joint(levels, samples) - evidence) for levels in candidates]
        # Sorting is stable: of equals the one that was the more frequent.
        ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
        reachable = _mean(self._log_joint_each(own, samples) - evidence)
        best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
        return Guess(
            self._named(candidates[best]),
            scores[best],
            None if second is None else self._named(candidates[second]),
            0.0 if second is None else scores[second],
            max(0.0, reachable - scores[best]),
        )

    def _candidates(self, own: Levels, samples: SampleSet) -> list[Levels]:
        """Distinct, the most frequent first; then the mean network's."""
        # `unique` sorts rows, and sorting by count is stable: equally frequent ones stay in the order of their levels.
        rows, counts = np.unique(own, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:CANDIDATES_MAX]
        found = [rows[place] for place in order]
        mean = self.compiled.levels(samples.columns.sum(axis=1)[None, :] / samples.size)[0]
        if not any(np.array_equal(mean, each) for each in found):
            found.append(mean)
        return found if len(found) > 1 else [*found, *self._changed(found[0])][: CANDIDATES_MAX + 1]

    def _changed(self, levels: Levels) -> list[Levels]:
        """With one variable at another level: where all samples agree, what comes second is there."""
        left, changed = dict(self.compiled.evidence), []
        for v, node in enumerate(self.compiled.network.nodes):
            for level in left.get(v, range(len(node.levels))):
                if level != levels[v]:
                    other = levels.copy()
                    other[v] = level
                    changed.append(other)
        return changed

    def _log_evidence(self, samples: SampleSet) -> Array:
        if self._evidence is None:
            return np.zeros(samples.size)
        self._evidence.plan.check_work(f"{self.compiled.where}.evidence", samples.size)
        table, exponent = self._evidence.result(samples.matrix)
        return np.asarray(np.log(table[0]) + exponent * LOG_2)

    def _log_joint(self, levels: Levels, samples: SampleSet) -> Array:
        """ln P_θ(levels) for each sample: one cell a node."""
        total = np.zeros(samples.size)
        for cell in self._cells(levels[None, :])[0]:
            total += np.log(samples.columns[cell])
        return total

    def _log_joint_each(self, levels: Levels, samples: SampleSet) -> Array:
        """ln P_θ(levels of that sample)."""
        every = np.arange(samples.size)
        total = np.zeros(samples.size)
        for cells in self._cells(levels).T:
            total += np.log(samples.columns[cells, every])
        return total

    def _cells(self, levels: Levels) -> Levels:
        """(rows, nodes) of levels → the columns of the probabilities that multiply to the joint one."""
        network = self.compiled.network
        found = np.empty_like(levels)
        for i in range(len(network.nodes)):
            axes = (*network.parents(i), i)
            place = np.ravel_multi_index(tuple(levels[:, v] for v in axes), network.shape(i))
            found[:, i] = network.cells(i).start + place
        return found

    def _named(self, levels: Levels) -> dict[str, str]:
        """Of the variables that the evidence leaves open."""
        known = {v for v, left in self.compiled.evidence if len(left) == 1}
        names = self.compiled.named(levels)
        return {node.name: names[node.name] for v, node in enumerate(self.compiled.network.nodes) if v not in known}


def _mean(logs: Array) -> float:
    """Of probabilities given by their logarithms."""
    return float(np.sum(np.minimum(np.exp(logs), 1.0))) / len(logs)


def parse(spec: ExplanationSpec, context: Context) -> Explanation:
    network = network_of(context).network
    return Explanation(compile_explanation(network, evidence=spec.evidence, where=context.where))
