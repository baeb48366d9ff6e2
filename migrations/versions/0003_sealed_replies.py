"""Answers to repeated requests, sealed, and a secret under which the shared cache is sealed.

Revision ID: 0003
Revises: 0002

Keys used before this version are carried over without an answer: repeating one of those requests is refused with the
address of what it made, and never does the work twice.
"""

import hashlib
import os

from alembic import op
import sqlalchemy as sa

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE idempotency_keys (
  principal_id TEXT NOT NULL,
  key_digest {bytes} NOT NULL,
  route TEXT NOT NULL,
  input_hash {bytes} NOT NULL,
  sealed {bytes},
  location TEXT,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (principal_id, key_digest),
  CONSTRAINT hashes_are_sha256 CHECK (length(key_digest) = 32 AND length(input_hash) = 32)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_us);
CREATE TABLE installation_secrets (
  name TEXT NOT NULL PRIMARY KEY,
  secret {bytes} NOT NULL,
  CONSTRAINT secret_is_256_bits CHECK (length(secret) = 32)
);
"""
OLD = "SELECT principal_id, key, route, body_hash, location, created_us FROM idempotency_keys"
NEW = (
    "INSERT INTO idempotency_keys (principal_id, key_digest, route, input_hash, location, created_us)"
    " VALUES (:principal_id, :key_digest, :route, :input_hash, :location, :created_us)"
)


def upgrade() -> None:
    bind = op.get_bind()
    earlier = bind.execute(sa.text(OLD)).all()
    op.execute(sa.text("DROP TABLE idempotency_keys"))
    tables = TABLES.replace("{bytes}", "BYTEA" if bind.dialect.name == "postgresql" else "BLOB")
    for statement in filter(str.strip, tables.split(";\n")):
        op.execute(sa.text(statement))
    for row in earlier:
        bind.execute(sa.text(NEW), carried_over(row))
    secret = sa.text("INSERT INTO installation_secrets (name, secret) VALUES ('cache', :secret)")
    bind.execute(secret, {"secret": os.urandom(32)})


def carried_over(row: sa.Row) -> dict[str, object]:
    """The digest as `app/services/runtime/idempotency.py` makes it, frozen here as it was when this was published."""
    text = f"postern/idempotency-key/1\n{len(row.principal_id)}:{row.principal_id}{row.key}"
    return {
        "principal_id": row.principal_id,
        "key_digest": hashlib.sha256(text.encode()).digest(),
        "route": row.route,
        "input_hash": bytes(row.body_hash),
        "location": None if row.location is None else f"/v1/releases/{row.location}",
        "created_us": row.created_us,
    }


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
