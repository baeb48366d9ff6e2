"""`postern ledger`: the chain, read straight from the database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from app.cli.json_files import print_json
from app.cli.session import with_runtime

if TYPE_CHECKING:
    from app.services.runtime import Runtime
    from app.services.views import LedgerHeadView, VerificationView

app = typer.Typer(help="Verify the ledger, or print its head.", no_args_is_help=True, rich_markup_mode=None)


@app.command("head")
def head() -> None:
    """Print the head of the chain. Keep it elsewhere: a ledger cut short cannot produce it again."""

    async def work(runtime: Runtime) -> LedgerHeadView:
        from app.services.read_ledger import read_head

        return await read_head(runtime)

    print_json(asdict(with_runtime(work)))


@app.command("verify")
def verify() -> None:
    """Recompute every digest. Exit code 1 if the chain does not verify."""

    async def work(runtime: Runtime) -> VerificationView:
        from app.services.verify_ledger import verify_ledger

        return await verify_ledger(runtime)

    found = with_runtime(work)
    print_json(asdict(found))
    if not found.ok:
        raise typer.Exit(1)
