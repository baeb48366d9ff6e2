"""A release by public strata, of any kind of model: every kind again, on disjoint people."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.audits.own_mechanism import Effort
from app.core.audits.verdict import Findings, together
from app.core.decisions.estimands import Askable
from app.core.kinds.belief import Belief
from app.core.kinds.groups.estimand import in_group_estimand
from app.core.kinds.groups.mechanism import Stratified, stratified
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.groups.parsing import group_columns, grouped_model, read_where, split_columns
from app.core.kinds.groups.planner import StratifiedPlanner
from app.core.kinds.groups.synthetic import stratified_rows
from app.core.kinds.kind import CardWords, Kind, Nobody
from app.core.kinds.protocols import MechanismKind, ReleaseMechanism
from app.core.parameters import Group
from app.errors import InvalidModel

SIZES_AUDITED = 4


def stratified_kind(inner: Kind, askable: Askable) -> Kind:
    """`askable` is what may be asked of a release of that kind without strata: each of them may be."""
    nobody = inner.nobody or _Refused()
    mechanisms = {
        name: MechanismKind(each.spec, _wrapping(each.mechanism, nobody), each.plan_spec)
        for name, each in inner.mechanisms.items()
    }
    return Kind(
        name=f"{inner.name} by strata",
        families=inner.families,
        mechanisms=mechanisms,
        planner=StratifiedPlanner(inner, nobody).planner(),
        estimands={"group": in_group_estimand(askable)},
        card=CardWords(
            papers_assumption=lambda model, rows: inner.card.papers_assumption(model.inner, rows),
            records=lambda model, rows: inner.card.records(model.inner, rows),
            assumes=lambda model, rows: inner.card.assumes(model.inner, rows),
            noisy=lambda model, rows: f"{inner.card.noisy(model.inner, rows)} of every stratum",
        ),
        audit=partial(_audited, inner),
        groups=lambda model: _groups(model, inner),
        rows=None if inner.rows is None else stratified_rows(inner.rows),
    )


def _groups(model: StratifiedModel, inner: Kind) -> list[tuple[Group, int | None]]:
    inside = inner.groups(model.inner)
    if not inside:
        return [(stratum.group, stratum.people) for stratum in model.strata()]
    return [(model.ordered((*stratum.group, *group)), people) for stratum in model.strata() for group, people in inside]


def _audited(
    inner: Kind, model: StratifiedModel, mechanism: Stratified, people: int, unit_rows: int, effort: Effort
) -> Findings:
    """Every stratum is charged the dearest of them; of many sizes the smallest, the largest and some between are looked at."""
    if inner.audit is None:
        return Findings(reasons=("nothing audits this kind of model",))
    places = sorted({round(i * (len(model.sizes) - 1) / (SIZES_AUDITED - 1)) for i in range(SIZES_AUDITED)})
    audit, share = inner.audit, replace(effort, points=effort.points // len(places))
    return together([audit(model.inner, mechanism.inner, model.sizes[i], unit_rows, share) for i in places])


def _wrapping(build: Callable[..., ReleaseMechanism], nobody: Nobody) -> Callable[..., Stratified]:
    return partial(_built, build, nobody)


def _built(build: Callable[..., ReleaseMechanism], nobody: Nobody, /, **settings: Any) -> Stratified:
    return stratified(build(**settings), nobody)


class _Refused:
    """For kinds whose prior nobody can draw from here: parsing has refused strata without people before."""

    def samples(self, model: Any, samples: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.float64]:
        raise InvalidModel("by", "strata with people in them")

    def belief(self, model: Any, seed: bytes) -> Belief:
        raise InvalidModel("by", "strata with people in them")


__all__ = ["StratifiedModel", "group_columns", "grouped_model", "read_where", "split_columns", "stratified_kind"]
