"""Telling neighbours apart by the low bits, the support, the order of rows or the work done: none of it works."""

import itertools
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.grids import integer_table as table_module
from app.core.grids.integer_table import integer_table
from app.core.grids.sum_laws import SumLaw
from app.core.kinds import parse_model
from app.core.kinds.mechanism_fields import SCORES
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.kinds.one_parameter.mechanisms import Baps, Laplace, MapPoint, Mechanism
from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidRows
from app.sources.duckdb_rows import validate
from app.sources.engine import Limits
from app.sources.files.formats import sniff
from app.sources.row_statistics import compute
from app.sources.uploads import UploadStore
from tests.core.families.family_cases import CASES, build
from tests.deep import deep, deep_unless

KEY = bytes(range(32))
PEOPLE = 40

MECHANISMS: list[Mechanism] = [
    Baps(400), Baps(50, 0.01), Laplace(400, 1.0), MapPoint(2.0), MapPoint(2.0, "probability"),
]  # fmt: skip


def neighbours(model: Model) -> list[ExactStatistic]:
    """Datasets that differ in one record, at both ends and in the middle, and statistics no dataset has."""
    steps = model.statistic.steps
    totals = [0, 1, steps, PEOPLE * steps // 2, PEOPLE * steps // 2 + steps, (PEOPLE - 1) * steps, PEOPLE * steps]
    return [ExactStatistic(total, PEOPLE) for total in (*totals, -(10**30), 10**30)]


class CountedBytes:
    """Random bytes that remember what was asked of them."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.Generator(np.random.PCG64(seed))
        self.asked: list[int] = []

    def __call__(self, count: int) -> bytes:
        self.asked.append(count)
        return self._source.bytes(count)


@pytest.mark.cases(12)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.kind}-{m.samples}-{getattr(m, 'score', '')}")
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_output_is_a_point_of_the_public_grid(family: str, mechanism: Mechanism) -> None:
    """A floating-point sampler leaks through bits only one neighbour can produce; a public list of points cannot."""
    model = build(family, typical=True)
    temperature = mechanism.temperature if isinstance(mechanism, Baps) else 1.0
    if isinstance(mechanism, MapPoint) and mechanism.score == "log_density":
        theta, _ = mechanism.table(model, PEOPLE, 1, ExactStatistic(0, PEOPLE))
        public = set(theta.tolist())
    else:
        public = set(model.grid(PEOPLE, temperature).theta.tolist())
    for seed, statistic in enumerate(neighbours(model)):
        drawn = mechanism.draw(model, PEOPLE, 1, statistic, CountedBytes(seed))
        assert drawn.shape == (mechanism.samples, 1)
        assert set(drawn[:, 0].tolist()) <= public


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_point_of_the_grid_is_reachable_from_every_dataset(family: str) -> None:
    """Same support for all neighbours: no output says with certainty that a dataset was not the one."""
    model = build(family, typical=True)
    grid = model.grid(PEOPLE, 1.0)
    constants = model.constants(grid)
    for statistic in neighbours(model)[:-2]:
        cumulative = integer_table(constants, statistic).cumulative[: grid.size]
        weights = [after - before for before, after in itertools.pairwise([0, *cumulative])]
        assert min(weights) * grid.size * 2**25 > cumulative[-1]


@pytest.mark.parametrize(
    ("family", "score"),
    deep_unless(
        lambda family, score: sorted(FAMILIES).index(family) % len(SCORES) == SCORES.index(score),
        sorted(FAMILIES),
        SCORES,
    ),
)
def test_every_point_can_be_chosen_from_every_dataset_and_none_gives_it_away(family: str, score: Any) -> None:
    """`map`: the same points for all neighbours, each with its share of the uniform table, ratios within e^ε."""
    model, mechanism = build(family, typical=True), MapPoint(2.0, score)
    tables = []
    for statistic in neighbours(model)[:-2]:
        theta, table = mechanism.table(model, PEOPLE, 1, statistic)
        cumulative = table.cumulative[: len(theta)]
        weights = [after - before for before, after in itertools.pairwise([0, *cumulative])]
        assert min(weights) * len(theta) * 2**25 > cumulative[-1]
        tables.append((theta, [math.log(weight) - math.log(cumulative[-1]) for weight in weights]))
    assert len({tuple(theta.tolist()) for theta, _ in tables}) == 1
    first, last = tables[3][1], tables[4][1]  # one record moved from one end of its range to the other
    assert max(abs(a - b) for a, b in zip(first, last, strict=True)) <= 2.0


@pytest.mark.cases(4)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_work_of_a_fit_is_the_same_for_every_dataset(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operation counts, not clocks: random bytes asked for, exponentials taken, entries in the searched table."""
    model = build(family, typical=True)
    exponentials: list[int] = [0]

    def counted(value: float) -> float:
        exponentials[0] += 1
        return math.exp(value)

    monkeypatch.setattr(table_module, "exp", counted)
    for mechanism in (Baps(30), MapPoint(1.0), MapPoint(1.0, "probability")):
        seen = set()
        for statistic in neighbours(model):
            exponentials[0] = 0
            source = CountedBytes(0)
            mechanism.draw(model, PEOPLE, 1, statistic, source)
            seen.add((tuple(source.asked), exponentials[0]))
        assert len(seen) == 1
    grid = model.grid(PEOPLE, 1.0)
    sizes = {len(integer_table(model.constants(grid), one).cumulative) for one in neighbours(model)[:-2]}
    assert len(sizes) == 1


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("family", "people"),
    [*((family, PEOPLE) for family in sorted(FAMILIES)), deep("poisson", 20_000), ("pareto", 5_000)],
)
def test_laplace_does_the_same_work_whatever_the_data(
    family: str, people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random bytes asked for and densities evaluated, exact sums and quadrature: neither the sum nor the noise shows."""
    model = build(family, typical=True)
    densities: list[tuple[int, ...]] = []
    real = SumLaw.log_density

    def counted(self: SumLaw, total: Any, theta: Any, records: int) -> Any:
        densities.append(np.broadcast_shapes(np.shape(total), np.shape(theta)))
        return real(self, total, theta, records)

    monkeypatch.setattr(SumLaw, "log_density", counted)
    seen = set()
    largest = people * model.statistic.steps
    for total, noise in itertools.product((0, largest // 3, largest), (0, 10**6)):
        densities.clear()
        source = CountedBytes(0)
        Laplace(25, 1.0).draw(
            model, people, 1, ExactStatistic(total, people), source, lambda values, _scale, noise=noise: values + noise
        )
        seen.add((tuple(source.asked), tuple(densities)))
    assert len(seen) == 1
    assert next(iter(seen))[0] == (25 * 32,)


def test_private_values_do_not_print() -> None:
    statistic = ExactStatistic(987654321, 123456789)
    model = build("bernoulli")
    table = integer_table(model.constants(model.grid(10, 1.0)), ExactStatistic(7, 10))
    for private in (statistic, table):
        assert not re.search(r"\d", repr(private) + str(private) + f"{private}")


@pytest.fixture
def store(tmp_path: Path) -> UploadStore:
    return UploadStore(tmp_path / "uploads")


def csv_file(folder: Path, cells: list[Any]) -> Path:
    path = folder / "rows.csv"
    path.write_text("x\n" + "".join(f"{cell}\n" for cell in cells))
    return path


def parquet_file(folder: Path, cells: list[Any]) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"x": pa.array(cells, pa.float64())}), path)
    return path


def test_values_that_are_no_numbers_are_refused_at_upload(tmp_path: Path, store: UploadStore) -> None:
    """NaN and infinities in any spelling, CSV and Parquet; the steward sees a line, never a value. So is what lies
    beyond the bounds, where the column says so."""
    columns = parse_columns({"x": {"type": "real", "lower": -10, "upper": 10, "outside": "refuse"}})
    spelled = [
        "nan",
        "NaN",
        "-nan",
        "inf",
        "Infinity",
        "-inf",
        "1e999",
        "1e-",
        "0x1p3",
        "1_0",
        "",
        "10.000000000000002",
    ]
    for cell in spelled:
        path = csv_file(tmp_path, ["1.5", f'"{cell}"', "2"])
        with pytest.raises(InvalidRows):
            validate(path, sniff(path), columns, PrivacyUnit(), None, uploads=store)
    for value in (math.nan, math.inf, -math.inf, 1e308, -10.000000000000002, None):
        path = parquet_file(tmp_path, [1.5, value, 2.0])
        with pytest.raises(InvalidRows):
            validate(path, sniff(path), columns, PrivacyUnit(), None, uploads=store)


@pytest.mark.parametrize("write", [csv_file, parquet_file])
def test_zeros_and_subnormals_count_as_the_numbers_they_are(
    tmp_path: Path, store: UploadStore, write: Callable[[Path, list[Any]], Path]
) -> None:
    """−0.0 and 5e-324 pass, and a sum with them is the sum with zeros: no bit of theirs survives the lattice."""
    columns = parse_columns({"x": {"type": "real", "lower": -10, "upper": 10}})
    for family in ("normal_mean", "laplace", "normal_precision"):
        model = build(family, typical=True)
        totals = set()
        for cells in ([0.0, 0.0, 3.0], [-0.0, 5e-324, 3.0], [-5e-324, 2.2e-308, 3.0], [3.0, -0.0, -2.2e-308]):
            path = write(tmp_path, cells)
            validate(path, sniff(path), columns, PrivacyUnit(), 3, uploads=store)
            found = compute(path, sniff(path), columns, PrivacyUnit(), model.statistic, KEY, uploads=store)
            totals.add(found.total)
        assert len(totals) == 1


@pytest.mark.parametrize("family", ["normal_mean", "exponential", "pareto", "weibull"])
def test_order_chunks_and_threads_cannot_change_a_sum_of_reals(family: str, tmp_path: Path, store: UploadStore) -> None:
    """Numbers of very different sizes, whose floating-point sum depends on their order."""
    column = CASES[family].typical
    assert column is not None
    model, columns = build(family, typical=True), parse_columns({"x": column})
    source = random.Random(1)
    small, large = column["lower"], column["upper"]
    cells = [source.choice([large, small + source.random() * 1e-9, source.uniform(1, 4)]) for _ in range(4_000)]
    seen = set()
    for group in (100, 10_000):
        source.shuffle(cells)
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"x": cells}), path, row_group_size=group)
        for threads in (1, 4):
            limits = Limits(threads=threads)
            found = compute(
                path, sniff(path), columns, PrivacyUnit(), model.statistic, KEY, uploads=store, limits=limits
            )
            seen.add((found.total, found.rows))
    assert len(seen) == 1
    floating = {sum(source.sample(cells, len(cells))) for _ in range(20)}
    assert len(floating) > 1  # what the lattice is for


@pytest.mark.slow
@pytest.mark.parametrize("family", ["normal_mean", "laplace"])
def test_an_offset_of_two_to_the_fifty_changes_no_sum_and_no_sample(
    family: str, tmp_path: Path, store: UploadStore
) -> None:
    """Far from zero a double has steps of ¼, and running sums round differently in every order; ours is one integer."""
    low = 2.0**50
    columns = parse_columns({"x": {"type": "real", "lower": low, "upper": low + 2**24}})
    known = {"normal_mean": {"sd": 1e5, "prior": {"kind": "uniform"}}, "laplace": {"location": low}}
    model = parse_model({"family": family, "column": "x", **known[family]}, columns)
    source = random.Random(2)
    cells = [low + 16 * source.randrange(2**20) + 0.25 for _ in range(3_001)]
    sums, samples = set(), set()
    for group in (7, 1_000, 10_000):
        source.shuffle(cells)
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"x": cells}), path, row_group_size=group)
        for threads in (1, 4):
            found = compute(
                path, sniff(path), columns, PrivacyUnit(), model.statistic, KEY, uploads=store,
                limits=Limits(threads=threads),
            )  # fmt: skip
            sums.add((found.total, found.rows))
            samples.add(Baps(5).draw(model, len(cells), 1, found, CountedBytes(3)).tobytes())
    assert len(sums) == len(samples) == 1
    if family == "normal_mean":
        exact = sum(int(cell - low) // 16 for cell in cells)  # a step of the lattice is 16: the quarter is rounded away
        assert sums == {(exact, len(cells))}
    assert len({sum(source.sample(cells, len(cells))) for _ in range(20)}) > 1


def test_a_whole_release_over_dates_draws_from_the_same_points_whatever_the_rows(
    tmp_path: Path, store: UploadStore
) -> None:
    """Upload, statistic and draw with an offset of 2³⁷: neighbours differ by one row, outputs share their support."""
    low = 2**37
    columns = parse_columns({"x": {"type": "real", "lower": low, "upper": low + 1000}})
    model = parse_model({"family": "normal_mean", "column": "x", "sd": 100.0}, columns)
    supports = []
    for extreme in (low, low + 1000):
        path = parquet_file(tmp_path, [low + 500.0] * 49 + [float(extreme)])
        validate(path, sniff(path), columns, PrivacyUnit(), 50, uploads=store)
        statistic = compute(path, sniff(path), columns, PrivacyUnit(), model.statistic, KEY, uploads=store)
        half = model.statistic.steps // 2
        assert statistic == ExactStatistic(49 * half + (0 if extreme == low else model.statistic.steps), 50)
        drawn = Baps(3_000).draw(model, 50, 1, statistic, CountedBytes(1))[:, 0]
        assert abs(drawn.mean() - (low + 490 + 20 * (extreme > low))) < 3
        supports.append(set(drawn.tolist()))
    public = set(model.grid(50, 1.0).theta.tolist())
    assert len(public) == model.grid(50, 1.0).size
    assert supports[0] | supports[1] <= public
