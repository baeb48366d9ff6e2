"""`postern migrate`, `postern openapi`: the database's schema and the API's description, as this version has them."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.wiring import wiring_of


def migrate() -> None:
    """Bring the database to this version's schema; does nothing if it is there already."""
    from app.settings import Settings, mask_url
    from app.storage.migrate import upgrade

    settings = Settings()
    revision = upgrade(settings.database_url)
    typer.echo(f"{mask_url(settings.database_url)} is at revision {revision}")


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
