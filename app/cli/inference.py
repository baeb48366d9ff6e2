"""`postern inference`: what correlated people may lose by a release."""

from typing import Annotated, Any

import typer

from app.cli.json_files import print_json, read_json_value
from app.cli.remote import as_sent, remote_client
from app.errors import MalformedBody


def inference(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    file: Annotated[
        str | None,
        typer.Argument(help='The question as JSON, {"people": {"kind": …}, …}; - for standard input.'),
    ] = None,
    household: Annotated[int | None, typer.Option(help="Of so many people whose data may depend in any way.")] = None,
    relatives: Annotated[int | None, typer.Option(help="Of a person with so many relatives; see --agreement.")] = None,
    agreement: Annotated[float, typer.Option(help="How likely a relative has the same yes or no.")] = 0.75,
    exception: Annotated[float | None, typer.Option(help="The probability with which odds may rise by more.")] = None,
    nu: Annotated[
        float | None, typer.Option(help="What ε, and how many samples, would keep log-odds so close.")
    ] = None,
    machine: Annotated[bool, typer.Option("--json", help="Print the service's own JSON.")] = False,
) -> None:
    """Say how far beliefs about a person can move where data depend on each other (POSTERN_URL, POSTERN_KEY of a reader)."""
    from postern.client.calls import readers
    from postern.client.tables import printable

    body = _question(file, household, relatives, agreement)
    body |= {} if exception is None else {"exception": exception}
    body |= {} if nu is None else {"target": {"nu": nu}}
    with remote_client() as client:
        if machine:
            print_json(client.send(as_sent(readers.infer(release, body))))
            return
        found = client.send(readers.infer(release, body))
    typer.echo(f"{printable(found.guess.text)} ({printable(found.assumption)})\n")
    typer.echo(str(found))


def _question(file: str | None, household: int | None, relatives: int | None, agreement: float) -> dict[str, Any]:
    if sum(each is not None for each in (file, household, relatives)) != 1:
        raise typer.BadParameter("give a file, or --household, or --relatives")
    if household is not None:
        return {"people": {"kind": "household", "size": household}}
    if relatives is not None:
        return {"people": {"kind": "relatives", "count": relatives, "agreement": agreement}}
    found = read_json_value(file or "-")
    if not isinstance(found, dict):
        raise MalformedBody("body", "an object")
    return found
