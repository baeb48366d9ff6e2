"""Populations: one account for the same people in several datasets.

Revision ID: 0014
Revises: 0012

An account is now of a dataset, of an analyst on one, or of a population (`dataset_id` empty). SQLite cannot lift a NOT NULL in
place, so `accounts` is copied there, and `ledger_entries`, which refers to it, with every index and every trigger that names
one of them. A dataset stays in its population once a release of it was asked for; a rehearsal is never in one.
"""

from alembic import op
import sqlalchemy as sa

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

POPULATIONS = """
CREATE TABLE populations (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL REFERENCES principals (id),
  name TEXT NOT NULL,
  description TEXT,
  created_us BIGINT NOT NULL,
  deleted_us BIGINT,
  CONSTRAINT populations_owner_name UNIQUE (owner, name)
)
"""
WHOSE = "(dataset_id IS NULL) = (population_id IS NOT NULL) AND (analyst_id IS NULL OR dataset_id IS NOT NULL)"
ACCOUNTS_MOVE = (
    "NEW.revision <> OLD.revision + 1 OR NEW.id <> OLD.id OR COALESCE(NEW.dataset_id, '') <> COALESCE(OLD.dataset_id, '')"
    " OR COALESCE(NEW.analyst_id, '') <> COALESCE(OLD.analyst_id, '')"
    " OR COALESCE(NEW.population_id, '') <> COALESCE(OLD.population_id, '')"
)
RELEASED = "EXISTS (SELECT 1 FROM releases WHERE dataset_id = OLD.id)"
OF_ANOTHER = (
    "NEW.population IS NOT NULL AND (NEW.rehearsal IS NOT NULL"
    " OR NOT EXISTS (SELECT 1 FROM populations WHERE id = NEW.population AND owner = NEW.owner AND deleted_us IS NULL))"
)
ONE_OF_PEOPLE = "a population has datasets of its own steward, and no rehearsal"

# (trigger, table, event, condition under which the change is refused, message)
REFUSALS = (
    ("accounts_refuse_update", "accounts", "UPDATE", ACCOUNTS_MOVE, "an account moves one posting at a time"),
    (
        "datasets_refuse_leaving",
        "datasets",
        "UPDATE",
        f"COALESCE(NEW.population, '') <> COALESCE(OLD.population, '') AND {RELEASED}",
        "a dataset with releases stays in its population",
    ),
    ("datasets_refuse_joining", "datasets", "INSERT", OF_ANOTHER, ONE_OF_PEOPLE),
    (
        "datasets_refuse_moving",
        "datasets",
        "UPDATE",
        f"COALESCE(NEW.population, '') <> COALESCE(OLD.population, '') AND {OF_ANOTHER}",
        ONE_OF_PEOPLE,
    ),
    (
        "populations_refuse_update",
        "populations",
        "UPDATE",
        "NEW.id <> OLD.id OR NEW.owner <> OLD.owner OR (OLD.deleted_us IS NOT NULL AND NEW.deleted_us IS NULL)"
        " OR (OLD.deleted_us IS NULL AND NEW.deleted_us IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM datasets WHERE population = OLD.id))",
        "a population with datasets stays, with its steward",
    ),
    ("populations_refuse_delete", "populations", "DELETE", "TRUE", "populations are never forgotten"),
)


def upgrade() -> None:
    op.execute(POPULATIONS)
    op.execute("CREATE INDEX populations_by_owner ON populations (owner, created_us, id)")
    if op.get_bind().dialect.name == "sqlite":
        lift_on_sqlite()
        op.execute("DROP TRIGGER accounts_refuse_update")
    else:
        op.execute("ALTER TABLE accounts ALTER COLUMN dataset_id DROP NOT NULL")
        op.execute("ALTER TABLE accounts ADD COLUMN population_id TEXT REFERENCES populations (id)")
        op.execute(f"ALTER TABLE accounts ADD CONSTRAINT whose_account CHECK ({WHOSE})")
        op.execute("DROP TRIGGER accounts_refuse_update ON accounts")
    op.execute("CREATE UNIQUE INDEX accounts_one_per_population ON accounts (population_id)")
    op.execute("ALTER TABLE datasets ADD COLUMN population TEXT REFERENCES populations (id)")
    op.execute("CREATE INDEX datasets_by_population ON datasets (population, id)")
    refuse_on_sqlite() if op.get_bind().dialect.name == "sqlite" else refuse_on_postgres()


def lift_on_sqlite() -> None:
    """Both tables anew before either goes: a line refers to its account all along, and a rename carries the reference with it."""
    connection = op.get_bind()
    listed = sa.text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    schema = list(connection.execute(listed))
    tables = ("accounts", "ledger_entries")
    described = {name: next(row.sql for row in schema if row.type == "table" and row.name == name) for name in tables}
    triggers = [row for row in schema if row.type == "trigger" and any(table in row.sql for table in tables)]
    indexes = [row for row in schema if row.type == "index" and row.tbl_name in tables]
    for row in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {row.name}")
    create = changed(described["accounts"], "dataset_id TEXT NOT NULL REFERENCES", "dataset_id TEXT REFERENCES")
    column = "population_id TEXT REFERENCES populations (id)"
    body = create.partition("(")[2].rstrip().removesuffix(")")
    copied = [row.name for row in connection.exec_driver_sql("PRAGMA table_info(accounts)")]
    names = ", ".join(copied)
    plain, constraints = split_at_constraints(body)
    connection.exec_driver_sql(
        f"CREATE TABLE accounts_next ({plain}, {column}, {constraints}, CONSTRAINT whose_account CHECK ({WHOSE}))"
    )
    connection.exec_driver_sql(f"INSERT INTO accounts_next ({names}) SELECT {names} FROM accounts")
    lines = changed(described["ledger_entries"], "REFERENCES accounts ", "REFERENCES accounts_next ").partition("(")[2]
    connection.exec_driver_sql(f"CREATE TABLE ledger_entries_next ({lines}")
    connection.exec_driver_sql("INSERT INTO ledger_entries_next SELECT * FROM ledger_entries")
    for table in reversed(tables):
        connection.exec_driver_sql(f"DROP TABLE {table}")
    for table in tables:
        connection.exec_driver_sql(f"ALTER TABLE {table}_next RENAME TO {table}")
    for row in [*indexes, *triggers]:
        connection.exec_driver_sql(row.sql)


def changed(described: str, before: str, after: str) -> str:
    if described.count(before) != 1:
        raise RuntimeError("a table is not as the migrations before this one leave it")
    return described.replace(before, after)


def split_at_constraints(body: str) -> tuple[str, str]:
    """Columns, those added since at the end among them, and constraints: in SQLite a column may not follow a constraint."""
    first = body.index("CONSTRAINT")
    last = body.rindex(")") + 1
    added = body[last:].strip().strip(",").strip()
    columns = body[:first].rstrip().rstrip(",")
    return (f"{columns}, {added}" if added else columns), body[first:last]


def refuse_on_sqlite() -> None:
    for name, table, event, condition, message in REFUSALS:
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_on_postgres() -> None:
    for name, table, event, condition, message in REFUSALS:
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
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION postern_{name}()")


def downgrade() -> None:
    raise NotImplementedError("the ledger only goes forward; restore a backup instead")
