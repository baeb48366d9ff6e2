"""`postern migrate`: bring the database to this version's schema."""

import typer


def migrate() -> None:
    """Bring the database to this version's schema; does nothing if it is there already."""
    from app.settings import Settings, mask_url
    from app.storage.migrate import upgrade

    settings = Settings()
    revision = upgrade(settings.database_url)
    typer.echo(f"{mask_url(settings.database_url)} is at revision {revision}")
