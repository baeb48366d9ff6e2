"""One DuckDB connection per task, shut in: it can open one file, a spill directory, and nothing else."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from app.errors import Unavailable
from app.sources.uploads import UploadStore

# What the rest of this package, and nobody else, needs to know of the engine.
Connection = duckdb.DuckDBPyConnection
EngineError = duckdb.Error
OutOfTime = duckdb.InterruptException
OutOfRoom = duckdb.OutOfMemoryException

GLOB_CHARACTERS = frozenset("*?[")
# Optimisers that believe the minima, maxima and null counts a Parquet file states about itself.
TRUSTING_OPTIMISERS = "statistics_propagation,filter_pushdown,join_filter_pushdown"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one reading of a source may use. Rows are counted before they are looked at."""

    memory_mb: int = 512
    spill_mb: int = 16_384
    threads: int = 2
    seconds: float = 600.0
    rows_max: int = 1_000_000_000


@contextmanager
def open_engine(
    path: Path | Sequence[Path], uploads: UploadStore, limits: Limits, *, writes: Path | None = None
) -> Iterator[Connection]:
    """A connection that may read `path`, or several, and nothing else, and may write `writes`, a file of a private directory.

    No extension is installed or loaded (nothing is fetched), no other file, no network, no
    replacement of table names by Python variables, no progress bar, no trust in what a file
    states about its own contents, and the configuration is locked once set. What does not fit
    in memory spills into a private directory under the upload root: unencrypted, unlinked by
    the engine as it goes, wiped here at the end.

    Errors of the engine come through as `EngineError` (`OutOfTime` at the time limit, `OutOfRoom`
    when memory and spill are full). Their text may quote rows and must not be shown, logged or
    chained.
    """
    allowed = [path] if isinstance(path, Path) else [*path]
    if writes is not None:
        allowed.append(writes)
    if any(GLOB_CHARACTERS & set(str(each)) for each in allowed):
        # DuckDB would take the path for a pattern.
        raise Unavailable("the data directory's path holds one of * ? [", retry_after_s=3600)
    with uploads.spill() as spill:
        connection = _connect(allowed, spill, limits)
        done = threading.Event()
        alarm = threading.Thread(target=_interrupt_after, args=(connection, limits, done), daemon=True)
        alarm.start()
        try:
            yield connection
        finally:
            done.set()
            alarm.join()
            connection.close()


def _interrupt_after(connection: Connection, limits: Limits, done: threading.Event) -> None:
    """Interrupt again and again: one that falls between two queries would be lost."""
    pause = limits.seconds
    while not done.wait(pause):
        connection.interrupt()
        pause = 0.1


def _connect(allowed: Sequence[Path], spill: Path, limits: Limits) -> Connection:
    try:
        connection = duckdb.connect(":memory:", config=_config(spill, limits))
    except EngineError as error:
        raise Unavailable("the row engine does not start") from error
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"SET disabled_optimizers = {literal(TRUSTING_OPTIMISERS)}")
        connection.execute(f"SET allowed_paths = [{', '.join(literal(str(path)) for path in allowed)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except EngineError as error:
        connection.close()
        raise Unavailable("the row engine does not start") from error
    return connection


def _config(spill: Path, limits: Limits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "threads": limits.threads,
        "memory_limit": f"{limits.memory_mb}MB",
        "temp_directory": str(spill),
        "max_temp_directory_size": f"{limits.spill_mb}MB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
        "enable_external_file_cache": "false",
        "preserve_insertion_order": "true",
    }


def literal(text: str) -> str:
    """A SQL text literal. Public names and levels only: rows never become SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def double(value: float) -> str:
    """A SQL literal that reads back as the same double."""
    return f"CAST('{value!r}' AS DOUBLE)"
