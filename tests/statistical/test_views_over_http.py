"""What the service answers over HTTP in either view, against the figures that were worked out before there was a service."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.table_over_http import SETTINGS, measured, settings_in
from tests.api.conftest import started

DATASETS = 120
EXPECTED = {
    (1, 1.0): ((0.03, 0.0, 0.0149), (0.91, 0.062, 0.0149)),
    (1, 0.05): ((0.01, 0.0, 0.050), (0.89, 0.197, 0.050)),
    (5, 1.0): ((0.69, 0.030, 0.0115), (0.91, 0.047, 0.0115)),
    (20, 0.1): ((0.99, 0.134, 0.0138), (0.91, 0.053, 0.0132)),
    (1_000, 0.02): ((0.99, 0.293, 0.0255), (0.90, 0.0447, 0.0110)),
}
"""(share of 90 % intervals that hold θ, mean width, mean error of the mean) from the samples as they are, and calibrated."""


@pytest.mark.deep
@pytest.mark.timeout(3_600)
async def test_both_views_show_what_was_worked_out(tmp_path: Path) -> None:
    """Within 4.5 standard errors of 120 datasets, and what two digits leave open; 30 figures: a false alarm in 4,000 runs.

    An interval of one sample holds nothing but itself, so that .03 and .01, worked out on a grid of truths, are 0 here.
    """
    assert tuple(EXPECTED) == SETTINGS
    async with started(settings_in(tmp_path)) as service:
        found = await measured(service, DATASETS)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(DATASETS)
    for i, setting in enumerate(SETTINGS):
        for view in range(2):
            for figure, rounding in enumerate((0.005, 0.0006, 0.0006)):
                expected = EXPECTED[setting][view][figure]
                floor = 0.04 if figure == 0 and not 0.05 < expected < 0.95 else rounding
                apart = abs(mean[i, view, figure] - expected)
                assert apart <= 4.5 * error[i, view, figure] + floor, (setting, view, figure)
    assert mean[-1, 0, 1] >= 5 * mean[-1, 1, 1]
