"""A conversion whose library is missing says which one."""

import sys

import pytest

from postern.client.libraries import library


@pytest.mark.parametrize("name", ["pandas", "pyarrow.parquet"])
def test_a_missing_library_is_named_with_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch):
    root = name.partition(".")[0]
    for loaded in [module for module in sys.modules if module.partition(".")[0] == root]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(
        ModuleNotFoundError, match=f"needs {root}, which is not installed: pip install {root}"
    ) as refused:
        library(name)
    assert refused.value.name == root


def test_a_library_that_fails_on_its_own_account_says_so_itself(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken_library.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        library("broken_library")
