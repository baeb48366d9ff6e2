"""Rows by bins of one column's lattice: SQL against the same rule in Python."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics.histograms import HistogramRequest
from app.core.statistics.sums import StatisticRequest
from app.errors import InvalidModel
from app.sources.files.formats import sniff
from app.sources.row_statistics import compute
from app.sources.uploads import UploadStore
from tests.sources.test_lattice_statistics import COLUMNS, KEY, REQUESTS, hostile_values, steps_of


@pytest.mark.parametrize("of", REQUESTS[:6], ids=lambda r: f"{r.transform}-{r.steps}")
def test_every_row_is_in_the_bin_of_its_own_step(tmp_path: Path, store: UploadStore, of: StatisticRequest) -> None:
    values = [*hostile_values(of, 2_000), float("nan"), float("inf"), -float("inf")]
    firsts = (0, 1, *sorted({of.steps // 3, of.steps // 2, of.steps - 1, of.steps} - {0, 1}))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": values}), path)
    found = compute(path, sniff(path), COLUMNS, PrivacyUnit(), HistogramRequest(of, firsts), KEY, uploads=store)
    steps = [steps_of(of, x) for x in values[:-3]] + _without_number(of)
    wanted = np.histogram(steps, np.array([*firsts, of.steps + 1]) - 0.5)[0]
    assert found.counts.tolist() == wanted.tolist()
    assert "private" in repr(found)


def _without_number(of: StatisticRequest) -> list[int]:
    """NaN counts as 0; infinities are clipped."""
    return [0, of.steps, of.steps if of.transform in ("absolute", "square") else 0]


def test_an_empty_file_and_no_rows_at_all_agree(tmp_path: Path, store: UploadStore) -> None:
    request = HistogramRequest(REQUESTS[0], (0, 5))
    path = tmp_path / "rows.csv"
    path.write_text("x\n")
    found = compute(path, sniff(path), COLUMNS, PrivacyUnit(), request, KEY, uploads=store)
    assert found.counts.tolist() == request.of_no_rows().counts.tolist() == [0, 0]


def test_a_column_without_numbers_is_refused_before_reading(tmp_path: Path, store: UploadStore) -> None:
    columns = parse_columns({"x": {"type": "categorical", "levels": ["a", "b"]}})
    request = HistogramRequest(StatisticRequest("x", steps=4), (0, 2))
    with pytest.raises(InvalidModel):
        compute(tmp_path / "none.csv", "csv", columns, PrivacyUnit(), request, KEY, uploads=store)


@pytest.mark.parametrize("firsts", [(), (1, 2), (0, 2, 2), (0, 5)])
def test_bins_that_leave_lattice_points_out_cannot_be_asked_for(firsts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="bins"):
        HistogramRequest(StatisticRequest("x", steps=4), firsts)
