"""Which rows count, and what each of them brings: the table every statistic is an aggregate of."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.schema import PrivacyUnit
from app.sources.scans import Scan


@dataclass(frozen=True, slots=True)
class CountedRows:
    """`table` is SQL of one row for each row that counts, with the columns v0, v1, …; `parameters` belong to it."""

    table: str
    parameters: dict[str, str]


def counted_rows(scan: Scan, unit: PrivacyUnit, hash_key: bytes, cells: Sequence[str]) -> CountedRows:
    """`cells` are SQL over the scan.

    With a privacy unit at most `max_rows` rows of each person count: those with the smallest
    keyed hash of their own content, so that neither file order nor whoever wrote the file
    chooses them. Equal rows have equal hashes and either may stand for the other. The content is
    the whole row, whatever the statistic looks at: every statistic is of the same rows.
    """
    values = ", ".join(f"{cell} AS v{place}" for place, cell in enumerate(cells))
    if unit.column is None:
        return CountedRows(f"(SELECT {values} FROM {scan.table})", {})  # noqa: S608 - declared names only
    person = scan.rules[unit.column].canonical
    records = f"SELECT {person} AS person, {_digest(scan)} AS digest, {values} FROM {scan.table}"  # noqa: S608
    chosen = f"row_number() OVER (PARTITION BY person ORDER BY digest) <= {unit.max_rows}"
    table = f"(SELECT * EXCLUDE (person, digest) FROM ({records}) QUALIFY {chosen})"  # noqa: S608
    return CountedRows(table, {"key": hash_key.hex()})


def _digest(scan: Scan) -> str:
    """SQL of SHA-256(key ‖ cells), each cell preceded by its length, columns in order of name.

    A key in front is enough here: digests never leave the engine, so nobody can extend one.
    """
    cells = (rule.canonical for _, rule in sorted(scan.rules.items()))
    parts = (f"coalesce(length({cell}) || ':' || {cell}, '-')" for cell in cells)
    return f"sha256(concat($key, {', '.join(parts)}))"
