"""Audits of regressions in private groups: a person's rows change where they are, or go to another group."""

import numpy as np

from app.core.audits.noise_law import Spy
from app.core.audits.own_mechanism import Effort, noise_certificate
from app.core.audits.verdict import Findings
from app.core.kinds.regression.audits.moments import moment_neighbours
from app.core.kinds.regression.private.mechanism import GroupPerturbedStatistics
from app.core.kinds.regression.private.model import MeasuredRegressions
from app.core.statistics.groups import ExactGroups
from app.core.statistics.moments import ExactMoments


def audit_regressions(
    model: MeasuredRegressions, mechanism: GroupPerturbedStatistics, people: int, unit_rows: int, effort: Effort
) -> Findings:
    """Only the person's own rows differ from nothing; sums of nobody are what they are in an empty group."""
    empty = model.inner.statistic.of_no_rows()

    def spied(*held: ExactMoments) -> Spy:
        parts = [*held, *([empty] * (model.count - len(held)))]
        spy = Spy()
        mechanism.measure(model, people, unit_rows, ExactGroups(tuple(parts)), spy)
        return spy

    pairs = []
    for name, before, after in moment_neighbours(model.inner, 1, unit_rows):
        first, second = _rows(before, unit_rows), _rows(after, unit_rows)
        pairs.append((name, spied(first), spied(second)))
        if model.count > 1:
            pairs.append((f"{name}, in another group", spied(first), spied(empty, second)))
        else:
            pairs.append((f"{name}, out of the group", spied(first), spied(empty)))
    charged = mechanism.cost(model, people, unit_rows).once
    certificate, _ = noise_certificate(pairs, charged, gaussian=True)
    return Findings(certificates=(certificate,), covers=True)


def _rows(moments: ExactMoments, rows: int) -> ExactMoments:
    return ExactMoments(
        np.array(moments.products), np.array(moments.cross), moments.square, np.array(moments.sums), rows
    )
