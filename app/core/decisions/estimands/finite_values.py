"""Numbers that can take a few values only, known before any sample: which is the most frequent."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.estimands.estimand import Guess
from app.core.decisions.expressions.expression import Expression
from app.core.decisions.expressions.operations import COMPARISONS, OPERATIONS
from app.core.language.climber import NEGATE

VALUES_MAX = 100
EXACT = frozenset({"+", "-", "*", "/", "min", "max", "abs", NEGATE})
"""Operations that give the same double for one number and for many. exp, log and ** may differ by a last digit."""


def finite_values(expression: Expression) -> tuple[float, ...] | None:
    """Every value the expression can take, ascending; None where it may vary continuously or over too many values.

    A comparison is 0 or 1, a number is itself, and what is computed from such values exactly takes finitely many again;
    public ranges leave out those that cannot occur.
    """
    sets: list[set[float] | None] = []
    for node, (lower, upper) in zip(expression.tree, expression.ranges, strict=True):
        found: set[float] | None = None
        known = [sets[index] for index in node.arguments]
        if lower == upper:
            found = {lower + 0.0}
        elif node.operation in COMPARISONS:
            found = {0.0, 1.0}
        elif node.operation == "where":
            found = None if known[1] is None or known[2] is None else known[1] | known[2]
        elif node.operation in EXACT and all(each is not None for each in known):
            found = _combined(node.operation, [each for each in known if each is not None], lower, upper)
        sets.append(None if found is None or len(found) > VALUES_MAX else found)
    return None if sets[-1] is None else tuple(sorted(sets[-1]))


def _combined(operation: str, known: list[set[float]], lower: float, upper: float) -> set[float]:
    """All combinations at once: a hundred values beside a hundred others are ten thousand, in one step."""
    with np.errstate(all="ignore"):
        values = OPERATIONS[operation].apply(*np.ix_(*(np.array(sorted(each)) for each in known))) + 0.0
    return set(values[(values >= lower) & (values <= upper)].tolist())


def guess_frequent(values: NDArray[np.float64], possible: Sequence[float]) -> Guess:
    """Of equally frequent values the smallest."""
    counts = [int(np.count_nonzero(values == value)) for value in possible]
    best, second = sorted(range(len(possible)), key=lambda place: -counts[place])[:2]
    return Guess(possible[best], counts[best] / len(values), possible[second], counts[second] / len(values))
