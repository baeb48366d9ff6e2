"""Lines that lower a charge to what it costs now, and the filter that an account's first charge fixed.

Revision ID: 0007
Revises: 0006

`ledger_entries` admits the kind `recost` (negative, like a void), `ledger_acts` the kind `recosted`. SQLite cannot change a
check in place, so both tables are copied there, with their indexes and every trigger that names them. `accounts.regime`
is empty for the account's own order: no account of an earlier version has anything else.
"""

from alembic import op
import sqlalchemy as sa

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# (table, constraint, before, after)
CHECKS = (
    (
        "ledger_entries",
        "kind_known",
        "kind IN ('open', 'reserve', 'commit', 'void', 'access', 'cap')",
        "kind IN ('open', 'reserve', 'commit', 'void', 'access', 'cap', 'recost')",
    ),
    (
        "ledger_entries",
        "sign_fits_kind",
        "(kind = 'void' AND pure_nano <= 0 AND slack_atto <= 0)",
        "(kind IN ('void', 'recost') AND pure_nano <= 0 AND slack_atto <= 0)",
    ),
    (
        "ledger_acts",
        "kind_known",
        "kind IN ('adopted', 'rotated', 'accepted')",
        "kind IN ('adopted', 'rotated', 'accepted', 'recosted')",
    ),
)
SIGN_FITS_KIND = (
    "(kind IN ('reserve', 'access') AND pure_nano >= 0 AND slack_atto >= 0)"
    " OR (kind IN ('void', 'recost') AND pure_nano <= 0 AND slack_atto <= 0)"
    " OR (kind IN ('open', 'commit', 'cap') AND pure_nano = 0 AND slack_atto = 0)"
)


def upgrade() -> None:
    op.add_column("accounts", sa.Column("regime", sa.Text(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        for table in ("ledger_entries", "ledger_acts"):
            copy_on_sqlite(table)
        return
    for table, name, _, after in CHECKS:
        check = SIGN_FITS_KIND if name == "sign_fits_kind" else after
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({check})")


def copy_on_sqlite(table: str) -> None:
    """The same table with other checks. Triggers elsewhere name it too, and a rename would trip over them meanwhile."""
    connection = op.get_bind()
    listed = sa.text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    schema = list(connection.execute(listed))
    described = next(row.sql for row in schema if row.type == "table" and row.name == table)
    triggers = [row for row in schema if row.type == "trigger" and table in row.sql]
    indexes = [row for row in schema if row.type == "index" and row.tbl_name == table]
    for _, _, before, after in (check for check in CHECKS if check[0] == table):
        if described.count(before) != 1:
            raise RuntimeError(f"{table} is not as the migrations before this one leave it")
        described = described.replace(before, after)
    for row in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {row.name}")
    head, _, body = described.partition("(")
    if table not in head:
        raise RuntimeError(f"{table} is not as the migrations before this one leave it")
    connection.exec_driver_sql(f"CREATE TABLE {table}_next ({body}")
    connection.exec_driver_sql(f"INSERT INTO {table}_next SELECT * FROM {table}")
    connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(f"ALTER TABLE {table}_next RENAME TO {table}")
    for row in [*indexes, *triggers]:
        connection.exec_driver_sql(row.sql)


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
