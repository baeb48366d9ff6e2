"""A stored dataset as the engine sees it: parsed columns, unit and source."""

from app.core.schema import Column, PrivacyUnit, parse_columns, parse_unit
from app.errors import InvalidSchema
from app.services.runtime.runtime import Runtime
from app.sources.source_spec import SourceSpec, resolve_file
from app.sources.sources import RowSource, SourceContext, open_source
from app.storage.datasets import Dataset


def dataset_columns(dataset: Dataset) -> dict[str, Column]:
    return parse_columns(dataset.columns)


def dataset_unit(dataset: Dataset) -> PrivacyUnit:
    return parse_unit(dataset.unit, dataset_columns(dataset))


def source_spec(dataset: Dataset) -> SourceSpec:
    """As stored; a file was checked when the dataset was declared and is resolved again when it is read."""
    stored = dataset.source
    return SourceSpec(stored["kind"], retain=stored.get("retain", False), path=stored.get("path"))


def dataset_source(runtime: Runtime, dataset: Dataset, upload_name: str | None = None) -> RowSource:
    context = SourceContext(
        columns=dataset_columns(dataset),
        unit=dataset_unit(dataset),
        uploads=runtime.uploads,
        upload_name=upload_name or dataset.upload_name,
        roots=tuple(runtime.settings.source_roots),
    )
    return open_source(source_spec(dataset), context)


def rows_present(runtime: Runtime, dataset: Dataset) -> bool:
    """Whether there is a file at all; it is not opened, so a failure here cannot depend on its rows. Blocks."""
    if dataset.source["kind"] == "upload":
        return dataset.upload_name is not None and runtime.uploads.path(dataset.upload_name).is_file()
    try:
        resolve_file(dataset.source["path"], runtime.settings.source_roots)
    except InvalidSchema:
        return False
    return True
