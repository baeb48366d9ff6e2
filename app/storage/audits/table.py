"""The table of audits, beside the others in `app/storage/tables.py`."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, LargeBinary, Table, Text, UniqueConstraint, text

from app.storage.tables import metadata

audits = Table(
    "audits",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("shown", Text, nullable=False),
    Column("asked", Text),
    Column("commitment", Text, nullable=False),
    Column("commitment_key", Text, nullable=False),
    Column("commitment_signature", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("lease_until_us", BigInteger),
    Column("finished_us", BigInteger),
    Column("verdict", Text),
    Column("body", Text),
    Column("key_id", Text),
    Column("signature", LargeBinary),
    UniqueConstraint("id", name="audits_id"),
    CheckConstraint("number > 0", name="number_positive"),
    CheckConstraint("status IN ('pending', 'done')", name="status_known"),
    CheckConstraint(
        "(status = 'done') = (body IS NOT NULL) AND (body IS NULL) = (signature IS NULL)"
        " AND (body IS NULL) = (key_id IS NULL) AND (body IS NULL) = (verdict IS NULL)"
        " AND (body IS NULL) = (finished_us IS NULL)",
        name="done_whole",
    ),
    CheckConstraint("(status = 'done') = (asked IS NULL)", name="asked_until_done"),
    Index(
        "audits_pending",
        "number",
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
)
