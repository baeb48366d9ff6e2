"""`@pytest.mark.cases(6)`: of a test's cases six run in `make test`, all of them in `make test-deep`.

The six are always the same ones, in any order of the run: each has as many values of its parameters as possible that none before
it had, so that both engines, say, or every family, come before any comes twice.

`@pytest.mark.engine_in_turn`: of the two engines one in `make test`, both in `make test-deep`. The name of a test says which,
so that of many tests half run on either.
"""

import zlib
from collections import defaultdict
from collections.abc import Sequence

import pytest

ENGINES = ("backend", "shared_backend")
TURNS = ("sqlite", "postgres")
Values = frozenset[tuple[str, int]]
"""Which value, known by its identity, each parameter of a case has: the cases of one list share their values."""


def spread(cases: Sequence[Values], most: int) -> list[int]:
    """Places of at most `most` cases that together have many values, each as rarely as possible; the first where equal."""
    seen: defaultdict[tuple[str, int], int] = defaultdict(int)
    chosen: list[int] = []
    left = list(range(len(cases)))
    while left and len(chosen) < most:
        best = min(
            left, key=lambda place: (sum(seen[value] > 0 for value in cases[place]), _weight(cases[place], seen))
        )
        chosen.append(best)
        left.remove(best)
        for value in cases[best]:
            seen[value] += 1
    return chosen


def _values(case: pytest.Function) -> Values:
    return frozenset((name, id(value)) for name, value in case.callspec.params.items())


def _weight(case: Values, seen: dict[tuple[str, int], int]) -> int:
    return sum(seen.get(value, 0) for value in case)


def leave_out_an_engine(items: Sequence[pytest.Item]) -> None:
    """Marks as deep what runs on the engine whose turn it is not, where the test runs on both."""
    pairs: defaultdict[tuple[object, str, Values], dict[str, pytest.Function]] = defaultdict(dict)
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec") or item.get_closest_marker("deep"):
            continue
        engine = next((item.callspec.params[name] for name in ENGINES if name in item.callspec.params), None)
        if engine is not None and item.get_closest_marker("engine_in_turn") is not None:
            others = frozenset(each for each in _values(item) if each[0] not in ENGINES)
            pairs[item.parent, item.originalname, others][engine] = item
    for (_, name, _), cases in pairs.items():
        if len(cases) == len(TURNS):
            cases[left_out(name)].add_marker("deep")


def left_out(name: str) -> str:
    """The engine that a test of this name runs on in `make test-deep` alone."""
    return TURNS[zlib.crc32(name.encode()) % len(TURNS)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before anything is chosen by mark. Cases that are deep already are left out of the count."""
    leave_out_an_engine(items)
    tests: defaultdict[tuple[object, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        marked = isinstance(item, pytest.Function) and item.get_closest_marker("cases") is not None
        if marked and hasattr(item, "callspec") and item.get_closest_marker("deep") is None:
            tests[item.parent, item.originalname].append(item)
    for cases in tests.values():
        cases.sort(key=lambda case: (sorted(case.callspec.indices.items()), case.name))
        (most,) = cases[0].get_closest_marker("cases").args  # type: ignore[union-attr]
        kept = set(spread([_values(case) for case in cases], most))
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("deep")
