"""Audits of a column in private groups: a person's rows move within a group, to another, or out of all of them."""

from itertools import combinations

from app.core.audits.noise_law import Spy
from app.core.audits.own_mechanism import Effort, noise_certificate
from app.core.audits.verdict import Findings
from app.core.kinds.one_parameter.private.gaussian import GroupGaussian
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.statistics.groups import ExactGroups
from app.core.statistics.sums import ExactStatistic


def audit_groups(
    model: MeasuredGroups, mechanism: GroupGaussian, people: int, unit_rows: int, effort: Effort
) -> Findings:
    """Everybody else is in the last group, at 0: sums and numbers of rows are far from where they would be held."""
    steps = model.inner.statistic.steps
    places: list[tuple[str, int | None, int]] = (
        [("in none", None, 0)] if not model.groups.by or model.groups.where is not None else []
    )
    for group in range(min(model.count, 2)):
        places += [(f"at {end} in group {group}", group, end) for end in (0, steps)]

    def spied(group: int | None, end: int) -> Spy:
        parts = [ExactStatistic(0, people - 1 if at == model.count - 1 else 0) for at in range(model.count)]
        if group is not None:
            parts[group] = ExactStatistic(parts[group].total + unit_rows * end, parts[group].rows + unit_rows)
        spy = Spy()
        mechanism.measure(model, people, unit_rows, ExactGroups(tuple(parts)), spy)
        return spy

    told = [(name, spied(group, end)) for name, group, end in places]
    pairs = [(f"{a} and {b}", before, after) for (a, before), (b, after) in combinations(told, 2)]
    charged = mechanism.cost(model, people, unit_rows).once
    certificate, _ = noise_certificate(pairs, charged, gaussian=True)
    return Findings(certificates=(certificate,), covers=True)
