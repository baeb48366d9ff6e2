"""A stored dataset as the engine sees it: parsed columns, unit and source."""

from app.core.schema import Column, PrivacyUnit, parse_columns, parse_unit
from app.errors import InvalidSchema
from app.services.runtime.runtime import Runtime
from app.sources.sealed_files import is_sealed, opens_with
from app.sources.source_spec import SourceSpec, resolve_file
from app.sources.sources import Report, RowSource, SourceContext, open_source, unheard
from app.sources.vouched.sealed_source import SealedStatistics
from app.storage.datasets import Dataset


def dataset_columns(dataset: Dataset) -> dict[str, Column]:
    return parse_columns(dataset.columns, stored=True)


def dataset_unit(dataset: Dataset) -> PrivacyUnit:
    return parse_unit(dataset.unit, dataset_columns(dataset))


def source_spec(dataset: Dataset) -> SourceSpec:
    """As stored; a file was checked when the dataset was declared and is resolved again when it is read."""
    stored = dataset.source
    return SourceSpec(
        stored["kind"],
        retain=stored.get("retain", False),
        path=stored.get("path"),
        rows_max=stored.get("rows_max"),
    )


def dataset_source(
    runtime: Runtime,
    dataset: Dataset,
    upload_name: str | None = None,
    vouched: SealedStatistics | None = None,
    report: Report = unheard,
) -> RowSource:
    """`vouched`: of a dataset without rows, what was sealed for the release that is to be drawn."""
    context = SourceContext(
        columns=dataset_columns(dataset),
        unit=dataset_unit(dataset),
        uploads=runtime.uploads,
        upload_name=upload_name or dataset.upload_name,
        roots=tuple(runtime.settings.source_roots),
        data_key=runtime.data_key,
        other_columns=dataset.other_columns,
        vouched=vouched,
        limits=runtime.engine_limits,
        report=report,
    )
    return open_source(source_spec(dataset), context)


def rows_present(runtime: Runtime, dataset: Dataset) -> bool:
    """Of a dataset with rows: whether there is a file at all, and if it is sealed, under our key; no row is looked at, so a
    failure here cannot depend on one. Blocks."""
    if dataset.source["kind"] == "upload":
        path = None if dataset.upload_name is None else runtime.uploads.path(dataset.upload_name)
        if path is None or not path.is_file():
            return False
        return not is_sealed(path) or opens_with(path, runtime.data_key())
    try:
        resolve_file(dataset.source["path"], runtime.settings.source_roots)
    except InvalidSchema:
        return False
    return True
