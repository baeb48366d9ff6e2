"""What `postern statistics` does: the numbers a worker would compute, by the same code, where the rows are, sealed for the
service.

Rows are checked and cut as an upload is, read back as a release reads them, and never leave a private directory, which is wiped.
"""

from collections.abc import Callable
from pathlib import Path

from app.core.schema import OtherColumns
from app.core.statistics.whole_numbers import Rows, is_possible, numbers_of
from app.errors import IntegrityFailure
from app.sources.data_key import SALT_BYTES, DataKey
from app.sources.duckdb_rows import UploadReport
from app.sources.engine import Limits
from app.sources.files import DeclaredForm, prepared
from app.sources.kept_rows import check_and_keep
from app.sources.source_spec import SourceSpec
from app.sources.sources import SourceContext, open_source
from app.sources.typed_rows import stored_names
from app.sources.uploads import PartialUpload, UploadStore
from app.sources.vouched.envelope import seal
from app.sources.vouched.plan import SealingPlan

_KEY_BYTES = 32


def sealed_statistics(
    plan: SealingPlan,
    file: Path,
    form: DeclaredForm,
    uploads: UploadStore,
    random_bytes: Callable[[int], bytes],
    *,
    other_columns: OtherColumns = "ignore",
    limits: Limits | None = None,
) -> tuple[bytes, UploadReport]:
    """(the seal, what the rows hold: for whoever has them). Blocking. `uploads` is an empty store of this call's own.

    Raises InvalidRows and what an upload raises; InvalidInput where the rows are not of n people, or a number does not fit.
    """
    key = DataKey(random_bytes(_KEY_BYTES).hex())
    with uploads.begin(plan.dataset, limited=False) as kept:
        report = _keep(plan, file, form, uploads, kept, key, random_bytes(SALT_BYTES), other_columns, limits)
        context = SourceContext(
            columns=plan.columns,
            unit=plan.unit,
            uploads=uploads,
            upload_name=kept.finish(),
            limits=limits or Limits(),
            data_key=lambda: key,
        )
        try:
            numbers = _numbers(plan, context, random_bytes)
        finally:
            kept.abort()
    sealed = seal(
        numbers,
        public=plan.key,
        nonce=plan.nonce,
        expires_us=plan.expires_us,
        digest=plan.digest,
        random_bytes=random_bytes,
    )
    return sealed, report


def _keep(
    plan: SealingPlan,
    file: Path,
    form: DeclaredForm,
    uploads: UploadStore,
    kept: PartialUpload,
    key: DataKey,
    salt: bytes,
    other_columns: OtherColumns,
    limits: Limits | None,
) -> UploadReport:
    with prepared(file, form, stored_names(plan.columns, plan.unit), uploads) as ready, ready.told_by_line():
        return check_and_keep(
            ready.path,
            ready.file_format,
            plan.columns,
            plan.unit,
            plan.n,
            kept,
            key,
            salt,
            uploads=uploads,
            limits=limits,
            other_columns=other_columns,
            separator=ready.separator,
            unquoted=ready.unquoted,
        )


def _numbers(plan: SealingPlan, context: SourceContext, random_bytes: Callable[[int], bytes]) -> list[int]:
    """What would be withdrawn there is refused here, where the steward can see it."""
    source = open_source(SourceSpec("upload"), context)
    rows = Rows(plan.n, plan.n * plan.unit.max_rows)
    numbers: list[int] = []
    for request in plan.requests:
        exact = source.statistic(request, random_bytes(_KEY_BYTES))
        if not is_possible(request, exact, rows):
            raise IntegrityFailure("these statistics are none that a service would take")
        numbers += numbers_of(request, exact)
    return numbers
