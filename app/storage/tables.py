"""Every table, once, for building statements. `migrations/` creates them; a test holds the two together.

Times are integer microseconds (`_us`), amounts integers (`_nano`, `_atto`), JSON is canonical text. Columns that
name a principal, dataset or release hold its public id.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.ledger.entry import ENTRY_KINDS

metadata = MetaData()

ROLES = ("steward", "analyst", "dashboard", "auditor")
DATA_STATES = ("none", "ready", "wiped")
RELEASE_STATUSES = ("pending", "published", "withdrawn")
RELEASE_STAGES = ("reserved", "reading", "stored", "done")
ACT_KINDS = ("adopted", "rotated", "accepted", "recosted")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _once(name: str, columns: tuple[str, ...], where: str) -> Index:
    """At most one row per value of the columns among those where the condition holds."""
    return Index(name, *columns, unique=True, sqlite_where=text(where), postgresql_where=text(where))


principals = Table(
    "principals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_by", Text, ForeignKey("principals.id")),
    Column("created_us", BigInteger, nullable=False),
    UniqueConstraint("id", "role", name="principals_id_role"),
    _one_of("role", ROLES),
    Index("principals_by_creator", "created_by", "created_us", "id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("principal_id", Text, nullable=False),
    Column("owner_role", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
    Column("revoked_us", BigInteger),
    Column("last_used_us", BigInteger),
    Column("label", Text, nullable=False),
    ForeignKeyConstraint(["principal_id", "owner_role"], ["principals.id", "principals.role"]),
    CheckConstraint(
        "role = owner_role OR (owner_role = 'analyst' AND role = 'dashboard')", name="role_is_the_owners_or_less"
    ),
    UniqueConstraint("secret_hash", name="api_keys_secret_hash"),
    CheckConstraint("length(secret_hash) = 32", name="secret_hash_is_sha256"),
    Index("api_keys_by_principal", "principal_id", "created_us", "id"),
)

populations = Table(
    "populations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, ForeignKey("principals.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("created_us", BigInteger, nullable=False),
    Column("deleted_us", BigInteger),
    UniqueConstraint("owner", "name", name="populations_owner_name"),
    Index("populations_by_owner", "owner", "created_us", "id"),
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, ForeignKey("principals.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("n", BigInteger),
    Column("epsilon", Double, nullable=False),
    Column("delta", Double, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("data_version", Integer, nullable=False),
    Column("data_state", Text, nullable=False),
    Column("upload_name", Text),
    Column("other_columns", Text, nullable=False, server_default="ignore"),
    Column("description", Text),
    Column("changes", Text),
    Column("looked_us", BigInteger),
    Column("archived_us", BigInteger),
    Column("deleted_us", BigInteger),
    Column("rehearsal", BigInteger),
    Column("strata", Text),
    Column("population", Text, ForeignKey("populations.id")),
    UniqueConstraint("owner", "name", name="datasets_owner_name"),
    CheckConstraint("n IS NULL OR n > 0", name="n_positive"),
    CheckConstraint("epsilon >= 0", name="epsilon_not_negative"),
    CheckConstraint("delta >= 0 AND delta < 1", name="delta_below_one"),
    CheckConstraint("data_version >= 0", name="data_version_not_negative"),
    _one_of("data_state", DATA_STATES),
    Index("datasets_by_owner", "owner", "created_us", "id"),
    Index("datasets_by_population", "population", "id"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset_id", Text, ForeignKey("datasets.id")),
    Column("analyst_id", Text, ForeignKey("principals.id")),
    Column("epsilon", Double, nullable=False),
    Column("delta", Double, nullable=False),
    Column("slack_delta", Double, nullable=False),
    Column("renyi_order", Double),
    Column("capacity_nano", BigInteger, nullable=False),
    Column("pure_capacity_nano", BigInteger, nullable=False),
    Column("spent_pure_nano", BigInteger, nullable=False),
    Column("spent_slack_atto", BigInteger, nullable=False),
    Column("spent_curve_nano", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("regime", Text),
    Column("population_id", Text, ForeignKey("populations.id")),
    CheckConstraint("epsilon >= 0", name="epsilon_not_negative"),
    CheckConstraint("delta >= 0 AND delta < 1", name="delta_below_one"),
    CheckConstraint("slack_delta >= 0 AND slack_delta <= delta", name="slack_within_delta"),
    CheckConstraint("renyi_order IS NULL OR renyi_order > 1", name="order_above_one"),
    CheckConstraint("capacity_nano >= 0 AND pure_capacity_nano >= 0", name="capacity_not_negative"),
    CheckConstraint("spent_pure_nano >= 0 AND spent_slack_atto >= 0", name="spent_not_negative"),
    CheckConstraint("revision > 0", name="revision_positive"),
    CheckConstraint(
        "(dataset_id IS NULL) = (population_id IS NOT NULL) AND (analyst_id IS NULL OR dataset_id IS NOT NULL)",
        name="whose_account",
    ),
    Index("accounts_one_per_population", "population_id", unique=True),
    Index("accounts_by_analyst", "analyst_id", "dataset_id", unique=True),
    _once("accounts_one_per_dataset", ("dataset_id",), "analyst_id IS NULL"),
    Index("accounts_by_dataset", "dataset_id", "id"),
)

ledger_entries = Table(
    "ledger_entries",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("account_id", Text, ForeignKey("accounts.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("release_id", Text),
    Column("pure_nano", BigInteger, nullable=False),
    Column("slack_atto", BigInteger, nullable=False),
    Column("curve_nano", Text, nullable=False),
    Column("total_pure_nano", BigInteger, nullable=False),
    Column("total_slack_atto", BigInteger, nullable=False),
    Column("total_curve_nano", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("previous", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("version", Integer, nullable=False),
    UniqueConstraint("previous", name="ledger_entries_previous"),
    UniqueConstraint("digest", name="ledger_entries_digest"),
    _one_of("kind", ENTRY_KINDS),
    CheckConstraint("sequence > 0", name="sequence_positive"),
    CheckConstraint("version = 1", name="version_known"),
    CheckConstraint("length(previous) = 32 AND length(digest) = 32", name="digests_are_sha256"),
    CheckConstraint("total_pure_nano >= 0 AND total_slack_atto >= 0", name="totals_not_negative"),
    CheckConstraint("(kind IN ('open', 'cap')) = (release_id IS NULL)", name="release_named"),
    CheckConstraint(
        "(kind IN ('reserve', 'access') AND pure_nano >= 0 AND slack_atto >= 0)"
        " OR (kind IN ('void', 'recost') AND pure_nano <= 0 AND slack_atto <= 0)"
        " OR (kind IN ('open', 'commit', 'cap') AND pure_nano = 0 AND slack_atto = 0)",
        name="sign_fits_kind",
    ),
    _once("ledger_opened_once", ("account_id",), "kind = 'open'"),
    _once("ledger_reserved_once", ("account_id", "release_id"), "kind = 'reserve'"),
    _once("ledger_settled_once", ("account_id", "release_id"), "kind IN ('commit', 'void')"),
    Index("ledger_entries_by_account", "account_id", "sequence"),
    Index(
        "ledger_caps",
        "account_id",
        "sequence",
        sqlite_where=text("kind IN ('open', 'cap')"),
        postgresql_where=text("kind IN ('open', 'cap')"),
    ),
    Index("ledger_entries_by_release", "release_id", "account_id", "sequence"),
)

ledger_head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("ledger_id", Text),
    Column("key_id", Text),
    Column("signature", LargeBinary),
    Column("signed_us", BigInteger),
    CheckConstraint("id = 1", name="single_row"),
    CheckConstraint(
        "(ledger_id IS NULL) = (signature IS NULL)"
        " AND (key_id IS NULL) = (signature IS NULL)"
        " AND (signed_us IS NULL) = (signature IS NULL)",
        name="signed_whole",
    ),
    CheckConstraint("signature IS NULL OR length(signature) = 64", name="signature_is_ed25519"),
)

ledger_acts = Table(
    "ledger_acts",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("ledger_id", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("replaces", Text),
    _one_of("kind", ACT_KINDS),
    CheckConstraint("number > 0", name="number_positive"),
    CheckConstraint("length(signature) = 64", name="signature_is_ed25519"),
)

releases = Table(
    "releases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset_id", Text, ForeignKey("datasets.id"), nullable=False),
    Column("created_by", Text, ForeignKey("principals.id"), nullable=False),
    Column("model", Text, nullable=False),
    Column("mechanism", Text, nullable=False),
    Column("cost", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("unit_rows", Integer, nullable=False),
    Column("data_version", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("reason", Text),
    Column("attempts", Integer, nullable=False),
    Column("due_us", BigInteger, nullable=False),
    Column("lease_token", Text),
    Column("lease_until_us", BigInteger),
    Column("created_us", BigInteger, nullable=False),
    Column("published_us", BigInteger),
    Column("started_us", BigInteger),
    Column("duration_us", BigInteger),
    Column("fit_check", Text),
    Column("title", Text),
    Column("description", Text),
    CheckConstraint("n > 0 AND unit_rows > 0", name="sizes_positive"),
    CheckConstraint("attempts >= 0 AND data_version >= 0", name="counts_not_negative"),
    CheckConstraint("(lease_token IS NULL) = (lease_until_us IS NULL)", name="lease_whole"),
    CheckConstraint("(status = 'published') = (published_us IS NOT NULL)", name="published_has_time"),
    CheckConstraint("(status = 'pending') = (stage <> 'done')", name="pending_until_done"),
    _one_of("status", RELEASE_STATUSES),
    _one_of("stage", RELEASE_STAGES),
    Index("releases_by_dataset", "dataset_id", "created_us", "id"),
    Index("releases_by_time", "created_us", "id"),
    Index(
        "releases_due",
        "due_us",
        "id",
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
)

sample_sets = Table(
    "sample_sets",
    metadata,
    Column("release_id", Text, ForeignKey("releases.id"), primary_key=True),
    Column("samples", Integer, nullable=False),
    Column("parameters", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("measured", LargeBinary),
    Column("checked", LargeBinary),
    CheckConstraint("samples > 0 AND parameters > 0", name="shape_positive"),
    CheckConstraint("length(body) = 8 * samples * parameters", name="body_fits_shape"),
)

accesses = Table(
    "accesses",
    metadata,
    Column("analyst_id", Text, ForeignKey("principals.id"), nullable=False),
    Column("release_id", Text, ForeignKey("releases.id"), nullable=False),
    Column("samples", Integer, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("analyst_id", "release_id"),
    CheckConstraint("samples > 0", name="samples_positive"),
    Index("accesses_by_release", "release_id", "analyst_id"),
)

part_accesses = Table(
    "part_accesses",
    metadata,
    Column("analyst_id", Text, ForeignKey("principals.id"), nullable=False),
    Column("release_id", Text, ForeignKey("releases.id"), nullable=False),
    Column("part", Text, nullable=False),
    Column("samples", Integer, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("analyst_id", "release_id", "part"),
    CheckConstraint("samples > 0", name="samples_positive"),
    Index("part_accesses_by_release", "release_id", "analyst_id"),
)

grants = Table(
    "grants",
    metadata,
    Column("principal_id", Text, ForeignKey("principals.id"), nullable=False),
    Column("dataset_id", Text, ForeignKey("datasets.id"), nullable=False),
    Column("samples", Integer),
    Column("created_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("principal_id", "dataset_id"),
    CheckConstraint("samples IS NULL OR samples > 0", name="samples_positive"),
    Index("grants_by_dataset", "dataset_id", "principal_id"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal_id", Text, nullable=False),
    Column("key_digest", LargeBinary, nullable=False),
    Column("route", Text, nullable=False),
    Column("input_hash", LargeBinary, nullable=False),
    Column("sealed", LargeBinary),
    Column("location", Text),
    Column("created_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("principal_id", "key_digest"),
    CheckConstraint("length(key_digest) = 32 AND length(input_hash) = 32", name="hashes_are_sha256"),
    Index("idempotency_keys_by_time", "created_us"),
)

installation_secrets = Table(
    "installation_secrets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("secret", LargeBinary, nullable=False),
    CheckConstraint("length(secret) = 32", name="secret_is_256_bits"),
)

epochs = Table(
    "epochs",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    CheckConstraint("value >= 0", name="value_not_negative"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Double, nullable=False),
    Column("measured_us", BigInteger, nullable=False),
    CheckConstraint("value > 0", name="value_positive"),
)
