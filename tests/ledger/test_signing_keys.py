"""The key on disk: made once whoever comes first, private, and kept when it is replaced."""

import multiprocessing
import stat
from pathlib import Path

import pytest

from app.errors import InvalidInput
from app.ledger.signed_head import SigningKey
from app.storage.signing_keys import KEY_FILE, load_keys, read_or_make_secret, replace_secret


def _made_by_another_process(folder: Path) -> str:
    return read_or_make_secret(folder)


@pytest.mark.parametrize("round_", range(3))
def test_processes_that_start_together_share_one_key(tmp_path: Path, round_: int) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["app.storage.signing_keys"])
    folder = tmp_path / f"data-{round_}"
    with context.Pool(8) as pool:
        found = pool.map(_made_by_another_process, [folder] * 32, chunksize=1)
    assert len(set(found)) == 1
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600


def test_a_secret_from_the_settings_leaves_no_file(tmp_path: Path) -> None:
    keys = load_keys(tmp_path, "x" * 32)
    assert keys.signing.public == SigningKey("x" * 32).public
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_key_is_still_believed(tmp_path: Path) -> None:
    before = load_keys(tmp_path, None)
    replace_secret(tmp_path)
    replace_secret(tmp_path)
    after = load_keys(tmp_path, None)
    assert after.signing.id != before.signing.id
    assert before.signing.id in after.trusted
    assert len(after.trusted.publics()) == 3


@pytest.mark.parametrize("text", ["", "short", "\n"])
def test_a_damaged_key_file_stops_the_start_instead_of_signing_with_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / KEY_FILE).write_text(text)
    with pytest.raises(InvalidInput):
        load_keys(tmp_path, None)


def test_a_listed_key_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        load_keys(tmp_path, "x" * 32, ["not a key"])


def test_a_key_does_not_print() -> None:
    assert "a very secret secret" not in repr(SigningKey("a very secret secret of some length"))
