"""What the guarantee card says about the clock: what the moment of publication is a function of, and what may still show.

The other lines are about the samples. This one is about when they came: a release ends in a slot that follows from public
numbers (`app/services/releases/public_moment.py`), unless its rows lie where nobody could cut them beforehand.
"""

from typing import Any

from app.services.datasets.dataset_sources import dataset_unit, source_spec
from app.storage.datasets import Dataset

PUBLIC, DEPENDS = "public", "depends on rows"
_LATER = (
    "If the work takes longer than that, or a worker is lost, it moves to a later public slot, 2, 4, 8 … times as long after "
    "the work began; which one it is may depend on the data."
)
_FOLLOWS = "The time of publication follows from public numbers, and no one person's rows can move it: {numbers}. "
_LEAK = (
    "WARNING: the rows of this dataset are read where they lie, all rows of every person, and no limit was declared "
    "(`rows_max`). The time of publication may show how many rows one person has, whatever the figures above say; the ε of this "
    "card does not cover it."
)


def moment_line(dataset: Dataset) -> dict[str, Any]:
    """From the declaration alone: the same for every release of the dataset."""
    source, unit = source_spec(dataset), dataset_unit(dataset)
    assumption = "rows read at the pace measured on synthetic rows for this installation"
    if source.kind != "upload" and unit.column is not None and source.rows_max is None:
        return _line(DEPENDS, "none", _LEAK)
    numbers = "model, mechanism, samples, n and the rows a person may own"
    if source.kind == "statistics":
        assumption, numbers = "statistics opened at that pace", "model, mechanism, samples and n"
    if source.rows_max is not None:
        numbers = f"model, mechanism, samples and the declared limit of {source.rows_max} rows"
    return _line(PUBLIC, assumption, _FOLLOWS.format(numbers=numbers) + _LATER)


def _line(value: str, assumption: str, text: str) -> dict[str, Any]:
    return {"name": "moment", "value": value, "basis": "exact", "assumption": assumption, "text": text}
