"""`--one-of-each`: of all cases of a test function one, another one in another order. For `make test-fast`.

`--every-case-below tests/core/decisions` leaves the cases there as they are.
"""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-of-each", action="store_true", help="one case of every test function")
    parser.addoption("--every-case-below", type=Path, metavar="FOLDER", help="all cases of what lies in this folder")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Last: of the cases that other choices left, in the random order they have by then."""
    if not config.getoption("--one-of-each"):
        return
    below = config.getoption("--every-case-below")
    whole = None if below is None else (config.rootpath / below).resolve()
    first: dict[tuple[object, ...], pytest.Item] = {}
    for item in items:
        name = item.originalname if isinstance(item, pytest.Function) else item.name
        if whole is not None and item.path.is_relative_to(whole):
            name = item.name
        first.setdefault((item.parent, name), item)
    chosen = list(first.values())
    kept = set(map(id, chosen))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = chosen
