"""`postern openapi`: the API's description, as committed in the repository."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.wiring import wiring_of


def openapi(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option(help="Write here instead of to standard output.")] = None,
) -> None:
    """Write the OpenAPI document. The same version always writes the same bytes."""
    text = wiring_of(context).openapi_text()
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
