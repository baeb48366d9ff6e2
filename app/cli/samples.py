"""`postern samples`: joint draws of a release, or points of its calibrated view, as a file, with the receipt inside."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli.remote import PartOption, ViewOption, in_view, remote_client


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
) -> None:
    """Export the draws you may read, or the calibrated view's points where it has any (POSTERN_URL, POSTERN_KEY of a reader)."""
    from postern.client.calls import readers

    with remote_client() as client:
        found = in_view(client.release(release), view, part)
        if output is None:
            opened = client.open(readers.export(release, "csv", parameter, found.view, part))
            try:
                for chunk in opened.chunks():
                    sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            finally:
                opened.close()
        else:
            found.export(output, parameters=parameter)
            typer.echo(f"{output}: {output.stat().st_size} bytes", err=True)
