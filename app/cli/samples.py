"""`postern samples`: joint draws of a release, or points of its calibrated view, as a file, with the receipt inside.

`postern synthetic`: rows made up from what may be believed after it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli.remote import LayoutOption, PartOption, ViewOption, in_view, remote_client

if TYPE_CHECKING:
    from postern.client import Client
    from postern.client.call import Call


def samples(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to: .csv, .json, .arrow, .parquet or .nc. Without it CSV is printed."
        ),
    ] = None,
    parameter: Annotated[list[str] | None, typer.Option(help="Only this one; repeat for several.")] = None,
    view: ViewOption = None,
    part: PartOption = None,
    layout: LayoutOption = "wide",
) -> None:
    """Export the draws you may read, or the calibrated view's points where it has any (POSTERN_URL, POSTERN_KEY of a reader)."""
    from postern.client.calls import readers

    shape: Literal["long"] | None = "long" if layout == "long" else None
    with remote_client() as client:
        found = in_view(client.release(release), view, part)
        if output is None:
            print_file(client, readers.export(release, "csv", parameter, found.view, part, shape))
        else:
            found.export(output, parameters=parameter, layout=shape)
            typer.echo(f"{output}: {output.stat().st_size} bytes", err=True)


def synthetic(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    rows: Annotated[int, typer.Option(min=1, help="How many rows.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same rows.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to: .csv or .parquet. Without it CSV is printed.")
    ] = None,
    part: PartOption = None,
) -> None:
    """Make up rows from what you may believe after a release: free, and no more accurate than it (POSTERN_URL, POSTERN_KEY)."""
    from postern.client.calls import readers

    with remote_client() as client:
        if output is None:
            print_file(client, readers.synthetic(release, "csv", rows, seed, part))
        else:
            in_view(client.release(release), None, part).synthetic(output, rows=rows, seed=seed)
            typer.echo(f"{output}: {output.stat().st_size} bytes", err=True)
    typer.echo("these rows are made up, and no more accurate than the release", err=True)


def print_file(client: Client, call: Call[None]) -> None:
    opened = client.open(call)
    try:
        for chunk in opened.chunks():
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    finally:
        opened.close()
