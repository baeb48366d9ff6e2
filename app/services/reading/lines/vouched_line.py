"""The card's line about statistics that came without rows: who vouches for what this service never saw."""

from typing import Any

from app.storage.datasets import Dataset

_TEXT = (
    "No row of this dataset ever came here. Its steward computed the exact statistics beside the data, with this "
    "service's own code, and sealed them to a key of this service for this one release; they were opened after the "
    "charge, compared with what {n} people could have, used for one draw and wiped. The steward vouches that they "
    "are the statistics of these people: nobody here could check it. The figures of this card hold for rows that "
    "were counted as the declaration says, at most {rows} a person."
)


def vouched_line(dataset: Dataset, people: int, unit_rows: int) -> list[dict[str, Any]]:
    """Empty for a dataset whose rows are read here."""
    if dataset.source["kind"] != "statistics":
        return []
    return [
        {
            "name": "vouched",
            "value": "steward",
            "basis": "exact",
            "assumption": "the sealed statistics are those of the declared people, counted and clipped as declared",
            "text": _TEXT.format(n=people, rows=unit_rows),
        }
    ]
