"""A bar on standard error while a steward waits, and `postern progress`, which follows a release."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.json_files import print_json
from app.cli.remote import as_sent, remote_client

if TYPE_CHECKING:
    from postern.client import Client
    from postern.client.call import Call
    from postern.client.results.releases import ReleaseProgress

WIDTH = 30
_LOOK_S = 0.5
_MEGABYTE = 1_000_000


def progress(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    follow: Annotated[bool, typer.Option("--follow", help="Until it has ended, with a bar on standard error.")] = False,
) -> None:
    """See how far a release is (POSTERN_URL, POSTERN_KEY of the dataset's steward); everyone else sees `pending`."""
    from postern.client.calls import stewards

    with remote_client() as client:
        if follow:
            with bar() as draw:
                follow_release(client, release, draw)
        print_json(client.send(as_sent(stewards.release_progress(release))))


def follow_release(client: Client, release: str, draw: Draw, until_s: float | None = None) -> None:
    """Looks twice a second, until it has ended or the time is over."""
    from postern.client.calls import stewards

    began = time.monotonic()
    while True:
        seen: ReleaseProgress = client.send(stewards.release_progress(release))
        draw(seen.stage, seen.bytes_done, seen.bytes_total)
        if seen.status != "pending" or (until_s is not None and time.monotonic() - began > until_s):
            return
        time.sleep(_LOOK_S)


Draw = Callable[[str, int | None, int | None], None]


@contextmanager
def bar() -> Iterator[Draw]:
    """On a terminal one line that is drawn over; elsewhere a line a stage, so that logs stay short."""
    terminal, last = sys.stderr.isatty(), ""

    def draw(stage: str, done: int | None, total: int | None) -> None:
        nonlocal last
        if terminal:
            typer.echo(f"\r\x1b[K{drawn(stage, done, total)}", err=True, nl=False)
        elif stage != last:
            typer.echo(drawn(stage, None, total), err=True)
        last = stage

    try:
        yield draw
    finally:
        if terminal and last:
            typer.echo(err=True)


def drawn(stage: str, done: int | None, total: int | None) -> str:
    """`[######------] 50 % opening 23.1 of 46.1 MB`, or as much of it as is known."""
    if total is None:
        told = "" if done is None else f" {done / _MEGABYTE:.1f} MB"
        return f"{stage}{told}"
    if done is None:
        return f"{stage} {total / _MEGABYTE:.1f} MB"
    share = min(1.0, done / total) if total else 1.0
    full = int(share * WIDTH)
    sums = f"{done / _MEGABYTE:.1f} of {total / _MEGABYTE:.1f} MB"
    return f"[{'#' * full}{'-' * (WIDTH - full)}] {share:4.0%} {stage} {sums}"


def told_as_sent(call: Call[Any], draw: Draw) -> Call[Any]:
    """The same call; as its body goes out, a bar grows. What is sent whole is told at once."""
    from postern.client.call import Chunks

    body = call.body
    if not isinstance(body, Chunks):
        return call
    pieces, length = body.open, body.length

    def counted() -> Iterator[bytes]:
        done = 0
        for piece in pieces():
            done += len(piece)
            draw("sending", done, length)
            yield piece
        draw("checking", None, length)

    return replace(call, body=replace(body, open=counted))
