"""How many people each combination of public columns has is public, and kept beside n.

Revision ID: 0012
Revises: 0011

Datasets declared before have no public columns, and so no strata.
"""

from alembic import op
import sqlalchemy as sa

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("strata", sa.Text(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
