"""ArviZ takes netCDF exports and agrees with the summary table. It takes seconds to import, so it has a file of its own."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.core.decisions import SampleSet
from app.core.parameters import Parameter
from app.core.summaries import summarise
from app.services.reading.exports.draws import Draws
from postern.client.results.samples import read_samples
from tests.services.export_files import HOSTILE, PLAIN, drawn, from_posterior, matrix_of, receipt_of, written

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("names", [["theta"], PLAIN, HOSTILE], ids=["one", "plain", "hostile"])
def test_an_export_is_the_tree_arviz_takes_with_the_same_bits(tmp_path: Path, names: list[str]):
    import arviz_base
    import xarray

    draws = drawn(names, 50)
    file = tmp_path / "draws.nc"
    file.write_bytes(written("netcdf", draws, receipt_of(draws)))
    with xarray.open_datatree(file) as opened:
        data = arviz_base.convert_to_datatree(opened).load()
    found_names, found = from_posterior(data.posterior)
    assert found_names == names
    assert found.tobytes() == matrix_of(draws).tobytes()
    assert data.posterior.attrs["inference_library"] == "postern"


def test_a_summary_is_what_arviz_computes_for_independent_draws(tmp_path: Path):
    """ArviZ's interval holds ⌊level·k⌋ + 1 draws and ours ⌈level·k⌉: the same unless level·k is whole. Its Monte-Carlo error
    estimates an effective number of draws; independent ones have k, give or take the tenth that estimate is off here."""
    import arviz_stats
    import xarray

    size, level = 1_001, Fraction("0.9")
    values = np.random.default_rng(8).beta(5, 9, (size, 2))
    parameters = [Parameter("a", 0.0, 1.0), Parameter("b", 0.0, 1.0)]
    draws = Draws(SampleSet(parameters, values))
    file = tmp_path / "draws.nc"
    file.write_bytes(written("netcdf", draws, receipt_of(draws)))
    with xarray.open_datatree(file) as opened:
        exported = opened.load()
    receipt = {
        **receipt_of(draws),
        "values_sha256": "",
        "card_sha256": "",
        "ledger": {"id": None, "sequence": 1, "digest": ""},
    }
    taken = read_samples(written("json", draws, receipt)).to_inference_data()
    for tree in (exported, taken):
        intervals, errors = arviz_stats.hdi(tree, prob=0.9), arviz_stats.mcse(tree)
        for number, parameter in enumerate(parameters):
            row = summarise(parameter, values[:, number], level)
            drawn_values = tree.posterior[parameter.name].values
            np.testing.assert_array_equal(intervals[parameter.name].values, row.hdi)
            assert row.mean == pytest.approx(drawn_values.mean(), rel=1e-14)
            assert row.mcse_mean == pytest.approx(float(errors[parameter.name]), rel=0.1)
