"""Real and integer columns on their lattice: SQL, one record at a time, against the same rule in Python."""

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.kinds.one_parameter.families import FAMILIES
from app.core.schema import Column, PrivacyUnit, parse_columns
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import InvalidModel
from app.sources.files.formats import sniff
from app.sources.row_statistics import compute
from app.sources.sum_statistics import steps_of as steps_in_sql
from app.sources.uploads import UploadStore
from tests.core.families.family_cases import CASES, build

KEY = bytes(range(32))
COLUMNS = parse_columns({"x": {"type": "real", "lower": -1e300, "upper": 1e300}})

REQUESTS = [
    StatisticRequest("x", "identity", 0.0, -3.0, 5.0, 2**20),
    StatisticRequest("x", "identity", 0.0, 0.1, 0.7, 7),
    StatisticRequest("x", "absolute", 0.5, 0.0, 3.5, 1000),
    StatisticRequest("x", "absolute", 1.7e9, 0.0, 3e5, 2**20),
    StatisticRequest("x", "square", 0.3, 0.0, 3.3**2 / 2, 2**20),
    StatisticRequest("x", "square", -2.0, 0.0, 12.5, 10),
    StatisticRequest("x", "power", 1.5, 0.0, 8.0, 2**20),
    StatisticRequest("x", "power", 0.37, 0.0, 2.0, 1000),
    StatisticRequest("x", "log_ratio", 0.5, math.log(3.0), math.log(18.0), 2**20),
]
ROUNDED_BY_A_LIBRARY = {"power", "log_ratio"}


def value_of(request: StatisticRequest, x: float) -> float:
    match request.transform:
        case "identity":
            return x
        case "absolute":
            return abs(x - request.anchor)
        case "square":
            return (x - request.anchor) * (x - request.anchor) / 2
        case "power":
            return float(np.power(np.float64(max(x, 0.0)), request.anchor))
        case "log_ratio":
            return math.log(max(x / request.anchor, 1e-300))
    raise AssertionError(request.transform)


def steps_of(request: StatisticRequest, x: float) -> int:
    """⌊(clip(T) − lower)/step + ½⌋ in doubles."""
    clipped = min(max(value_of(request, x), request.lower), request.upper)
    return math.floor((clipped - request.lower) / request.step + 0.5)


def hostile_values(request: StatisticRequest, count: int, seed: int = 3) -> list[float]:
    """Across and beyond the bounds, at exact halves between steps and a unit in the last place either side of them."""
    source = random.Random(seed)
    spread = max(abs(request.upper), abs(request.lower), abs(request.anchor), 1.0)
    values = [source.uniform(-2 * spread, 2 * spread) for _ in range(count // 2)]
    values += [10.0 ** source.uniform(-300, 20) * source.choice([1, -1]) for _ in range(count // 10)]
    offset = request.anchor if request.transform in ("absolute", "square") else 0.0
    while len(values) < count:
        tie = request.lower + (source.randrange(request.steps) + 0.5) * request.step + offset
        values += [tie, math.nextafter(tie, math.inf), math.nextafter(tie, -math.inf)]
    values += [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, request.lower, request.upper, request.anchor]
    return values


Measure = Callable[..., ExactStatistic]


@pytest.fixture
def measure(tmp_path: Path, store: UploadStore) -> Measure:
    def run(
        cells: Sequence[Any],
        request: StatisticRequest,
        columns: dict[str, Column] = COLUMNS,
        kind: str = "parquet",
        unit: PrivacyUnit | None = None,
        people: Sequence[str] | None = None,
    ) -> ExactStatistic:
        path = tmp_path / f"rows.{kind}"
        names = {"x": list(cells)} | ({} if people is None else {"who": list(people)})
        if kind == "parquet":
            pq.write_table(pa.table(names), path, row_group_size=777)
        else:
            lines = [",".join(names), *(",".join(map(str, row)) for row in zip(*names.values(), strict=True))]
            path.write_text("\n".join(lines) + "\n")
        return compute(path, sniff(path), columns, unit or PrivacyUnit(), request, KEY, uploads=store)

    return run


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r.transform}-{r.steps}")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_sum_is_that_of_the_python_rule_record_by_record(
    measure: Measure, request_: StatisticRequest, kind: str
) -> None:
    """10⁴ doubles; a library's power or logarithm may differ in its last bit, which moves a tie by one step at most."""
    values = hostile_values(request_, 10_000)
    wanted = [steps_of(request_, x) for x in values]
    assert min(wanted) == 0
    assert max(wanted) == request_.steps
    cells = values if kind == "parquet" else [repr(x) for x in values]
    found = measure(cells, request_, kind=kind)
    assert found.rows == len(values)
    slack = 20 if request_.transform in ROUNDED_BY_A_LIBRARY else 0
    assert abs(found.total - sum(wanted)) <= slack


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r.transform}-{r.steps}")
def test_every_single_record_lands_on_the_step_of_the_python_rule(request_: StatisticRequest) -> None:
    """The expression itself, so that no two errors cancel in a sum."""
    values = hostile_values(request_, 10_000, seed=4)
    rows = pa.table({"x": values, "i": range(len(values))})
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.execute(f"SELECT {steps_in_sql('x', request_)} FROM rows ORDER BY i").fetchall()
    gaps = [abs(one - steps_of(request_, x)) for (one,), x in zip(found, values, strict=True)]
    assert all(0 <= one <= request_.steps for (one,) in found)
    if request_.transform in ROUNDED_BY_A_LIBRARY:
        assert max(gaps) <= 1
        assert sum(gaps) <= 20
    else:
        assert max(gaps) == 0


@pytest.mark.slow
def test_values_that_were_never_allowed_stay_on_the_lattice_and_stop_nothing(measure: Measure) -> None:
    """After upload ingestion is total: whatever a cell holds counts as a step from 0 to `steps`, no row is lost."""
    nothing = ["nan", "NaN", "-nan", "", "abc", "NULL", "'", "1,5", "٣"]
    numbers = [
        "inf",
        "-inf",
        "1e999",
        "-1e999",
        "1e308",
        "-1e308",
        "5e-324",
        "-0.0",
        "0x10",
        "1_000",
        "9" * 400,
        "true",
    ]
    floats = [math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0]
    for request in REQUESTS:
        assert measure([f'"{cell}"' for cell in nothing], request, kind="csv") == ExactStatistic(0, len(nothing))
        found = measure([f'"{cell}"' for cell in numbers], request, kind="csv")
        assert found.rows == len(numbers)
        assert 0 <= found.total <= request.steps * len(numbers)
        with np.errstate(over="ignore"):
            wanted = sum(steps_of(request, value) for value in floats)
        assert measure(pa.array(floats, pa.float64()), request) == ExactStatistic(wanted, len(floats))
        assert measure(pa.array([math.nan, None], pa.float64()), request) == ExactStatistic(0, 2)


@pytest.mark.parametrize("lower", [2**50, -(2**50), 2**53 - 101])
def test_whole_numbers_far_from_zero_are_summed_exactly_in_any_order(measure: Measure, lower: int) -> None:
    """Offsets of 2⁵⁰: sums of the numbers themselves would pass 2⁶³, floating sums would depend on the order."""
    columns = parse_columns({"x": {"type": "integer", "lower": lower, "upper": lower + 100}})
    request = StatisticRequest("x", "identity", 0.0, float(lower), float(lower + 100), 100)
    source = random.Random(9)
    cells = [lower + source.randrange(101) for _ in range(20_000)]
    wanted = sum(cells) - lower * len(cells)
    for kind in ("parquet", "csv"):
        for _ in range(2):
            source.shuffle(cells)
            assert measure(cells, request, columns, kind) == ExactStatistic(wanted, len(cells))


@pytest.mark.slow
def test_csv_and_parquet_agree_on_every_family(measure: Measure) -> None:
    source = random.Random(6)
    for name in FAMILIES:
        column = CASES[name].typical
        assert column is not None
        model, columns = build(name, typical=True), parse_columns({"x": column})
        low, high = column.get("lower", 0), column.get("upper", 1)
        if column["type"] == "real":
            cells: list[Any] = [source.uniform(low, high) for _ in range(3_000)]
        else:
            cells = [source.randint(low, high) for _ in range(3_000)]
        found = [measure(cells, model.statistic, columns, kind) for kind in ("parquet", "csv")]
        assert found[0] == found[1]
        shuffled = source.sample(cells, len(cells))
        assert measure(shuffled, model.statistic, columns) == found[0]
        assert 0 < found[0].total < 3_000 * model.statistic.steps


def test_a_persons_rows_move_a_real_sum_by_at_most_the_unit(measure: Measure) -> None:
    request = REQUESTS[0]
    source = random.Random(2)
    people = [f"p{i % 300}" for i in range(900)]
    cells = [source.uniform(-4, 6) for _ in people]
    unit = PrivacyUnit("who", 2)
    before = measure(cells, request, unit=unit, people=people)
    assert before.rows == 600
    for extreme in (-1e300, 1e300):
        changed = [extreme if who == "p7" else cell for who, cell in zip(people, cells, strict=True)]
        after = measure(changed, request, unit=unit, people=people)
        assert after.rows == 600
        assert abs(after.total - before.total) <= 2 * request.steps


def test_a_column_without_numbers_is_refused_before_reading(measure: Measure) -> None:
    columns = parse_columns({"x": {"type": "categorical", "levels": ["a", "b"]}})
    with pytest.raises(InvalidModel):
        measure([], REQUESTS[0], columns)
    with pytest.raises(InvalidModel):
        measure([], StatisticRequest("y"))
