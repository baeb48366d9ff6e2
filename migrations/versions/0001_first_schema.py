"""First schema: people, datasets, accounts, the ledger, releases and their samples.

Revision ID: 0001
Revises:

Plain SQL that both engines understand, but for the names of two types. What may never change is refused by
triggers, with an integrity error on either engine.
"""

import hashlib

from alembic import op
import sqlalchemy as sa

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE principals (
  id TEXT NOT NULL PRIMARY KEY,
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  created_by TEXT REFERENCES principals (id),
  created_us BIGINT NOT NULL,
  CONSTRAINT principals_id_role UNIQUE (id, role),
  CONSTRAINT role_known CHECK (role IN ('steward', 'analyst', 'dashboard', 'auditor'))
);
CREATE INDEX principals_by_creator ON principals (created_by, created_us, id);

CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY,
  principal_id TEXT NOT NULL,
  owner_role TEXT NOT NULL,
  role TEXT NOT NULL,
  secret_hash {bytes} NOT NULL,
  created_us BIGINT NOT NULL,
  expires_us BIGINT,
  revoked_us BIGINT,
  last_used_us BIGINT,
  label TEXT NOT NULL,
  FOREIGN KEY (principal_id, owner_role) REFERENCES principals (id, role),
  CONSTRAINT role_is_the_owners_or_less CHECK (role = owner_role OR (owner_role = 'analyst' AND role = 'dashboard')),
  CONSTRAINT api_keys_secret_hash UNIQUE (secret_hash),
  CONSTRAINT secret_hash_is_sha256 CHECK (length(secret_hash) = 32)
);
CREATE INDEX api_keys_by_principal ON api_keys (principal_id, created_us, id);

CREATE TABLE datasets (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL REFERENCES principals (id),
  name TEXT NOT NULL,
  columns TEXT NOT NULL,
  unit TEXT NOT NULL,
  source TEXT NOT NULL,
  n BIGINT,
  epsilon {float} NOT NULL,
  delta {float} NOT NULL,
  created_us BIGINT NOT NULL,
  data_version INTEGER NOT NULL,
  data_state TEXT NOT NULL,
  upload_name TEXT,
  CONSTRAINT datasets_owner_name UNIQUE (owner, name),
  CONSTRAINT n_positive CHECK (n IS NULL OR n > 0),
  CONSTRAINT epsilon_not_negative CHECK (epsilon >= 0),
  CONSTRAINT delta_below_one CHECK (delta >= 0 AND delta < 1),
  CONSTRAINT data_version_not_negative CHECK (data_version >= 0),
  CONSTRAINT data_state_known CHECK (data_state IN ('none', 'ready', 'wiped'))
);
CREATE INDEX datasets_by_owner ON datasets (owner, created_us, id);

CREATE TABLE accounts (
  id TEXT NOT NULL PRIMARY KEY,
  dataset_id TEXT NOT NULL REFERENCES datasets (id),
  analyst_id TEXT REFERENCES principals (id),
  epsilon {float} NOT NULL,
  delta {float} NOT NULL,
  slack_delta {float} NOT NULL,
  renyi_order {float},
  capacity_nano BIGINT NOT NULL,
  pure_capacity_nano BIGINT NOT NULL,
  spent_pure_nano BIGINT NOT NULL,
  spent_slack_atto BIGINT NOT NULL,
  spent_curve_nano TEXT NOT NULL,
  revision BIGINT NOT NULL,
  CONSTRAINT epsilon_not_negative CHECK (epsilon >= 0),
  CONSTRAINT delta_below_one CHECK (delta >= 0 AND delta < 1),
  CONSTRAINT slack_within_delta CHECK (slack_delta >= 0 AND slack_delta <= delta),
  CONSTRAINT order_above_one CHECK (renyi_order IS NULL OR renyi_order > 1),
  CONSTRAINT capacity_not_negative CHECK (capacity_nano >= 0 AND pure_capacity_nano >= 0),
  CONSTRAINT spent_not_negative CHECK (spent_pure_nano >= 0 AND spent_slack_atto >= 0),
  CONSTRAINT revision_positive CHECK (revision > 0)
);
CREATE UNIQUE INDEX accounts_by_analyst ON accounts (analyst_id, dataset_id);
CREATE UNIQUE INDEX accounts_one_per_dataset ON accounts (dataset_id) WHERE analyst_id IS NULL;
CREATE INDEX accounts_by_dataset ON accounts (dataset_id, id);

CREATE TABLE ledger_entries (
  sequence BIGINT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  kind TEXT NOT NULL,
  release_id TEXT,
  pure_nano BIGINT NOT NULL,
  slack_atto BIGINT NOT NULL,
  curve_nano TEXT NOT NULL,
  total_pure_nano BIGINT NOT NULL,
  total_slack_atto BIGINT NOT NULL,
  total_curve_nano TEXT NOT NULL,
  event TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  previous {bytes} NOT NULL,
  digest {bytes} NOT NULL,
  version INTEGER NOT NULL,
  CONSTRAINT ledger_entries_previous UNIQUE (previous),
  CONSTRAINT ledger_entries_digest UNIQUE (digest),
  CONSTRAINT kind_known CHECK (kind IN ('open', 'reserve', 'commit', 'void', 'access', 'cap')),
  CONSTRAINT sequence_positive CHECK (sequence > 0),
  CONSTRAINT version_known CHECK (version = 1),
  CONSTRAINT digests_are_sha256 CHECK (length(previous) = 32 AND length(digest) = 32),
  CONSTRAINT totals_not_negative CHECK (total_pure_nano >= 0 AND total_slack_atto >= 0),
  CONSTRAINT release_named CHECK ((kind IN ('open', 'cap')) = (release_id IS NULL)),
  CONSTRAINT sign_fits_kind CHECK (
    (kind IN ('reserve', 'access') AND pure_nano >= 0 AND slack_atto >= 0)
    OR (kind = 'void' AND pure_nano <= 0 AND slack_atto <= 0)
    OR (kind IN ('open', 'commit', 'cap') AND pure_nano = 0 AND slack_atto = 0)
  )
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, sequence);
CREATE INDEX ledger_entries_by_release ON ledger_entries (release_id, account_id, sequence);
CREATE UNIQUE INDEX ledger_opened_once ON ledger_entries (account_id) WHERE kind = 'open';
CREATE UNIQUE INDEX ledger_reserved_once ON ledger_entries (account_id, release_id) WHERE kind = 'reserve';
CREATE UNIQUE INDEX ledger_settled_once ON ledger_entries (account_id, release_id)
  WHERE kind IN ('commit', 'void');

CREATE TABLE ledger_head (
  id INTEGER NOT NULL PRIMARY KEY,
  sequence BIGINT NOT NULL,
  digest {bytes} NOT NULL,
  CONSTRAINT single_row CHECK (id = 1)
);

CREATE TABLE releases (
  id TEXT NOT NULL PRIMARY KEY,
  dataset_id TEXT NOT NULL REFERENCES datasets (id),
  created_by TEXT NOT NULL REFERENCES principals (id),
  model TEXT NOT NULL,
  mechanism TEXT NOT NULL,
  cost TEXT NOT NULL,
  n BIGINT NOT NULL,
  unit_rows INTEGER NOT NULL,
  data_version INTEGER NOT NULL,
  status TEXT NOT NULL,
  stage TEXT NOT NULL,
  reason TEXT,
  attempts INTEGER NOT NULL,
  due_us BIGINT NOT NULL,
  lease_token TEXT,
  lease_until_us BIGINT,
  created_us BIGINT NOT NULL,
  published_us BIGINT,
  CONSTRAINT sizes_positive CHECK (n > 0 AND unit_rows > 0),
  CONSTRAINT counts_not_negative CHECK (attempts >= 0 AND data_version >= 0),
  CONSTRAINT lease_whole CHECK ((lease_token IS NULL) = (lease_until_us IS NULL)),
  CONSTRAINT published_has_time CHECK ((status = 'published') = (published_us IS NOT NULL)),
  CONSTRAINT pending_until_done CHECK ((status = 'pending') = (stage <> 'done')),
  CONSTRAINT status_known CHECK (status IN ('pending', 'published', 'withdrawn')),
  CONSTRAINT stage_known CHECK (stage IN ('reserved', 'reading', 'stored', 'done'))
);
CREATE INDEX releases_by_dataset ON releases (dataset_id, created_us, id);
CREATE INDEX releases_by_time ON releases (created_us, id);
CREATE INDEX releases_due ON releases (due_us, id) WHERE status = 'pending';

CREATE TABLE sample_sets (
  release_id TEXT NOT NULL PRIMARY KEY REFERENCES releases (id),
  samples INTEGER NOT NULL,
  parameters INTEGER NOT NULL,
  body {bytes} NOT NULL,
  CONSTRAINT shape_positive CHECK (samples > 0 AND parameters > 0),
  CONSTRAINT body_fits_shape CHECK (length(body) = 8 * samples * parameters)
);

CREATE TABLE accesses (
  analyst_id TEXT NOT NULL REFERENCES principals (id),
  release_id TEXT NOT NULL REFERENCES releases (id),
  samples INTEGER NOT NULL,
  created_us BIGINT NOT NULL,
  updated_us BIGINT NOT NULL,
  PRIMARY KEY (analyst_id, release_id),
  CONSTRAINT samples_positive CHECK (samples > 0)
);
CREATE INDEX accesses_by_release ON accesses (release_id, analyst_id);

CREATE TABLE grants (
  principal_id TEXT NOT NULL REFERENCES principals (id),
  dataset_id TEXT NOT NULL REFERENCES datasets (id),
  samples INTEGER,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (principal_id, dataset_id),
  CONSTRAINT samples_positive CHECK (samples IS NULL OR samples > 0)
);
CREATE INDEX grants_by_dataset ON grants (dataset_id, principal_id);

CREATE TABLE idempotency_keys (
  principal_id TEXT NOT NULL,
  key TEXT NOT NULL,
  route TEXT NOT NULL,
  body_hash {bytes} NOT NULL,
  status INTEGER,
  body {bytes},
  location TEXT,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (principal_id, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_us);

CREATE TABLE epochs (
  name TEXT NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL,
  CONSTRAINT value_not_negative CHECK (value >= 0)
);
"""

# (table, event, condition on OLD and NEW or None, message)
REFUSALS = (
    ("ledger_entries", "UPDATE", None, "the ledger is append-only"),
    ("ledger_entries", "DELETE", None, "the ledger is append-only"),
    ("sample_sets", "UPDATE", None, "samples are drawn once"),
    ("sample_sets", "DELETE", None, "samples are drawn once"),
    ("ledger_head", "UPDATE", "NEW.sequence <> OLD.sequence + 1", "the head moves one entry at a time"),
    ("ledger_head", "DELETE", None, "the ledger always has a head"),
    ("releases", "UPDATE", "OLD.status <> 'pending'", "a finished release is immutable"),
    ("releases", "DELETE", None, "releases are never deleted"),
)


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    types = {"{bytes}": "BLOB", "{float}": "DOUBLE"}
    if dialect == "postgresql":
        types = {"{bytes}": "BYTEA", "{float}": "DOUBLE PRECISION"}
    tables = TABLES
    for placeholder, name in types.items():
        tables = tables.replace(placeholder, name)
    for statement in filter(str.strip, tables.split(";\n")):
        op.execute(sa.text(statement))
    genesis = hashlib.sha256(b"postern/ledger/genesis/1").digest()
    head = sa.text("INSERT INTO ledger_head (id, sequence, digest) VALUES (1, 0, :digest)")
    op.get_bind().execute(head, {"digest": genesis})
    op.execute(sa.text("INSERT INTO epochs (name, value) VALUES ('rights', 0)"))
    refuse_on_sqlite() if dialect == "sqlite" else refuse_on_postgres()


def refuse_on_sqlite() -> None:
    for table, event, condition, message in REFUSALS:
        when = f"WHEN {condition}" if condition else ""
        op.execute(
            f"CREATE TRIGGER {table}_refuse_{event.lower()} BEFORE {event} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    op.execute(
        """
        CREATE FUNCTION postern_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'restrict_violation';
        END $$
        """
    )
    for table, event, condition, message in REFUSALS:
        when = f"WHEN ({condition})" if condition else ""
        op.execute(
            f"CREATE TRIGGER {table}_refuse_{event.lower()} BEFORE {event} ON {table} "
            f"FOR EACH ROW {when} EXECUTE FUNCTION postern_refuse('{message}')"
        )
    for table in sorted({table for table, *_ in REFUSALS}):
        op.execute(
            f"CREATE TRIGGER {table}_refuse_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION postern_refuse('{table} is never emptied')"
        )


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
