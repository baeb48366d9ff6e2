"""`postern schema draft`: the names and types of a file on this machine, as a schema to be filled in. Nothing is sent."""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.json_files import print_json
from app.errors import InvalidRows, PosternError

app = typer.Typer(help="Schemas of datasets.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def root() -> None:
    """A schema is public: columns with bounds or levels that come from public knowledge."""


@app.command("draft")
def draft(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow; also packed (.gz, .zst).")],
    charset: Annotated[str | None, typer.Option(help="Of CSV: utf-8, windows-1252 or utf-16.")] = None,
    separator: Annotated[
        Literal["comma", "semicolon", "tab", "pipe"] | None,
        typer.Option(help="Of CSV, where the header line does not show it."),
    ] = None,
) -> None:
    """Read the header line or the stored schema, no cell, and print columns with every bound and level left to fill in."""
    from dataclasses import asdict

    from app.sources.files import read_declared
    from app.sources.files.names_and_types import names_and_types
    from app.sources.files.schema_draft import draft_schema
    from app.sources.uploads import UploadStore

    form = read_declared(charset=charset, separator=separator)
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = names_and_types(file.resolve(strict=True), form, UploadStore(Path(folder) / "spill"))
        except InvalidRows as refused:
            raise PosternError(refused.detail) from None
    made = draft_schema(found)
    typer.echo(made.why, err=True)
    print_json({name: value for name, value in asdict(made).items() if name != "why"})
