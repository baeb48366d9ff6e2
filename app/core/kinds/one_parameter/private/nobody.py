"""A stratum without people: the prior of one column's parameter, on its public grid, and without a range."""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import integer_table
from app.core.kinds.belief import Belief
from app.core.kinds.one_parameter.beliefs.posterior import belief_of
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import NoRows
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.statistics.sums import ExactStatistic


class NobodysColumn:
    """No rows, no sum: what is left of the posterior is the prior."""

    def samples(self, model: Model, samples: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.float64]:
        grid = model.grid(1, 1.0)
        table = integer_table(model.constants(grid), ExactStatistic(0, 0))
        return grid.theta[table.draw(samples, random_bytes)][:, None]

    def belief(self, model: Model, seed: bytes) -> Belief:
        return belief_of(row_law(model), [NoRows(0.0)], seed)


class NobodysGroups:
    """The same in every private group of a stratum."""

    def samples(self, model: MeasuredGroups, samples: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.float64]:
        own = NobodysColumn()
        return np.concatenate([own.samples(model.inner, samples, random_bytes) for _ in range(model.count)], axis=1)

    def belief(self, model: MeasuredGroups, seed: bytes) -> Belief:
        own, seeds = NobodysColumn(), [seed + place.to_bytes(4, "big") for place in range(model.count)]
        found = [own.belief(model.inner, hashlib.sha256(each).digest()) for each in seeds]
        parameters = model.grouped(found[0].parameters[0])
        return Belief(parameters, np.concatenate([each.points for each in found], axis=1))
