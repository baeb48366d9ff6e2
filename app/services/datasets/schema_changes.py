"""What of a schema was changed after rows had been uploaded or checked, as recorded and told: fields, and numbers.

All of it is public, as the schemas are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.storage.datasets import Dataset

CHANGES_MAX = 100
FIELDS_MAX = 200


def changed_fields(before: Dataset, after: Dataset) -> list[dict[str, Any]]:
    """Each `{"field": "days.upper", "before": 365, "after": 400}`; of anything but a number the field alone."""
    found = [
        _change(f"{name}.{field}", old.get(field), new.get(field))
        for name in sorted({*before.columns, *after.columns})
        for old, new in [(before.columns.get(name, {}), after.columns.get(name, {}))]
        for field in sorted({*old, *new})
        if old.get(field) != new.get(field)
    ]
    old_unit, new_unit = before.unit or {}, after.unit or {}
    found += [
        _change(f"privacy_unit.{field}", old_unit.get(field), new_unit.get(field))
        for field in ("column", "max_rows")
        if old_unit.get(field) != new_unit.get(field)
    ]
    return found[:FIELDS_MAX]


def _change(field: str, before: Any, after: Any) -> dict[str, Any]:
    numbers = {"before": before, "after": after}
    return {"field": field} | {name: value for name, value in numbers.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def told_changes(changes: Sequence[Mapping[str, Any]]) -> str:
    """For a person, the latest last."""
    return "; ".join(
        ", ".join(_told(field) for field in change["fields"][:5])
        + (f" and {len(change['fields']) - 5} more" if len(change["fields"]) > 5 else "")
        for change in changes
    )


def _told(field: Mapping[str, Any]) -> str:
    if "before" in field and "after" in field:
        return f"{field['field']} from {field['before']:g} to {field['after']:g}"
    return str(field["field"])
