"""Row expressions: what parses, what it means, and that whatever does not is refused where it stands."""

import datetime
import random
from typing import Any

import pytest

from app.core.schema import parse_columns, parse_filter
from app.core.schema.rows.filters import written
from app.core.schema.rows.grammar import parse_row
from app.errors import InvalidExpression, InvalidSchema
from tests.core.rows.row_cases import COLUMNS, condition, number, rows, scrap
from tests.deep import deep

ROW: dict[str, Any] = {
    "age": 70,
    "stay": 3.5,
    "cured": True,
    "arm": "drug",
    "x'); DROP TABLE t; --": "it's",
    "in": False,
    "day": datetime.date(2024, 3, 3),
    "left": datetime.date(2024, 3, 10),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("age >= 65", True),
        ("age >= 65 and arm == 'placebo'", False),
        ("arm == 'placebo' or age > 1 and not `in`", True),
        ("not arm == 'drug'", False),
        ('arm in ("drug", "placebo")', True),
        ("arm not in ('drug')", False),
        ("`x'); DROP TABLE t; --` == 'it''s'", True),
        ("cured == true and `in` == 0", True),
        ("age / 4", 17.5),
        ("floor(age / 4) + cured", 18.0),
        ("-age + 2 * 3 - 1", -65.0),
        ("age / (stay - 3.5)", None),
        ("stay * 1e150 * 1e150 * 1e150", 1e300),
        ("where(cured, 1, age / 0)", None),
        ("min(age, 3, 5) + max(1, 2) + abs(-stay)", 8.5),
        ("year(day) * 10000 + month(day) * 100 + day(day)", 20240303.0),
        ("weekday(day)", 7.0),
        ("left - day", 7.0),
        ("day < '2024-03-04' and left >= '2024-03-10'", True),
        ("bin(age, 18, 40, 65)", 3),
        ("bin(age, 70)", 1),
        ("bin(stay, -1, 4)", 1),
        ("where(age > 65, 'old', 'young')", "old"),
    ],
)
def test_an_expression_has_this_value(text: str, value: Any) -> None:
    assert parse_row(text, COLUMNS, "from").value(ROW) == value


@pytest.mark.parametrize("name", ["age", "stay", "cured", "day"])
def test_a_missing_input_makes_everything_missing(name: str) -> None:
    for text in ("age > 1 or cured or stay > 2 or day > '2000-01-01'", "where(cured, age, stay) + year(day)"):
        assert parse_row(text, COLUMNS, "from").value({**ROW, name: None}) is None


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("nothing > 1", 0, "a column"),
        ("age >= 65 and", 13, "a number, a text"),
        ("age >= 1 >= 2", 9, "one comparison"),
        ("arm > 'drug'", 4, "== or !="),
        ("arm == 'Drug'", 7, "one of the levels 'drug', 'placebo'"),
        ("arm == arm", 4, "a categorical column on one side"),
        ("arm in (1, 2)", 4, "a categorical column on one side"),
        ("cured == 'yes'", 6, "a categorical column on one side"),
        ("age / (stay / 2) > 1", 4, "a denominator without"),
        ("year(age) > 1", 5, "a date"),
        ("day > '2024-13-01'", 6, "a date like"),
        ("day > 5", 6, "a date"),
        ("age and cured", 0, "a condition"),
        ("arm + 1 > 2", 0, "a number"),
        ("exp(age) > 1", 0, "one of the functions"),
        ("age ** 2 > 1", 4, "an operator or the end"),
        ("bin(age, 3, 2) == 1", 0, "cuts of bin that rise"),
        ("bin(age, stay) == 1", 0, "numbers as the cuts"),
        ("where(age, 1, 2) > 1", 6, "a condition"),
        ("cured not arm", 10, "in after not"),
        ("arm in 'drug'", 7, "a list in parentheses"),
        ("min(age) > 1", 0, "at least 2"),
        ("age; DROP TABLE t", 3, "a number"),
        ("arm == 'drug", 7, "a number"),
        ("age > 1e151", 6, "a number of size"),
        ("1 < 2", 0, "names a column"),
        ("cured and 1 < 2", 12, "name a column"),
        ("(" * 33 + "cured" + ")" * 33, 32, "at most 32 levels"),
        ("age + 1", 0, "a condition"),
    ],
)
def test_what_is_no_condition_is_refused_where_it_stands(text: str, position: int, expected: str) -> None:
    with pytest.raises(InvalidExpression, match=expected) as refused:
        parse_filter(text, COLUMNS)
    assert refused.value.problems[0].field == "where"
    assert refused.value.position == position


def test_a_long_chain_is_not_deep() -> None:
    assert parse_filter("cured" + " and cured" * 90, COLUMNS).columns == ("cured",)


@pytest.mark.parametrize("text", ["cured + " * 101 + "1 > 0", "x" * 1001, "- " * 40 + "age > 1", "not " * 33 + "cured"])
def test_long_and_deep_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidExpression, match="at most"):
        parse_filter(text, COLUMNS)


def test_a_filter_splits_into_what_is_public_and_what_is_not() -> None:
    found = parse_filter("age>=65 and (arm=='drug' or `in`) and not (cured and arm != 'drug')", COLUMNS)
    assert found.text == "age >= 65 and (arm == 'drug' or `in`) and not (cured and arm != 'drug')"
    assert found.public_part is not None
    assert found.private_part is not None
    assert found.public_part.text == "(arm == 'drug' or `in`)"
    assert found.private_part.text == "age >= 65 and not (cured and arm != 'drug')"
    assert set(found.public_part.columns) == {"arm", "in"}
    assert parse_filter("arm == 'drug'", COLUMNS).private_part is None
    assert parse_filter("arm == 'drug' or cured", COLUMNS).public_part is None


@pytest.mark.parametrize("count", [60, deep(5_000)])
def test_a_row_is_in_a_filter_exactly_if_it_is_in_both_parts(count: int) -> None:
    source = random.Random(3)
    some = rows(source, 20)
    for _ in range(count):
        try:
            found = parse_filter(" and ".join(condition(source, 2) for _ in range(3)), COLUMNS)
        except InvalidExpression:
            continue
        again = parse_filter(found.text, COLUMNS)
        assert again.text == found.text
        parts = [part for part in (found.public_part, found.private_part) if part is not None]
        for row in some:
            assert found.holds(row) == all(bool(part.value(row)) for part in parts) == again.holds(row)


@pytest.mark.parametrize("count", [400, deep(100_000)])
def test_any_text_is_read_or_refused_with_a_position_inside_it(count: int) -> None:
    source = random.Random(11)
    some = rows(source, 3)
    read = 0
    for turn in range(count):
        text = scrap(source) if turn % 4 else source.choice([number, condition])(source, 3)
        position = 0
        try:
            found = parse_row(text, COLUMNS, "from")
        except InvalidExpression as refused:
            position = refused.position
            continue
        finally:
            assert 0 <= position <= len(text)
        read += 1
        for row in some:
            found.value(row)
        assert parse_row(written(found), COLUMNS, "from").type == found.type
    assert read > count / 8


DERIVED: dict[str, Any] = {
    "age": {"type": "integer", "lower": 0, "upper": 120},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
    "seen": {"type": "date"},
}


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "binary", "from": "age >= 65"},
        {"type": "binary", "from": "arm == 'drug'", "public": True},
        {"type": "categorical", "from": "bin(age, 18, 65)", "levels": ["young", "middle", "old"]},
        {"type": "categorical", "from": "bin(age, 18)", "levels": ["a", "b", "none"], "missing": {"level": "none"}},
        {"type": "categorical", "from": "where(age > 9, 'x', 'y')", "levels": ["x", "y"]},
        {"type": "integer", "from": "year(seen)", "lower": 2000, "upper": 2030, "outside": "refuse"},
        {"type": "real", "from": "age / 7", "lower": 0, "upper": 20, "missing": "group"},
    ],
)
def test_a_derived_column_goes_back_to_the_same_json(spec: dict[str, Any]) -> None:
    columns = parse_columns({**DERIVED, "made": spec})
    assert columns["made"].as_json() == spec
    assert columns["made"].derived is not None


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("from", {"type": "binary", "from": "age"}),
        ("from", {"type": "binary", "from": ""}),
        ("from", {"type": "binary", "from": "made"}),
        ("from", {"type": "binary", "from": "weight > 1"}),
        ("from", {"type": "integer", "from": "age / 2", "lower": 0, "upper": 1}),
        ("from", {"type": "integer", "from": "age > 2", "lower": 0, "upper": 1}),
        ("from", {"type": "categorical", "from": "bin(age, 18)", "levels": ["a", "b", "c"]}),
        ("from", {"type": "categorical", "from": "bin(age, 18, 40)", "levels": ["a", "b"]}),
        ("from", {"type": "categorical", "from": "where(age > 9, 'x', 'z')", "levels": ["x", "y"]}),
        ("from", {"type": "categorical", "from": "age", "levels": ["x", "y"]}),
        ("from", {"type": "date", "from": "seen"}),
        ("public", {"type": "binary", "from": "age > 1 and arm == 'drug'", "public": True}),
        ("outside", {"type": "categorical", "from": "bin(age, 1)", "levels": ["a", "other"], "outside": "other"}),
        ("", {"type": "binary", "from": "age > 1", "true": ["Y"]}),
        ("", {"type": "categorical", "from": "bin(age, 1)", "levels": {"a": ["A"], "b": []}}),
    ],
)
def test_a_derived_column_that_cannot_be_is_refused_by_name(field: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse_columns({**DERIVED, "made": spec})
    assert refused.value.problems[0].field == ("columns.made." + field).rstrip(".")


def test_a_refused_expression_of_a_schema_says_where() -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse_columns({**DERIVED, "made": {"type": "binary", "from": "arm == 'Drug'"}})
    assert refused.value.facts["position"] == 7
