"""Which products Σzzᵀ there may be: what is public about them, a wide prior, and what the noisy ones say.

Nobody declares a law of the features, but a belief about weights needs one of their products A, since only Â = A + noise is
seen. Taken is a wide one that contradicts no public number: mean squares even between 0 and the largest that bounds allow,
correlations even over all correlation matrices, so that p(A) ∝ Π_j A_jj^{−(d−1)/2} on the positive definite matrices with
A_jj ≤ cap. Public are, beside the caps: an intercept's own sum, n; that of a yes/no column, ±1, the same; a level's indicator
is its own square, A_jj = A_0j; and two levels of one column never meet, A_jk = 0.

**Any number of rows.** Of a private group nobody knows n, nor where people may have several rows. With an intercept A₀₀ is n in
units of z, even before from the fewest to the most there may be, and what was said of A holds of A/A₀₀ with caps of 1:
A_jj ≤ A₀₀, and p(A) has the factor A₀₀^{d(d−1)/2 − f}, f the free numbers beside A₀₀, that makes the law of A/A₀₀ the same
whatever A₀₀ is.

`centre` and `sds` are of a Gaussian near p(A|Â): the noise's times one about as wide as p(A). Chains move around it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.model import LinearModel

Array = NDArray[np.float64]

WIDER = 1.5
"""The Gaussian's sds over those of p(A): tails are then the Gaussian's, not the target's."""
CERTAIN = 1e-9
"""An eigenvalue below this share of the cap counts as none."""
START_SHARE = 0.1
STRIDES = (0.02, 0.6)


class LatentProducts:
    """`noisy` and `variance` are (d, d), in units of z; `variance` 0 where an entry needs no noise taken off.

    `rows_least`: so many rows or more, where nobody knows; of models with an intercept whose records are never shortened.
    """

    def __init__(
        self,
        model: LinearModel,
        people: int,
        unit_rows: int,
        noisy: Array,
        variance: Array,
        *,
        rows_least: int | None = None,
    ) -> None:
        self._model, self._d, self._any_rows = model, model.dimension, rows_least is not None
        one = math.floor(model.statistic.steps * min(1.0, model.norm_bound**-1) + 0.5) / model.statistic.steps
        self.row_square = one**2
        self.cap = people * unit_rows * one**2
        self._least = (rows_least or 0) * one**2
        rows_public = unit_rows == 1 and not model.clips and not self._any_rows
        self._constant = np.zeros((self._d, self._d))
        self.place = self._places(rows_public, people * one**2)
        self.count = int(self.place.max()) + 1
        self._typical = self._independent(self.cap)
        self._entries = tuple(np.array([np.argwhere(self.place == k)[0] for k in range(self.count)]).T.reshape(2, -1))
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

    def rescaled(self, free: Array, stream: SeededStream) -> tuple[Array, Array]:
        """(products with every number's feature made a little longer or shorter, the log of that move's Jacobian).

        A → DAD keeps A possible, which single entries moved by as much would not. Strides are of all sizes.
        """
        first = int(self._model.intercept)
        numbers = np.array([False] * first + [c.kind == "number" for c in self._model.coordinates])
        strides = np.exp(np.log(STRIDES[0]) + stream.uniforms(len(free)) * np.log(STRIDES[1] / STRIDES[0]))
        log_scale = stream.normals(len(free), self._d) * numbers * strides[:, None]
        if self._any_rows:  # more or fewer rows like these
            log_scale = log_scale + stream.normals(len(free), 1) * strides[:, None]
        i, j = self._entries
        return free * np.exp(log_scale[:, i] + log_scale[:, j]), (log_scale[:, i] + log_scale[:, j]).sum(axis=1)

    def log_prior(self, free: Array, matrices: Array, values: Array) -> Array:
        """log p(A) less the log of the Gaussian put in its place; `values` are eigenvalues, ascending."""
        diagonal = np.diagonal(matrices, axis1=1, axis2=2)
        possible = (values[:, 0] > CERTAIN * self.cap) & (diagonal <= self.cap * (1 + 1e-12)).all(axis=1)
        own = -(self._d - 1) / 2 * np.log(np.maximum(diagonal, 1e-300)).sum(axis=1)
        put = -0.5 * (((free - self.prior_mean) / self.prior_sds) ** 2).sum(axis=1)
        if self._any_rows:
            possible &= (diagonal <= diagonal[:, :1] * (1 + 1e-12)).all(axis=1)
            possible &= diagonal[:, 0] >= self._least * (1 - 1e-12)
            power = self._d * (self._d - 1) / 2 - (self.count - 1)
            own = own + power * np.log(np.maximum(diagonal[:, 0], 1e-300))
        return np.where(possible, own - put, -np.inf)

    def rows(self, matrices: Array) -> Array:
        """How many rows each says there are; none where that is impossible, which `log_prior` says."""
        return np.asarray(np.maximum(matrices[:, 0, 0], 0.0) / self.row_square)

    def _seen_rows(self, chains: int, stream: SeededStream) -> Array:
        """A₀₀ as noisy as it was measured, held to what is possible."""
        k = self.place[0, 0]
        seen = self.centre[k] + self.sds[k] * stream.normals(chains, 1)[:, 0]
        least = span = min(0.1 * self.sds[k], 0.5 * self.cap)
        if self._least > 0:
            least, span = self._least, min(self.sds[k], self.cap - self._least)
        return np.asarray(
            np.clip(np.where(seen < least, least + span * stream.uniforms(chains), seen), least, self.cap)
        )

    def starts(self, chains: int, stream: SeededStream) -> Array:
        """(chains, free numbers): products of d + 1 made-up records each, and a tenth of independent features.

        About as wide as p(A) and possible, whatever is public: chains need not find their way out of one place.
        """
        first, records = int(self._model.intercept), self._d + 1
        features = [np.ones((chains, records))] * first
        levels: dict[str, Array] = {}
        for c in self._model.coordinates:
            uniforms = stream.uniforms(chains * records).reshape(chains, records)
            if c.kind == "level":
                shown = levels.setdefault(c.column, uniforms * len(dict(self._model.levels)[c.column]))
                place = dict(self._model.levels)[c.column].index(str(c.level))
                features.append((np.floor(shown) == place).astype(np.float64))
            elif c.kind == "binary":
                features.append(np.where(uniforms < stream.uniforms(chains)[:, None], 1.0, -1.0))
            else:
                drawn = stream.normals(chains, records)
                square = stream.uniforms(chains) / (drawn**2).mean(axis=1)
                features.append(drawn * np.sqrt(square)[:, None])
        z = np.stack(features, axis=2)
        rows = np.diag(self._constant).max() or self.cap * 0.9
        matrices = (1 - START_SHARE) * rows * np.einsum("nri,nrj->nij", z, z) / records + START_SHARE * self._typical
        if self._any_rows:
            matrices *= (self._seen_rows(chains, stream) / matrices[:, 0, 0])[:, None, None]
        free = np.zeros((chains, self.count))
        for i, j in zip(*np.triu_indices(self._d), strict=True):
            if self.place[i, j] >= 0:
                free[:, self.place[i, j]] = matrices[:, i, j]
        possible = np.isfinite(
            self.log_prior(free, self.matrices(free), np.asarray(np.linalg.eigvalsh(self.matrices(free))))
        )
        return np.where(possible[:, None], free, self.prior_mean)
