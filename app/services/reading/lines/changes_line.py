"""The first lines of some cards: a schema that was changed after rows had been seen, and rows that are made up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from app.services.datasets.schema_changes import told_changes


def changes_line(changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """First on the card, as it puts all other lines in doubt: their figures follow from the schema as if nobody had looked."""
    times = "once" if len(changes) == 1 else f"{len(changes)} times"
    text = (
        f"WARNING: the schema was changed {times} after rows had been uploaded or checked: {told_changes(changes)}. Bounds, "
        "levels and limits that were chosen by looking at the rows are functions of the rows, and then nothing on this "
        "card holds. Ask the steward where they come from."
    )
    return {
        "name": "schema_changed",
        "value": [{"at": _day(change["at_us"]), "fields": change["fields"]} for change in changes],
        "basis": "exact",
        "assumption": "none",
        "text": text,
    }


def _day(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).date().isoformat()


def rehearsal_line(seed: int) -> dict[str, Any]:
    text = (
        "This is a rehearsal: its rows were made up from the declared schema, every value as likely as any other. Its answers "
        "say nothing about anybody, and its budget is its own."
    )
    return {"name": "rehearsal", "value": {"seed": seed}, "basis": "exact", "assumption": "none", "text": text}
