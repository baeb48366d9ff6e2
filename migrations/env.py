"""Alembic's entry: runs the scripts on the connection `app.storage.migrate.upgrade` hands over.

`alembic revision` and `alembic check` work from a source checkout too, against POSTERN_DATABASE_URL.
"""

import os

from alembic import context
from sqlalchemy import Connection

import app.storage.audits.table  # noqa: F401 (a table of its own)
from app.storage.database_url import parse_database_url
from app.storage.migrate import blocking_engine
from app.storage.tables import metadata


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    engine = blocking_engine(parse_database_url(os.environ["POSTERN_DATABASE_URL"]))
    with engine.begin() as opened:
        run(opened)
    engine.dispose()
