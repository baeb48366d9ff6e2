"""A regression of wages, with coefficients drawn near plausible ones."""

import numpy as np

from app.core.decisions import SampleSet
from tests.core.regression.regression_cases import wage_model

WAGES = wage_model()


def wage_samples(size: int, seed: int = 3) -> SampleSet:
    rng = np.random.default_rng(seed)
    draws = np.array([2.0, 0.9, 0.1, -2.0]) + rng.normal(size=(size, 4)) * [0.5, 0.05, 0.01, 0.3]
    return SampleSet(WAGES.parameters, draws)
