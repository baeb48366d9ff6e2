"""Which prefix of each of several models an analyst has paid for.

Revision ID: 0013
Revises: 0012

Releases of one model stay where they are: a right to one of several is a row of its own.
"""

from alembic import op
import sqlalchemy as sa

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "part_accesses",
        sa.Column("analyst_id", sa.Text(), sa.ForeignKey("principals.id"), nullable=False),
        sa.Column("release_id", sa.Text(), sa.ForeignKey("releases.id"), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("updated_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("analyst_id", "release_id", "part"),
        sa.CheckConstraint("samples > 0", name="samples_positive"),
    )
    op.create_index("part_accesses_by_release", "part_accesses", ["release_id", "analyst_id"])


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
