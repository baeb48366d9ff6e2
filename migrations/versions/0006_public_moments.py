"""Releases end at public moments: when the first reading began, and how long it takes by public numbers.

Revision ID: 0006
Revises: 0005

`started_us` and `duration_us` are written together when the rows of a release are first about to be read, and stay: every slot in
which it may be published or withdrawn follows from them. Releases that ended before have neither; one that is pending gets
them with its next attempt. `measurements` holds what was measured once for all processes of this installation, such as how fast it
works on synthetic rows.
"""

from alembic import op
import sqlalchemy as sa

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MOVED = (
    "OLD.started_us IS NOT NULL AND (NEW.started_us IS NULL OR NEW.duration_us IS NULL"
    " OR NEW.started_us <> OLD.started_us OR NEW.duration_us <> OLD.duration_us)"
)
MESSAGE = "the public moments of a release never move"


def upgrade() -> None:
    op.add_column("releases", sa.Column("started_us", sa.BigInteger(), nullable=True))
    op.add_column("releases", sa.Column("duration_us", sa.BigInteger(), nullable=True))
    op.create_table(
        "measurements",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("measured_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("value > 0", name="value_positive"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"CREATE TRIGGER releases_refuse_moving BEFORE UPDATE ON releases WHEN {MOVED} "
            f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
        )
        return
    op.execute(
        f"""
        CREATE FUNCTION postern_releases_refuse_moving() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF {MOVED} THEN
            RAISE EXCEPTION USING MESSAGE = '{MESSAGE}', ERRCODE = 'restrict_violation';
          END IF;
          RETURN NEW;
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER releases_refuse_moving BEFORE UPDATE ON releases "
        "FOR EACH ROW EXECUTE FUNCTION postern_releases_refuse_moving()"
    )


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
