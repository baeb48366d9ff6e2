"""The ledger benchmark's tables follow from its rounds."""

import json
from typing import Any

from benchmarks.bench_ledger import APART_MAX, PLACES, apart, ratios_of, tables_of
from benchmarks.published import FOLDER

ROUNDS = [
    {"short": {"ms": 2.0, "cpu_ms": 1.0}, "copy": {"ms": 2.2, "cpu_ms": 1.1}, "long": {"ms": 3.0, "cpu_ms": 1.2}},
    {"short": {"ms": 4.0, "cpu_ms": 2.0}, "copy": {"ms": 3.6, "cpu_ms": 1.8}, "long": {"ms": 4.0, "cpu_ms": 2.0}},
    {"short": {"ms": 1.0, "cpu_ms": 1.0}, "copy": {"ms": 1.0, "cpu_ms": 1.0}, "long": {"ms": 1.1, "cpu_ms": 0.9}},
]
BODY: dict[str, Any] = {
    "setting": {"short": 10, "long": 2_000, "charges": 5, "export_mb": 2},
    "verify": [{"wall_s": 3.0, "cpu_s": 2.0}, {"wall_s": 5.0, "cpu_s": 2.0}, {"wall_s": 4.0, "cpu_s": 2.0}],
    "charge": {"SQLite": ROUNDS, "PostgreSQL": ROUNDS},
}


def test_a_ratio_compares_figures_of_one_round() -> None:
    """The machine was busy in the second: the median of ratios is 1.1, the ratio of medians would be 1.5."""
    assert ratios_of(ROUNDS, "long", "ms") == [1.5, 1.0, 1.1]
    assert ratios_of(ROUNDS, "short", "ms") == [1.0, 1.0, 1.0]


def test_the_tables_say_what_the_rounds_say() -> None:
    tables = tables_of(BODY)
    lines = tables["charge"].splitlines()
    assert len(lines) == 2 + len(PLACES) * len(BODY["charge"])
    assert "| SQLite | 2,000 | 3.00 (2.05–3.50) | 1.10 (1.05–1.30) |" in tables["charge"]
    assert "| 2,000 | 2 | 4.00 (3.50–4.50) | 2.00 (2.00–2.00) | 1,000 (1,000–1,000) |" in tables["verify"]


def test_copies_that_differ_in_either_figure_make_a_run_void() -> None:
    assert max(apart(BODY).values()) <= APART_MAX
    assert "the run counts" in tables_of(BODY)["control"]
    for unit in ("ms", "cpu_ms"):
        for factor in (0.8, 1.2):
            busy = [{**row, "copy": {**row["short"], unit: row["short"][unit] * factor}} for row in ROUNDS]
            told = tables_of(BODY | {"charge": {"SQLite": ROUNDS, "PostgreSQL": busy}})["control"]
            assert "does not count" in told


def test_the_published_tables_follow_from_their_rounds() -> None:
    body = json.loads((FOLDER / "ledger.json").read_text(encoding="utf-8"))
    assert tables_of(body) == body["tables"]
