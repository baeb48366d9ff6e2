"""A hundred groups × three families on a million rows: one reading, beside one `GROUP BY` of the bare engine.

    .venv/bin/python -m benchmarks.bench_several [--rows 1000000] [--rounds 7]

The bare engine sums the same three columns by the same column of the same kept file, as plain Parquet, with as many threads. Ours
opens the sealed file, checks nothing again, brings every cell to its lattice and sums. Medians, alternately measured.
"""

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.core.kinds import parse_model
from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics import SeveralRequest
from app.sources.data_key import SALT_BYTES, DataKey
from app.sources.engine import Limits
from app.sources.kept_rows import check_and_keep
from app.sources.sealed_files import unseal
from app.sources.sources import SourceContext, UploadedRows
from app.sources.uploads import UploadStore

GROUPS = 100
SITES = [f"site {place}" for place in range(GROUPS)]
COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "days": {"type": "real", "lower": 0, "upper": 365},
        "visits": {"type": "integer", "lower": 0, "upper": 40},
        "site": {"type": "categorical", "levels": SITES, "public": True},
    }
)
FAMILIES = (("bernoulli", "cured"), ("exponential", "days"), ("poisson", "visits"))


def written(folder: Path, rows: int) -> Path:
    source = np.random.default_rng(1)
    sites = pa.DictionaryArray.from_arrays(source.integers(0, GROUPS, rows).astype(np.int32), SITES)
    table = pa.table(
        {
            "cured": source.integers(0, 2, rows),
            "days": source.uniform(0, 365, rows),
            "visits": source.integers(0, 41, rows),
            "site": sites,
        }
    )
    pq.write_table(table, folder / "sent.parquet")
    return folder / "sent.parquet"


def request_of(rows: int) -> SeveralRequest:
    groups = {"by": ["site"], "strata": [rows // GROUPS] * GROUPS}
    models = [{"family": family, "column": column, "groups": groups} for family, column in FAMILIES]
    return SeveralRequest(tuple(parse_model(model, COLUMNS).statistic for model in models))


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of all cores together: the second is what a busy machine leaves comparable."""
    began, worked = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - worked


def bare(path: Path, threads: int) -> None:
    """Columns are kept in the order of their names: cured, days, site, visits."""
    connection = duckdb.connect(":memory:", config={"threads": threads})
    sums = "count(*), sum(v0), sum(v1), sum(v3)"
    found = connection.execute(f"SELECT v2, {sums} FROM read_parquet('{path}') GROUP BY v2").fetchall()  # noqa: S608
    connection.close()
    if len(found) != GROUPS:
        raise RuntimeError("the rows are not what they were")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sent, store, key = written(folder, asked.rows), UploadStore(folder / "uploads"), DataKey(secrets.token_hex(32))
        with store.begin("bench") as kept:
            check_and_keep(
                sent, "parquet", COLUMNS, PrivacyUnit(), None, kept, key, secrets.token_bytes(SALT_BYTES), uploads=store
            )
            unseal(kept.path, folder / "plain.parquet", key)
            context = SourceContext(COLUMNS, PrivacyUnit(), store, data_key=lambda: key)
            source, request = UploadedRows(lambda: kept.path, context), request_of(asked.rows)
            threads = Limits().threads
            rounds = [
                (
                    timed(lambda: bare(folder / "plain.parquet", threads)),
                    timed(lambda: source.statistic(request, b"not needed here.")),
                    timed(lambda: source.statistic(request.parts[0], b"not needed here.")),
                )
                for _ in range(asked.rounds)
            ]
    print(f"{asked.rows} rows, {GROUPS} groups, {len(FAMILIES)} families, {threads} threads, median of {asked.rounds}")
    columns = [*zip(*rounds, strict=True)]
    for place, measure in enumerate(("by the clock", "of both cores")):
        engine, ours, one = (median(each[place] for each in column) for column in columns)
        print(f"{measure}: bare GROUP BY {engine:.3f} s, three families {ours:.3f} s, one {one:.3f} s")
        print(f"{measure}: three families in one reading take {ours / engine:.2f} times the bare engine")


if __name__ == "__main__":
    main()
