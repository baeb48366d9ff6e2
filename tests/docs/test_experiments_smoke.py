"""The papers' two experiments, small: the scripts run, and what docs/experiments.md says of the full runs is in their tables."""

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from app.core.kinds.networks.evidence.compiled import CompiledLaw
from app.core.privacy.targets import Target
from examples.networks import naive_bayes_accuracy as naive
from examples.regression import private_wages as wages
from tests.deep import deep

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows_of(name: str) -> list[dict[str, str]]:
    with (DOCS / "experiments" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def small() -> tuple[naive.NetworkModel, list[naive.Split]]:
    model = naive.naive_bayes(3, 0.1)
    return model, list(naive.splits(model, repeats=3, examples=120, training=8))


@pytest.mark.deep
@pytest.mark.parametrize("delta", [deep(0.0), 1e-6])
def test_every_mechanism_stays_within_the_epsilon_it_is_drawn_at(
    small: tuple[naive.NetworkModel, list[naive.Split]], delta: float
) -> None:
    points = list(naive.at_our_epsilon(*small, (2.0,), delta))
    private = [p for p in points if p.kind != "non-private"]
    assert sorted(p.kind for p in private) == sorted(naive.KINDS)
    assert all(0.5 * p.epsilon < p.charged <= p.epsilon for p in private)


def test_one_samples_prediction_is_the_law_elimination_finds(
    small: tuple[naive.NetworkModel, list[naive.Split]],
) -> None:
    model, (split, *_) = small
    samples = naive.prior_tables(model, np.random.default_rng(7))[None, :]
    found = naive.predictive(model, samples, split.features[:8])
    for value, features in zip(found, split.features[:8], strict=True):
        evidence = tuple((1 + i, (int(level),)) for i, level in enumerate(features))
        assert value == pytest.approx(
            CompiledLaw(model.network, 0, evidence).probabilities(list(samples.T))[1, 0], abs=1e-12
        )


def test_the_prediction_of_many_samples_is_that_of_their_mean_joint_law(
    small: tuple[naive.NetworkModel, list[naive.Split]],
) -> None:
    model, (split, *_) = small
    samples = np.stack([naive.prior_tables(model, np.random.default_rng(seed)) for seed in range(5)])
    features = split.features[0]
    joint = [0.0, 0.0]
    for tables in samples:
        for y in (0, 1):
            joint[y] += tables[y] * math.prod(tables[2 + 4 * i + 2 * y + x] for i, x in enumerate(features.tolist()))
    assert naive.predictive(model, samples, features[None, :])[0] == pytest.approx(joint[1] / sum(joint), rel=1e-12)


def test_the_papers_sampler_costs_a_record_more_than_they_claim(
    small: tuple[naive.NetworkModel, list[naive.Split]],
) -> None:
    (point,) = naive.at_their_epsilon(3, small[1][:1], (4.0,))
    assert point.charged > 10 * point.epsilon


@pytest.fixture(scope="module")
def people() -> wages.Table:
    """A made-up table with the columns of the census, all inside their public bounds."""
    generator = np.random.default_rng(11)
    educ, exper = generator.integers(9, 17, 6_000).astype(float), generator.integers(3, 45, 6_000).astype(float)
    income = 4.9 + 0.1 * educ + 0.03 * exper - 0.0004 * exper**2 + generator.normal(0, 0.5, 6_000)
    return {"lweekinc": np.clip(income, 3, 10), "educ": educ, "exper": exper, "expersq": exper**2}


def test_ridge_with_hardly_a_prior_is_least_squares(people: wages.Table) -> None:
    (split,) = wages.splits(people, 1, 5_000)
    order = np.random.default_rng([wages.SEED, 0]).permutation(6_000)[:5_000]
    design = np.column_stack([np.ones(5_000), *(people[name][order] for name in wages.FEATURES)])
    expected, *_ = np.linalg.lstsq(design, people["lweekinc"][order])
    found = wages.ridge(wages.linear_model(1e-6, 1.0), split.moments)
    np.testing.assert_allclose(design @ found, design @ expected, atol=2e-4)


def test_both_regressions_stay_within_epsilon_and_learn_something(people: wages.Table) -> None:
    among = list(wages.splits(people, 2, 5_000))
    points = list(wages.against_epsilon(among, (5.0,)))
    assert sorted(p.kind for p in points) == ["baps", "perturbed_statistics"]
    assert all(p.charged <= 5.0 for p in points)
    spread = float(np.mean([split.test["lweekinc"].var() for split in among]))
    assert min(p.mse for p in points) < 0.95 * spread
    assert set(wages.ratios(among)) == {"baps", "perturbed_statistics"}


def test_the_hottest_draw_fits_and_a_hotter_one_does_not(people: wages.Table) -> None:
    model, target = wages.linear_model(1.0, 1.0), Target(1.0, 1e-6)
    found = wages.sampler_at(model, 5_000, target)
    assert target.fits(found.cost(model, 5_000, 1))
    assert not target.fits(wages.RegressionBaps(1, found.temperature * 1.01).cost(model, 5_000, 1))


def test_the_published_figure_shows_every_mechanism_reaching_the_non_private_accuracy() -> None:
    rows = [row for row in rows_of("naive_bayes_accuracy.csv") if row["table"] == "delta"]
    accuracy = {(row["kind"], float(row["epsilon"])): float(row["accuracy"]) for row in rows}
    best = accuracy["non-private", math.inf]
    assert all(accuracy[kind, max(naive.EPSILONS)] > best - 0.005 for kind in naive.KINDS)
    assert all(accuracy[kind, 0.1] < 0.6 for kind in naive.KINDS)


def test_the_document_quotes_the_accuracies_of_its_table() -> None:
    text = (DOCS / "experiments.md").read_text(encoding="utf-8")
    rows = rows_of("naive_bayes_accuracy.csv")
    found = {(row["table"], row["kind"], float(row["epsilon"])): f"{float(row['accuracy']):.3f}" for row in rows}
    for epsilon in naive.EPSILONS:
        cells = [found[table, kind, epsilon] for table in ("pure", "delta") for kind in naive.KINDS]
        assert f"\n| {epsilon:g} | {' | '.join(cells)} |\n" in text
    for claim in naive.CLAIMS:
        assert re.search(rf"\n\| {claim:g} \| [\d.]+ % \| {found['papers', 'sampler', claim]} \|", text)


def test_the_document_quotes_the_errors_of_its_table() -> None:
    text = (DOCS / "experiments.md").read_text(encoding="utf-8")
    rows = rows_of("private_wages.csv")
    kinds = ("ridge", "perturbed_statistics", "baps", "papers' sampler")
    for precision in wages.PRECISIONS:
        own = {row["kind"]: row for row in rows if row["table"] == "precision" and float(row["precision"]) == precision}
        figures = " | ".join(f"{float(own[kind]['mse']):.3f}" for kind in kinds)
        assert f"\n| {precision:,g} | {figures} |" in text
    along = [row for row in rows if row["table"] == "epsilon"]
    for noisy, drawn in zip(along[::2], along[1::2], strict=True):
        figures = f"{float(noisy['mse']):.3f} | {float(drawn['mse']):.3f}"
        assert f"\n| {float(noisy['charged']):.2g} | {figures} |\n" in text


def test_laplace_is_ahead_at_small_pure_epsilon_in_the_published_figure() -> None:
    """Against the samplers, by more than three standard errors of the difference."""
    rows = [row for row in rows_of("naive_bayes_accuracy.csv") if row["table"] == "pure"]
    point = {(row["kind"], float(row["epsilon"])): (float(row["accuracy"]), float(row["error"])) for row in rows}
    for epsilon in (2.0, 5.0, 10.0):
        best, spread = point["laplace", epsilon]
        for kind in ("baps", "map"):
            accuracy, error = point[kind, epsilon]
            assert best - accuracy > 3 * math.hypot(spread, error)
