"""Datasets say what becomes of columns in a file that nobody declared.

Revision ID: 0010
Revises: 0009

Datasets made before ignore them from now on, as new ones do.
"""

from alembic import op
import sqlalchemy as sa

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("other_columns", sa.Text(), nullable=False, server_default="ignore"))


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
