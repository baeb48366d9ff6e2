"""`postern check`: the check of fit that was paid for with a release, and what it says."""

from typing import Annotated, Any

import typer

from app.cli.json_files import print_json
from app.cli.remote import PartOption, as_sent, remote_client
from app.errors import InvalidInput

CheckEpsilon = Annotated[float | None, typer.Option(help="Add a check of fit at this ε, on top of everything else.")]
CheckDelta = Annotated[float | None, typer.Option(help="Gaussian noise on the check's counts, its ε at this δ.")]


def check_spec(epsilon: float | None, delta: float | None) -> dict[str, Any]:
    """The part of a request that options ask for."""
    if epsilon is None:
        if delta is not None:
            raise InvalidInput("--check-delta", "nothing without --check-epsilon")
        return {}
    return {"check": {"epsilon": epsilon, "delta": delta}}


def check(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    part: PartOption = None,
    machine: Annotated[bool, typer.Option("--json", help="Print the service's own JSON.")] = False,
) -> None:
    """Say whether rows look like the model's (POSTERN_URL, POSTERN_KEY of a reader)."""
    from postern.client.calls import readers
    from postern.client.tables import cell, printable, text_table

    with remote_client() as client:
        if machine:
            print_json(client.send(as_sent(readers.fit_check(release, part))))
            return
        found = client.send(readers.fit_check(release, part))
    rows = [tuple(cell(each) for each in (b.lower, b.upper, b.noisy, b.expected, b.sd)) for b in found.bins]
    headings = (f"{printable(found.quantity)} from", "to", "rows, with noise", "expected", "±")
    typer.echo(f"{found.verdict}: {printable(found.text)}")
    if found.advice is not None:
        typer.echo(printable(found.advice))
    typer.echo(f"\n{text_table(headings, rows)}")
