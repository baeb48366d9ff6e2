"""Rows by public strata: those of the model again, strata in proportion to their public numbers of people.

With private groups inside, the rows of a stratum are shared out by what its noisy numbers of rows imply. Where these groups leave
rows out, by a condition or because a value is missing, how many are left is taken from the noisy numbers too.
"""

from collections.abc import Sequence

from app.core.kinds.groups.mechanism import Stratified
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.synthetic import Known, RowLaw
from app.core.statistics.groups import GroupedRequest


def stratified_rows(inner: RowLaw) -> RowLaw:
    def weights(model: StratifiedModel, known: Known) -> tuple[float, ...]:
        mechanism: Stratified = known.mechanism
        found: list[float] = []
        for people, measured in zip(model.people, mechanism.parts(model, known.measured), strict=True):
            if people == 0:
                found += [0.0] * (len(model.inner.parameters) // inner.width(model.inner))
                continue
            own = inner.weights(model.inner, Known(mechanism.inner, people, known.unit_rows, measured, known.columns))
            found += _shared(own, people) if _holds_everybody(model) else own
        return tuple(found)

    return RowLaw(
        names=lambda model: inner.names(model.inner),
        work=lambda model: inner.work(model.inner),
        width=lambda model: inner.width(model.inner),
        weights=weights,
        draw=lambda model, sketch: inner.draw(model.inner, sketch),
        refused=lambda model: inner.refused(model.inner),
        note=lambda model: inner.note(model.inner),
    )


def _shared(own: Sequence[float], people: int) -> list[float]:
    return [people * each / sum(own) for each in own]


def _holds_everybody(model: StratifiedModel) -> bool:
    """Whether every person of a stratum is in one of its groups."""
    asked = model.inner.statistic
    return not isinstance(asked, GroupedRequest) or (asked.where is None and not asked.present)
