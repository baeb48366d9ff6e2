"""Linear regression and multivariate normal models: exact moments on a lattice, then noise or posterior draws (PRIVACY §5).

To add a model: a file like `model.py`, a line in REGRESSION_FAMILIES, and its part in the mechanisms below that serve it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.regression.baps import RegressionBaps, parse_regression_baps
from app.core.regression.mean_model import MeanModel, parse_mvn_mean
from app.core.regression.model import LinearModel, parse_linear_regression
from app.core.regression.moments import ExactMoments, MomentsRequest
from app.core.regression.perturbed_statistics import PerturbedStatistics, RegressionModel, parse_perturbed_statistics
from app.core.regression.precision_model import PrecisionMatrixModel, parse_normal_precision_matrix
from app.core.schema import Column

RegressionMechanism = PerturbedStatistics | RegressionBaps

REGRESSION_FAMILIES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Column]], RegressionModel]] = {
    "linear_regression": parse_linear_regression,
    "mvn_mean": parse_mvn_mean,
    "normal_precision_matrix": parse_normal_precision_matrix,
}

REGRESSION_MECHANISMS: dict[str, Callable[[Mapping[str, Any]], RegressionMechanism]] = {
    "perturbed_statistics": parse_perturbed_statistics,
    "baps": parse_regression_baps,
}


__all__ = [
    "REGRESSION_FAMILIES",
    "REGRESSION_MECHANISMS",
    "ExactMoments",
    "LinearModel",
    "MeanModel",
    "MomentsRequest",
    "PerturbedStatistics",
    "PrecisionMatrixModel",
    "RegressionBaps",
    "RegressionMechanism",
    "RegressionModel",
]
