"""Releases may have a check of fit: what was asked for, and the noisy histogram that was paid for.

Revision ID: 0009
Revises: 0008

The check is part of what a release is charged for, so no update may touch it. Releases made before have none.
"""

from alembic import op
import sqlalchemy as sa

revision = "0009"
down_revision = "0008"
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
REWRITTEN = (
    " OR ".join(f"NEW.{column} <> OLD.{column}" for column in CHARGED_FOR)
    + " OR COALESCE(NEW.fit_check, '') <> COALESCE(OLD.fit_check, '')"
    + " OR (OLD.stage <> 'reserved' AND NEW.stage = 'reserved')"
)
MESSAGE = "what a release was charged for never changes"


def upgrade() -> None:
    op.add_column("releases", sa.Column("fit_check", sa.Text(), nullable=True))
    op.add_column("sample_sets", sa.Column("checked", sa.LargeBinary(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER releases_refuse_rewrite")
        op.execute(
            f"CREATE TRIGGER releases_refuse_rewrite BEFORE UPDATE ON releases WHEN {REWRITTEN} "
            f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
        )
        return
    op.execute(
        f"""
        CREATE OR REPLACE FUNCTION postern_releases_refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF {REWRITTEN} THEN
            RAISE EXCEPTION USING MESSAGE = '{MESSAGE}', ERRCODE = 'restrict_violation';
          END IF;
          RETURN NEW;
        END $$
        """
    )


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
