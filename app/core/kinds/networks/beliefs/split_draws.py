"""One node's counts given how many records each of its configurations has: drawn split by split, with what was released.

With θ integrated out, the counts (s, f) of a split under one configuration have the weight B(α + s, β + f)·p(R | s, f) for
every order of its records. Of m records whose values are open, beside others with counts (s', f') that stay, a fall on the
first side with

    weight(a) = C(m, a)·B(α + s' + a, β + f' + m − a)·p(R | s' + a, f' + m − a),   Z(m) = Σ_a weight(a),

a sum over m + 1 numbers: all configurations of a split, of all chains, are drawn at once. Where m is large only the a within
`FAR` of the highest are looked at, found on a coarse grid first; and where those are more than twice `NUMBERS`, they are taken
two or ten together by the weight of their middle, as smooth as weights then are.
"""

from dataclasses import dataclass

import numpy as np

from app.core.kinds.networks.beliefs.drawn_law import FAR, Array, DrawnSplit, Whole
from app.core.kinds.networks.splits import LEAF, Split

WINDOW = 128
NUMBERS = 128
TABULATED = 1 << 20
_COARSE = 33


class LogGamma:
    """log Γ(x + m) for whole m from 0 to `most`, by a table where that is not too long."""

    def __init__(self, offset: float, most: int) -> None:
        from scipy.special import gammaln  # loaded when first needed

        self._offset, self._function = offset, gammaln
        self._table = gammaln(offset + np.arange(most + 1)) if most <= TABULATED else None

    def __call__(self, counts: Whole) -> Array:
        return np.asarray(self._function(self._offset + counts) if self._table is None else self._table.take(counts))


@dataclass(frozen=True, slots=True)
class Priors:
    """log Γ at α, β and α + β plus a count, and at 1 plus one."""

    first: LogGamma
    second: LogGamma
    both: LogGamma
    factorial: LogGamma

    @classmethod
    def of(cls, alpha: float, beta: float, most: int) -> "Priors":
        return cls(*(LogGamma(offset, most) for offset in (alpha, beta, alpha + beta, 1.0)))


@dataclass(frozen=True, slots=True)
class _Open:
    """Records whose values are open, in some rows of a split: how many, and the counts of those that stay."""

    row: Whole
    s: Whole
    f: Whole
    members: Whole


@dataclass(frozen=True, slots=True)
class OpenSplit:
    split: Split
    law: DrawnSplit
    priors: Priors

    def draw(self, open_: _Open, generator: np.random.Generator) -> tuple[Whole, Array, int]:
        """(a, log Z) of every row, and how many numbers that took."""
        low, high = self._windows(open_)
        stride = np.maximum((high - low) // NUMBERS, 1)
        sizes = (high - low) // stride + 1
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        at = np.repeat(np.arange(len(sizes)), sizes)
        first = low[at] + (np.arange(len(at)) - starts[at]) * stride[at]
        width = np.minimum(stride[at], high[at] + 1 - first)
        weights = self._log_weights(open_, at, first + (width - 1) // 2)
        top = np.maximum.reduceat(weights, starts)
        np.exp(weights - top[at], out=weights)
        weights *= width
        below = np.cumsum(weights)
        ends = below[starts + sizes - 1]
        before = np.concatenate([[0.0], ends[:-1]])
        log_z = top + np.log(ends - before) - self.priors.both(open_.s + open_.f + open_.members)
        chosen = np.searchsorted(below, before + generator.random(len(sizes)) * (ends - before))
        chosen = np.clip(chosen, starts, starts + sizes - 1)
        drawn = first[chosen]
        if stride.max() > 1:
            drawn = drawn + generator.integers(0, width[chosen])
        return drawn, log_z, len(at)

    def _log_weights(self, open_: _Open, at: Whole, a: Whole) -> Array:
        left = open_.members[at] - a
        s, f = open_.s[at] + a, open_.f[at] + left
        found = self.priors.factorial(open_.members)[at]
        found -= self.priors.factorial(a)
        found -= self.priors.factorial(left)
        found += self.priors.first(s)
        found += self.priors.second(f)
        found += self.law.log_likelihood(open_.row[at], s, f)
        return found

    def _windows(self, open_: _Open) -> tuple[Whole, Whole]:
        low, high = np.zeros_like(open_.members), open_.members.copy()
        wide = np.flatnonzero(high > WINDOW)
        while len(wide):
            width = high[wide] - low[wide]
            a = low[wide, None] + np.rint(width[:, None] * (np.arange(_COARSE) / (_COARSE - 1))).astype(np.int64)
            heights = self._log_weights(open_, np.repeat(wide, _COARSE), a.ravel()).reshape(a.shape)
            near = heights > heights.max(axis=1, keepdims=True) - FAR
            first = np.maximum(near.argmax(axis=1) - 1, 0)
            last = np.minimum(_COARSE - near[:, ::-1].argmax(axis=1), _COARSE - 1)
            each = np.arange(len(wide))
            low[wide], high[wide] = a[each, first], a[each, last]
            narrowed = high[wide] - low[wide]
            wide = wide[(narrowed > WINDOW) & (narrowed < 0.6 * width)]
        return low, high


class OpenNode:
    """All splits of one node."""

    def __init__(self, splits: tuple[OpenSplit, ...]) -> None:
        self._splits = splits
        self.looked_at = 0
        """Numbers that draws were sums over, all of them together; twice where points were chosen by their probability."""

    def draw(self, rest: Whole, members: Whole, old: Whole, generator: np.random.Generator) -> tuple[Whole, Array]:
        """Levels of `members` records a row, (rows, levels), and log Π Z of them less that of the `old` ones, for each row.

        `rest` are the counts of the records whose values stay: the same for both. A row is a configuration of one chain.
        """
        drawn = np.zeros_like(rest)
        reached = [members] * len(self._splits)
        gain = np.zeros(len(rest))
        for i, each in enumerate(self._splits):
            low, middle, high, below = each.split.low, each.split.middle, each.split.high, each.split.below
            before = old[:, low:high].sum(axis=1)
            row = np.flatnonzero(reached[i] + before)
            s, f = rest[row, low:middle].sum(axis=1), rest[row, middle:high].sum(axis=1)
            first = np.zeros_like(members)
            if len(row):
                members_of_both = np.concatenate([reached[i][row], before[row]])
                open_ = _Open(np.tile(row, 2), np.tile(s, 2), np.tile(f, 2), members_of_both)
                a, log_z, numbers = each.draw(open_, generator)
                self.looked_at += numbers * each.law.tables
                gain[row] += log_z[: len(row)] - log_z[len(row) :]
                first[row] = a[: len(row)]
            for side, start, taken in ((0, low, first), (1, middle, reached[i] - first)):
                if below[side] == LEAF:
                    drawn[:, start] = taken
                else:
                    reached[below[side]] = taken
        return drawn, gain

    def look_for_strays(self, counts: Whole, generator: np.random.Generator) -> None:
        for each in self._splits:
            low, middle, high = each.split.low, each.split.middle, each.split.high
            each.law.look_for_strays(counts[:, low:middle].sum(axis=1), counts[:, middle:high].sum(axis=1), generator)
