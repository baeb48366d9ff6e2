"""How well does a private naive Bayes classify? Accuracy against ε for every mechanism on networks, on synthetic data.

    python examples/networks/naive_bayes_accuracy.py --repeats 100 --folder docs/experiments
    python examples/networks/naive_bayes_accuracy.py --view calibrated --repeats 25 --epsilons 0.3 1 2 5 20

The setting of the papers: 16 binary features, 1,000 examples, 50 of them for training, uniform Beta priors, predictions for
the other 950 by the predictive posterior. Every repeat draws a new truth from the prior, new examples and a new split, so
that no lucky truth decides. Three tables come out of it, or with `--view calibrated` the second one alone, where draws are read
as a measurement of the counts, as the calibrated view of a release does; samples after noise always are:

  pure    every mechanism with the settings that use ε up for a person whose whole record is replaced, δ = 0
  delta   the same at δ = 10⁻⁶
  papers  their sampler, trimmed at ω = e^{−ε/2}: its claim ε = 2·ln(1/ω) is for one draw and one changed feature; beside it,
          what the same 100 draws cost a person whose whole record is replaced, at δ = 10⁻⁶

All randomness is seeded: noise comes from `seeded_noise`, where a release would use OpenDP's.
"""

import argparse
import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.view import View
from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.networks.accuracy import prior_tables, simulated_rows
from app.core.kinds.networks.comparison import fitting_baps, network_alternatives
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkMap, NetworkMechanism
from app.core.kinds.networks.mechanisms.noisy_tables import MeasuresTables
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.privacy.release_cost import EPSILON_MAX
from app.core.privacy.targets import Target, largest_samples
from app.core.schema import parse_columns
from app.core.statistics.counts import ExactCounts

Array = NDArray[np.float64]
Records = NDArray[np.int64]

SEED = 2016
FEATURES, EXAMPLES, TRAINING = 16, 1_000, 50
DELTA = 1e-6
TRIM = 0.02
EPSILONS = (0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1_000.0, 3_000.0)
CLAIMS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0, 20.0)
FREE_SAMPLES = 200
"""Samples that cost nothing: more of them change no curve by more than repeats do."""
PAPERS_DRAWS = 100
KINDS = ("laplace", "fourier", "baps", "map")


@dataclass(frozen=True, slots=True)
class Point:
    """`epsilon` is the target, or the papers' claim; `charged` what the release costs a whole record."""

    table: str
    kind: str
    epsilon: float
    charged: float
    setting: str
    accuracy: float
    error: float


def naive_bayes(features: int, trim: float) -> NetworkModel:
    names = [f"x{i:02}" for i in range(features)]
    columns = parse_columns({name: {"type": "binary"} for name in ("y", *names)})
    return parse_model({"family": "naive_bayes", "class": "y", "features": names, "trim": trim}, columns)


def releases_at(model: NetworkModel, people: int, target: Target) -> dict[str, NetworkMechanism]:
    """The settings of every mechanism that use the target up, from public numbers only."""
    found: dict[str, NetworkMechanism] = {}
    for each in network_alternatives(model, people, 1, target):
        found.setdefault(each.mechanism.kind, each.mechanism)
    noisy = {kind: found[kind].with_samples(FREE_SAMPLES) for kind in ("laplace", "fourier")}
    return noisy | {"baps": hottest_baps(model, people, target), "map": hottest_map(model, people, target)}


def hottest_baps(model: NetworkModel, people: int, target: Target) -> NetworkBaps:
    """One draw, as hot as fits; at τ = 1 as many as fit. `auto` goes by KL and prefers many cool draws, whose mean is
    safely near the prior's and says less about the class."""
    one = fitting_baps(model, people, 1, target, 1)
    return one if one.temperature < 1 else NetworkBaps(largest_samples(one.cost(model, people, 1), target))


def hottest_map(model: NetworkModel, people: int, target: Target) -> NetworkMap:
    """The log-density score is charged by its own curve, less than the ε it is named by: as much as δ allows."""
    low, high = target.epsilon * (1 - 1e-6), EPSILON_MAX
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        if target.fits(NetworkMap(middle).cost(model, people, 1)):
            low = middle
        else:
            high = middle
    return NetworkMap(low)


def draw(
    model: NetworkModel, mechanism: NetworkMechanism, people: int, counts: ExactCounts, generator: np.random.Generator
) -> Array:
    """(samples, cells): the mechanism's own draw, from a seed."""
    if isinstance(mechanism, MeasuresTables):
        measured = mechanism.simulated(model, people, 1, counts, generator)
        return mechanism.infer(model, people, 1, measured, generator.bytes)
    return mechanism.draw(model, people, 1, counts, generator.bytes)


def read(
    model: NetworkModel,
    mechanism: NetworkMechanism,
    people: int,
    counts: ExactCounts,
    generator: np.random.Generator,
    view: View,
) -> Array:
    """What predictions are made from. Samples after noise are of the posterior given the noisy tables in either view."""
    samples = draw(model, mechanism, people, counts, generator)
    if view == "samples" or isinstance(mechanism, MeasuresTables):
        return samples
    return mechanism.belief(model, people, 1, Evidence(samples, None, generator.bytes(8))).points


def predictive(model: NetworkModel, samples: Array, features: Records) -> Array:
    """P(y = 1 | x) ∝ the mean over samples of p(y)·Π p(x_i|y), for every row of features (papers, C.2)."""
    tables = np.log(samples)
    joint = np.empty((2, len(samples), len(features)))
    for y in (0, 1):
        given = tables[:, 2:].reshape(len(samples), -1, 2, 2)[:, :, y, :]
        base = tables[:, y] + given[:, :, 0].sum(axis=1)
        joint[y] = base[:, None] + (given[:, :, 1] - given[:, :, 0]) @ features.T
    joint = np.exp(joint - joint.max(axis=(0, 1))).mean(axis=1)
    return np.asarray(joint[1] / joint.sum(axis=0))


def conjugate(model: NetworkModel, counts: ExactCounts) -> Array:
    """The non-private predictive posterior is that of one sample: all means (α + s)/(α + β + n), untrimmed (papers, C.1)."""
    cells = counts.cells.astype(np.float64).reshape(-1, 2) + 1.0
    return np.asarray((cells / cells.sum(axis=1, keepdims=True)).reshape(1, -1))


@dataclass(frozen=True, slots=True)
class Split:
    counts: ExactCounts
    features: Records
    classes: Records

    def accuracy(self, model: NetworkModel, samples: Array) -> float:
        return float(((predictive(model, samples, self.features) > 0.5) == (self.classes == 1)).mean())


def splits(model: NetworkModel, repeats: int, examples: int, training: int) -> Iterator[Split]:
    uniform = replace(model, trim=1e-6)  # a truth from the uniform prior, whatever the mechanisms trim
    for repeat in range(repeats):
        generator = np.random.default_rng([SEED, repeat])
        rows = simulated_rows(uniform, prior_tables(uniform, generator), examples, generator)
        yield Split(count_records(model.network, rows[:training]), rows[training:, 1:], rows[training:, 0])


def measured(
    model: NetworkModel, mechanism: NetworkMechanism | None, among: Sequence[Split], view: View = "samples"
) -> tuple[float, float]:
    """(mean accuracy, its standard error) of the mechanism, or without one of the non-private predictive posterior."""
    found = []
    for repeat, split in enumerate(among):
        generator = np.random.default_rng([SEED, repeat, 1])
        people = split.counts.rows
        samples = (
            read(model, mechanism, people, split.counts, generator, view)
            if mechanism
            else conjugate(model, split.counts)
        )
        found.append(split.accuracy(model, samples))
    return float(np.mean(found)), float(np.std(found) / math.sqrt(len(found)))


def at_our_epsilon(
    model: NetworkModel, among: Sequence[Split], epsilons: Sequence[float], delta: float, view: View = "samples"
) -> Iterator[Point]:
    people, table = among[0].counts.rows, "delta" if delta else "pure"
    yield Point(table, "non-private", math.inf, math.inf, "", *measured(model, None, among))
    for epsilon in epsilons:
        for kind, mechanism in sorted(releases_at(model, people, Target(epsilon, delta)).items()):
            charged = mechanism.cost(model, people, 1).total.epsilon(delta)
            yield Point(table, kind, epsilon, charged, setting(mechanism), *measured(model, mechanism, among, view))


def at_their_epsilon(features: int, among: Sequence[Split], claims: Sequence[float]) -> Iterator[Point]:
    people = among[0].counts.rows
    for claim in claims:
        model = naive_bayes(features, math.exp(-claim / 2))
        sampler = NetworkBaps(PAPERS_DRAWS)
        charged = sampler.cost(model, people, 1).total.epsilon(DELTA)
        shown = f"{setting(sampler)} trim={model.trim:.3g}"
        yield Point("papers", "sampler", claim, charged, shown, *measured(model, sampler, among))


def setting(mechanism: NetworkMechanism) -> str:
    kept = {name: value for name, value in mechanism.as_json().items() if name in ("samples", "temperature", "epsilon")}
    return " ".join(f"{name}={value:.3g}" for name, value in kept.items())


def show(points: Sequence[Point]) -> None:
    print(f"{'':8}{'':12}{'ε':>8}{'charged':>10}{'accuracy':>10}{'± se':>8}  setting")
    for p in points:
        figures = f"{p.epsilon:>8g}{p.charged:>10.4g}{p.accuracy:>10.3f}{p.error:>8.3f}"
        print(f"{p.table:8}{p.kind:12}{figures}  {p.setting}")


def write_csv(path: Path, points: Sequence[Point]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Point))
        for p in points:
            figures = f"{p.epsilon:g}", f"{p.charged:.6g}", p.setting, f"{p.accuracy:.5f}", f"{p.error:.5f}"
            writer.writerow([p.table, p.kind, *figures])


def plot(path: Path, points: Sequence[Point]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "postern", "svg.fonttype": "none", "xtick.minor.size": 0}
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
    for panel, table in zip(panels, ("pure", "delta"), strict=False):
        for kind in KINDS:
            line = [p for p in points if (p.table, p.kind) == (table, kind)]
            panel.errorbar(*zip(*((p.charged, p.accuracy, p.error) for p in line), strict=True), label=kind, marker=".")
    theirs = [p for p in points if p.table == "papers"]
    panels[2].plot([p.epsilon for p in theirs], [p.accuracy for p in theirs], "o-", label="their sampler at its claim")
    panels[2].plot(
        [p.charged for p in theirs], [p.accuracy for p in theirs], "s--", label="the same draws, whole record"
    )
    laplace = [p for p in points if (p.table, p.kind) == ("delta", "laplace")]
    panels[2].plot([p.charged for p in laplace], [p.accuracy for p in laplace], ":", label="laplace, whole record")
    best = next(p for p in points if p.kind == "non-private")
    names = (
        "pure ε of a whole record",
        "ε of a whole record, δ = 10⁻⁶",
        "ε as claimed for one feature and one draw; δ = 10⁻⁶",
    )
    for panel, name in zip(panels, names, strict=True):
        panel.axhline(best.accuracy, color="black", linewidth=0.8, label="non-private")
        panel.set(xscale="log", xlabel=name, ylim=(0.45, 1.0))
        panel.legend(frameon=False, fontsize=8, loc="lower right")
    panels[0].set(ylabel=f"accuracy on {EXAMPLES - TRAINING} unseen examples")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--view", choices=get_args(View), default="samples")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    given = parser.parse_args()
    model = naive_bayes(FEATURES, TRIM)
    among = list(splits(model, given.repeats, EXAMPLES, TRAINING))
    if given.view == "calibrated":
        calibrated = list(at_our_epsilon(model, among, given.epsilons, DELTA, given.view))
        show(calibrated)
        given.folder.mkdir(parents=True, exist_ok=True)
        write_csv(given.folder / "naive_bayes_calibrated.csv", calibrated)
        return
    ours = [point for delta in (0.0, DELTA) for point in at_our_epsilon(model, among, given.epsilons, delta)]
    points = [*ours, *at_their_epsilon(FEATURES, among, CLAIMS)]
    show(points)
    given.folder.mkdir(parents=True, exist_ok=True)
    write_csv(given.folder / "naive_bayes_accuracy.csv", points)
    try:
        plot(given.folder / "naive_bayes_accuracy.svg", points)
    except ImportError:
        print("no plot: `pip install -e '.[examples]'` brings matplotlib")


if __name__ == "__main__":
    main()
