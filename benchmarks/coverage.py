"""Prints the table of docs/privacy.md: how often 90 % intervals after `laplace` noise hold the truth, clipping included.

    python -m benchmarks.coverage

Every family at its default prior and trim, 2,000 simulated datasets a figure (one sd 0.7 %), seeds fixed: θ from the
prior, rows from numpy, clipped to the bounds and rounded one by one, then discrete Laplace noise. In brackets the same
datasets with the noise ignored. The tests hold wider bounds, where nothing is clipped, to 90 % ± 2 %.
"""

from dataclasses import replace

import numpy as np

from app.core.noise.discrete_laplace import noise_scale
from tests.statistical.noisy_sums import ROWS, covers, discrete_laplace, lattice_sums, noisy_likelihoods, prior_draws

DATASETS = 2_000
SETTINGS = [(people, epsilon) for people in (100, 1_000) for epsilon in (0.1, 1.0, 10.0)]


def measured(family: str, people: int, epsilon: float) -> tuple[float, float, float]:
    """Coverage with the noise integrated out, coverage with it ignored, and the share of rows beyond the bounds."""
    rows = replace(ROWS[family], trim=None)
    source = np.random.Generator(np.random.PCG64([12, people, round(10 * epsilon), list(ROWS).index(family)]))
    model = rows.model(family)
    grid, scale = model.grid(people, 1.0), noise_scale(model.statistic.steps, epsilon)
    truth = prior_draws(source, model, DATASETS)
    drawn = rows.draw(source, truth, (people, DATASETS))
    noisy = lattice_sums(model, rows.column, drawn) + discrete_laplace(source, scale, DATASETS)
    aware = noisy_likelihoods(model, grid.theta, people, noisy, scale)
    ignored = grid.eta * np.clip(noisy, 0, people * model.statistic.steps)[:, None] - grid.partition * people
    lower, upper = rows.column.get("lower", 0), rows.column.get("upper", 1)
    beyond = ((drawn < lower) | (drawn > upper)).mean()
    shares = (float(covers(model, grid, likelihood, truth).mean()) for likelihood in (aware, ignored))
    return (*shares, float(beyond))


def main() -> None:
    print("| family | rows clipped |" + "".join(f" n = {n:,}, ε = {e:g} |" for n, e in SETTINGS))
    print("|---|---|" + "---|" * len(SETTINGS))
    for family in ROWS:
        found = [measured(family, *setting) for setting in SETTINGS]
        beyond = np.mean([each[2] for each in found])
        print(f"| `{family}` | {beyond:.2%} |" + "".join(f" {100 * a:.1f} ({100 * b:.0f}) |" for a, b, _ in found))


if __name__ == "__main__":
    main()
