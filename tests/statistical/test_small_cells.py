"""A network of carriers and months, most of whose cells are large and some nearly empty: intervals of the small ones hold too.

The probabilities are made up here: sixteen carriers whose sizes fall by a half each, twelve months, and P(late | carrier, month)
from the prior, Beta(1, 1), on average over which a 90 % interval holds 90 %. `benchmarks/flights_coverage.py` does the same with
probabilities fitted to a real table.
"""

import numpy as np
import pytest

from benchmarks.flights_coverage import Fitted, held_in_small_cells, network, pooled

ROWS = 20_000


def made_up(seed: int, carriers: int = 16, months: int = 12) -> Fitted:
    source = np.random.default_rng(seed)
    sizes = 0.6 ** np.arange(carriers)
    late = source.beta(1, 1, (carriers, months))
    names = [f"carrier {i:02}" for i in range(carriers)]
    return network(names, sizes / sizes.sum(), np.full(months, 1 / months), late, ROWS)


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_intervals_of_nearly_empty_cells_hold_as_often_as_they_say(kind: str) -> None:
    """50 releases, each of a truth of its own; 2.5 % are some five standard errors between releases."""
    found = [held_in_small_cells(made_up(seed), kind, 1.0, ROWS, seed) for seed in range(50)]
    share, error = pooled(found)
    print(f"{kind}: {share:.3f} ± {error:.3f} of {sum(each[1] for each in found)} cells")  # noqa: T201
    assert sum(each[1] for each in found) >= 1_000
    assert abs(share - 0.9) <= 0.025
