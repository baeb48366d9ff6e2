"""`postern release`: ask a running service for a release."""

from typing import Annotated

import typer

from app.cli.check import CheckDelta, CheckEpsilon, check_spec
from app.cli.json_files import print_json, read_json_file
from app.cli.remote import as_sent, remote_client


def release(
    dataset: Annotated[str, typer.Argument(help="The dataset's id.")],
    file: Annotated[str, typer.Argument(help="Model and mechanism as a JSON file; - for standard input.")],
    by: Annotated[
        list[str] | None, typer.Option(help="Group by this column; again for another. Overrides the file's.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="A condition on rows, such as 'age >= 65'.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeat with the same key and nothing is charged twice.")
    ] = None,
    check_epsilon: CheckEpsilon = None,
    check_delta: CheckDelta = None,
    wait_s: Annotated[float, typer.Option(min=0, help="Wait up to this long for it to be published.")] = 0,
) -> None:
    """Request a release (POSTERN_URL, POSTERN_KEY of a steward) and print it."""
    from postern.client import WaitedTooLong
    from postern.client.calls import readers, stewards

    groups = ({"by": by} if by else {}) | ({} if where is None else {"where": where})
    body = read_json_file(file) | groups | check_spec(check_epsilon, check_delta)
    with remote_client() as client:
        facts = client.send(stewards.request_release(dataset, body, idempotency_key))
        if wait_s > 0:
            try:
                client.wait(facts, wait_s)
            except WaitedTooLong:
                typer.echo(f"postern: {facts.id} is still pending", err=True)
        print_json(client.send(as_sent(readers.read_release(facts.id))))
