"""Audits: a seed that was fixed before anything was drawn, and what came of it, both signed.

Revision ID: 0015
Revises: 0014

Numbers have no gaps and rows are never deleted: an audit that came out badly stays. What was sent to be looked at (samples) goes
as soon as it was.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE audits (
  number BIGINT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_us BIGINT NOT NULL,
  shown TEXT NOT NULL,
  asked TEXT,
  commitment TEXT NOT NULL,
  commitment_key TEXT NOT NULL,
  commitment_signature {binary} NOT NULL,
  status TEXT NOT NULL,
  lease_until_us BIGINT,
  finished_us BIGINT,
  verdict TEXT,
  body TEXT,
  key_id TEXT,
  signature {binary},
  CONSTRAINT audits_id UNIQUE (id),
  CONSTRAINT number_positive CHECK (number > 0),
  CONSTRAINT status_known CHECK (status IN ('pending', 'done')),
  CONSTRAINT done_whole CHECK ((status = 'done') = (body IS NOT NULL) AND (body IS NULL) = (signature IS NULL)
    AND (body IS NULL) = (key_id IS NULL) AND (body IS NULL) = (verdict IS NULL) AND (body IS NULL) = (finished_us IS NULL)),
  CONSTRAINT asked_until_done CHECK ((status = 'done') = (asked IS NULL))
)
"""
REWRITTEN = (
    "OLD.status = 'done' OR NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.created_by <> OLD.created_by"
    " OR NEW.created_us <> OLD.created_us OR NEW.shown <> OLD.shown OR NEW.commitment <> OLD.commitment"
    " OR NEW.commitment_key <> OLD.commitment_key OR NEW.commitment_signature <> OLD.commitment_signature"
)
# (trigger, event, condition under which the change is refused, message)
REFUSALS = (
    ("audits_refuse_rewrite", "UPDATE", REWRITTEN, "an audit is finished once, and what it was about never changes"),
    ("audits_refuse_delete", "DELETE", "TRUE", "audits are never forgotten"),
)


def upgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    op.execute(TABLE.format(binary="BLOB" if sqlite else "BYTEA"))
    op.execute("CREATE INDEX audits_pending ON audits (number) WHERE status = 'pending'")
    for name, event, condition, message in REFUSALS:
        if sqlite:
            op.execute(
                f"CREATE TRIGGER {name} BEFORE {event} ON audits WHEN {condition} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
            continue
        result = "OLD" if event == "DELETE" else "NEW"
        op.execute(
            f"""
            CREATE OR REPLACE FUNCTION postern_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF {condition} THEN
                RAISE EXCEPTION USING MESSAGE = '{message}', ERRCODE = 'restrict_violation';
              END IF;
              RETURN {result};
            END $$
            """
        )
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON audits FOR EACH ROW EXECUTE FUNCTION postern_{name}()")


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
