"""What a run may not see of the machine, of the shell and of earlier runs; and its order, which a seed repeats."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests import empty_home, random_order
from tests.conftest import Backend
from tests.fewer_cases import left_out, spread


def made_of(folders: Iterable[str]) -> list[tuple[str, str, int]]:
    return [(folder, file, number) for folder in folders for file in "123" for number in range(6)]


ITEMS = made_of("abcd")


def ordered(seed: int, folders: Iterable[str] = "abcd") -> list[tuple[str, str, int]]:
    config = SimpleNamespace(stash={random_order.SEED: seed})
    items = [
        SimpleNamespace(path=Path(folder) / f"test_{file}.py", made_of=(folder, file, number))
        for folder, file, number in made_of(folders)
    ]
    random_order.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    return [item.made_of for item in items]


def test_a_seed_names_one_order_and_another_seed_another() -> None:
    assert ordered(7) == ordered(7)
    assert ordered(7) != ordered(8)
    assert sorted(ordered(7)) == ITEMS


@pytest.mark.parametrize("seed", range(5))
def test_what_waits_for_processes_comes_first(seed: int) -> None:
    folders = [folder for folder, _, _ in ordered(seed, ["core", "api", "faults", "docs", "cli"])]
    assert {"faults", "docs"} == set(folders[:36])


@pytest.mark.parametrize("seed", range(5))
def test_tests_of_a_file_stay_together_and_files_of_a_folder_too(seed: int) -> None:
    files = [file for _, file, _ in ordered(seed)]
    folders = [folder for folder, _, _ in ordered(seed)]
    assert sum(one != other for one, other in zip(files[1:], files, strict=False)) <= 11
    assert sum(one != other for one, other in zip(folders[1:], folders, strict=False)) == 3
    numbers = [number for _, _, number in ordered(seed)]
    assert numbers != sorted(numbers)


def test_fewer_cases_are_always_the_same_and_have_every_value_before_one_comes_again() -> None:
    cases = [frozenset({("engine", engine), ("act", 10 + act)}) for act in range(5) for engine in range(2)]
    kept = [cases[place] for place in spread(cases, 5)]
    assert {value for case in kept for value in case} == {value for case in cases for value in case}
    assert sorted(sum(("engine", engine) in case for case in kept) for engine in range(2)) == [2, 3]
    assert spread(cases, 5) == spread(cases, 5)
    assert sorted(spread(cases, 99)) == list(range(10))


def test_engines_take_turns_by_the_names_of_tests() -> None:
    left = [left_out(f"test_{number}") for number in range(400)]
    assert left == [left_out(f"test_{number}") for number in range(400)]
    assert 150 < left.count("sqlite") < 250


@pytest.mark.engine_in_turn
def test_a_test_in_turn_has_one_engine_and_not_none(backend: Backend, request: pytest.FixtureRequest) -> None:
    deep = request.node.get_closest_marker("deep") is not None
    assert deep == (backend.name == left_out(request.node.originalname))


@pytest.mark.parametrize("name", empty_home.DIRECTORIES)
def test_a_process_started_by_a_test_has_a_home_of_this_run(name: str) -> None:
    code = f"import os; print(os.environ[{name!r}]); print(os.path.expanduser('~'))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    given, home = map(Path, ran.stdout.split())
    assert given.is_dir()
    assert given.parent == home.parent
    assert home != Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_what_a_shell_says_about_settings_and_proxies_does_not_reach_a_test() -> None:
    """Cleared before the first test, and set by none of them for the next."""
    foreign = [name for name in os.environ if name.upper().startswith(("POSTERN_", "PG", "HTTP_PROXY", "HTTPS_PROXY"))]
    assert [name for name in foreign if not name.startswith("POSTERN_FAULT_")] == []


def test_examples_are_the_same_in_every_run() -> None:
    assert settings.default is not None
    assert settings.default.derandomize
    assert settings.default.database is None
