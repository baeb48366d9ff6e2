"""docs/benchmarks.md says what the files of the last run say, and their tables follow from their rounds."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accuracy_tables, bench_networks
from benchmarks.bench_accuracy import EPSILON, FEW, PEOPLE, QUESTIONS, SEEDS, TARGETS
from benchmarks.published import FOLDER, PAGE, quartiles, refreshed, significant

FILES = sorted(FOLDER.glob("*.json"))
ROOT = PAGE.parents[1]


def body_of(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return body


@pytest.fixture(scope="module")
def accuracy() -> tuple[accuracy_tables.Rounds, dict[str, Any]]:
    body = body_of("accuracy")
    assert body["columns"] == list(accuracy_tables.Round._fields)
    return accuracy_tables.Rounds([accuracy_tables.Round(*row) for row in body["rounds"]]), body


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_page_shows_the_tables_of_the_file(path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    body = body_of(path.stem)
    assert body["benchmark"] == path.stem
    assert refreshed(page, path.stem, body["tables"]) == page
    assert f"(benchmarks/{path.stem}.svg)" in page
    assert path.with_suffix(".svg").exists()


def test_every_place_on_the_page_is_filled_by_a_file() -> None:
    page = PAGE.read_text(encoding="utf-8")
    places = set(re.findall(r"<!-- (\w+\.\w+) -->", page))
    assert places == {f"{path.stem}.{part}" for path in FILES for part in body_of(path.stem)["tables"]}


def test_the_accuracy_tables_follow_from_their_rounds(accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]]) -> None:
    rounds, body = accuracy
    assert accuracy_tables.tables_of(rounds, body["setting"]) == body["tables"]


def test_the_published_ratios_meet_the_targets(accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]]) -> None:
    rounds, body = accuracy
    setting = body["setting"]
    assert (setting["epsilon"], setting["people"], setting["questions"]) == (EPSILON, PEOPLE, list(QUESTIONS))
    assert (setting["seeds"], setting["few"]) == (SEEDS, FEW)
    assert all(each["charged"] <= EPSILON for each in setting["plan"])
    for k, target in TARGETS.items():
        for error in ("mae_data", "mae_truth"):
            ratios = rounds.ratios("inside", PEOPLE, k, error)
            assert len(ratios) == SEEDS
            assert quartiles(ratios)[1] >= target


def test_the_other_side_is_given_its_best_noise_and_way(
    accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]],
) -> None:
    rounds, _ = accuracy
    for k in QUESTIONS:
        sides = [side for side in rounds.sides("inside", PEOPLE, k) if side.startswith("noise")]
        medians = [quartiles(rounds.values("inside", PEOPLE, k, side, "mae_data"))[1] for side in sides]
        best = rounds.best("inside", PEOPLE, k)
        assert quartiles(rounds.values("inside", PEOPLE, k, best, "mae_data"))[1] == min(medians)
        assert len(sides) >= 2


def test_noise_answers_a_single_question_better_as_the_page_says(
    accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]],
) -> None:
    rounds, _ = accuracy
    assert quartiles(rounds.ratios("inside", PEOPLE, 1))[1] < 0.5
    assert 0.5 < quartiles(rounds.ratios("inside", PEOPLE, 10))[1] < 2
    assert quartiles(rounds.ratios("outside", PEOPLE, 10))[1] < 1


def test_the_page_owns_up_to_where_the_aim_is_missed(accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]]) -> None:
    rounds, _ = accuracy
    most = QUESTIONS[-1]
    missed = [(part, people, k) for part, people in (("outside", PEOPLE), ("inside", 100_000)) for k in TARGETS]
    for part, people, k in [*missed, ("inside", 1_000, most), ("inside", 3_000, most)]:
        assert quartiles(rounds.ratios(part, people, k))[1] < TARGETS[k]


def test_the_plan_puts_the_mechanisms_in_the_order_of_their_errors_but_for_ties(
    accuracy: tuple[accuracy_tables.Rounds, dict[str, Any]],
) -> None:
    rounds, body = accuracy
    names = [each["name"] for each in body["setting"]["plan"]]
    medians = [quartiles(rounds.values("mechanisms", PEOPLE, QUESTIONS[-1], name, "mae_data"))[1] for name in names]
    assert all(one < 1.15 * other for one, other in itertools.pairwise(medians))


def test_the_table_of_networks_follows_from_its_rounds() -> None:
    body = body_of("networks")
    assert bench_networks.table_of(body["cases"]) == body["tables"]["ratio"]
    for case in body["cases"]:
        ratio, control = bench_networks.figures_of(case["rounds"])
        assert ratio >= bench_networks.RATIO_MIN
        assert control <= bench_networks.VOID_ABOVE
        assert case["worst_difference"] <= bench_networks.TOLERANCE


def test_a_table_without_its_place_on_the_page_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"0 places for x\.y"):
        refreshed("nothing here", "x", {"y": "| |"})


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, "1,200"), (0.0999, "0.10"), (9.96, "10"), (0.00123, "0.0012"), (0.0, "0")]
)
def test_significant_digits_are_kept_and_no_others(value: float, shown: str) -> None:
    assert significant(value) == shown
