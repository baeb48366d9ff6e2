"""Which cases of an exhaustive test run in `make test`: the others are marked `deep` and run in `make test-deep`."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

ParameterSets = list[Any]  # of pytest.param(…), whose type pytest keeps to itself


def deep_unless(kept: Callable[..., bool], *axes: Iterable[Any]) -> ParameterSets:
    """One parameter set for each combination of the axes, `deep` unless `kept` says of its values that it always runs."""
    sets, always = [], 0
    for values in itertools.product(*axes):
        chosen = kept(*values)
        always += chosen
        marks = () if chosen else pytest.mark.deep
        sets.append(pytest.param(*values, marks=marks, id="-".join(_text(value) for value in values)))
    assert always, "no case is left for `make test`"
    return sets


def each_in_turn(first: Sequence[Any], second: Sequence[Any]) -> Callable[[Any, Any], bool]:
    """Every value of two axes that are as long as each other, each with one of the other; of a longer one, its beginning."""
    return lambda one, other: first.index(one) == second.index(other)


def deep(*values: Any) -> Any:
    """A parameter set that only `make test-deep` runs."""
    return pytest.param(*values, marks=pytest.mark.deep)


def _text(value: Any) -> str:
    return ",".join(map(_text, value)) if isinstance(value, tuple) else str(value)
