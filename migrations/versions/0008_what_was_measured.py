"""Releases keep the noisy statistic that their free samples come from.

Revision ID: 0008
Revises: 0007

It was paid for together with them, and calibrated answers rest on it. Releases made before have none.
"""

from alembic import op
import sqlalchemy as sa

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sample_sets", sa.Column("measured", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
