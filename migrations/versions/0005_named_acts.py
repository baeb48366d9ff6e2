"""Acts name what they replace.

Revision ID: 0005
Revises: 0004

`replaces` lists, in canonical JSON, the heads seen earlier that an accepted one was chosen over: ledger, sequence and
digest of each. It is part of what is signed. Acts from before have none and stay as they are: their signatures hold, they
are listed and exported, and they excuse nothing that was not moved on when they were made.
"""

from alembic import op
import sqlalchemy as sa

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ledger_acts", sa.Column("replaces", sa.Text(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
