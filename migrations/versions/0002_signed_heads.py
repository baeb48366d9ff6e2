"""Signed heads: who vouches for the end of the chain, and what was done about it by hand.

Revision ID: 0002
Revises: 0001

The head's row gets the ledger's own id, a signature, the signing key's id and the time of signing: all absent until
the first process with a key has checked the chain it found, all present ever after. `ledger_acts` keeps what people
and starts did to the head without a line in the chain: first signature, another key, a head accepted by hand.

Beside it, gaps of 0001 are closed: a line must continue the head and may push no other line out (SQLite's
INSERT OR REPLACE deletes without asking the triggers), and the head moves only onto a line that exists.
"""

from alembic import op
import sqlalchemy as sa

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

HEAD = """
CREATE TABLE ledger_head (
  id INTEGER NOT NULL PRIMARY KEY,
  sequence BIGINT NOT NULL,
  digest {bytes} NOT NULL,
  ledger_id TEXT,
  key_id TEXT,
  signature {bytes},
  signed_us BIGINT,
  CONSTRAINT single_row CHECK (id = 1),
  CONSTRAINT signed_whole CHECK (
    (ledger_id IS NULL) = (signature IS NULL)
    AND (key_id IS NULL) = (signature IS NULL)
    AND (signed_us IS NULL) = (signature IS NULL)
  ),
  CONSTRAINT signature_is_ed25519 CHECK (signature IS NULL OR length(signature) = 64)
)
"""

ACTS = """
CREATE TABLE ledger_acts (
  number BIGINT NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  ledger_id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  digest {bytes} NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  signature {bytes} NOT NULL,
  CONSTRAINT kind_known CHECK (kind IN ('adopted', 'rotated', 'accepted')),
  CONSTRAINT number_positive CHECK (number > 0),
  CONSTRAINT signature_is_ed25519 CHECK (length(signature) = 64)
)
"""

# (table, event, condition under which the change is refused, message); conditions may look at other rows
REFUSALS = (
    (
        "ledger_head",
        "UPDATE",
        """NOT (
          (NEW.sequence = OLD.sequence AND NEW.digest = OLD.digest AND NEW.signature IS NOT NULL)
          OR (NEW.sequence = OLD.sequence + 1 AND EXISTS (
            SELECT 1 FROM ledger_entries WHERE sequence = NEW.sequence AND digest = NEW.digest
          ))
        )""",
        "the head moves one entry at a time",
    ),
    (
        "ledger_head",
        "UPDATE",
        """OLD.signature IS NOT NULL AND (
          NEW.signature IS NULL OR NEW.ledger_id <> OLD.ledger_id
          OR (NEW.sequence <> OLD.sequence AND NEW.signature = OLD.signature)
        )""",
        "a signed head stays signed",
    ),
    ("ledger_head", "INSERT", "EXISTS (SELECT 1 FROM ledger_head)", "the ledger has one head"),
    ("ledger_head", "DELETE", None, "the ledger always has a head"),
    (
        "ledger_entries",
        "INSERT",
        """NOT EXISTS (
          SELECT 1 FROM ledger_head WHERE sequence = NEW.sequence - 1 AND digest = NEW.previous
        )""",
        "a line continues the head",
    ),
    (
        "ledger_entries",
        "INSERT",
        """EXISTS (SELECT 1 FROM ledger_entries WHERE sequence = NEW.sequence)
        OR EXISTS (SELECT 1 FROM ledger_entries WHERE previous = NEW.previous)
        OR EXISTS (SELECT 1 FROM ledger_entries WHERE digest = NEW.digest)
        OR (NEW.kind = 'open' AND EXISTS (
          SELECT 1 FROM ledger_entries WHERE account_id = NEW.account_id AND kind = 'open'))
        OR (NEW.kind = 'reserve' AND EXISTS (
          SELECT 1 FROM ledger_entries
          WHERE account_id = NEW.account_id AND release_id = NEW.release_id AND kind = 'reserve'))
        OR (NEW.kind IN ('commit', 'void') AND EXISTS (
          SELECT 1 FROM ledger_entries
          WHERE account_id = NEW.account_id AND release_id = NEW.release_id AND kind IN ('commit', 'void')))""",
        "the ledger is append-only",
    ),
    (
        "sample_sets",
        "INSERT",
        "EXISTS (SELECT 1 FROM sample_sets WHERE release_id = NEW.release_id)",
        "samples are drawn once",
    ),
    ("releases", "INSERT", "EXISTS (SELECT 1 FROM releases WHERE id = NEW.id)", "releases are never replaced"),
    ("ledger_acts", "INSERT", "EXISTS (SELECT 1 FROM ledger_acts WHERE number = NEW.number)", "acts are append-only"),
    ("ledger_acts", "UPDATE", None, "acts are append-only"),
    ("ledger_acts", "DELETE", None, "acts are append-only"),
)


def upgrade() -> None:
    connection = op.get_bind()
    dialect = connection.dialect.name
    bytes_type = "BYTEA" if dialect == "postgresql" else "BLOB"
    sequence, digest = connection.execute(sa.text("SELECT sequence, digest FROM ledger_head")).one()
    op.execute("DROP TABLE ledger_head")
    op.execute(HEAD.replace("{bytes}", bytes_type))
    op.execute(ACTS.replace("{bytes}", bytes_type))
    head = sa.text("INSERT INTO ledger_head (id, sequence, digest) VALUES (1, :sequence, :digest)")
    connection.execute(head, {"sequence": sequence, "digest": bytes(digest)})
    refuse_on_sqlite() if dialect == "sqlite" else refuse_on_postgres()


def named() -> list[tuple[str, str, str, str]]:
    """(trigger, table, event, condition, message), the names numbered where a table refuses an event twice."""
    taken: dict[str, int] = {}
    found = []
    for table, event, condition, message in REFUSALS:
        stem = f"{table}_refuse_{event.lower()}"
        taken[stem] = taken.get(stem, 0) + 1
        name = stem if taken[stem] == 1 else f"{stem}_{taken[stem]}"
        found.append((name, table, event, condition or "TRUE", message))
    return found


def refuse_on_sqlite() -> None:
    for name, table, event, condition, message in named():
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    """A trigger's own WHEN may not look at other rows, so each condition becomes a function."""
    for name, table, event, condition, message in named():
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
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION postern_{name}()"
        )
    for table in ("ledger_head", "ledger_acts"):
        op.execute(
            f"CREATE TRIGGER {table}_refuse_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION postern_refuse('{table} is never emptied')"
        )


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
