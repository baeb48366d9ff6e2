"""Configurations of a node that learn from each other: their tables come from one Dirichlet law that the data tell about.

A node whose prior is `pooled` has, with a its declared concentration and A = Σa,

    m ~ Dirichlet(a),   κ with density A/(κ + A)²,   θ_j | m, κ ~ Dirichlet(κ·m), every configuration j by itself

so that half of the prior has the tables more alike than independent ones of concentration a, and half less. Given counts n the
tables are integrated out, and m and κ take turns by Metropolis steps on log κ and on the logits of two shares of m at a time:

    log p(n | m, κ) = Σ_j {Σ_l [lnΓ(κm_l + n_jl) − lnΓ(κm_l)] − lnΓ(κ + n_j) + lnΓ(κ)}.

A step moves (m, κ) given the counts alone, whatever they are measured by, and tables drawn afterwards are Dirichlet(κm + n): any
chain over counts and tables stays one of the joint posterior. A configuration that nearly nobody has is believed to be like the
others, as far as these are like each other. With a single configuration there is nothing to learn from: the prior is as declared.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import Network, Node

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

STRENGTH_LEAST, STRENGTH_MOST = 1e-3, 1e7
SHARE_LEAST = 1e-12
"""Beyond these nothing is proposed: κ, and shares of m."""
PAIRS_MOST = 4
TAKEN = 0.4
QUICKER, SLOWER = 1.3, 0.75
STEP_LEAST, STEP_MOST = 0.01, 3.0


@dataclass(slots=True)
class _Pooled:
    """One node: `share` is (levels, chains), `log_strength` (chains), `steps` of log κ and of logits, (two, chains)."""

    cells: slice
    declared: Array
    share: Array
    log_strength: Array
    steps: Array

    @property
    def concentration(self) -> Array:
        """(levels, chains)."""
        return np.asarray(self.share * np.exp(self.log_strength))


class PooledPriors:
    """`concentration` is (cells, chains), or (cells, 1) where no node is pooled; `turn` moves it given counts."""

    def __init__(self, network: Network, chains: int, generator: np.random.Generator, releases: int = 1) -> None:
        self._generator, self._releases = generator, releases
        own = [np.tile(node.concentration, network.configurations(i)) for i, node in enumerate(network.nodes)]
        self.concentration: Array = np.concatenate([*own, np.empty(0)])[:, None]
        self._nodes = [
            _start(node, network.cells(i), chains) for i, node in enumerate(network.nodes) if network.pooled(i)
        ]
        if self._nodes:
            self.concentration = np.repeat(self.concentration, chains, axis=1)

    @classmethod
    def of_node(cls, node: Node, configurations: int, chains: int, generator: np.random.Generator) -> "PooledPriors":
        """Of the counts of one node that is pooled, whatever its parents."""
        found = cls(Network(()), chains, generator)
        found.concentration = np.tile(np.array(node.concentration)[:, None], (configurations, chains))
        found._nodes = [_start(node, slice(0, len(found.concentration)), chains)]
        return found

    def turn(self, counts: Whole, *, settling: bool = False) -> None:
        """`counts` are (cells, chains). While settling, steps become as long as makes them taken two times in five."""
        for node in self._nodes:
            self._move(node, counts[node.cells].reshape(-1, *node.share.shape), settling)
            rows = counts[node.cells].shape[0] // len(node.share)
            self.concentration[node.cells] = np.tile(node.concentration, (rows, 1))

    def _move(self, node: _Pooled, counts: Whole, settling: bool) -> None:
        height = _by_level(counts, node.concentration)
        taken = [self._move_strength(node, counts, height)]
        pairs = [self._move_pair(node, counts, height) for _ in range(min(len(node.share) - 1, PAIRS_MOST))]
        taken.append(np.mean(pairs, axis=0))
        if settling:
            grouped = np.array(taken).reshape(2, self._releases, -1).mean(axis=-1)
            factor = np.repeat(np.where(grouped > TAKEN, QUICKER, SLOWER), len(taken[0]) // self._releases, axis=1)
            node.steps = np.clip(node.steps * factor, STEP_LEAST, STEP_MOST)

    def _move_strength(self, node: _Pooled, counts: Whole, height: Array) -> Array:
        """Whether each chain took it; `height` is that of every level, (levels, chains), and kept so."""
        new = node.log_strength + node.steps[0] * self._generator.standard_normal(len(node.log_strength))
        inside = (new >= math.log(STRENGTH_LEAST)) & (new <= math.log(STRENGTH_MOST))
        new = np.where(inside, new, node.log_strength)
        rows, before = counts.sum(axis=1), node.log_strength
        changed = _by_level(counts, node.share * np.exp(new))
        gain = (changed - height).sum(axis=0) + _by_rows(rows, np.exp(new)) - _by_rows(rows, np.exp(before))
        total = node.declared.sum()
        gain += (new - before) - 2 * (np.log(np.exp(new) + total) - np.log(np.exp(before) + total))
        taken = inside & (gain > np.log(self._generator.random(len(gain))))
        node.log_strength = np.where(taken, new, before)
        height[:] = np.where(taken, changed, height)
        return np.asarray(taken)

    def _move_pair(self, node: _Pooled, counts: Whole, height: Array) -> Array:
        levels = len(node.share)
        pair = self._generator.choice(levels, 2, replace=False).tolist() if levels > 2 else [0, 1]
        old, strength = node.share[pair], np.exp(node.log_strength)
        both = old.sum(axis=0)
        logit = np.log(old[0]) - np.log(old[1]) + node.steps[1] * self._generator.standard_normal(len(both))
        new = both * np.stack([1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))])
        inside = new.min(axis=0) >= SHARE_LEAST
        new = np.where(inside, new, old)
        changed = _by_level(counts[:, pair], new * strength)
        gain = (changed - height[pair]).sum(axis=0) + node.declared[pair] @ (np.log(new) - np.log(old))
        taken = inside & (gain > np.log(self._generator.random(len(gain))))
        node.share[pair], height[pair] = np.where(taken, new, old), np.where(taken, changed, height[pair])
        return np.asarray(taken)


def pooled_work(network: Network) -> int:
    """How many lnΓ a turn of one chain takes."""
    return sum(
        network.configurations(i) * (2 * len(node.levels) + 2 + 2 * min(len(node.levels) - 1, PAIRS_MOST))
        for i, node in enumerate(network.nodes)
        if network.pooled(i)
    )


def prior_concentration(node: Node, uniform: Array, share: Array) -> Array:
    """(draws, 1, levels) of κm: `uniform` numbers make κ, `share` are draws of Dirichlet(a)."""
    strength = sum(node.concentration) * uniform / (1 - uniform)
    strength = np.clip(strength, STRENGTH_LEAST, STRENGTH_MOST)
    return np.asarray((strength[:, None] * np.maximum(share, SHARE_LEAST))[:, None, :])


def _start(node: Node, cells: slice, chains: int) -> _Pooled:
    declared = np.array(node.concentration)
    share = np.repeat((declared / declared.sum())[:, None], chains, axis=1)
    log_strength = np.full(chains, math.log(declared.sum()))
    return _Pooled(cells, declared, np.maximum(share, SHARE_LEAST), log_strength, np.ones((2, chains)))


def _by_level(counts: Whole, concentration: Array) -> Array:
    """Σ_j lnΓ(c_l + n_jl) − lnΓ(c_l): counts (configurations, levels, chains), concentrations (levels, chains)."""
    from scipy.special import gammaln  # loaded when first needed

    return np.asarray(gammaln(concentration + counts).sum(axis=0) - len(counts) * gammaln(concentration))


def _by_rows(rows: Whole, strength: Array) -> Array:
    """Σ_j lnΓ(κ) − lnΓ(κ + n_j)."""
    from scipy.special import gammaln

    return np.asarray(len(rows) * gammaln(strength) - gammaln(strength + rows).sum(axis=0))
