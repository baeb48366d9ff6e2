"""Conditional probabilities of a network from noisy tables: the belief from all tables together, tables one by one, Private-PGM.

    python benchmarks/bench_marginals.py [--datasets 8] [--people 1000 3000 10000 30000] [--epsilons 0.3 1 3]

The ten-node network of `clinic_network.py`, δ = 10⁻⁶. `together`, `one by one` and Private-PGM are given the same discrete
Gaussian noise on the same tables. `as counts` is what `laplace` did before: its noisy counts, held to [0, n], taken for counts;
at ε = 1 and δ = 10⁻⁶ its pure ε may be larger, as much as `auto` finds. Mean absolute error against the truth over all 50 cells,
with its standard error over datasets; `covers` is the share of cells whose 90 % interval holds the truth, of a truth that is
the same every time and no draw of the prior. Private-PGM is left out where `mbi` is not installed.
"""

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.posterior import posterior_samples
from app.core.kinds.networks.comparison import largest_noise
from app.core.kinds.networks.mechanisms import NetworkGaussian, NetworkLaplace
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.privacy.targets import Target
from benchmarks.clinic_network import clinic_model, simulated, true_tables
from benchmarks.private_pgm import available, conditional_tables
from benchmarks.published import table

Array = NDArray[np.float64]

DELTA = 1e-6
SAMPLES = 1_000
WAYS = ("together", "one by one", "Private-PGM", "as counts")


def taken_for_counts(model: NetworkModel, noisy: Array, people: int) -> Array:
    """Posterior means of tables whose counts are the noisy ones held to [0, n]."""
    found = np.empty(model.network.cell_count)
    for i, node in enumerate(model.network.nodes):
        part = model.network.cells(i)
        shape = np.clip(noisy[part], 0, people).reshape(-1, len(node.levels)) + np.array(node.concentration)
        found[part] = (shape / shape.sum(axis=1, keepdims=True)).ravel()
    return found


def errors_of(model: NetworkModel, people: int, epsilon: float, seed: int) -> dict[str, float]:
    """Mean absolute errors by way, and the coverage of 90 % intervals."""
    generator = np.random.default_rng([people, round(1_000 * epsilon), seed])
    truth = true_tables(model)
    counts = count_records(model.network, simulated(model, people, generator).records)
    gaussian = NetworkGaussian(SAMPLES, epsilon, DELTA)
    tables = gaussian.noisy_tables_of(model, people, 1, gaussian.simulated(model, people, 1, counts, generator))
    drawn = posterior_samples(model, tables, SAMPLES, generator)
    laplace = largest_noise(lambda e: NetworkLaplace(1, e), model, people, 1, Target(epsilon, DELTA))
    assert isinstance(laplace, NetworkLaplace)
    noisy = laplace.simulated(model, people, 1, counts, generator).astype(np.float64)
    means = {
        "together": drawn.mean(axis=0),
        "one by one": block_posterior(model.network, tables, 1, generator)[1],
        "as counts": taken_for_counts(model, noisy, people),
    }
    if available():
        means["Private-PGM"] = conditional_tables(model.network, tables.near, tables.scale, people)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    errors = {way: float(np.abs(mean - truth).mean()) for way, mean in means.items()}
    return errors | {"covers": float(((low <= truth) & (truth <= high)).mean())}


def shown(found: list[dict[str, float]], key: str) -> str:
    if key not in found[0]:
        return "–"
    values = np.array([each[key] for each in found])
    return f"{values.mean():.4f} ± {values.std(ddof=1) / math.sqrt(len(values)):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=8)
    parser.add_argument("--people", type=int, nargs="+", default=[1_000, 3_000, 10_000, 30_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    options = parser.parse_args()
    model, rows = clinic_model(), []
    for people in options.people:
        for epsilon in options.epsilons:
            found = [errors_of(model, people, epsilon, seed) for seed in range(options.datasets)]
            rows.append([f"{people:,}", f"{epsilon:g}", *(shown(found, way) for way in (*WAYS, "covers"))])
            print("  ".join(map(str, rows[-1])), flush=True)
    print(table(["n", "ε", *WAYS, "covers"], rows))


if __name__ == "__main__":
    main()
