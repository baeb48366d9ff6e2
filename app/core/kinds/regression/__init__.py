"""Linear regression and multivariate normal models: exact moments on a lattice, then noise or posterior draws (PRIVACY §5).

To add a model: a file like `model.py`, a line in REGRESSION_FAMILIES, and its part in the mechanisms that serve it.
"""

from app.core.kinds.kind import Kind, MeasuredKind
from app.core.kinds.protocols import Family
from app.core.kinds.regression import plan
from app.core.kinds.regression.audits.moments import audit_moments
from app.core.kinds.regression.card import CARD
from app.core.kinds.regression.estimands import REGRESSION_ESTIMANDS
from app.core.kinds.regression.mean_model import MvnMeanModel, build_mvn_mean
from app.core.kinds.regression.mechanisms import REGRESSION_MECHANISMS, RegressionModel
from app.core.kinds.regression.model import LinearRegressionModel, build_linear_regression
from app.core.kinds.regression.nobody import NobodysRegression
from app.core.kinds.regression.normal_model import NormalModel, build_normal
from app.core.kinds.regression.precision_model import NormalPrecisionMatrixModel, build_normal_precision_matrix
from app.core.kinds.regression.private.kind import private_regression_kind
from app.core.kinds.regression.private.model import MeasuredRegressions, measured_regressions
from app.core.kinds.regression.synthetic import REGRESSION_ROWS

REGRESSION_FAMILIES: dict[str, Family[RegressionModel]] = {
    "linear_regression": Family(LinearRegressionModel, build_linear_regression),
    "normal": Family(NormalModel, build_normal),
    "mvn_mean": Family(MvnMeanModel, build_mvn_mean),
    "normal_precision_matrix": Family(NormalPrecisionMatrixModel, build_normal_precision_matrix),
}

REGRESSION = Kind(
    name="regression",
    families=REGRESSION_FAMILIES,
    mechanisms=REGRESSION_MECHANISMS,
    planner=plan.PLANNER,
    estimands=REGRESSION_ESTIMANDS,
    card=CARD,
    nobody=NobodysRegression(),
    audit=audit_moments,
    private=measured_regressions,
    measured=MeasuredKind(
        lambda model: isinstance(model, MeasuredRegressions),
        lambda askable: private_regression_kind(REGRESSION_FAMILIES, askable),
    ),
    rows=REGRESSION_ROWS,
)
