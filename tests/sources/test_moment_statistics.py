"""Moments from SQL are those of the reference, to the last whole number, and depend on nothing but the set of rows."""

import math
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import Column, PrivacyUnit, parse_columns
from app.core.statistics.coordinates import Coordinate, feature_coordinates, number_coordinate
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest, lattice_rows, moments_of
from app.errors import InvalidModel
from app.sources.cell_rules import kept_rule
from app.sources.engine import Limits
from app.sources.moment_statistics import ProductMoments, _whole_numbers
from tests.sources.rows_under_test import MakeReader, Reader, counted_places, taken

COLUMNS = parse_columns(
    {
        "wage": {"type": "real", "lower": -3.7, "upper": 1e3},
        "age": {"type": "integer", "lower": 16, "upper": 99},
        "union": {"type": "binary"},
        "sector": {"type": "categorical", "levels": ["farm", "it's", 'a "b", c', "NULL"]},
        "tiny": {"type": "real", "lower": 0, "upper": 1e-140},
        "huge": {"type": "real", "lower": -1e300, "upper": 1e300},
    }
)
FEATURES = ["age", "sector", "huge", "union", "tiny"]


def request_of(
    features: Sequence[str] = FEATURES,
    target: str | None = "wage",
    intercept: bool = True,
    bound: float = 1.5,
    columns: Mapping[str, Column] = COLUMNS,
) -> MomentsRequest:
    aim = None if target is None else number_coordinate("model.target", columns[target])
    return MomentsRequest(feature_coordinates("model.features", features, columns, intercept), intercept, bound, aim)


REQUESTS = {
    "all": request_of(),
    "no intercept": request_of(intercept=False, bound=0.3),
    "no target": request_of(target=None, bound=math.sqrt(5)),
    "never shortened": request_of(bound=10.0),
    "target among features": request_of(["wage", "union"], "union"),
    "one": request_of(["tiny"], "tiny", intercept=False, bound=1.0),
}


def cells_of(column: Column, size: int, source: random.Random) -> list[Any]:
    """Within the bounds: often at them, and at the smallest and roundest numbers between."""
    if column.type == "categorical":
        return [source.choice(column.levels) for _ in range(size)]
    if column.type == "binary":
        return [source.randrange(2) for _ in range(size)]
    lower, upper = column.lower, column.upper
    assert lower is not None
    assert upper is not None
    if column.type == "integer":
        return [source.randint(int(lower), int(upper)) for _ in range(size)]
    edges = [lower, upper, math.nextafter(lower, upper), math.nextafter(upper, lower), lower / 2 + upper / 2]
    edges += [x for x in (0.0, -0.0, 5e-324, -5e-324, 1e-17, 0.1, 2.0**-30) if lower <= x <= upper]
    return [source.choice(edges) if source.random() < 0.3 else source.uniform(lower, upper) for _ in range(size)]


def table_of(size: int, seed: int, columns: Mapping[str, Column] = COLUMNS) -> dict[str, list[Any]]:
    source = random.Random(seed)
    return {name: cells_of(column, size, source) for name, column in columns.items()}


def same(found: ExactMoments, wanted: ExactMoments) -> bool:
    pairs = [(found.products, wanted.products), (found.cross, wanted.cross), (found.sums, wanted.sums)]
    return (found.rows, found.square) == (wanted.rows, wanted.square) and all(
        a.dtype == np.int64 and np.array_equal(a, b) for a, b in pairs
    )


def in_plain_python(request: MomentsRequest, row: Mapping[str, Any]) -> tuple[list[int], int]:
    """Z and Y of one record, from the formulas in the docstrings and nothing else."""

    def scaled(coordinate: Coordinate) -> float:
        cell = row[coordinate.column]
        if coordinate.level is not None:
            return float(cell == coordinate.level)
        return min(max((float(cell) - coordinate.centre) / coordinate.half_width, -1.0), 1.0)

    x = ([1.0] if request.intercept else []) + [scaled(coordinate) for coordinate in request.coordinates]
    norm_square = 0.0
    for value in x:
        norm_square += value * value
    divisor = max(request.norm_bound, math.sqrt(norm_square))
    steps = 2**16 - math.floor(math.sqrt(len(x)) / 2) - 1
    y = 0 if request.target is None else math.floor(scaled(request.target) * 2**16 + 0.5)
    return [math.floor(value / divisor * steps + 0.5) for value in x], y


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", REQUESTS)
def test_moments_of_both_formats_are_those_of_the_reference(make_reader: MakeReader, name: str) -> None:
    table = table_of(4_000, seed=1)
    reader, wanted = make_reader(COLUMNS), moments_of(REQUESTS[name], table)
    for file in reader.variants(table, group=333):
        assert reader.check(file).rows == 4_000
        assert same(reader.read(file, REQUESTS[name]), wanted)


@pytest.mark.parametrize("name", REQUESTS)
def test_moments_are_sums_of_python_integers_row_by_row(make_reader: MakeReader, name: str) -> None:
    request, table = REQUESTS[name], table_of(300, seed=2)
    reader = make_reader(COLUMNS)
    found = reader.read(reader.variants(table)[0], request)
    rows = [
        in_plain_python(request, dict(zip(table, cells, strict=True))) for cells in zip(*table.values(), strict=True)
    ]
    d = request.dimension
    assert found.products.tolist() == [[sum(z[i] * z[j] for z, _ in rows) for j in range(d)] for i in range(d)]
    assert found.cross.tolist() == [sum(z[i] * y for z, y in rows) for i in range(d)]
    assert found.sums.tolist() == [sum(z[i] for z, _ in rows) for i in range(d)]
    assert (found.square, found.rows) == (sum(y * y for _, y in rows), 300)


@pytest.mark.parametrize("dimension", [1, 2, 7, 50])
def test_every_single_record_lands_on_the_whole_numbers_of_the_reference(dimension: int) -> None:
    """The expressions themselves, 20,000 records over all sizes a double has, so that no two errors cancel in a sum."""
    source = np.random.default_rng(dimension)
    names = [f"x{i}" for i in range(dimension)]
    coordinates = tuple(
        Coordinate(name, "number", source.normal() * 10.0**i, 10.0 ** (i % 9 - 4) / 3) for i, name in enumerate(names)
    )
    request = MomentsRequest(coordinates, dimension % 2 == 0, 0.7, Coordinate("x0", "number", 0.1, 0.3))
    sizes = 10.0 ** source.uniform(-12, 3, (20_000, dimension)) * source.choice([-1.0, 1.0], (20_000, dimension))
    rows = {
        c.column: c.centre
        + c.half_width * np.where(source.random(20_000) < 0.9, np.clip(sizes[:, i], -1, 1), sizes[:, i])
        for i, c in enumerate(coordinates)
    }
    columns = parse_columns({name: {"type": "real", "lower": -1e300, "upper": 1e300} for name in names})
    rules = {name: kept_rule(columns[name], name) for name in names}
    cells = ProductMoments().cells(request, columns, rules)
    scaled = ", ".join(f"{cell} AS v{i}" for i, cell in enumerate(cells))
    with duckdb.connect() as connection:
        connection.register("given", pa.table(rows | {"i": np.arange(20_000)}))
        whole = _whole_numbers(request, f"(SELECT {scaled}, i FROM given ORDER BY i)")
        found = connection.execute(f"SELECT * FROM {whole}").fetchnumpy()
    records = np.stack([found[f"z{i}"] for i in range(request.dimension)], axis=1)
    assert np.array_equal(records, lattice_rows(request, rows))
    assert request.target is not None
    assert np.array_equal(found["y"], np.floor(request.target.scaled(rows["x0"]) * LATTICE + 0.5).astype(np.int64))
    assert (records**2).sum(axis=1).max() < 2**32


def test_order_chunks_and_threads_change_nothing(make_reader: MakeReader) -> None:
    table = table_of(5_000, seed=3)
    wanted = moments_of(REQUESTS["all"], table)
    reader = make_reader(COLUMNS)
    for seed, group in ((0, 100), (1, 10_000)):
        shuffled = taken(table, random.Random(seed).sample(range(5_000), 5_000))
        for file in reader.variants(shuffled, group=group):
            for threads in (1, 4):
                assert same(reader.read(file, REQUESTS["all"], limits=Limits(threads=threads)), wanted)


@pytest.mark.parametrize("max_rows", [1, 3])
def test_rows_beyond_the_unit_are_left_out_by_their_keyed_hash(make_reader: MakeReader, max_rows: int) -> None:
    columns = {name: COLUMNS[name] for name in ("wage", "age", "union", "sector")}
    source = random.Random(6)
    table = table_of(900, seed=6, columns=columns) | {"who": [f"p{source.randrange(120)}" for _ in range(900)]}
    table["wage"] = [round(x, 3) for x in table["wage"]]  # prints the same in Python and in the engine
    request = request_of(["age", "union", "sector"])
    wanted = moments_of(request, taken(table, counted_places(table, "who", max_rows)))
    reader = make_reader(columns)
    for order in (range(900), source.sample(range(900), 900)):
        for file in reader.variants(taken(table, order)):
            assert same(reader.read(file, request, PrivacyUnit("who", max_rows)), wanted)


def test_replacing_one_person_moves_the_sums_by_at_most_the_unit(make_reader: MakeReader) -> None:
    table = table_of(300, seed=8) | {"who": [f"p{i % 60}" for i in range(300)]}
    reader, unit, request = make_reader(COLUMNS), PrivacyUnit("who", 2), REQUESTS["no intercept"]
    before = reader.read(reader.variants(table)[1], request, unit)
    for extreme in (-1e300, 1e300):
        huge = [extreme if who == "p7" else cell for who, cell in zip(table["who"], table["huge"], strict=True)]
        after = reader.read(reader.variants(table | {"huge": huge})[1], request, unit)
        assert before.rows == after.rows == 120
        moved = (after.products - before.products).astype(float)
        assert np.linalg.norm(moved) <= 2 * math.sqrt(2) * LATTICE**2


def test_text_that_is_no_number_counts_as_missing_and_loses_no_row(make_reader: MakeReader) -> None:
    cells = ["", "nan", "NaN", "-nan", "abc", "'); DROP TABLE rows; --", "1,5", "\\", "٣", '"', "NULL"]
    columns = {name: COLUMNS[name] for name in ("wage", "age", "union", "sector")}
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    rows = "wage,age,union,sector\n" + "".join(f"{cell},{cell},{cell},{cell}x\n" for cell in quoted)
    rows = rows.replace('"x\n', 'x"\n') + "short\n\n,,,,,,,\n"
    request = request_of(["age", "union", "sector"])
    size = len(cells) + 3
    first = {"wage": [-3.7] * size, "age": [16] * size, "union": [0] * size, "sector": ["farm"] * size}
    assert same(make_reader(columns).read(rows, request), moments_of(request, first))


def test_text_beyond_the_bounds_is_clipped_as_the_reference_clips_it(make_reader: MakeReader) -> None:
    cells = ["1e999", "-1e999", "1e308", "-1.7e308", "1e4", "-1e4", "5e-324", "-0.0"]
    columns = {"wage": COLUMNS["wage"], "huge": COLUMNS["huge"]}
    rows = "wage,huge\n" + "".join(f"{cell},{cell}\n" for cell in cells)
    request = request_of(["huge"])
    numbers = [float(cell) for cell in cells]
    found = make_reader(columns).read(rows, request)
    assert found.rows == len(cells)
    assert same(found, moments_of(request, {"wage": numbers, "huge": numbers}))


def test_stored_numbers_of_every_type_are_the_same_numbers(make_reader: MakeReader, tmp_path: Path) -> None:
    columns = {"wage": COLUMNS["wage"], "age": COLUMNS["age"]}
    request = request_of(["age"])
    wages, ages = [0.0, 2.5, 1000.0, -3.5, 17.25], [16, 99, 17, 50, 98]
    wanted = moments_of(request, {"wage": wages, "age": ages})
    for wage_type in (pa.float32(), pa.float64(), pa.decimal128(20, 4)):
        for age_type in (pa.int8(), pa.uint64(), pa.decimal128(38, 1)):
            wage: list[Any] = [Decimal(x) for x in wages] if pa.types.is_decimal(wage_type) else wages
            age: list[Any] = [Decimal(x) for x in ages] if pa.types.is_decimal(age_type) else ages
            pq.write_table(
                pa.table({"wage": pa.array(wage, wage_type), "age": pa.array(age, age_type)}), tmp_path / "p"
            )
            assert same(make_reader(columns).read(tmp_path / "p", request), wanted)


def test_stored_values_that_were_never_allowed_lose_no_row(make_reader: MakeReader, tmp_path: Path) -> None:
    wage = pa.array([None, math.nan, math.inf, -math.inf, 1.7e308, -1.7e308], pa.float64())
    age = pa.array([None, 2**63 - 1, -(2**63), 0, 100, 10**6], pa.int64())
    union = pa.array([None, 7, -1, 0, 1, 2**31 - 1], pa.int32())
    sector = pa.array([None, "", "fa\nrm", "a\x00b", "it's", "NULL"])
    pq.write_table(pa.table({"wage": wage, "age": age, "union": union, "sector": sector}), tmp_path / "p")
    columns = {name: COLUMNS[name] for name in ("wage", "age", "union", "sector")}
    request = request_of(["age", "union", "sector"])
    read_as = {
        "wage": [-3.7, -3.7, math.inf, -math.inf, 1.7e308, -1.7e308],
        "age": [16, 2**63 - 1, -(2**63), 0, 100, 10**6],
        "union": [0, 0, 0, 0, 1, 0],
        "sector": ["farm", "farm", "farm", "farm", "it's", "NULL"],
    }
    assert same(make_reader(columns).read(tmp_path / "p", request), moments_of(request, read_as))


def test_names_and_levels_that_read_as_sql_are_only_names(make_reader: MakeReader) -> None:
    levels = ["''", "'", '"', "');--", "$key", ",", "\\'", "e\u0301", "é"]
    names = ["a'b", 'c"d', "v0", "divisor", "y", "z0", "x); DROP TABLE t; --", "who's"]
    columns = parse_columns(
        {"kind'": {"type": "categorical", "levels": levels}}
        | {name: {"type": "real", "lower": -1, "upper": 1} for name in names}
    )
    table = table_of(400, seed=9, columns=columns)
    request = request_of(["kind'", *names[1:]], names[0], columns=columns)
    reader, wanted = make_reader(columns), moments_of(request, table)
    for file in reader.variants(table):
        assert same(reader.read(file, request), wanted)


def test_as_many_coordinates_as_a_model_may_have(make_reader: MakeReader) -> None:
    columns = parse_columns({f"x{i}": {"type": "real", "lower": -2, "upper": 1} for i in range(64)})
    table = table_of(500, seed=10, columns=columns)
    request = request_of([f"x{i}" for i in range(63)], "x63", bound=3.0, columns=columns)
    assert request.dimension == 64
    reader = make_reader(columns)
    for file in reader.variants(table):
        assert same(reader.read(file, request), moments_of(request, table))


def test_sums_int64_cannot_hold_are_clamped_and_no_rows_are_zeros(make_reader: MakeReader) -> None:
    request = request_of(["union"], None)
    large = ProductMoments().exact(request, [(2**40, *[2**100] * 6, -(2**100), 5)])
    assert large.products.tolist() == [[2**63 - 1] * 2] * 2
    assert large.sums.tolist() == [1 - 2**63, 5]
    empty = make_reader(COLUMNS).read(",".join(COLUMNS) + "\n", REQUESTS["all"])
    assert empty.rows == empty.square == 0
    assert not empty.products.any()
    assert not empty.cross.any()


@pytest.mark.parametrize(
    "coordinate",
    [Coordinate("arm", "number"), Coordinate("days", "level", level="a"), Coordinate("nothing", "number")],
)
def test_columns_that_hold_no_such_coordinate_are_refused_before_reading(
    reader: Reader, coordinate: Coordinate
) -> None:
    with pytest.raises(InvalidModel):
        reader.read(reader.file(b""), MomentsRequest((coordinate,), True, 1.0))
    with pytest.raises(InvalidModel):
        reader.read(reader.file(b""), MomentsRequest((Coordinate("days", "number"),), True, 1.0, coordinate))
