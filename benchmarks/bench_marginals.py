"""Conditional probabilities of networks from noisy tables: the belief from all tables together, tables one by one, Private-PGM.

    python -m benchmarks.bench_marginals [--datasets 16] [--people 1000 3000 10000 30000] [--epsilons 0.3 1 3]

Three networks: the clinic's of `clinic_network.py`, whose truth is known, and the two of `real_tables.py`, whose people are drawn
with replacement and whose truth is the whole table. δ = 10⁻⁶. `together`, `one by one` and Private-PGM are given the same tables
with the same discrete Gaussian noise. `as counts` is what `laplace` did before: its noisy counts, held to [0, n], taken for
counts; its pure ε may be larger, as much as `auto` finds for the same (ε, δ).

The error is absolute, so the answer is the one asked for under the utility `absolute`, the median of the belief; the file has the
mean's too. A belief has 1,024 points of 32 chains: half of what a release is given. Private-PGM is left out, and nothing
published, unless `PRIVATE_PGM_PYTHON` names an interpreter that has it (`private_pgm.py`).
"""

import argparse
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.accuracy import simulated_rows
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.count_chain import CountChains
from app.core.kinds.networks.beliefs.count_pace import count_pace
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.comparison import largest_noise
from app.core.kinds.networks.mechanisms import NetworkGaussian, NetworkLaplace
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.privacy.targets import Target
from benchmarks import marginal_tables
from benchmarks.clinic_network import clinic_model, true_tables
from benchmarks.private_pgm import PrivatePgm, python_with_mbi
from benchmarks.published import machine, publish
from benchmarks.real_tables import Table, insurance, marriages

Array = NDArray[np.float64]

DELTA = 1e-6
DATASETS, POINTS, CHAINS = 16, 1_024, 32
PEOPLE, EPSILONS = (1_000, 3_000, 10_000, 30_000), (0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Truth:
    """Conditional probabilities, and the whole table they are of, unless it is the law itself."""

    name: str
    model: NetworkModel
    tables: Array
    whole: Table | None = None

    def records(self, people: int, source: np.random.Generator) -> NDArray[np.int64]:
        if self.whole is None:
            return simulated_rows(self.model, self.tables, people, source)
        return self.whole.records[source.integers(0, len(self.whole.records), people)]


def truths() -> list[Truth]:
    model = clinic_model()
    found = [Truth("clinic", model, true_tables(model))]
    for name, table in (("insurance", insurance()), ("marriages", marriages())):
        counts = count_records(table.model.network, table.records).cells.astype(np.float64)
        found.append(Truth(name, table.model, _shares(table.model, counts), table))
    return found


def _shares(model: NetworkModel, counts: Array, *, prior: bool = False) -> Array:
    """Of the levels under each configuration; with the prior's concentration added, posterior means. Never empty here."""
    found = np.empty(model.network.cell_count)
    for i, node in enumerate(model.network.nodes):
        part = model.network.cells(i)
        shape = counts[part].reshape(-1, len(node.levels)) + (np.array(node.concentration) if prior else 0.0)
        found[part] = (shape / shape.sum(axis=1, keepdims=True)).ravel()
    return found


def believed(model: NetworkModel, releases: list[NoisyTables], source: np.random.Generator) -> Array:
    """(releases, points, cells), all side by side."""
    first = releases[0]
    pace = count_pace(model.network, first.rows, first.scale, first.moved, POINTS)
    assert pace is not None
    start = [block_posterior(model.network, tables, CHAINS, source)[0] for tables in releases]
    pace = replace(pace, chains=CHAINS, turns=2 * POINTS // CHAINS)
    return CountChains(model.network, releases, pace, source).samples(np.concatenate(start), POINTS)


def measured(
    truth: Truth, people: int, epsilon: float, datasets: int, pgm: PrivatePgm | None
) -> dict[str, list[float]]:
    """Mean absolute errors by way, one for each dataset, and shares of the cells that 90 % intervals hold."""
    source = np.random.default_rng([people, round(1_000 * epsilon), len(truth.name)])
    model, network = truth.model, truth.model.network
    gaussian = NetworkGaussian(1, epsilon, DELTA)
    laplace = largest_noise(lambda e: NetworkLaplace(1, e), model, people, 1, Target(epsilon, DELTA))
    assert isinstance(laplace, NetworkLaplace)
    releases, answers = [], dict[str, list[Array]]()
    for _ in range(datasets):
        counts = count_records(network, truth.records(people, source))
        tables = gaussian.noisy_tables_of(model, people, 1, gaussian.simulated(model, people, 1, counts, source))
        noisy = laplace.simulated(model, people, 1, counts, source).astype(np.float64)
        releases.append(tables)
        answers.setdefault("as counts", []).append(_shares(model, np.clip(noisy, 0, people), prior=True))
        answers.setdefault("one by one", []).append(
            np.median(block_posterior(network, tables, POINTS, source)[0], axis=0)
        )
        if pgm is not None:
            families = [(network.parents(i), i) for i in range(len(network.nodes))]
            levels = [len(node.levels) for node in network.nodes]
            found = pgm.conditional_tables(families, levels, tables.near.tolist(), tables.scale, people)
            answers.setdefault("Private-PGM", []).append(np.array(found))
    points = believed(model, releases, source)
    answers |= {"together": list(np.median(points, axis=1)), "mean": list(points.mean(axis=1))}
    low, high = np.quantile(points, [0.05, 0.95], axis=1)
    errors = {way: [np.abs(each - truth.tables).mean() for each in found] for way, found in answers.items()}
    errors["covers"] = list(((low <= truth.tables) & (truth.tables <= high)).mean(axis=1))
    return {way: [float(f"{each:.4g}") for each in found] for way, found in errors.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=DATASETS)
    parser.add_argument("--people", type=int, nargs="+", default=list(PEOPLE))
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    options = parser.parse_args()
    cells: list[dict[str, Any]] = []
    with ExitStack() as stack:
        python = python_with_mbi()
        pgm = stack.enter_context(PrivatePgm(python)) if python else None
        for truth in truths():
            for people in options.people:
                for epsilon in options.epsilons:
                    errors = measured(truth, people, epsilon, options.datasets, pgm)
                    cells.append({"table": truth.name, "people": people, "epsilon": epsilon, "errors": errors})
                    print("  ".join(marginal_tables.line_of(cells[-1])), flush=True)
    tables = marginal_tables.tables_of(cells)
    print("\n\n".join(tables.values()))
    usual = (options.datasets, tuple(options.people), tuple(options.epsilons)) == (DATASETS, PEOPLE, EPSILONS)
    if usual and pgm is not None:
        setting = {"delta": DELTA, "points": POINTS, **vars(options)}
        body = {"machine": machine("numpy", "statsmodels"), "setting": setting, "cells": cells}
        publish("marginals", body, tables, lambda figure: marginal_tables.plot(figure, cells), (8, 3))


if __name__ == "__main__":
    main()
