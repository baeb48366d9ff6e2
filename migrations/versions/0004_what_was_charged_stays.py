"""What was charged for stays as it was charged: the facts of a release, and accounts beside their lines.

Revision ID: 0004
Revises: 0003

A release's model, mechanism, cost and sizes are what its ledger line paid for, so no update may touch them, and a
release whose rows may have been read never counts as unread again. An account moves one posting at a time, keeps its
owner, and is neither deleted nor replaced (SQLite's INSERT OR REPLACE deletes without asking the triggers).

`ledger_caps` finds the line that set an account's cap in one look-up, whatever was charged since.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

CHARGED_FOR = (
    "id",
    "dataset_id",
    "created_by",
    "model",
    "mechanism",
    "cost",
    "n",
    "unit_rows",
    "data_version",
    "created_us",
)

# (trigger, table, event, condition under which the change is refused, message)
REFUSALS = (
    (
        "releases_refuse_rewrite",
        "releases",
        "UPDATE",
        " OR ".join(f"NEW.{column} <> OLD.{column}" for column in CHARGED_FOR)
        + " OR (OLD.stage <> 'reserved' AND NEW.stage = 'reserved')",
        "what a release was charged for never changes",
    ),
    (
        "accounts_refuse_update",
        "accounts",
        "UPDATE",
        "NEW.revision <> OLD.revision + 1 OR NEW.id <> OLD.id OR NEW.dataset_id <> OLD.dataset_id"
        " OR COALESCE(NEW.analyst_id, '') <> COALESCE(OLD.analyst_id, '')",
        "an account moves one posting at a time",
    ),
    ("accounts_refuse_delete", "accounts", "DELETE", "TRUE", "accounts are never deleted"),
    (
        "accounts_refuse_insert",
        "accounts",
        "INSERT",
        """EXISTS (SELECT 1 FROM accounts WHERE id = NEW.id)
        OR EXISTS (
          SELECT 1 FROM accounts
          WHERE dataset_id = NEW.dataset_id AND COALESCE(analyst_id, '') = COALESCE(NEW.analyst_id, ''))""",
        "accounts are never replaced",
    ),
)


def upgrade() -> None:
    op.execute("CREATE INDEX ledger_caps ON ledger_entries (account_id, sequence) WHERE kind IN ('open', 'cap')")
    refuse_on_sqlite() if op.get_bind().dialect.name == "sqlite" else refuse_on_postgres()


def refuse_on_sqlite() -> None:
    for name, table, event, condition, message in REFUSALS:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    """A trigger's own WHEN may not look at other rows, so each condition becomes a function."""
    for name, table, event, condition, message in REFUSALS:
        result = "OLD" if event == "DELETE" else "NEW"
        op.execute(
            f"""
            CREATE FUNCTION postern_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF {condition} THEN
                RAISE EXCEPTION USING MESSAGE = '{message}', ERRCODE = 'restrict_violation';
              END IF;
              RETURN {result};
            END $$
            """
        )
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION postern_{name}()")
    op.execute(
        "CREATE TRIGGER accounts_refuse_truncate BEFORE TRUNCATE ON accounts "
        "FOR EACH STATEMENT EXECUTE FUNCTION postern_refuse('accounts is never emptied')"
    )


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
