"""Tables, curves, draws, files and receipts through the client, against a real service."""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from postern.client import (
    Curve,
    Histogram,
    JointHistogram,
    Misconfigured,
    NotAllowed,
    NotFound,
    digest_of_card,
    load_samples,
)
from tests.client.conftest import Opener
from tests.client.served_place import Trial


def test_draws_and_summary_agree_with_each_other_and_with_questions(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release).in_view("samples")
    draws = list(release.samples()["theta"])
    assert len(draws) == 8
    row = release.summary(level=0.5)["theta"]
    assert row.mean == float(release.mean("theta")) == pytest.approx(statistics.fmean(draws), rel=1e-14)
    assert row.sd == pytest.approx(statistics.stdev(draws))
    assert row.mcse_mean == pytest.approx(statistics.stdev(draws) / 8**0.5)
    assert row.median == sorted(draws)[3]
    assert row.hdi[1] - row.hdi[0] == min(b - a for a, b in zip(sorted(draws), sorted(draws)[3:], strict=False))


def test_a_steward_reads_all_draws_and_an_analyst_a_prefix_of_them(analyst: Any, steward: Any, trial: Trial) -> None:
    few, all_of_them = (who.release(trial.network).in_view("samples").samples() for who in (analyst, steward))
    assert (len(few), len(all_of_them)) == (8, 10)
    np.testing.assert_array_equal(few.to_numpy(), all_of_them.to_numpy()[:8])
    with pytest.raises(KeyError):
        few["nothing"]


def test_some_parameters_come_in_the_order_asked_for(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.network)
    names = ["cured=true|arm=drug", "arm=drug"]
    samples = release.samples(names)
    assert samples.parameters == tuple(names) == samples.receipt.parameters
    assert [row.parameter for row in release.summary(names)] == names


@pytest.mark.parametrize("suffix", [".json", ".csv", ".arrow", ".parquet", ".nc"])
def test_a_file_read_back_verifies_and_a_changed_one_does_not(
    analyst: Any, trial: Trial, tmp_path: Path, suffix: str
) -> None:
    release = analyst.release(trial.network)
    file = release.export(tmp_path / f"draws{suffix}")
    assert file.stat().st_mode & 0o077 == 0
    loaded, held = load_samples(file), release.samples()
    assert loaded == held
    found = release.verify_receipt(loaded)
    assert found
    assert (found.release, found.card, found.values, found.ledger) == (True, True, True, None)
    loaded.flat[3] = np.nextafter(loaded.flat[3], 1.0)
    assert release.verify_receipt(loaded).values is False
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_synthetic_rows_are_the_same_for_the_same_seed_in_a_file_of_the_named_kind(
    analyst: Any, trial: Trial, tmp_path: Path
) -> None:
    release = analyst.release(trial.release)
    first, again, other = (release.synthetic(tmp_path / f"{n}.csv", rows=30, seed=n // 2) for n in (0, 1, 2))
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    header, *rows = first.read_text().splitlines()
    assert (header, len(rows), {*rows}) == ('"cured"', 30, {"true", "false"})
    assert release.synthetic(tmp_path / "rows.parquet", rows=3).read_bytes()[:4] == b"PAR1"
    with pytest.raises(Misconfigured, match=r"\.csv, \.parquet"):
        release.synthetic(tmp_path / "rows.json")


def test_receipts_are_checked_against_card_and_ledger(analyst: Any, steward: Any, trial: Trial) -> None:
    release = steward.release(trial.release)
    receipt = analyst.release(trial.release).samples().receipt
    assert release.verify_receipt(receipt, ledger=True).ledger is True
    assert release.verify_receipt(replace(receipt, card_sha256="0" * 64)).card is False
    moved = replace(receipt, ledger=replace(receipt.ledger, sequence=receipt.ledger.sequence + 1))
    assert not release.verify_receipt(moved, ledger=True)
    assert not steward.release(trial.network).verify_receipt(receipt)
    with pytest.raises(NotAllowed):
        analyst.release(trial.release).verify_receipt(receipt, ledger=True)


def test_the_cards_digest_is_what_anyone_computes_from_its_figures(analyst: Any, trial: Trial) -> None:
    card = analyst.release(trial.release).card()
    assert card.digest == card.recomputed_digest == digest_of_card(card.figures | {"status": "x", "digest": "y"})
    assert digest_of_card(card.figures | {"epsilon": card.epsilon / 2}) != card.digest
    assert card.lines[0].text in str(card)


def test_every_conversion_holds_the_same_numbers_and_the_receipt(analyst: Any, trial: Trial) -> None:
    samples = analyst.release(trial.network).in_view("samples").samples()
    values, receipt = samples.to_numpy(), samples.receipt.to_json()
    assert values.shape == (8, len(samples.parameters))
    pandas = samples.to_pandas()
    np.testing.assert_array_equal(pandas.to_numpy(), values)
    assert pandas.attrs["postern_receipt"] == receipt
    assert list(pandas.columns) == list(samples.parameters)
    polars = samples.to_polars()
    np.testing.assert_array_equal(polars.to_numpy(), values)
    arrow = samples.to_arrow()
    assert arrow.column_names == list(samples.parameters)
    assert json.loads(arrow.schema.metadata[b"postern_receipt"]) == receipt
    xarray = samples.to_xarray()
    assert xarray["arm=drug"].dims == ("chain", "draw")
    np.testing.assert_array_equal(xarray["arm=drug"].values[0], samples["arm=drug"])
    assert json.loads(xarray.attrs["postern_receipt"]) == receipt
    table = analyst.release(trial.network).summary().to_pandas()
    assert list(table.index) == list(samples.parameters)
    assert table.attrs["postern_receipt"][0]["release"] == trial.network


def test_inference_data_is_a_tree_of_xarray_with_the_group_posterior(trial: Trial) -> None:
    with trial.place.steward() as steward:
        samples = steward.release(trial.network).in_view("samples").samples()
    data = samples.to_inference_data()
    assert isinstance(data, xarray.DataTree)
    assert list(data.children) == ["posterior"]
    assert data.attrs == data.posterior.attrs
    assert data.posterior.sizes == {"chain": 1, "draw": 10}
    assert json.loads(data.posterior.attrs["postern_receipt"]) == samples.receipt.to_json()
    np.testing.assert_array_equal(data.posterior["arm=drug"].values[0], samples["arm=drug"])


@pytest.mark.parametrize("name", ["draw", "chain", "one/half"])
def test_names_that_a_tree_does_not_allow_stand_in_a_coordinate(trial: Trial, name: str) -> None:
    with trial.place.steward() as steward:
        samples = steward.release(trial.release).samples()
    found = replace(samples, parameters=(name,)).to_inference_data().posterior
    assert list(found.data_vars) == ["parameters"]
    np.testing.assert_array_equal(found["parameters"].sel(parameter=name).values[0], samples["theta"])


def test_series_to_plot_count_every_draw(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.network).in_view("samples")
    histogram = release.density("arm=drug", bins=20)
    assert isinstance(histogram, Histogram)
    assert sum(histogram.counts) == 8
    assert len(histogram.edges) == 21
    curve = release.density("arm=drug", kind="density", bins=40)
    assert isinstance(curve, Curve)
    assert len(curve.x) == len(curve.y) == 40
    joint = release.density(["arm=drug", "cured=true|arm=drug"], bins=5)
    assert isinstance(joint, JointHistogram)
    assert sum(map(sum, joint.counts)) == 8


def test_a_file_that_cannot_be_had_leaves_nothing_behind(opened: Opener, trial: Trial, tmp_path: Path) -> None:
    with opened(trial.place.url, trial.analyst_key) as client:
        release = client.release(trial.release)
        with pytest.raises(Misconfigured):
            release.export(tmp_path / "draws.xlsx")
        with pytest.raises(NotFound):
            client.release("rel_none")
        with pytest.raises(Exception, match="parameter"):
            release.export(tmp_path / "draws.csv", parameters=["no such thing"])
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else_is_named_so(tmp_path: Path) -> None:
    for name in ("a.json", "a.csv", "a.parquet", "a.arrow"):
        (tmp_path / name).write_bytes(b"cured\n1\n")
        with pytest.raises(Misconfigured, match=name):
            load_samples(tmp_path / name)
