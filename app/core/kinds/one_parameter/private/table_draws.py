"""Samples of the posterior given what was measured of one group, inside the public range of its parameter.

Post-processing of numbers that were paid for: neither how long it takes nor a low bit of a double shows anything beside them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.beliefs.posterior import calibrated_table
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw
from app.core.kinds.one_parameter.beliefs.sum_slices import Slices
from app.core.parameters import Parameter
from app.errors import NumericalFailure

_BYTES = 8
GROUP_CELLS = 384
"""Of a table that its posterior fills: each a small part of an sd."""


def drawn_within(
    law: RowLaw, slices: Slices, within: Parameter, samples: int, random_bytes: Callable[[int], bytes]
) -> NDArray[np.float64]:
    """Never refuses: where all that was measured lies far beyond the range, samples lie at its nearest end."""
    ends = sorted(law.model.spacing.forward(value) for value in (within.lower, within.upper))
    try:
        edges, masses = calibrated_table(law, slices, (ends[0], ends[1]), GROUP_CELLS)
    except NumericalFailure:
        reach = np.mean([each.phi_ends(law) for each in slices])
        nearest = ends[0] if reach < (ends[0] + ends[1]) / 2 else ends[1]
        edges, masses = np.array([nearest, nearest]), np.ones(1)
    words = np.frombuffer(random_bytes(_BYTES * samples), dtype="<u8")
    below = np.concatenate([[0.0], np.cumsum(masses)])
    phi = np.interp((words + 0.5) / 2.0**64 * below[-1], below, edges)
    return np.asarray(law.prior.theta(phi).clip(within.lower, within.upper))
