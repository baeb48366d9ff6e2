"""Files of draws open elsewhere with the same names, the same bits and the same receipt, whatever the names are."""

import csv
import io
import tracemalloc
from collections.abc import Callable
from tempfile import TemporaryFile

import numpy as np
import pytest

from app.errors import InvalidInput
from app.services.reading.exports import FORMATS
from app.services.reading.exports.draws import Draws, choose
from tests.deep import deep_unless
from tests.services.export_files import (
    HOSTILE,
    OPENINGS,
    PLAIN,
    READERS,
    Opened,
    drawn,
    matrix_of,
    receipt_inside,
    receipt_of,
    values_sha256,
    written,
)

OPENING = pytest.mark.parametrize(
    ("name", "reader"), OPENINGS, ids=[f"{name}{reader.__name__}" for name, reader in OPENINGS]
)
FORMAT = pytest.mark.parametrize("name", FORMATS)


def test_every_format_is_opened_by_something_else():
    assert set(READERS) == set(FORMATS)


@OPENING
@pytest.mark.parametrize("names", [["theta"], PLAIN, HOSTILE], ids=["one", "plain", "hostile"])
@pytest.mark.parametrize("size", [1, 40])
def test_names_and_bits_survive(name: str, reader: Callable[[bytes], Opened], names: list[str], size: int):
    draws = drawn(names, size)
    found_names, found = reader(written(name, draws, receipt_of(draws)))
    assert found_names == names
    assert found.tobytes() == matrix_of(draws).tobytes()


@OPENING
def test_more_draws_than_one_piece_stay_in_order(name: str, reader: Callable[[bytes], Opened]):
    """More rows than are turned into text, or into a batch, at a time."""
    draws = drawn(["a", "b", "c"], 70_001)
    found_names, found = reader(written(name, draws, receipt_of(draws)))
    assert found_names == ["a", "b", "c"]
    np.testing.assert_array_equal(found, matrix_of(draws))


@OPENING
def test_thousands_of_parameters_stay_in_order(name: str, reader: Callable[[bytes], Opened]):
    names = [f"node{number}=level|parent={number % 3}" for number in range(5_000)]
    draws = drawn(names, 7)
    found_names, found = reader(written(name, draws, receipt_of(draws)))
    assert found_names == names
    np.testing.assert_array_equal(found, matrix_of(draws))


@FORMAT
@pytest.mark.parametrize("names", [PLAIN, HOSTILE], ids=["plain", "hostile"])
def test_the_receipt_is_inside_every_file(name: str, names: list[str]):
    draws = drawn(names, 3)
    assert receipt_inside(name, written(name, draws, receipt_of(draws))) == receipt_of(draws)


@FORMAT
def test_the_same_draws_are_the_same_bytes(name: str):
    first, again = drawn(HOSTILE, 30), drawn(HOSTILE, 30)
    assert written(name, first, receipt_of(first)) == written(name, again, receipt_of(again))


@FORMAT
def test_chosen_parameters_are_those_of_the_whole_in_the_order_asked(name: str):
    whole = drawn(HOSTILE, 9)
    names = ["a/b", "theta", "=1+1"]
    chosen = choose(whole.samples, names)
    found_names, found = READERS[name][0](written(name, chosen, receipt_of(chosen)))
    assert found_names == names
    np.testing.assert_array_equal(found, matrix_of(whole)[:, [HOSTILE.index(each) for each in names]])


@pytest.mark.slow
@pytest.mark.parametrize("name", deep_unless(lambda name: name == "parquet", FORMATS))
def test_writing_takes_less_than_half_the_memory_that_ten_megabytes_of_draws_take(name: str):
    """To a file on disk. What libraries allocate outside Python's view is measured in the benchmarks; every
    row, list and text that this code makes is in it."""
    draws = drawn(["a", "b", "c"], 400_000)
    written(name, drawn(["a"], 2), receipt_of(drawn(["a"], 2)))
    with TemporaryFile() as file:
        tracemalloc.start()
        try:
            FORMATS[name].write(draws, receipt_of(draws), file)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < draws.samples.columns.nbytes / 2


def test_the_receipt_of_a_csv_is_one_line_with_balanced_quotes():
    """Readers that know about quotes skip this line too; a quote left open would swallow the header."""
    draws = drawn(HOSTILE, 2)
    first, header, *rows = written("csv", draws, receipt_of(draws)).decode().split("\n")
    assert first.count('"') % 2 == 0
    assert first.isascii()
    assert next(csv.reader(io.StringIO(header))) == HOSTILE
    assert len(rows) == 3


@pytest.mark.parametrize("size", [1, 2, 5_000])
@pytest.mark.parametrize("names", [["a"], PLAIN], ids=["one", "four"])
def test_the_digest_is_of_the_doubles_row_by_row(size: int, names: list[str]):
    draws = drawn(names, size)
    assert draws.digest() == values_sha256(draws.samples.matrix)


def test_the_digest_of_a_prefix_does_not_depend_on_what_follows():
    longer, other = drawn(PLAIN, 20), drawn(PLAIN, 20, seed=2)
    prefixes = [Draws(each.samples.prefix(12)) for each in (longer, other)]
    assert prefixes[0].digest() == values_sha256(longer.samples.matrix[:12])
    assert prefixes[0].digest() != prefixes[1].digest()


@pytest.mark.parametrize("names", [["nobody"], ["theta", "theta"], ["theta"] * 1001, [""]], ids=str)
def test_unknown_and_repeated_names_are_refused(names: list[str]):
    with pytest.raises(InvalidInput) as refused:
        choose(drawn(HOSTILE, 2).samples, names)
    assert refused.value.problems[0].field == "parameter"


def test_a_part_of_a_choice_is_the_choice_of_a_part():
    whole = drawn(PLAIN, 4)
    assert whole.part(1, 3).names == PLAIN[1:3]
    assert whole.part(0, 9) is whole
    assert choose(whole.samples, PLAIN[::-1]).part(0, 1).names == [PLAIN[-1]]
