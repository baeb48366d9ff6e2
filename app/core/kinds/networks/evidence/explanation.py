"""The most probable explanation: the levels of all variables that, with the evidence, are likeliest together.

Elimination with maxima in place of sums, then back: each variable takes the level that was best for the levels already
found. Of equally good levels the first one wins, and variables are settled in the reverse order of elimination, which the
network and the evidence's shape fix. No variable is barren here: a maximum over levels is not one. A sample that gives the
evidence probability zero finds all explanations equal and answers with the first levels that the evidence allows.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.evidence.compiled import Levels as Evidence
from app.core.kinds.networks.evidence.compiled import read_evidence
from app.core.kinds.networks.evidence.elimination import (
    Array,
    Columns,
    Elimination,
    Restriction,
    prepare,
    product,
    rescaled,
    sample_count,
    take_operands,
)
from app.core.kinds.networks.structure import Network
from app.errors import InvalidQuery

Levels = NDArray[np.int64]
Choice = NDArray[np.uint16]


@dataclass(frozen=True)
class CompiledExplanation:
    """argmax over all variables of P(levels), the evidence's levels given."""

    network: Network
    evidence: Restriction
    where: str = field(default="estimand", compare=False)
    _elimination: Elimination = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        every = tuple(range(len(self.network.nodes)))
        made = prepare(self.network, self.evidence, every, f"{self.where}.evidence")
        object.__setattr__(self, "_elimination", made)

    @property
    def work(self) -> int:
        """Operations a sample."""
        return self._elimination.plan.work

    def levels(self, columns: Columns) -> Levels:
        """(N, nodes): the index of each node's level in each sample's explanation."""
        self._elimination.plan.check_work(f"{self.where}.evidence", sample_count(columns))
        left = dict(self.evidence)
        parts = []
        for tables in self._elimination.chunks(columns):
            samples = tables[0].shape[-1]
            found = self._trace_back(self._maximise(tables, samples), samples)
            part = np.zeros((samples, len(self.network.nodes)), dtype=np.int64)
            for v, node in enumerate(self.network.nodes):
                possible = np.asarray(left.get(v, range(len(node.levels))))
                part[:, v] = possible[found[v]] if v in found else possible[0]
            parts.append(part)
        return np.concatenate(parts)

    def of_mean(self, columns: Columns) -> Levels:
        """(nodes,): the explanation of the network whose every probability is the mean of the samples'.

        With independent tables, as all posteriors here have, the law of a whole new record is the product of the mean tables.
        """
        samples = sample_count(columns)
        cells = columns.T if isinstance(columns, np.ndarray) else columns
        mean = np.array([[float(np.add.reduce(cell)) / samples for cell in cells]])
        found: Levels = self.levels(mean)[0]
        return found

    def named(self, levels: Levels) -> dict[str, str]:
        return {node.name: node.levels[level] for node, level in zip(self.network.nodes, levels, strict=True)}

    def _maximise(self, tables: list[Array], samples: int) -> list[Choice | None]:
        exponent = np.zeros(samples, dtype=np.int64)
        choices: list[Choice | None] = []
        for step in self._elimination.plan.steps:
            operands = take_operands(step, tables, samples)
            table, choice = (product(operands), None) if step.variable is None else _best_of_first(operands)
            tables.append(rescaled(table, exponent) if step.rescale else table)
            choices.append(choice)
        return choices

    def _trace_back(self, choices: list[Choice | None], samples: int) -> dict[int, Levels]:
        every = np.arange(samples)
        found: dict[int, Levels] = {}
        for step, choice in zip(reversed(self._elimination.plan.steps), reversed(choices), strict=True):
            if step.variable is not None and choice is not None:
                found[step.variable] = choice[(*(found[v] for v in step.scope), every)].astype(np.int64)
        return found


def _best_of_first(operands: list[Array]) -> tuple[Array, Choice]:
    best = product([operand[0] for operand in operands])
    choice = np.zeros(best.shape, dtype=np.uint16)
    for level in range(1, len(operands[0])):
        other = product([operand[level] for operand in operands])
        choice[other > best] = level
        best = np.maximum(best, other)
    return best, choice


def compile_explanation(
    network: Network, *, evidence: Evidence | None = None, where: str = "estimand"
) -> CompiledExplanation:
    """Raises InvalidQuery for unknown evidence, for evidence that leaves nothing open, and above the limits."""
    given = read_evidence(network, evidence, f"{where}.evidence")
    if sum(len(levels) == 1 for _, levels in given) == len(network.nodes):
        raise InvalidQuery(f"{where}.evidence", "evidence that leaves a variable open")
    return CompiledExplanation(network, given, where)
