"""Linear regression and multivariate normal models: moments on a lattice."""

from app.core.kinds.kind import Kind
from app.core.regression import REGRESSION_FAMILIES, REGRESSION_MECHANISMS

REGRESSION = Kind("regression", REGRESSION_FAMILIES, REGRESSION_MECHANISMS)
