"""Policies and neighbours: every way one person's cells can be replaced, read as files are read, against what is charged.

A cell may be missing, beyond its bounds, spelled otherwise, or the input of a derived column. Each counts by itself as what was
declared, so that replacing a person moves the statistic no further than the charge allows for; a policy that looked at other
rows would be found here, and so would one that lost or added a row.
"""

import itertools

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.privacy import ORDERS
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics.sums import StatisticRequest
from tests.core.brute_force import Prior, Statistic, log_posteriors, public_points, renyi_divergences
from tests.deep import deep
from tests.sources.rows_under_test import MakeReader, Reader

pytestmark = pytest.mark.slow

COLUMNS = {
    "score": {"type": "real", "lower": 0, "upper": 10, "missing": "group", "missing_spellings": ["-9"]},
    "high": {"type": "binary", "from": "score >= 5", "missing": {"value": True}},
    "share": {"type": "real", "from": "1 / (score - 3)", "lower": 0, "upper": 2, "missing": {"value": 1}},
    "ward": {"type": "categorical", "levels": ["a", "other"], "outside": "other", "missing": {"level": "a"}},
    "in_a": {"type": "binary", "from": "ward == 'a'"},
}
CELLS = ["", "NA", "-9.0", "-1e9", "3", "5.0", " 7 ", "1e300"]
WARDS = ["a", "b", ""]
STEPS = 20
LATTICE = StatisticRequest("share", lower=0.0, upper=2.0, steps=STEPS)


@pytest.fixture
def reader(make_reader: MakeReader) -> Reader:
    return make_reader(parse_columns(COLUMNS))


def read(reader: Reader, request: StatisticRequest, people: list[list[str]], max_rows: int) -> Statistic:
    """(total, rows) of people with these scores, through the reading of files."""
    rows = [(who, score, WARDS[len(score) % 3]) for who, owned in enumerate(people) for score in owned]
    text = "person,score,ward\n" + "".join(f'p{who},"{score}",{ward}\n' for who, score, ward in rows)
    found = reader.read(text, request, PrivacyUnit("person", max_rows))
    return found.total, found.rows


def persons(reader: Reader, request: StatisticRequest, max_rows: int, cells: list[str]) -> set[Statistic]:
    """What one person can bring, with up to one row more than counts."""
    owned = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(cells, size) for size in range(1, max_rows + 2)
    )
    return {read(reader, request, [list(scores)], max_rows) for scores in owned}


@pytest.mark.parametrize(
    ("column", "max_rows"), [("high", 1), ("high", 2), ("in_a", 1), deep("in_a", 2), deep("high", 3), deep("in_a", 3)]
)
def test_no_replacement_of_a_person_costs_more_than_is_charged(reader: Reader, column: str, max_rows: int) -> None:
    people, cells = 3, ["", "-1e9", " 7 "]
    one = persons(reader, StatisticRequest(column), max_rows, cells)
    assert {rows for _, rows in one} == set(range(1, max_rows + 1))
    others = {(0, 0)}
    for _ in range(people - 1):
        others = {(t + s, m + r) for t, m in others for s, r in one}
    pairs = [
        ((t + old[0], m + old[1]), (t + new[0], m + new[1]))
        for t, m in others
        for old, new in itertools.permutations(one, 2)
    ]
    model = bernoulli(column, 1.0, 1.0, 0.05)
    points = public_points(model, people, max_rows, 1.0)
    first, second = (log_posteriors(points, Prior(1.0, 1.0), 1.0, [pair[side] for pair in pairs]) for side in (0, 1))
    charged = posterior_draw_cost(model, people, max_rows, 1.0).cost
    for order, curve in zip(ORDERS, charged.curve, strict=True):
        assert renyi_divergences(first, second, order).max() <= curve
    assert float(np.abs(first - second).max()) <= charged.pure


def test_people_add_up_whatever_their_cells(reader: Reader) -> None:
    """No cell counts otherwise for what stands in other rows."""
    owned = [[CELLS[(who * 3 + place) % len(CELLS)] for place in range(1 + who % 2)] for who in range(8)]
    for request in (StatisticRequest("high"), LATTICE):
        alone = [read(reader, request, [scores], 2) for scores in owned]
        together = read(reader, request, owned, 2)
        assert together == (sum(total for total, _ in alone), sum(rows for _, rows in alone))


def test_a_row_counts_within_its_lattice_and_every_row_counts(reader: Reader) -> None:
    found = [read(reader, LATTICE, [[cell]], 1) for cell in CELLS]
    assert [rows for _, rows in found] == [1] * len(CELLS)
    assert [total for total, _ in found] == [10, 10, 10, 0, 10, 5, 3, 1]
    assert all(0 <= total <= STEPS for total, _ in found)
