"""A random order of tests, the same one again from its seed: `--order-seed 7`, or `make test SEED=7`.

Folders are shuffled, the files of each, and the tests of each file. Fixtures that a file or a folder shares are then
still made once, and no test can count on what ran before it. Folders whose tests wait for processes come before the
others: one worker waits while the rest compute, and none waits alone at the end.
"""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

SEED = pytest.StashKey[int]()
WAITING = frozenset({"docs", "end_to_end", "faults", "servers"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order-seed", type=int, metavar="N", help="repeat the order of a run that printed this seed")


def pytest_configure(config: pytest.Config) -> None:
    handed = getattr(config, "workerinput", {}).get("order_seed")
    given = config.getoption("--order-seed")
    chosen = next((seed for seed in (handed, given) if seed is not None), random.SystemRandom().randrange(10**6))
    config.stash[SEED] = chosen


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every xdist worker collects for itself, and all of them must come to the same list."""
    node.workerinput["order_seed"] = node.config.stash[SEED]


def _sentence(config: pytest.Config) -> str:
    return f"order of tests: seed {config.stash[SEED]} (again with make test SEED={config.stash[SEED]})"


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(_sentence(session.config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(_sentence(terminalreporter.config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before pytest itself, which then brings together again what shares a parametrised fixture."""
    rng = random.Random(config.stash[SEED])
    rank: defaultdict[Path, float] = defaultdict(rng.random)
    items.sort(
        key=lambda item: (item.path.parent.name not in WAITING, rank[item.path.parent], rank[item.path], rng.random())
    )
