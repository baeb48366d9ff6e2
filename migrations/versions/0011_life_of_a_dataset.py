"""Datasets are described, changed, archived and deleted, or rehearse; releases have a title.

Revision ID: 0011
Revises: 0010

`looked_us` is when rows were first uploaded or checked, `changes` what was changed in the schema after that: bounds chosen from rows
break the guarantee, so cards tell it, and no update may forget it. A schema is part of what releases are charged for, so it stays
once there is one. A rehearsal (`rehearsal` is the seed of its rows) never becomes a dataset of real rows, nor the other way round.
"""

from alembic import op
import sqlalchemy as sa

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

RELEASED = "EXISTS (SELECT 1 FROM releases WHERE dataset_id = OLD.id)"

# (trigger, condition under which an update of a dataset is refused, message)
REFUSALS = (
    (
        "datasets_refuse_schema",
        f"(NEW.columns <> OLD.columns OR NEW.unit <> OLD.unit) AND {RELEASED}",
        "the schema of a dataset with releases never changes",
    ),
    (
        "datasets_refuse_forgetting",
        "(OLD.looked_us IS NOT NULL AND COALESCE(NEW.looked_us, -1) <> OLD.looked_us)"
        " OR (OLD.changes IS NOT NULL AND COALESCE(length(NEW.changes), 0) < length(OLD.changes))"
        " OR (OLD.archived_us IS NOT NULL AND NEW.archived_us IS NULL)"
        " OR (OLD.deleted_us IS NOT NULL AND NEW.deleted_us IS NULL)",
        "what happened to a dataset is not forgotten",
    ),
    (
        "datasets_refuse_turning",
        "COALESCE(NEW.rehearsal, -1) <> COALESCE(OLD.rehearsal, -1) OR NEW.owner <> OLD.owner",
        "a rehearsal stays one, and a dataset with its steward",
    ),
)


def upgrade() -> None:
    for name in ("description", "changes"):
        op.add_column("datasets", sa.Column(name, sa.Text(), nullable=True))
    for name in ("looked_us", "archived_us", "deleted_us", "rehearsal"):
        op.add_column("datasets", sa.Column(name, sa.BigInteger(), nullable=True))
    for name in ("title", "description"):
        op.add_column("releases", sa.Column(name, sa.Text(), nullable=True))
    op.execute("UPDATE datasets SET looked_us = created_us WHERE data_version > 0")
    refuse_on_sqlite() if op.get_bind().dialect.name == "sqlite" else refuse_on_postgres()


def refuse_on_sqlite() -> None:
    for name, condition, message in REFUSALS:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE UPDATE ON datasets WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    for name, condition, message in REFUSALS:
        op.execute(
            f"""
            CREATE FUNCTION postern_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF {condition} THEN
                RAISE EXCEPTION USING MESSAGE = '{message}', ERRCODE = 'restrict_violation';
              END IF;
              RETURN NEW;
            END $$
            """
        )
        op.execute(f"CREATE TRIGGER {name} BEFORE UPDATE ON datasets FOR EACH ROW EXECUTE FUNCTION postern_{name}()")


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
