"""Rehearsals: datasets of made-up rows, on which analysts write their code before data arrive.

Everything works as on real rows: endpoints, budgets, charges, cards. Nothing is ever mixed: a rehearsal is one from its
declaration to its end (a trigger keeps it so), takes no upload and no file, has its own accounts, and its id and those of its
releases say `rehearsal`, so that every answer, receipt and file that names one is marked.
"""

from collections.abc import Mapping
from typing import Any

from app.errors import InvalidInput
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.runtime.runtime import Runtime
from app.sources.data_key import SALT_BYTES
from app.sources.duckdb_rows import UploadReport
from app.sources.kept_rows import check_and_keep
from app.sources.rehearsal_rows import SEED_MAX, refuse_large_rehearsal, write_rehearsal
from app.sources.uploads import PartialUpload
from app.storage.datasets import Dataset

PEOPLE = 1_000
SEED = 0


def rehearsal_seed(spec: Mapping[str, Any]) -> int | None:
    """None for a dataset of real rows. Raises InvalidInput for what only the other kind can have."""
    if not spec.get("rehearsal"):
        if spec.get("seed") is not None:
            raise InvalidInput("seed", "nothing, but with `rehearsal`: real rows are not drawn")
        return None
    source = spec.get("source") or {}
    if source.get("kind", "upload") != "upload":
        raise InvalidInput("source", "an upload, which a rehearsal makes up itself: it never reads a file")
    seed = spec.get("seed")
    if seed is not None and not 0 <= seed <= SEED_MAX:
        raise InvalidInput("seed", f"a whole number from 0 to {SEED_MAX}")
    return SEED if seed is None else int(seed)


def make_rows(runtime: Runtime, dataset: Dataset, seed: int, kept: PartialUpload) -> UploadReport:
    """Made up, checked and kept as an upload would be. Blocking."""
    columns, unit = dataset_columns(dataset), dataset_unit(dataset)
    people = PEOPLE if dataset.n is None else dataset.n
    refuse_large_rehearsal(people, unit)
    key, salt = runtime.data_key(), runtime.random_bytes(SALT_BYTES)
    with runtime.uploads.spill() as folder:
        path = folder / "rehearsal"
        write_rehearsal(path, columns, unit, people, seed)
        return check_and_keep(
            path, "csv", columns, unit, people, kept, key, salt, uploads=runtime.uploads, separator=","
        )
