"""Plans that statistics are sealed by, each good for one release.

Revision ID: 0016
Revises: 0015

What was sealed is a private file and never a row; the row names it while it exists. A plan that was used is neither changed to
another release nor forgotten, so that what was sealed by it cannot be used again.
"""

from alembic import op
import sqlalchemy as sa

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# (trigger, event, condition under which it is refused, message)
REFUSALS = (
    (
        "sealing_plans_refuse_update",
        "UPDATE",
        "NEW.nonce <> OLD.nonce OR NEW.dataset_id <> OLD.dataset_id OR NEW.expires_us <> OLD.expires_us"
        " OR (OLD.release_id IS NOT NULL AND COALESCE(NEW.release_id, '') <> OLD.release_id)"
        " OR (OLD.release_id IS NOT NULL AND NEW.sealed_name IS NOT NULL"
        " AND NEW.sealed_name <> COALESCE(OLD.sealed_name, ''))",
        "a plan is used for one release, once",
    ),
    ("sealing_plans_refuse_delete", "DELETE", "OLD.release_id IS NOT NULL", "a plan that was used is not forgotten"),
)


def upgrade() -> None:
    op.create_table(
        "sealing_plans",
        sa.Column("nonce", sa.LargeBinary(), primary_key=True, nullable=False),
        sa.Column("dataset_id", sa.Text(), sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("expires_us", sa.BigInteger(), nullable=False),
        sa.Column("release_id", sa.Text(), sa.ForeignKey("releases.id"), nullable=True),
        sa.Column("sealed_name", sa.Text(), nullable=True),
        sa.CheckConstraint("length(nonce) = 16", name="nonce_is_128_bits"),
        sa.CheckConstraint("sealed_name IS NULL OR release_id IS NOT NULL", name="sealed_for_a_release"),
        sa.UniqueConstraint("release_id", name="sealing_plans_release"),
    )
    op.create_index("sealing_plans_by_dataset", "sealing_plans", ["dataset_id", "expires_us"])
    refuse_on_sqlite() if op.get_bind().dialect.name == "sqlite" else refuse_on_postgres()


def refuse_on_sqlite() -> None:
    for name, event, condition, message in REFUSALS:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON sealing_plans WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    for name, event, condition, message in REFUSALS:
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
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON sealing_plans FOR EACH ROW EXECUTE FUNCTION postern_{name}()")


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
