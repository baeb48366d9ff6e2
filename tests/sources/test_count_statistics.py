"""Counts of a network's cells: every row once in every node, and the same from any file with the same rows."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.kinds.networks.parsing import column_levels
from app.core.kinds.networks.statistic import count_records, counts_request
from app.core.kinds.networks.structure import CELLS_MAX, NODES_MAX, Network, Node, build_network
from app.core.schema import Column, PrivacyUnit, parse_columns
from app.core.statistics.counts import CountsRequest, ExactCounts, NodeCounts
from app.errors import DataMissing, InvalidModel, Unavailable
from app.sources.engine import Limits
from tests.sources.rows_under_test import MakeReader, Reader, counted_places, taken

SPECS: dict[str, dict[str, Any]] = {
    "ill": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo", 'a "b", c', "it's"]},
    "visits": {"type": "integer", "lower": -2, "upper": 3},
    "smokes": {"type": "binary"},
    "site": {"type": "categorical", "levels": ["1", "0", "false", "NULL"]},
}
COLUMNS = parse_columns(SPECS)
PARENTS = {"ill": ("visits", "smokes"), "arm": (), "visits": ("arm",), "smokes": ("site", "arm"), "site": ()}


def network_of(columns: Mapping[str, Column], parents: Mapping[str, tuple[str, ...]]) -> Network:
    nodes = []
    for name in parents:
        levels = column_levels("", name, columns)
        nodes.append(Node(name, levels, parents[name], (1.0,) * len(levels)))
    return build_network(nodes)


def places(size: int, network: Network, seed: int) -> Any:
    source = np.random.default_rng(seed)
    return np.stack([source.integers(0, len(node.levels), size) for node in network.nodes], axis=1)


def table_of(network: Network, records: Any, columns: Mapping[str, Column]) -> dict[str, list[Any]]:
    """Cells as a file would hold them: 0 and 1, whole numbers, texts."""
    table: dict[str, list[Any]] = {}
    for i, node in enumerate(network.nodes):
        kind = columns[node.name].type
        values = [int(place) for place in records[:, i]]
        if kind == "integer":
            values = [int(node.levels[place]) for place in values]
        table[node.name] = [node.levels[place] for place in values] if kind == "categorical" else values
    return table


def same(found: ExactCounts, wanted: ExactCounts) -> bool:
    return found.rows == wanted.rows and found.cells.dtype == np.int64 and np.array_equal(found.cells, wanted.cells)


def brute_force(request: CountsRequest, rows: Sequence[Mapping[str, str]]) -> list[int]:
    """A dictionary of texts, level by level."""
    levels = dict(request.levels)
    counts: list[int] = []
    for node in request.nodes:
        names = (*node.parents, node.name)
        seen = Counter(tuple(row[name] for name in names) for row in rows)
        cells: list[tuple[str, ...]] = [()]
        for name in names:
            cells = [(*cell, level) for cell in cells for level in levels[name]]
        counts += [seen[cell] for cell in cells]
    return counts


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_both_formats_are_those_of_the_level_indices(make_reader: MakeReader, seed: int) -> None:
    source = random.Random(seed)
    names = source.sample(list(SPECS), len(SPECS))
    parents = {name: tuple(source.sample(names[:i], min(i, source.randrange(4)))) for i, name in enumerate(names)}
    network = network_of(COLUMNS, parents)
    records = places(700, network, seed)
    reader = make_reader(COLUMNS)
    for file in reader.variants(table_of(network, records, COLUMNS), group=97):
        assert reader.check(file).rows == 700
        assert same(reader.read(file, counts_request(network)), count_records(network, records))


def test_counts_are_those_of_a_dictionary_of_texts(make_reader: MakeReader) -> None:
    network = network_of(COLUMNS, PARENTS)
    records = places(300, network, 11)
    texts = [
        {node.name: node.levels[place] for node, place in zip(network.nodes, record, strict=True)} for record in records
    ]
    reader = make_reader(COLUMNS)
    for file in reader.variants(table_of(network, records, COLUMNS)):
        found = reader.read(file, counts_request(network))
        assert found.cells.tolist() == brute_force(counts_request(network), texts)


def test_order_chunks_and_threads_change_nothing(make_reader: MakeReader) -> None:
    network = network_of(COLUMNS, PARENTS)
    records = places(5_000, network, 5)
    wanted = count_records(network, records)
    reader = make_reader(COLUMNS)
    for seed, group in ((0, 100), (1, 10_000)):
        shuffled = records[np.random.default_rng(seed).permutation(len(records))]
        for file in reader.variants(table_of(network, shuffled, COLUMNS), group=group):
            for threads in (1, 4):
                assert same(reader.read(file, counts_request(network), limits=Limits(threads=threads)), wanted)


@pytest.mark.parametrize("max_rows", [1, 3, 1000])
def test_rows_beyond_the_unit_are_left_out_by_their_keyed_hash(make_reader: MakeReader, max_rows: int) -> None:
    network = network_of(COLUMNS, PARENTS)
    records = places(1_200, network, 6)
    source = random.Random(6)
    table = table_of(network, records, COLUMNS) | {"who": [f"p{source.randrange(150)}" for _ in records]}
    wanted = count_records(network, records[counted_places(table, "who", max_rows)])
    reader = make_reader(COLUMNS)
    for order in (range(1_200), source.sample(range(1_200), 1_200)):
        for file in reader.variants(taken(table, order)):
            assert same(reader.read(file, counts_request(network), PrivacyUnit("who", max_rows)), wanted)


@pytest.mark.deep
@pytest.mark.slow
def test_person_who_owns_all_rows_of_a_large_file_fits_in_little_memory(
    make_reader: MakeReader, tmp_path: Path
) -> None:
    """Sorting spills: neither many rows nor many rows of one person may stop a release."""
    columns = parse_columns({f"n{i}": {"type": "categorical", "levels": ["no", "yes"]} for i in range(40)})
    network = network_of(columns, {f"n{i}": (f"n{i - 1}",) if i else () for i in range(40)})
    records = places(100_000, network, 4)
    table = table_of(network, records, columns) | {"who": ["p" if i % 10 else f"q{i}" for i in range(100_000)]}
    reader = make_reader(columns)
    pq.write_table(pa.table(table), tmp_path / "p")
    found = reader.read(tmp_path / "p", counts_request(network), PrivacyUnit("who", 3), limits=Limits(memory_mb=48))
    assert same(found, count_records(network, records[counted_places(table, "who", 3)]))


def test_replacing_one_person_moves_each_node_by_at_most_the_unit(make_reader: MakeReader) -> None:
    network = network_of(COLUMNS, PARENTS)
    records = places(300, network, 8)
    table = table_of(network, records, COLUMNS) | {"who": [f"p{i % 60}" for i in range(300)]}
    reader, unit = make_reader(COLUMNS), PrivacyUnit("who", 2)
    before = reader.read(reader.variants(table)[1], counts_request(network), unit)
    changed = table | {
        "arm": ["it's" if who == "p7" else arm for who, arm in zip(table["who"], table["arm"], strict=True)]
    }
    after = reader.read(reader.variants(changed)[1], counts_request(network), unit)
    assert before.rows == after.rows == 120
    for i in range(len(network.nodes)):
        moved = after.cells[network.cells(i)] - before.cells[network.cells(i)]
        assert moved.sum() == 0
        assert np.abs(moved).sum() <= 4


def test_text_that_was_never_allowed_counts_as_the_first_level(make_reader: MakeReader) -> None:
    """Upload refuses these; should a file change afterwards, no row may be lost and no release stopped."""
    cells = ["", "nan", "inf", "-inf", "1e999", "9" * 400, "-" + "9" * 30, "1.5", "1_0", "0x1", "TRUER", "Drug"]
    cells += ["drugs", "'); DROP TABLE rows; --", "\\", "٣", "3", '"drug"']
    specs = {name: SPECS[name] for name in ("ill", "arm", "visits")}
    columns = parse_columns(specs | {"v2": {"type": "integer", "lower": 2, "upper": 15}})
    network = network_of(columns, {"arm": (), "ill": ("arm",), "visits": ("ill", "arm"), "v2": ()})
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    rows = "ill,arm,visits,v2\n" + "".join(f"{cell},{cell},{cell},{cell}\n" for cell in quoted)
    rows += "short\n\n,,,,,,,\n1\n"
    found = make_reader(columns).read(rows, counts_request(network))
    size = len(cells) + 4
    assert found.rows == size
    tables = {
        node.name: found.cells[network.cells(i)].reshape(network.shape(i)) for i, node in enumerate(network.nodes)
    }
    assert tables["arm"].tolist() == [size, 0, 0, 0]
    assert tables["ill"].tolist() == [[size - 1, 1], [0, 0], [0, 0], [0, 0]]  # the short row that says 1
    assert tables["visits"][0, 0].tolist() == [size - 2, 0, 0, 0, 0, 1]  # 3 is an allowed number
    assert tables["v2"].tolist() == [size - 1, 1, *[0] * 12]


def test_stored_values_that_were_never_allowed_count_as_the_first_level_and_numbers_as_their_bound(
    make_reader: MakeReader, tmp_path: Path
) -> None:
    columns = parse_columns({name: SPECS[name] for name in ("ill", "arm", "visits")})
    network = network_of(columns, {"arm": (), "ill": (), "visits": ()})
    texts = [None, "", "dr\nug", "a\x00b", "placebo", "it's"]
    for visits, counts in (
        (pa.array([None, 2**63 - 1, -(2**63), 4, 3, -2], pa.int64()), [3, 0, 0, 0, 0, 3]),
        (pa.array([None, 10**30, -(10**30), 4, 3, -2], pa.decimal128(38, 2)), [3, 0, 0, 0, 0, 3]),
        (pa.array([None, 2**64 - 1, 7, 4, 3, 2**33], pa.uint64()), [1, 0, 0, 0, 0, 5]),
    ):
        ill = pa.array([None, 7, -1, 2**31 - 1, 1, 0], pa.int32())
        pq.write_table(pa.table({"arm": pa.array(texts), "ill": ill, "visits": visits}), tmp_path / "p")
        found = make_reader(columns).read(tmp_path / "p", counts_request(network))
        assert found.rows == 6
        assert found.cells.tolist() == [4, 1, 0, 1, 5, 1, *counts]


def test_fractions_of_stored_decimals_are_not_rounded_into_a_level(make_reader: MakeReader, tmp_path: Path) -> None:
    columns = parse_columns({"visits": SPECS["visits"]})
    network = network_of(columns, {"visits": ()})
    cells = pa.array([Decimal("1.5"), Decimal("1.00"), Decimal("2.99")], pa.decimal128(10, 2))
    pq.write_table(pa.table({"visits": cells}), tmp_path / "p")
    found = make_reader(columns).read(tmp_path / "p", counts_request(network))
    assert found.cells.tolist() == [2, 0, 0, 1, 0, 0]


def test_names_and_levels_that_read_as_sql_are_only_names(make_reader: MakeReader) -> None:
    names = ["a'b", 'c"d', "v0", "cell", "$key", "x); DROP TABLE t; --", "SELECT", "with, comma", "ünïcode ✓", "c1"]
    levels = ["''", "'", '"', "');--", "$key", ",", "\\'", "%", "{}", "NULL", "Null", "null", "a  b", "é", "e\u0301"]
    columns = parse_columns(
        {name: {"type": "categorical", "levels": levels[::step]} for step, name in enumerate(names, 1)}
    )
    chain = {name: tuple(names[i - 1 : i]) if i < 7 else () for i, name in enumerate(names)}
    network = network_of(columns, chain)
    records = places(500, network, 3)
    reader = make_reader(columns)
    table = table_of(network, records, columns)
    for file in reader.variants(table):
        assert reader.check(file).rows == 500
        assert same(reader.read(file, counts_request(network)), count_records(network, records))
    unit = PrivacyUnit('who\'s "it"', 2)
    table |= {'who\'s "it"': [f"p{i % 90}" for i in range(500)]}
    wanted = count_records(network, records[counted_places(table, 'who\'s "it"', 2)])
    for file in reader.variants(table):
        assert same(reader.read(file, counts_request(network), unit), wanted)


def test_levels_are_counted_in_the_order_of_the_request(make_reader: MakeReader) -> None:
    request = CountsRequest(
        (NodeCounts("arm", ("ill",), (2, 4)),), (("ill", ("true", "false")), ("arm", ("it's", "drug", "placebo", "x")))
    )
    columns = parse_columns({name: SPECS[name] for name in ("ill", "arm")})
    reader = make_reader(columns)
    for file in reader.variants({"ill": [1, 1, 0], "arm": ["drug", "it's", "placebo"]}):
        assert reader.read(file, request).cells.tolist() == [1, 1, 0, 0, 0, 0, 1, 0]


@pytest.mark.deep
@pytest.mark.slow
def test_largest_network_is_counted_in_little_memory(make_reader: MakeReader) -> None:
    """1,000 nodes and 50,000 cells, levels as long as they may be."""
    levels = [f"{i:03d}" + "l" * 122 + "'✓'" for i in range(50)]
    columns = parse_columns({f"n{i:03d}": {"type": "categorical", "levels": levels} for i in range(NODES_MAX)})
    network = network_of(columns, dict.fromkeys(columns, ()))
    assert network.cell_count == CELLS_MAX
    records = places(60, network, 2)
    reader = make_reader(columns)
    for file in reader.variants(table_of(network, records, columns)):
        assert same(
            reader.read(file, counts_request(network), limits=Limits(memory_mb=512)), count_records(network, records)
        )


def test_no_rows_are_no_counts(make_reader: MakeReader) -> None:
    network = network_of(COLUMNS, PARENTS)
    found = make_reader(COLUMNS).read(",".join(COLUMNS) + "\n", counts_request(network))
    assert found.rows == 0
    assert not found.cells.any()


@pytest.mark.parametrize(
    ("name", "levels"),
    [("days", ("0", "1")), ("nothing", ("a", "b")), ("cured", ("0", "1"))],
)
def test_columns_without_such_levels_are_refused_before_reading(
    reader: Reader, tmp_path: Path, name: str, levels: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidModel):
        reader.read(reader.file(b""), CountsRequest((NodeCounts(name, (), (2,)),), ((name, levels),)))


@pytest.mark.parametrize("node", [NodeCounts("arm", (), (2,)), NodeCounts("arm", ("cured",), (2, 3))])
def test_tables_that_do_not_fit_their_columns_are_refused(reader: Reader, node: NodeCounts) -> None:
    with pytest.raises(InvalidModel):
        reader.read(reader.file(b""), CountsRequest((node,), (("arm", ("drug", "placebo", "c")),)))


def test_rows_that_are_gone_or_changed_are_not_quoted(reader: Reader) -> None:
    request = CountsRequest((NodeCounts("cured", (), (2,)),), (("cured", ("false", "true")),))
    with pytest.raises(DataMissing) as caught:
        reader.read(b"canary,4711\n1,2\n", request)
    assert "canary" not in caught.value.detail
    with pytest.raises(Unavailable) as away:
        reader.read(b"PAR1 canary PAR1", request)
    assert away.value.__context__ is None
