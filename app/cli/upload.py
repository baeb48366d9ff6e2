"""`postern upload`: send rows to a running service, or have them checked without being kept."""

import sys
from typing import Annotated, Literal

import typer

from app.cli.json_files import print_json
from app.cli.remote import as_sent, remote_client
from app.cli.steward.progress import bar, told_as_sent


def upload(
    dataset: Annotated[str, typer.Argument(help="The dataset's id.")],
    file: Annotated[str, typer.Argument(help="CSV, Parquet or Arrow; also packed (.gz, .zst); - for standard input.")],
    check: Annotated[bool, typer.Option("--check", help="Say what would be said, and keep nothing.")] = False,
    charset: Annotated[str | None, typer.Option(help="Of CSV: utf-8, windows-1252 or utf-16.")] = None,
    separator: Annotated[
        Literal["comma", "semicolon", "tab", "pipe"] | None,
        typer.Option(help="Of CSV, where the header line does not show it."),
    ] = None,
) -> None:
    """Upload rows (POSTERN_URL, POSTERN_KEY of the dataset's steward). What does not fit is told by column, to you alone."""
    from postern.client import InvalidInput
    from postern.client.calls import stewards
    from postern.client.tables import printable

    with remote_client() as client:
        rows = sys.stdin.buffer.read() if file == "-" else file
        call = stewards.upload(dataset, rows, None, check=check, charset=charset, separator=separator)
        try:
            with bar() as draw:
                told = client.send(as_sent(told_as_sent(call, draw) if sys.stderr.isatty() else call))
        except InvalidInput as refused:
            for fault in refused.columns:
                typer.echo(printable(fault.text), err=True)
            if not refused.columns:
                raise
            raise typer.Exit(1) from None
    print_json(told)
