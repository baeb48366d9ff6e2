"""`postern statistics`: beside the data, without a server or a network, compute a release's exact numbers and seal them.

`postern statistics-plan` gets the plan from a service, `postern sealing-key` shows the key of the service on this machine.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.cli.json_files import print_json, read_json_file
from app.cli.remote import as_sent, remote_client
from app.errors import InvalidInput, InvalidRows, PosternError

if TYPE_CHECKING:
    from app.sources.duckdb_rows import UploadReport
    from app.sources.vouched.plan import SealingPlan


def statistics(
    plan: Annotated[str, typer.Argument(help="The plan, as the service gave it out; - for standard input.")],
    file: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow; also packed (.gz, .zst).")],
    output: Annotated[Path, typer.Option(help="Where to write the sealed statistics: a new file.")],
    key: Annotated[
        str | None,
        typer.Option(help="The public key that you were told by the operator; another one in the plan is refused."),
    ] = None,
    charset: Annotated[str | None, typer.Option(help="Of CSV: utf-8, windows-1252 or utf-16.")] = None,
    separator: Annotated[
        Literal["comma", "semicolon", "tab", "pipe"] | None,
        typer.Option(help="Of CSV, where the header line does not show it."),
    ] = None,
    memory_mb: Annotated[int, typer.Option(min=64, help="What the reading engine may use; more spills to disk.")] = 512,
    folder: Annotated[
        Path | None, typer.Option(help="A private place for what does not fit in memory; wiped afterwards.")
    ] = None,
) -> None:
    """Compute what a plan asks of the rows in a file, and seal it to the service's key. Nothing is sent anywhere.

    What is written opens with the service's private key alone, for one release of this plan, until it expires. Send it with
    `postern release DATASET RELEASE --statistics FILE`.
    """
    from app.sources.vouched.plan import read_plan

    read = read_plan(read_json_file(plan))
    if key is not None and key.strip().lower() != read.key.hex():
        raise InvalidInput("--key", "the key that the plan names; this plan was not made by that service")
    sealed, report = _sealed(read, file, folder, charset, separator, memory_mb)
    _write_new(output, sealed)
    print_json(_told(read, report, output, len(sealed)))


def plan_statistics(
    dataset: Annotated[str, typer.Argument(help="The dataset's id.")],
    file: Annotated[
        str, typer.Argument(help="What the release is to be: the body of a release, as a JSON file; or -.")
    ],
) -> None:
    """Get a plan to seal statistics by (POSTERN_URL, POSTERN_KEY of a steward) and print it. Nothing is charged."""
    from postern.client.calls import stewards

    with remote_client() as client:
        print_json(client.send(as_sent(stewards.plan_statistics(dataset, read_json_file(file), None))))


def sealing_key() -> None:
    """Show the public half of the key that statistics are sealed to, of the service whose settings are those of this shell."""
    from app.services.runtime.runtime import load_sealing_key
    from app.settings import Settings

    found = load_sealing_key(Settings())
    print_json({"key_id": found.key_id.hex(), "key": found.public.hex()})


def _sealed(
    plan: SealingPlan, file: Path, folder: Path | None, charset: str | None, separator: str | None, memory_mb: int
) -> tuple[bytes, UploadReport]:
    from app.sources.engine import Limits
    from app.sources.files import read_declared
    from app.sources.uploads import UploadStore
    from app.sources.vouched.beside_the_data import sealed_statistics

    form = read_declared(charset=charset, separator=separator)
    limits = Limits(memory_mb=memory_mb)
    with tempfile.TemporaryDirectory(dir=folder) as private:
        store = UploadStore(Path(private) / "rows")
        try:
            return sealed_statistics(plan, file.resolve(strict=True), form, store, os.urandom, limits=limits)
        except InvalidRows as refused:
            raise PosternError(refused.detail) from None


def _write_new(output: Path, sealed: bytes) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "wb") as file:
        file.write(sealed)


def _told(plan: SealingPlan, report: UploadReport, output: Path, size: int) -> dict[str, Any]:
    """For whoever has the rows: none of it is in what was sealed, or sent."""
    return {
        "sealed": str(output),
        "bytes": size,
        "numbers": plan.size,
        "dataset": plan.dataset,
        "key": plan.key.hex(),
        "rows": report.rows,
        "people": report.people,
        "clipped_people": report.clipped_people,
        "ignored_columns": list(report.ignored_columns),
        "missing": dict(report.missing),
        "outside": dict(report.outside),
    }
