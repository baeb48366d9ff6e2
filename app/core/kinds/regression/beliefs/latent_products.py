"""Which products Σzzᵀ there may be: what is public about them, a wide prior, and what the noisy ones say.

Nobody declares a law of the features, but a belief about weights needs one of their products A, since only Â = A + noise is
seen. Taken is a wide one that contradicts no public number: mean squares even between 0 and the largest that bounds allow,
correlations even over all correlation matrices, so that p(A) ∝ Π_j A_jj^{−(d−1)/2} on the positive definite matrices with
A_jj ≤ cap. Public are, beside the caps: an intercept's own sum, n; that of a yes/no column, ±1, the same; a level's indicator
is its own square, A_jj = A_0j; and two levels of one column never meet, A_jk = 0.

`centre` and `sds` are of a Gaussian near p(A|Â): the noise's times one about as wide as p(A). Chains move around it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.model import LinearModel

Array = NDArray[np.float64]

WIDER = 1.5
"""The Gaussian's sds over those of p(A): tails are then the Gaussian's, not the target's."""
CERTAIN = 1e-9
"""An eigenvalue below this share of the cap counts as none."""
START_SHARE = 0.05
HALVINGS = 40


class LatentProducts:
    """`noisy` and `variance` are (d, d), in units of z; `variance` 0 where an entry needs no noise taken off."""

    def __init__(self, model: LinearModel, people: int, unit_rows: int, noisy: Array, variance: Array) -> None:
        self._model, self._d = model, model.dimension
        one = math.floor(model.statistic.steps * min(1.0, model.norm_bound**-1) + 0.5) / model.statistic.steps
        self.cap = people * unit_rows * one**2
        rows_public = unit_rows == 1 and not model.clips
        self._constant = np.zeros((self._d, self._d))
        self.place = self._places(rows_public, people * one**2)
        self.count = int(self.place.max()) + 1
        self._typical = self._independent(self.cap)
        self._measure(noisy, variance)

    def _places(self, rows_public: bool, rows: float) -> NDArray[np.int64]:
        """(d, d): which free number an entry is, −1 where it is `_constant`."""
        place, free = np.full((self._d, self._d), -1), 0
        first = int(self._model.intercept)
        columns = [None] * first + [c.column for c in self._model.coordinates]
        kinds = ["one"] * first + [c.kind for c in self._model.coordinates]
        for i in range(self._d):
            for j in range(i, self._d):
                if i == j and kinds[i] in ("one", "binary") and first:
                    place[i, i] = -1 if rows_public else max(place[0, 0], 0)
                    self._constant[i, i] = rows if rows_public else 0.0
                    free += not rows_public and i == 0
                elif i == j and kinds[i] == "level" and first:
                    place[i, i] = place[0, i]
                elif i != j and kinds[i] == kinds[j] == "level" and columns[i] == columns[j]:
                    continue
                else:
                    place[i, j] = place[j, i] = free
                    free += 1
        return place

    def _independent(self, cap: float) -> Array:
        """Products of independent features: a matrix inside what is possible."""
        first, d = int(self._model.intercept), self._d
        sizes = {name: len(levels) for name, levels in self._model.levels}
        means = np.array([0.0 if c.kind != "level" else 1 / sizes[c.column] for c in self._model.coordinates])
        squares = np.array(
            [
                {"number": 1 / 3, "binary": 1.0}.get(c.kind, m)
                for c, m in zip(self._model.coordinates, means, strict=True)
            ]
        )
        means, squares = np.concatenate([[1.0] * first, means]), np.concatenate([[1.0] * first, squares])
        columns = [""] * first + [c.column for c in self._model.coordinates]
        found = np.outer(means, means)
        found[[[columns[i] == columns[j] for j in range(d)] for i in range(d)]] = 0.0
        np.fill_diagonal(found, squares)
        rows = np.diag(self._constant).max() or cap * 0.9
        return np.asarray(found * rows)

    def _measure(self, noisy: Array, variance: Array) -> None:
        weight, total = np.zeros(self.count), np.zeros(self.count)
        wide, typical = np.zeros(self.count), np.zeros(self.count)
        for i in range(self._d):
            for j in range(i, self._d):
                k = self.place[i, j]
                if k < 0:
                    continue
                weight[k] += 1 / variance[i, j]
                total[k] += noisy[i, j] / variance[i, j]
                typical[k] = self._typical[i, j]
                wide[k] = max(wide[k], self.cap / (math.sqrt(12) if i == j else 2 * math.sqrt(self._d + 1)))
        self.prior_mean, self.prior_sds = typical, WIDER * wide
        precision = weight + self.prior_sds**-2
        self.centre, self.sds = (total + typical * self.prior_sds**-2) / precision, precision**-0.5

    def matrices(self, free: Array) -> Array:
        """(N, free numbers) to (N, d, d)."""
        known = np.concatenate([free, np.zeros((len(free), 1))], axis=1)
        return np.asarray(known[:, self.place] + self._constant)

    def log_prior(self, free: Array, matrices: Array, values: Array) -> Array:
        """log p(A) less the log of the Gaussian put in its place; `values` are eigenvalues, ascending."""
        diagonal = np.diagonal(matrices, axis1=1, axis2=2)
        possible = (values[:, 0] > CERTAIN * self.cap) & (diagonal <= self.cap * (1 + 1e-12)).all(axis=1)
        own = -(self._d - 1) / 2 * np.log(np.maximum(diagonal, 1e-300)).sum(axis=1)
        put = -0.5 * (((free - self.prior_mean) / self.prior_sds) ** 2).sum(axis=1)
        return np.where(possible, own - put, -np.inf)

    def start(self) -> Array:
        """As near to the centre as is possible with room to spare, on the line from independent features."""
        base = self.prior_mean
        floor = START_SHARE * float(np.linalg.eigvalsh(self.matrices(base[None, :])[0])[0])
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            matrix = self.matrices((base + middle * (self.centre - base))[None, :])[0]
            inside = float(np.linalg.eigvalsh(matrix)[0]) >= floor and float(np.diag(matrix).max()) <= self.cap * (
                1 + 1e-12
            )
            low, high = (middle, high) if inside else (low, middle)
        return np.asarray(base + low * (self.centre - base))
