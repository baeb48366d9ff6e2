"""ArviZ opens netCDF exports and agrees with the summary table. It takes seconds to import, so it has a file of its own."""

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.decisions import SampleSet
from app.core.parameters import Parameter
from app.core.summaries import summarise
from app.services.reading.exports.draws import Draws
from tests.services.export_files import HOSTILE, PLAIN, drawn, from_posterior, matrix_of, receipt_of, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def arviz() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        return arviz


@pytest.mark.parametrize("names", [["theta"], PLAIN, HOSTILE], ids=["one", "plain", "hostile"])
def test_an_export_is_inference_data_with_the_same_bits(arviz: Any, tmp_path: Path, names: list[str]):
    draws = drawn(names, 50)
    file = tmp_path / "draws.nc"
    file.write_bytes(written("netcdf", draws, receipt_of(draws)))
    data = arviz.from_netcdf(str(file))
    found_names, found = from_posterior(data.posterior)
    assert found_names == names
    assert found.tobytes() == matrix_of(draws).tobytes()
    assert data.posterior.attrs["inference_library"] == "postern"


def test_a_summary_is_what_arviz_computes_for_independent_draws(arviz: Any, tmp_path: Path):
    """ArviZ's interval holds ⌊level·k⌋ + 1 draws and ours ⌈level·k⌉: the same unless level·k is whole. Its Monte-Carlo error
    estimates an effective number of draws; independent ones have k, give or take the tenth that estimate is off here."""
    size, level = 1_001, Fraction("0.9")
    values = np.random.default_rng(8).beta(5, 9, (size, 2))
    parameters = [Parameter("a", 0.0, 1.0), Parameter("b", 0.0, 1.0)]
    draws = Draws(SampleSet(parameters, values))
    file = tmp_path / "draws.nc"
    file.write_bytes(written("netcdf", draws, receipt_of(draws)))
    posterior = arviz.from_netcdf(str(file)).posterior
    for number, parameter in enumerate(parameters):
        row = summarise(parameter, values[:, number], level)
        drawn_values = posterior[parameter.name].values
        np.testing.assert_array_equal(arviz.hdi(drawn_values.ravel(), hdi_prob=0.9), row.hdi)
        assert row.mean == pytest.approx(drawn_values.mean(), rel=1e-14)
        assert row.mcse_mean == pytest.approx(float(arviz.mcse(drawn_values)), rel=0.1)
