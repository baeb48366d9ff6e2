"""A stored dataset as the engine sees it: parsed columns, unit and source."""

from app.core.schema import Column, PrivacyUnit, parse_columns, parse_unit
from app.services.runtime.runtime import Runtime
from app.sources.source_spec import SourceSpec
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
        connection=stored.get("connection"),
        table=stored.get("table"),
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
        connections=runtime.settings.connections,
        people=dataset.n,
        strata=dataset.strata,
    )
    return open_source(source_spec(dataset), context)


def rows_present(runtime: Runtime, dataset: Dataset) -> bool:
    """Of a dataset with rows: whether there is something to read, and if it is sealed, under our key; no row is looked at, so
    a failure here cannot depend on one. Blocks. Unavailable where a database does not say."""
    return dataset_source(runtime, dataset).present()
