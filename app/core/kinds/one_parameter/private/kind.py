"""One column in private groups, a kind of its own: what is measured of it, and by what, differs from the plain one."""

from app.core.decisions.estimands import Askable
from app.core.kinds.groups.estimand import in_group_estimand
from app.core.kinds.kind import CardWords, Kind
from app.core.kinds.mechanism_fields import GaussianMechanism
from app.core.kinds.one_parameter.card import assumes
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.private.audit import audit_groups
from app.core.kinds.one_parameter.private.gaussian import GroupGaussian
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.one_parameter.private.nobody import NobodysGroups
from app.core.kinds.one_parameter.private.plan import PLANNER
from app.core.kinds.one_parameter.private.synthetic import GROUP_ROWS
from app.core.kinds.protocols import MechanismKind
from app.core.statistics.groups import groups_of


def private_kind(askable: Askable) -> Kind:
    """`askable` is what may be asked of a release of one column without groups: each of them may be."""
    return Kind(
        name="one_parameter by private groups",
        families=FAMILIES,
        mechanisms={"gaussian": MechanismKind(GaussianMechanism, GroupGaussian)},
        planner=PLANNER,
        estimands={"group": in_group_estimand(askable)},
        card=CardWords(
            papers_assumption=lambda model, rows: "the papers state none for groups",
            records=_records,
            assumes=lambda model, rows: assumes(model.inner, rows),
            noisy=lambda model, rows: "two noisy numbers of every group, a sum and the number of rows",
        ),
        audit=audit_groups,
        nobody=NobodysGroups(),
        rows=GROUP_ROWS,
        groups=lambda model: [(group, None) for group in groups_of(model.groups.by)],
    )


def _records(model: MeasuredGroups, unit_rows: int) -> int | None:
    """Which group, and where on the lattice; of several rows too many to count."""
    return model.count * (model.inner.statistic.steps + 1) if unit_rows == 1 else None
