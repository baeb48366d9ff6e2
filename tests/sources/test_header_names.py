"""What a header names: a line break inside quotes is a blank, and no record after it is looked at."""

from pathlib import Path

import pytest

from app.core.schema import parse_columns
from app.errors import InvalidRows
from app.sources.files import read_declared
from app.sources.files.header import HEADER_LINES_MAX
from app.sources.files.names_and_types import names_and_types
from app.sources.uploads import UploadStore
from tests.sources.test_cell_policies import kept

SURVEY = 'Time,"How happy?\n(1 = not at all)","Device, if any"\nnow,4,Phone\nthen,"5","Tab\nlet"\n'


def names(folder: Path, body: bytes, **form: str) -> list[str]:
    path = folder / "named"
    path.write_bytes(body)
    return [name for name, _ in names_and_types(path, read_declared(**form), UploadStore(folder / "uploads"))]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_name_with_a_line_break_can_be_declared_with_a_blank(tmp_path: Path, store: UploadStore, end: str) -> None:
    body = SURVEY.replace("\n", end).encode("utf-8-sig")
    assert names(tmp_path, body) == ["Time", "How happy? (1 = not at all)", "Device, if any"]
    (tmp_path / "rows").write_bytes(body)
    spec = {"type": "integer", "lower": 1, "upper": 5}
    report, values = kept(tmp_path / "rows", store, parse_columns({"How happy? (1 = not at all)": spec}))
    assert values == {"How happy? (1 = not at all)": [4, 5]}
    assert report.ignored_columns == ("Time", "Device, if any")


def test_a_quote_inside_a_name_opens_nothing(tmp_path: Path) -> None:
    assert names(tmp_path, b'a"b,c\n"1,2\n3"\n') == ['a"b', "c"]


def test_a_header_whose_quote_is_never_closed_is_refused_before_long(tmp_path: Path) -> None:
    with pytest.raises(InvalidRows) as caught:
        names(tmp_path, b'a,"b\n' + b"1,2\n" * 10 * HEADER_LINES_MAX)
    assert f"within {HEADER_LINES_MAX} lines" in caught.value.rows[0].expected


def test_names_in_another_character_set_are_not_guessed(tmp_path: Path) -> None:
    body = "Größe;Alter\n1;2\n".encode("latin-1")
    with pytest.raises(InvalidRows) as caught:
        names(tmp_path, body)
    assert "windows-1252" in caught.value.rows[0].expected
    assert names(tmp_path, body, charset="latin-1") == ["Größe", "Alter"]
