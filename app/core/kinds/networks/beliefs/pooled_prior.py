"""Configurations of a node that learn from each other: their tables come from Dirichlet laws that the data tell about.

A node whose prior is `pooled` has, with a its declared concentration and A = Σa,

    m ~ Dirichlet(a),   κ with density A/(κ + A)²,   θ_j | m, κ ~ Dirichlet(κ·m), every configuration j by itself

so that half of the prior has the tables more alike than independent ones of concentration a, and half less. Where configurations
with equal values of some parents, `pooled_by`, are more alike than others, each such group g has a mean m_g of its own,

    m₀ ~ Dirichlet(a),   κ₀ like κ,   m_g ~ Dirichlet(κ₀·m₀),   θ_j ~ Dirichlet(κ·m_g) for j in g.

Given counts n the tables are integrated out, and all the others take turns by Metropolis steps on log κ, log κ₀ and on the logits
of two shares at a time:

    log p(n | m, κ) = Σ_j {Σ_l [lnΓ(κm_l + n_jl) − lnΓ(κm_l)] − lnΓ(κ + n_j) + lnΓ(κ)}.

Steps move the prior given the counts alone, whatever they are measured by, and tables drawn afterwards are Dirichlet(κm + n): any
chain over counts and tables stays one of the joint posterior. A configuration that nearly nobody has is believed to be like the
others, as far as these are like each other. With a single configuration there is nothing to learn from: the prior is as declared.
"""

import math
from collections.abc import Callable
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
_UNDERFLOWS = 1e-290


@dataclass(slots=True)
class _Law:
    """Means and strength of Dirichlet laws: `share` is (levels, groups, chains), `log_strength` (chains).

    `steps` are of log κ, (chains), and of logits, (groups, chains).
    """

    share: Array
    log_strength: Array
    steps: tuple[Array, Array]

    @property
    def concentration(self) -> Array:
        """(levels, groups, chains)."""
        return np.asarray(self.share * np.exp(self.log_strength))

    def settle(self, strength: Array, pairs: Array, releases: int) -> None:
        """By which chains took the steps: longer, or shorter, the same for all chains of a release."""
        of_strength, of_pairs = self.steps
        self.steps = (_settled(of_strength, strength, releases), _settled(of_pairs, pairs, releases))


@dataclass(slots=True)
class _Pooled:
    """One node. `order` has its configurations group by group; `above` is there where groups are more than one."""

    cells: slice
    declared: Array
    order: Whole
    law: _Law
    above: _Law | None


class PooledPriors:
    """`concentration` is (cells, chains), or (cells, 1) where no node is pooled; `turn` moves it given counts."""

    def __init__(self, network: Network, chains: int, generator: np.random.Generator, releases: int = 1) -> None:
        self._generator, self._releases = generator, releases
        own = [np.tile(node.concentration, network.configurations(i)) for i, node in enumerate(network.nodes)]
        self.concentration: Array = np.concatenate([*own, np.empty(0)])[:, None]
        self._nodes = [
            _start(node, network.cells(i), network.pooled_groups(i), chains)
            for i, node in enumerate(network.nodes)
            if network.pooled(i)
        ]
        if self._nodes:
            self.concentration = np.repeat(self.concentration, chains, axis=1)

    @classmethod
    def of_node(cls, node: Node, groups: Whole, chains: int, generator: np.random.Generator) -> "PooledPriors":
        """Of the counts of one pooled node; `groups` are its configurations, (groups, members)."""
        found = cls(Network(()), chains, generator)
        found.concentration = np.tile(np.array(node.concentration)[:, None], (groups.size, chains))
        found._nodes = [_start(node, slice(0, len(found.concentration)), groups, chains)]
        return found

    def turn(self, counts: Whole, *, settling: bool = False) -> None:
        """`counts` are (cells, chains). While settling, steps become as long as makes them taken two times in five."""
        for node in self._nodes:
            levels, groups, chains = node.law.share.shape
            own = counts[node.cells].reshape(-1, levels, chains)[node.order.ravel()]
            own = own.reshape(groups, -1, levels, chains).transpose(1, 2, 0, 3)
            self._move(node, own, settling)
            found = np.empty((node.order.size, levels, chains))
            members = node.order.shape[1]
            found[node.order.ravel()] = np.repeat(node.law.concentration.transpose(1, 0, 2), members, axis=0)
            self.concentration[node.cells] = found.reshape(-1, chains)

    def _move(self, node: _Pooled, counts: Whole, settling: bool) -> None:
        """`counts` are (members, levels, groups, chains)."""
        law, above = node.law, node.above
        prior = node.declared[:, None, None] if above is None else above.concentration
        rows = counts.sum(axis=1)
        total = float(node.declared.sum())

        def height(concentration: Array, part: slice | list[int] = slice(None)) -> Array:
            return _by_level(counts[:, part], concentration)

        strength = self._move_strength(law, height, lambda k: _by_rows(rows, k), total)
        pairs = self._move_pairs(law, height, prior)
        if settling:
            law.settle(strength, pairs, self._releases)
        if above is not None:
            self._move_above(above, np.log(law.share).sum(axis=1, keepdims=True), law.share.shape[1], node, settling)

    def _move_above(self, above: _Law, logs: Array, groups: int, node: _Pooled, settling: bool) -> None:
        """m₀ and κ₀ given the means of the groups, whose logarithms sum to `logs`, (levels, 1, chains)."""
        from scipy.special import gammaln  # loaded when first needed

        def height(concentration: Array, part: slice | list[int] = slice(None)) -> Array:
            return np.asarray(concentration * logs[part] - groups * gammaln(concentration))

        total = float(node.declared.sum())
        strength = self._move_strength(above, height, lambda k: groups * gammaln(k), total)
        pairs = self._move_pairs(above, height, node.declared[:, None, None])
        if settling:
            above.settle(strength, pairs, self._releases)

    def _move_strength(
        self, law: _Law, height: Callable[..., Array], by_strength: Callable[[Array], Array], total: float
    ) -> Array:
        """Whether each chain took it."""
        before = law.log_strength
        new = before + law.steps[0] * self._generator.standard_normal(len(before))
        inside = (new >= math.log(STRENGTH_LEAST)) & (new <= math.log(STRENGTH_MOST))
        new = np.where(inside, new, before)
        old, other = np.exp(before), np.exp(new)
        gain = (height(law.share * other) - height(law.share * old)).sum(axis=(0, 1))
        gain += by_strength(other) - by_strength(old)
        gain += (new - before) - 2 * (np.log(other + total) - np.log(old + total))
        taken = np.asarray(inside & (gain > np.log(self._generator.random(len(gain)))))
        law.log_strength = np.where(taken, new, before)
        return taken

    def _move_pairs(self, law: _Law, height: Callable[..., Array], prior: Array) -> Array:
        """(groups, chains): how often each group of each chain took its steps."""
        levels = len(law.share)
        taken = []
        for _ in range(min(levels - 1, PAIRS_MOST)):
            pair = self._generator.choice(levels, 2, replace=False).tolist() if levels > 2 else [0, 1]
            old, strength = law.share[pair], np.exp(law.log_strength)
            both = old.sum(axis=0)
            logit = np.log(old[0]) - np.log(old[1]) + law.steps[1] * self._generator.standard_normal(both.shape)
            new = both * np.exp(-np.logaddexp(0, np.stack([-logit, logit])))
            inside = new.min(axis=0) >= SHARE_LEAST
            new = np.where(inside, new, old)
            gain = height(new * strength, pair) - height(old * strength, pair)
            gain = (gain + prior[pair] * (np.log(new) - np.log(old))).sum(axis=0)
            taken.append(inside & (gain > np.log(self._generator.random(gain.shape))))
            law.share[pair] = np.where(taken[-1], new, old)
        return np.asarray(np.mean(taken, axis=0))


def pooled_work(network: Network) -> int:
    """How many lnΓ a turn of one chain takes."""
    return sum(
        network.configurations(i) * (2 * len(node.levels) + 2 + 4 * min(len(node.levels) - 1, PAIRS_MOST))
        for i, node in enumerate(network.nodes)
        if network.pooled(i)
    )


def prior_concentration(node: Node, groups: Whole, draws: int, uniform: Callable[[tuple[int, ...]], Array]) -> Array:
    """(draws, configurations, levels) of κm by the prior, from numbers in (0, 1)."""
    declared, levels = np.array(node.concentration), len(node.levels)

    def law(mean: Array) -> Array:
        odds = uniform((draws, 1, 1))
        strength = np.clip(declared.sum() * odds / (1 - odds), STRENGTH_LEAST, STRENGTH_MOST)
        return np.asarray(strength * np.maximum(mean, SHARE_LEAST))

    mean = dirichlet_of(declared, uniform((draws, 1, levels)))
    if len(groups) > 1:
        mean = dirichlet_of(law(mean), uniform((draws, len(groups), levels)))
    found = np.empty((draws, groups.size, levels))
    found[:, groups.ravel()] = np.repeat(law(mean), groups.shape[1], axis=1)
    return found


def dirichlet_of(concentration: Array, uniform: Array) -> Array:
    """Gamma variates over their sum, by their logarithms: of a weak prior most are smaller than doubles go."""
    from scipy.special import gammaincinv, gammaln  # loaded when first needed: half a second

    drawn = gammaincinv(concentration, uniform)
    with np.errstate(divide="ignore"):
        small = (np.log(uniform) + gammaln(concentration + 1)) / concentration  # F(x) = xᵃ/Γ(a+1) for small x
        logarithm = np.where(drawn < _UNDERFLOWS, small, np.log(drawn))
    share = np.exp(logarithm - logarithm.max(axis=-1, keepdims=True))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def _start(node: Node, cells: slice, groups: Whole, chains: int) -> _Pooled:
    declared = np.array(node.concentration)
    laws = [_centre(declared, count, chains) for count in (len(groups), 1)]
    return _Pooled(cells, declared, groups, laws[0], laws[1] if len(groups) > 1 else None)


def _centre(declared: Array, groups: int, chains: int) -> _Law:
    share = np.maximum(declared / declared.sum(), SHARE_LEAST)
    shares = np.repeat(np.repeat(share[:, None, None], groups, axis=1), chains, axis=2)
    return _Law(shares, np.full(chains, math.log(declared.sum())), (np.ones(chains), np.ones((groups, chains))))


def _settled(step: Array, taken: Array, releases: int) -> Array:
    """Both (…, chains)."""
    each = taken.shape[-1] // releases
    grouped = taken.reshape(*taken.shape[:-1], releases, each).mean(axis=-1)
    longer = np.repeat(np.where(grouped > TAKEN, QUICKER, SLOWER), each, axis=-1)
    return np.asarray(np.clip(step * longer, STEP_LEAST, STEP_MOST))


def _by_level(counts: Whole, concentration: Array) -> Array:
    """Σ_j lnΓ(c_l + n_jl) − lnΓ(c_l): counts (members, levels, groups, chains), concentrations without the first."""
    from scipy.special import gammaln  # loaded when first needed

    return np.asarray(gammaln(concentration + counts).sum(axis=0) - len(counts) * gammaln(concentration))


def _by_rows(rows: Whole, strength: Array) -> Array:
    """Σ_j lnΓ(κ) − lnΓ(κ + n_j), over members and groups."""
    from scipy.special import gammaln

    all_rows = rows.shape[0] * rows.shape[1]
    return np.asarray(all_rows * gammaln(strength) - gammaln(strength + rows).sum(axis=(0, 1)))
