"""A network of carriers and months, most of whose cells are large and some nearly empty: intervals of the small ones hold too.

The probabilities are made up here: sixteen carriers whose sizes fall by two fifths each, twelve months, and P(late | carrier,
month) from the prior, on average over which a 90 % interval holds 90 %: each from Beta(1, 1), or those of a carrier from one law,
and carriers' from another. `benchmarks/flights_coverage.py` does the same with probabilities fitted to a real table.
"""

import numpy as np
import pytest

from benchmarks.flights_coverage import Fitted, held_in_small_cells, network, pooled

ROWS = 20_000


def made_up(seed: int, pooled: bool, carriers: int = 16, months: int = 12) -> Fitted:
    source = np.random.default_rng(seed)
    sizes = 0.6 ** np.arange(carriers)
    late = source.beta(1, 1, (carriers, months))
    if pooled:
        strengths = 2 / source.random(2) - 2
        middle, alike = np.maximum(strengths, 1e-3)
        top = source.random()
        means = np.clip(source.beta(middle * top, middle * (1 - top), (carriers, 1)), 1e-12, 1 - 1e-12)
        late = source.beta(alike * means, alike * (1 - means), (carriers, months))
    names = [f"carrier {i:02}" for i in range(carriers)]
    return network(names, sizes / sizes.sum(), np.full(months, 1 / months), late, ROWS, pooled)


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("kind", "alike"), [("laplace", False), ("gaussian", False), ("laplace", True)])
def test_intervals_of_nearly_empty_cells_hold_as_often_as_they_say(kind: str, alike: bool) -> None:
    """50 releases, each of a truth of its own: 2.5 % are some five standard errors between releases, and where cells are alike,
    and held or missed together, four errors are more."""
    found = [held_in_small_cells(made_up(seed, alike), kind, 1.0, ROWS, seed) for seed in range(50)]
    share, error = pooled(found)
    print(f"{kind} {alike}: {share:.3f} ± {error:.3f} of {sum(each[1] for each in found)} cells")  # noqa: T201
    assert sum(each[1] for each in found) >= 1_000
    assert abs(share - 0.9) <= max(0.025, 4 * error if alike else 0)
