"""Every way a CSV file can be wrong is refused by line and column, and never by its value."""

import pytest

from app.core.schema import PrivacyUnit, parse_columns
from app.errors import InvalidInput, InvalidRows, PayloadTooLarge
from app.sources.engine import Limits
from app.sources.files.csv_lines import LINE_BYTES_MAX
from tests.sources.rows_under_test import MakeReader, Reader

HEADER = "cured,arm,days,visits\n"
GOOD = "1,drug,3.5,4\n"
SHAPE = "4 cells separated by commas, quotes around whole cells only"
UNIT = PrivacyUnit("patient", 2)


def with_cells(column: str, texts: list[str]) -> str:
    """A file of rows that are good but for `column`, which takes each text in turn."""
    good = {"cured": "1", "arm": "drug", "days": "3.5", "visits": "4"}
    return HEADER + "".join(",".join((good | {column: text}).values()) + "\n" for text in texts)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("cured", ["true", "false", "1", "0", '"1"', "True", "NO", "yes", "1.0", " 1", "0\t", "\u00a01"]),
        ("arm", ["placebo", '"drug"', '"a ""b"", c"', "drug ", " drug", '" drug"']),
        (
            "days",
            ["365", "-1.5", "+1", "1e2", "1E+2", ".5", "5.", "-0.0", "3.65e2", "1e-999", "0e99999999999", " 1", "1\t"],
        ),
        ("visits", ["40", "-3", "+7", "007", "-0", '"5"', "1.0", "5.", "1e1", " 1", "0.4e1"]),
    ],
)
def test_allowed_spellings_pass(reader: Reader, column: str, texts: list[str]) -> None:
    assert reader.check(with_cells(column, texts)).rows == len(texts)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("cured", ["NA", "null", "2", "-1", "1.5", "1 0", "", '""', "t", "٣", "01", " "]),
        ("arm", ["Drug", "DRUG", "", "drugs", "NULL", "dr\tug", "drug\u200b", "ｄrug"]),
        ("days", ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e99999999999", "1" * 400]),
        ("days", ["0x10", "0x1p3", "1_000", '"1,5"', "", " ", "1e", "e5", ".", "--1", "1 0", "'1'"]),
        ("days", ["365.0000001", "-1.5000001", "366", "1d", "1f", "٣", "1.2.3", "1e1.5", "−1"]),
        ("visits", ["41", "-4", "1.5", "1e-1", "0x1", "1_0", "", "nan", "true", "٣", "++1", "1-", "1e9"]),
        ("visits", [str(2**53), str(2**63), str(2**64 + 1), "-" + str(2**127), "9" * 5000]),
    ],
)
def test_other_spellings_are_refused_without_repeating_them(reader: Reader, column: str, texts: list[str]) -> None:
    problems = reader.problems(with_cells(column, texts))
    assert [(line, name) for line, name, _ in problems] == [(2 + i, column) for i in range(len(texts))]
    assert not any(text in problems[0][2] for text in texts if len(text) > 3 and text != "true")


def test_problems_come_in_line_order_and_stop_at_twenty(reader: Reader) -> None:
    rows = HEADER + GOOD * 5 + "x,drug,1,y\n" + GOOD + "1,drug\n" + "1,z,1,1\n" * 30
    problems = reader.problems(rows)
    assert len(problems) == 20
    assert [(line, column) for line, column, _ in problems[:5]] == [
        (7, "cured"),
        (7, "visits"),
        (9, "*"),
        (10, "arm"),
        (11, "arm"),
    ]


def test_line_numbers_are_right_deep_inside_a_large_file(reader: Reader) -> None:
    rows = [GOOD] * 300_000
    for line in (150_001, 299_998):
        rows[line - 2] = "1,drug,nan,4\n"
    found = reader.problems(HEADER + "".join(rows))
    assert [line for line, _, _ in found] == [150_001, 299_998]


@pytest.mark.parametrize(
    "line",
    [
        "1,drug,3.5",
        "1,drug,3.5,4,",
        "1,drug,3.5,4,5",
        "",
        " ",
        '1,"drug,3.5,4',
        '1,dr"ug,3.5,4',
        '1,"drug"x,3.5,4',
        '1,"drug" ,3.5,4',
        '1, "drug",3.5,4',
        '"1,drug,3.5,4"',
        '1,"dr"ug",3.5,4',
        '1,drug,3.5,"',
        "1;drug;3.5;4",
    ],
)
def test_ragged_lines_and_stray_quotes_are_refused_as_a_whole(reader: Reader, line: str) -> None:
    assert reader.problems(HEADER + GOOD + line + "\n" + GOOD) == [(3, "*", SHAPE)]


def test_unterminated_quote_does_not_swallow_the_rest_of_the_file(reader: Reader) -> None:
    rows = HEADER + '1,"drug,3.5,4\n' + GOOD * 3 + "x,drug,3.5,4\n"
    assert [line for line, _, _ in reader.problems(rows)] == [2, 6]


def test_line_break_inside_quotes_is_refused_where_it_starts(reader: Reader) -> None:
    assert reader.problems(HEADER + GOOD + '1,"drug\n",3.5,4\n')[0] == (3, "*", SHAPE)


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ("\ufeff" + HEADER + GOOD, 1),
        (HEADER + GOOD.rstrip("\n"), 1),
        ((HEADER + GOOD * 3).replace("\n", "\r\n"), 3),
        ((HEADER + GOOD * 3).replace("\n", "\r\n").rstrip(), 3),
        ('"cured","arm","days","visits"\n' + GOOD, 1),
        ("visits,days,arm,cured\n4,3.5,drug,1\n", 1),
        ("\ufeff" + HEADER.replace("\n", "\r\n") + GOOD * 200_000, None),
    ],
)
def test_marks_line_ends_and_column_order_that_are_allowed(reader: Reader, rows: str, count: int | None) -> None:
    if count is None:
        assert reader.problems(rows)[0][:2] == (2, "*")
    else:
        assert reader.check(rows).rows == count
        assert reader.sum(rows).total == count


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (HEADER + GOOD + "1,drug,3.5\x00,4\n", 3),
        ("\x00" + HEADER + GOOD, 1),
        (HEADER + GOOD + "1,dr\x01ug,3.5,4\n", 3),
        (HEADER + GOOD + "1,drug,3.5\r,4\n", 3),
        (HEADER + GOOD + GOOD.replace("\n", "\r\n"), 3),
        ((HEADER + GOOD).replace("\n", "\r\n") + GOOD, 3),
        ((HEADER + GOOD).replace("\n", "\r"), 1),
        (HEADER + GOOD + "1,drug,3.5,4\r", 3),
    ],
)
def test_control_characters_and_mixed_line_ends_are_refused(reader: Reader, rows: str, line: int) -> None:
    found = reader.problems(rows)
    assert [(where, column) for where, column, _ in found] == [(line, "*")]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (HEADER.encode() + GOOD.encode() + b"1,dr\xfcg,3.5,4\n", 3),
        (HEADER.encode("utf-16"), 1),
        (HEADER.encode("utf-16-le"), 1),
        (HEADER.encode() + GOOD.encode() + b"1,drug,3.5,\xe2\x82", 3),
        (HEADER.encode() + b"1,\xed\xa0\x80,3.5,4\n", 2),
        (HEADER.encode() + b"1,\xc0\xafdrug,3.5,4\n", 2),
        (b"\xff\xd8\xff\xe0 a picture", 1),
    ],
)
def test_bytes_that_are_not_utf8_are_refused_by_line(reader: Reader, rows: bytes, line: int) -> None:
    assert reader.problems(rows)[0][:2] == (line, "*")


@pytest.mark.parametrize("gap", range(-3, 4))
def test_lines_and_characters_across_chunk_borders_are_read_whole(reader: Reader, gap: int) -> None:
    """The scan of bytes works a mebibyte at a time: move a line end and a wide character over its edge."""
    head = HEADER.replace("\n", "\r\n").encode()
    body = GOOD.replace("\n", "\r\n").encode()
    lines = (LINE_BYTES_MAX - len(head)) // len(body)
    filler = LINE_BYTES_MAX - len(head) - (lines - 1) * len(body) + gap
    wide = b"1,drug,3." + b"5" * (filler - 13) + b",4\r\n"
    rows = head + body * (lines - 1) + wide + body * 5
    assert reader.check(rows).rows == lines + 5
    broken = head + body * (lines - 1) + b"1," + "é".encode() * ((filler - 4) // 2) + b"\r\n" + body
    assert reader.problems(broken)[0][:2] == (lines + 1, "*")


def test_bad_byte_just_after_a_chunk_border_is_named_by_its_own_line(reader: Reader) -> None:
    head = HEADER.encode() + GOOD.encode() * 1000
    filler = b"1," + b"x" * (LINE_BYTES_MAX - len(head) - 5) + "€€".encode()[:5]
    assert len(head + filler) == LINE_BYTES_MAX + 2
    assert reader.problems(head + filler + b"\xff\n" + GOOD.encode())[0][:2] == (1002, "*")


def test_endless_line_is_refused(reader: Reader) -> None:
    found = reader.problems(HEADER + GOOD + "1," + "x" * (3 * LINE_BYTES_MAX))
    assert found == [(3, "*", f"lines of at most {LINE_BYTES_MAX} bytes")]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("cured,arm,days\n", (1, "visits", "this declared column in the file")),
        ("cured,arm,days,visits,cured\n", (1, "cured", "each column once")),
        ("cured,arm,days,visits,secret\n", (1, "#5", "the name of a declared column in the header")),
        ("Cured,arm,days,visits\n", (1, "#1", "a name that differs by more than case from a declared one")),
        ("cured|arm|days|visits\n", (1, "#1", "the name of a declared column in the header")),
        ("cured,arm,days,visits,\n", (1, "#5", "the name of a declared column in the header")),
        ('cured,"arm,days,visits\n', (1, "*", "a header line naming the declared columns")),
        ("\n", (1, "*", "a header line naming the declared columns")),
    ],
)
def test_header_has_to_be_the_declared_columns_each_once(
    reader: Reader, header: str, problem: tuple[int, str, str]
) -> None:
    assert reader.problems(header + GOOD, other_columns="refuse")[0] == problem


def test_columns_that_nobody_declared_are_left_alone_and_named(reader: Reader) -> None:
    rows = "cured,note, arm ,days,ward,visits\n" + "1,canary,drug,3.5,,4\n" * 3
    assert reader.check(rows).ignored_columns == ("note", "ward")
    assert reader.sum(rows).total == 3
    found = reader.problems(rows, other_columns="refuse")
    assert [(line, column) for line, column, _ in found] == [(1, "#2"), (1, "#5")]


def test_first_row_in_place_of_a_header_is_not_repeated(reader: Reader) -> None:
    assert "drug" not in str(reader.problems(GOOD * 3))


@pytest.mark.parametrize("rows", ["", "\ufeff", HEADER, HEADER.rstrip("\n")])
def test_file_without_rows_is_refused(reader: Reader, rows: str) -> None:
    assert reader.problems(rows)[0][1] == "*"


def test_other_number_of_people_than_declared_is_refused(reader: Reader) -> None:
    assert reader.check(HEADER + GOOD * 3, n=3).people == 3
    with pytest.raises(InvalidInput) as caught:
        reader.check(HEADER + GOOD * 3, n=4)
    assert caught.value.problems[0].field == "n"


def test_people_are_distinct_identifiers_and_long_owners_are_reported(reader: Reader) -> None:
    owners = ["a", "b", "a", "a", "c,d", "b", "a"]
    rows = "patient," + HEADER + "".join(f'"{owner}",{GOOD}' for owner in owners)
    report = reader.check(rows, UNIT, n=3)
    assert (report.rows, report.people, report.clipped_people) == (7, 3, 1)
    assert "7" not in repr(report)


@pytest.mark.parametrize("owner", ["", '""', " ", "NA", "null", "a\tb", "a\u200bb", "\u2003", "x" * 257])
def test_identifiers_that_could_pass_for_another_are_refused(reader: Reader, owner: str) -> None:
    rows = "patient," + HEADER + f"{owner},{GOOD}"
    assert [found[:2] for found in reader.problems(rows, UNIT)] == [(2, "patient")]


def test_blanks_around_an_identifier_make_no_other_person(reader: Reader) -> None:
    rows = "patient," + HEADER + "".join(f"{owner},{GOOD}" for owner in ("a", " a", "a\t", "\u00a0a", "b"))
    assert reader.check(rows, UNIT).people == 2


def test_declared_column_can_name_the_person(make_reader: MakeReader) -> None:
    columns = parse_columns({"cured": {"type": "binary"}, "id": {"type": "integer", "lower": 0, "upper": 99}})
    reader = make_reader(columns)
    unit = PrivacyUnit("id", 2)
    assert reader.check("cured,id\n1,7\n0,07\n1,8\n", unit).people == 2
    assert reader.problems("cured,id\n1,x\n", unit)[0][:2] == (2, "id")


def test_names_and_levels_with_quotes_cannot_escape_into_sql(make_reader: MakeReader) -> None:
    name, level = """x"'); DROP--""", "'; SELECT 1 --"
    columns = parse_columns({name: {"type": "categorical", "levels": [level, "b"]}, "cured": {"type": "binary"}})
    quoted = name.replace('"', '""')
    rows = f'"{quoted}",cured\n{level},1\n'
    reader = make_reader(columns)
    assert reader.check(rows).rows == 1
    assert reader.sum(rows).total == 1


def test_limits_on_rows_and_time_are_kept(reader: Reader) -> None:
    with pytest.raises(PayloadTooLarge):
        reader.check(HEADER + GOOD * 11, limits=Limits(rows_max=10))
    with pytest.raises(PayloadTooLarge, match="seconds") as caught:
        reader.check(HEADER + GOOD * 400_000, limits=Limits(seconds=1e-4))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("rows", [with_cells("days", ["canary-4711"]), HEADER + GOOD + "canary-4711,\udcff\n"])
def test_refusal_carries_no_value_and_no_engine_error_and_leaves_no_spill(reader: Reader, rows: str) -> None:
    with pytest.raises(InvalidRows) as caught:
        reader.check(rows.encode(errors="surrogateescape"))
    assert "canary" not in str(caught.value) + repr(caught.value.rows)
    assert caught.value.__context__ is None
    assert not list(reader.store.root.iterdir())


def test_a_public_column_says_the_same_in_every_row_of_a_person(make_reader: MakeReader) -> None:
    columns = parse_columns(
        {"arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True}, "cured": {"type": "binary"}}
    )
    rows = "patient,arm,cured\na,drug,1\nb,placebo,0\na,drug,0\nb,placebo,1\n"
    reader = make_reader(columns)
    assert reader.check(rows, UNIT).people == 2
    scattered = rows + "b,drug,1\na,placebo,0\n"
    expected = "the value of this public column in the person's other rows"
    assert reader.problems(scattered, UNIT) == [(6, "arm", expected)]
    assert reader.check("arm,cured\ndrug,1\nplacebo,0\n").people == 2
