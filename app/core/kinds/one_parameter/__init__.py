"""One column, one parameter, one sum: exponential families on a public grid."""

from app.core.decisions.estimands import EstimandKind
from app.core.kinds.kind import Kind, MeasuredKind
from app.core.kinds.one_parameter import plan
from app.core.kinds.one_parameter.audits.column import audit_column
from app.core.kinds.one_parameter.card import CARD
from app.core.kinds.one_parameter.estimands import PredictiveSpec, parse_predictive
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.fit.verdict import CHECK
from app.core.kinds.one_parameter.mechanisms import MECHANISMS
from app.core.kinds.one_parameter.private.kind import private_kind
from app.core.kinds.one_parameter.private.model import MeasuredGroups, measured_groups
from app.core.kinds.one_parameter.private.nobody import NobodysColumn
from app.core.kinds.one_parameter.private.synthetic import COLUMN_ROWS

ONE_PARAMETER = Kind(
    name="one_parameter",
    families=FAMILIES,
    mechanisms=MECHANISMS,
    planner=plan.PLANNER,
    estimands={"predictive": EstimandKind(PredictiveSpec, parse_predictive)},
    card=CARD,
    check=CHECK,
    nobody=NobodysColumn(),
    private=measured_groups,
    measured=MeasuredKind(lambda model: isinstance(model, MeasuredGroups), private_kind),
    audit=audit_column,
    rows=COLUMN_ROWS,
)
