"""Regressions in private groups, a kind of its own: what is measured of them, and by what, differs from the plain one."""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands import Askable
from app.core.kinds.groups.estimand import in_group_estimand
from app.core.kinds.kind import CardWords, Kind
from app.core.kinds.mechanism_fields import GaussianMechanism
from app.core.kinds.protocols import Family, MechanismKind
from app.core.kinds.regression.card import assumes
from app.core.kinds.regression.mechanisms.moment_noise import PerturbedStatisticsMechanism
from app.core.kinds.regression.nobody import NobodysRegressions
from app.core.kinds.regression.private.audit import audit_regressions
from app.core.kinds.regression.private.mechanism import GroupPerturbedStatistics
from app.core.kinds.regression.private.plan import PLANNER
from app.core.kinds.regression.synthetic import GROUP_ROWS
from app.core.statistics.groups import groups_of


def private_regression_kind(families: Mapping[str, Family[Any]], askable: Askable) -> Kind:
    """`askable` is what may be asked of a regression without groups: each of them may be."""
    return Kind(
        name="regression by private groups",
        families=families,
        mechanisms={
            "perturbed_statistics": MechanismKind(PerturbedStatisticsMechanism, GroupPerturbedStatistics),
            "gaussian": MechanismKind(GaussianMechanism, GroupPerturbedStatistics),
        },
        planner=PLANNER,
        estimands={"group": in_group_estimand(askable)},
        card=CardWords(
            papers_assumption=lambda model, rows: "the papers state none for groups",
            records=lambda model, rows: None,
            assumes=lambda model, rows: assumes(model.inner, rows),
            noisy=lambda model, rows: "noisy numbers of every group, the number of its rows among them",
        ),
        nobody=NobodysRegressions(),
        rows=GROUP_ROWS,
        audit=audit_regressions,
        groups=lambda model: [(group, None) for group in groups_of(model.groups.by)],
    )
