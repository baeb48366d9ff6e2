"""`postern ledger`: the chain, read straight from the database, or from an export without one."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from app.cli.json_files import print_json
from app.cli.session import with_runtime
from app.cli.wiring import wiring_of

if TYPE_CHECKING:
    from app.ledger.recost import Recost
    from app.ledger.signed_head import Act
    from app.services.runtime.runtime import Runtime
    from app.services.views import LedgerHeadView, VerificationView

app = typer.Typer(
    help="Verify, export and recompute the ledger; print its head; decide about it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[str | None, typer.Argument(help="An export, - for standard input. Only with --offline.")]
Offline = Annotated[bool, typer.Option("--offline", help="Check an export: no database, no settings.")]


@app.command("head")
def head() -> None:
    """Print the signed head of the chain. Keep it elsewhere: a ledger cut short cannot produce it again."""

    async def work(runtime: Runtime) -> LedgerHeadView:
        from app.services.ledger import read_head

        return await read_head(runtime)

    print_json(asdict(with_runtime(work)))


@app.command("verify")
def verify(
    file: File = None,
    offline: Offline = False,
    public_key: Annotated[
        list[str] | None, typer.Option("--public-key", help="Believe this key only, 64 hexadecimal digits; repeatable.")
    ] = None,
) -> None:
    """Check chain, sums, rules, signature and heads seen earlier. Exit code 1 and the fault's name if one fails."""
    _only_offline(offline, file is not None or bool(public_key))
    if offline:
        _verify_offline(file or "-", public_key or [])
        return

    async def work(runtime: Runtime) -> VerificationView:
        from app.services.ledger import verify_ledger

        return await verify_ledger(runtime)

    found = with_runtime(work)
    print_json(asdict(found))
    if not found.ok:
        raise typer.Exit(1)


@app.command("export")
def export(
    output: Annotated[Path | None, typer.Option(help="A file; standard output if not given.")] = None,
) -> None:
    """Write the whole ledger as lines of JSON, with its signed head last. Holds no rows and no samples."""
    from app.services.ledger import export_ledger

    def write_to(file: BinaryIO) -> None:
        async def work(runtime: Runtime) -> None:
            async for chunk in export_ledger(runtime):
                file.write(chunk)

        with_runtime(work)
        file.flush()

    if output is None:
        write_to(sys.stdout.buffer)
        return
    with output.open("wb") as file:
        write_to(file)


@app.command("recost")
def recost(
    file: File = None,
    offline: Offline = False,
    as_json: Annotated[
        bool | None, typer.Option("--json/--table", help="The default: a table on a terminal, else JSON.")
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="ACCOUNT", help="Lower this account's books to what its charges cost now."),
    ] = None,
    reason: Annotated[str, typer.Option(help="With --apply: which bound, who decided; kept for ever.")] = "",
    by: Annotated[str | None, typer.Option(help="With --apply: who decides; the system's user if not given.")] = None,
) -> None:
    """Say for every charge what it would cost now, by the law that drew it then. Exit code 1 if one was too small.

    Nothing is refunded by looking. --apply adds a signed line a release, and rewrites none. Read docs/ledger.md first.
    """
    _only_offline(offline, file is not None)
    if apply is not None:
        if offline:
            raise typer.BadParameter("--apply needs the database, not an export")
        print_json(_apply_recost(apply, by or getpass.getuser(), reason))
        return
    counts, found = _recost_offline(file or "-") if offline else _recost_here()
    if not sys.stdout.isatty() if as_json is None else as_json:
        print_json({"counts": counts, "lines": [asdict(line) for line in found]})
    else:
        from app.cli.recost_table import recost_table

        typer.echo(recost_table(counts, found))
    if counts["under_charged"]:
        raise typer.Exit(1)


@app.command("accept")
def accept(
    head: Annotated[str, typer.Option(help="sequence:digest of the database's head, which you have examined.")],
    reason: Annotated[str, typer.Option(help="What happened and who decided; kept for ever.")],
    by: Annotated[str | None, typer.Option(help="Who accepts; the system's user if not given.")] = None,
) -> None:
    """Go on from the database's head although it is not the one known from before. Read docs/ledger.md first."""

    async def work(runtime: Runtime) -> Act:
        from app.services.ledger import accept_head

        return await accept_head(runtime, head=head, actor=by or getpass.getuser(), reason=reason)

    from app.ledger.head_record import act_fields

    print_json(act_fields(with_runtime(work)))


@app.command("rotate")
def rotate(
    context: typer.Context, reason: Annotated[str, typer.Option(help="Why; kept for ever.")] = "rotation"
) -> None:
    """Sign with a new generated key from now on; the old one's signatures are still believed."""
    from app.settings import Settings

    wiring_of(context).configure_logs(Settings())

    async def work(runtime: Runtime) -> str:
        from app.services.ledger import check_ledger_on_start, rotate_signing_key

        await check_ledger_on_start(runtime)
        return await rotate_signing_key(runtime, reason=reason)

    print_json({"key_id": with_runtime(work)})


@app.command("public-key")
def public_key() -> None:
    """Print the public half of the signing key that the settings give, alone on standard output. Asks no database, so it answers
    before the first head is signed and on a machine that only has the secret."""
    from app.settings import Settings
    from app.storage.signing_keys import load_keys

    settings = Settings()
    secret = None if settings.signing_key is None else settings.signing_key.get_secret_value()
    typer.echo(load_keys(settings.data_dir, secret).signing.public.hex())


def _only_offline(offline: bool, given: bool) -> None:
    if given and not offline:
        raise typer.BadParameter("a file and --public-key go with --offline")


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as file:
        yield file


def _verify_offline(name: str, public_keys: list[str]) -> None:
    from app.ledger.offline import verify_export
    from app.ledger.signed_head import parse_public_key

    believed = [parse_public_key(text) for text in public_keys]
    with _opened(name) as file:
        verdict = verify_export(file, believed)
    print_json(asdict(verdict))
    if not verdict.key_given:
        typer.echo("postern: no --public-key given, so the export's own key was believed", err=True)
    if not verdict.ok:
        raise typer.Exit(1)


def _recost_offline(name: str) -> tuple[dict[str, int], list[Recost]]:
    from app.ledger.entry import Entry
    from app.ledger.export import read_header, read_lines
    from app.ledger.recost import Recoster

    recoster = Recoster()
    with _opened(name) as file:
        read_header(file.readline())
        results = [recoster.feed(item) for item in read_lines(iter(file)) if isinstance(item, Entry)]
    return {str(name): count for name, count in recoster.counts.items()}, recoster.finished(results)


def _recost_here() -> tuple[dict[str, int], list[Recost]]:
    async def work(runtime: Runtime) -> tuple[dict[str, int], list[Recost]]:
        from app.services.ledger import recost_ledger

        recoster, found = await recost_ledger(runtime)
        return {str(name): count for name, count in recoster.counts.items()}, found

    return with_runtime(work)


def _apply_recost(account: str, actor: str, reason: str) -> dict[str, object]:
    async def work(runtime: Runtime) -> dict[str, object]:
        from app.ledger.head_record import act_fields
        from app.services.ledger import apply_recost, check_ledger_on_start

        await check_ledger_on_start(runtime)
        act, lowered = await apply_recost(runtime, account=account, actor=actor, reason=reason)
        listed = [{"release": each.paid.release, "pure_nano": each.by.pure_nano} for each in lowered]
        return {"account": account, "lowered": listed, "act": None if act is None else act_fields(act)}

    return with_runtime(work)
