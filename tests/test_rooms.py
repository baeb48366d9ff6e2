"""Whoever is new finds the room for their change: no crowded folder, no file without an idea, no kind known elsewhere."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import grimp
import pytest

from app.core.kinds import KINDS as REGISTERED
from app.core.kinds.kind import Kind

ROOT = Path(__file__).parents[1]
APP = ROOT / "app"
FILES_MAX = 25
LINES_MIN = 25
SHORT_WITH_REASON = {
    "app/core/kinds/one_parameter/families": "a family is one file, however short its formula",
    "app/core/kinds/one_parameter/statistic.py": "the same file names in every kind",
    "app/core/kinds/one_parameter/card.py": "the same file names in every kind",
    "app/core/kinds/networks/card.py": "the same file names in every kind",
    "app/api/schemas/small_print.py": "shared by answers and summary rows, neither of which is about the other",
    "app/core/decisions/view.py": "the names of the two views, used by every layer",
    "app/services/runtime/identifiers.py": "how things are named is an idea of its own, used by every noun",
}
KIND_KNOWN_WITH_REASON = {"app/cli/network.py": "`postern network` reads files of networks, which only that kind has"}
NO_KIND_OF_ITS_OWN = {
    "groups": "every kind again, by strata, and what they have in common",
    "several": "models of any kind, side by side",
}
KINDS = sorted(
    path.name
    for path in (APP / "core" / "kinds").iterdir()
    if (path / "__init__.py").is_file() and path.name not in NO_KIND_OF_ITS_OWN
)


def registered(folder: str) -> Kind:
    """The one `Kind` in which a folder ends."""
    (kind,) = [value for value in vars(import_module(f"app.core.kinds.{folder}")).values() if isinstance(value, Kind)]
    return kind


def modules() -> list[Path]:
    return sorted(APP.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_folder_holds_more_files_than_one_can_see() -> None:
    crowded = {name(path.parent) for path in modules() if len(list(path.parent.glob("*.py"))) > FILES_MAX}
    assert crowded == set()


def test_a_file_of_a_dozen_lines_has_a_reason() -> None:
    short = [
        name(path)
        for path in modules()
        if path.name != "__init__.py" and len(path.read_text().splitlines()) < LINES_MIN
    ]
    without = [path for path in short if not any(path.startswith(reason) for reason in SHORT_WITH_REASON)]
    assert without == []


@pytest.mark.parametrize("kind", KINDS)
def test_only_its_own_folder_and_the_registry_know_a_kind(kind: str) -> None:
    package = f"app.core.kinds.{kind}"
    knowing = [
        name(path)
        for path in modules()
        if not name(path).startswith(f"app/core/kinds/{kind}/")
        and any(module == package or module.startswith(f"{package}.") for module in imported(path))
    ]
    assert [path for path in knowing if path not in KIND_KNOWN_WITH_REASON] == ["app/core/kinds/__init__.py"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_registry_knows_what_a_kind_registers_and_nothing_inside_its_folder(kind: str) -> None:
    """Or else a kind is more than a folder and a line: its private groups were a branch of `kind_of` once."""
    inside = APP / "core" / "kinds" / kind
    rooms = {f"app.core.kinds.{kind}.{path.stem}" for path in inside.iterdir()}
    known = imported(APP / "core" / "kinds" / "__init__.py")
    assert [module for module in known if any(module == room or module.startswith(f"{room}.") for room in rooms)] == []


@pytest.mark.parametrize("folder", KINDS)
def test_every_kind_has_the_same_rooms(folder: str) -> None:
    """A kind with one mechanism has nothing to compare, one without questions of its own no estimands."""
    kind = registered(folder)
    needed = {"__init__", "accuracy", "card", "mechanisms", "plan", "statistic"}
    if len(kind.mechanisms) > 1:
        needed.add("comparison")
    if kind.estimands:
        needed.add("estimands")
    rooms = {path.stem for path in (APP / "core" / "kinds" / folder).iterdir()}
    assert needed <= rooms


def test_every_folder_of_a_kind_is_registered_once() -> None:
    assert sorted(kind.name for kind in REGISTERED) == sorted(registered(folder).name for folder in KINDS)


def test_no_kind_knows_another() -> None:
    """Not even through something they share: that may not know any kind, and the registry is not for kinds to read."""
    graph = grimp.build_graph("app", cache_dir=None)
    packages = [f"app.core.kinds.{folder}" for folder in KINDS]
    chains = [
        graph.find_shortest_chain(one, other, as_packages=True)
        for one in packages
        for other in packages
        if one != other
    ]
    assert [chain for chain in chains if chain is not None] == []
