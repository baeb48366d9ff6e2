"""The bar a steward watches: as much of it as is known, and nothing of it where nobody watches."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.cli.steward.progress import bar, drawn, told_as_sent
from postern.client.call import Chunks
from postern.client.calls import stewards


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [
        (0, 10_000_000, "[------------------------------]   0% opening 0.0 of 10.0 MB"),
        (5_000_000, 10_000_000, "[###############---------------]  50% opening 5.0 of 10.0 MB"),
        (10_000_000, 10_000_000, "[##############################] 100% opening 10.0 of 10.0 MB"),
        (11_000_000, 10_000_000, "[##############################] 100% opening 11.0 of 10.0 MB"),
        (0, 0, "[##############################] 100% opening 0.0 of 0.0 MB"),
        (None, 10_000_000, "opening 10.0 MB"),
        (5_000_000, None, "opening 5.0 MB"),
        (None, None, "opening"),
    ],
)
def test_a_bar_shows_what_is_known(done: int | None, total: int | None, shown: str) -> None:
    assert drawn("opening", done, total) == shown


def test_where_nobody_watches_a_stage_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with bar() as draw:
        for done in range(5):
            draw("opening", done, 5_000_000)
        draw("reading", None, 5_000_000)
    assert capsys.readouterr().err == "opening 5.0 MB\nreading 5.0 MB\n"


def test_a_body_is_told_as_it_goes_out_and_is_the_same() -> None:
    def pieces() -> Iterator[bytes]:
        yield from (b"ab", b"cde")

    seen: list[tuple[str, int | None, int | None]] = []
    call = stewards.upload("ds_a", b"whole", "text/csv")
    assert told_as_sent(call, lambda *told: seen.append(told)) is call
    counted = told_as_sent(replace(call, body=Chunks(pieces, 5)), lambda *told: seen.append(told))
    assert isinstance(counted.body, Chunks)
    assert b"".join(counted.body.open()) == b"abcde"
    assert seen == [("sending", 2, 5), ("sending", 5, 5), ("checking", None, 5)]
