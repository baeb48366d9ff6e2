"""A stratum without people: the prior of one column's parameter, on its public grid, and without a range."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import integer_table
from app.core.kinds.belief import Belief
from app.core.kinds.one_parameter.beliefs.posterior import belief_of
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import NoRows
from app.core.kinds.one_parameter.families import Model
from app.core.statistics.sums import ExactStatistic


class NobodysColumn:
    """No rows, no sum: what is left of the posterior is the prior."""

    def samples(self, model: Model, samples: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.float64]:
        grid = model.grid(1, 1.0)
        table = integer_table(model.constants(grid), ExactStatistic(0, 0))
        return grid.theta[table.draw(samples, random_bytes)][:, None]

    def belief(self, model: Model, seed: bytes) -> Belief:
        return belief_of(row_law(model), [NoRows(0.0)], seed)
