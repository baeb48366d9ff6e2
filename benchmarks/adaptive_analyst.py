"""An analyst who looks for groups of people: every question depends on the answers so far, and none is asked twice.

She knows the size of her group (everybody at first), asks how probable some variable is in it, P(v | group), and narrows the
group by that variable; to a level drawn at random, or to the other if the answers say that fewer than `SMALLEST` of all people
would be left. Then she asks how large the narrowed group is, a conjunction P(group and v). Below `SMALLEST`, or at
`GROUP_MAX` variables, she begins again with everybody. Half of her questions are conditional and half conjunctions, until the
conjunctions run out; a marginal is a conjunction of one. What she knows she does not ask again, so remembering answers helps
nobody. Small groups, of which noisy counts say least, are left out: that favours the one who answers by noisy counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.clinic_network import Literal

SMALLEST = 0.05
GROUP_MAX = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """P(all of `event` | all of `given`); both sorted."""

    event: tuple[Literal, ...]
    given: tuple[Literal, ...] = ()

    @property
    def conditional(self) -> bool:
        return bool(self.given)


def interview(
    respond: Callable[[Asked], float], questions: int, variables: int, generator: np.random.Generator
) -> list[Asked]:
    """The questions asked, in order. `respond` is called once for each, before the next is chosen."""
    known: dict[Asked, float] = {}

    def ask(event: tuple[Literal, ...], given: tuple[Literal, ...] = ()) -> float:
        question = Asked(event, given)
        if question not in known and len(known) < questions:
            known[question] = respond(question)
        return known.get(question, 0.0)

    group: tuple[Literal, ...] = ()
    size = 1.0
    while len(known) < questions:
        used = {variable for variable, _ in group}
        open_ = [v for v in range(variables) if v not in used]
        variable = open_[generator.integers(len(open_))]
        share = ask(((variable, True),), group)
        level = bool(generator.integers(2))
        if size * (share if level else 1 - share) < SMALLEST:
            level = not level
        group = tuple(sorted((*group, (variable, level))))
        size = _known_size(ask, group)
        if size < SMALLEST or len(group) == GROUP_MAX:
            group, size = (), 1.0
    return list(known)


def _known_size(ask: Callable[[tuple[Literal, ...]], float], group: tuple[Literal, ...]) -> float:
    """A group of one variable is known from its marginal: P(false) = 1 − P(true)."""
    if len(group) > 1:
        return ask(group)
    ((variable, level),) = group
    share = ask(((variable, True),))
    return share if level else 1 - share
