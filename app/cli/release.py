"""`postern release`: ask a running service for a release. `postern access`: pay for samples of one."""

import sys
from typing import Annotated, Any

import typer

from app.cli.check import CheckDelta, CheckEpsilon, check_spec
from app.cli.json_files import print_json, read_json_file
from app.cli.remote import PartOption, as_sent, remote_client
from app.cli.steward.progress import bar, follow_release
from app.errors import InvalidInput

Json = dict[str, Any]
_SHARED = ("force", "title", "description")
"""What is said once of a release, however many models it is of."""


def release(
    dataset: Annotated[str, typer.Argument(help="The dataset's id.")],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Model and mechanism as a JSON file; - for standard input. Several: one release of all their models.",
        ),
    ],
    by: Annotated[
        list[str] | None, typer.Option(help="Group by this column; again for another. Overrides the file's.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="A condition on rows, such as 'age >= 65'.")] = None,
    statistics: Annotated[
        str | None,
        typer.Option(help="Of a dataset without rows: the file that `postern statistics` wrote for this very release."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="For lists and dashboards. Overrides the file's.")] = None,
    description: Annotated[str | None, typer.Option(help="For whoever reads it. Overrides the file's.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Accept a guarantee above the service's ceiling on epsilon.")
    ] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeat with the same key and nothing is charged twice.")
    ] = None,
    check_epsilon: CheckEpsilon = None,
    check_delta: CheckDelta = None,
    wait_s: Annotated[float, typer.Option(min=0, help="Wait up to this long for it to be published.")] = 0,
) -> None:
    """Request a release (POSTERN_URL, POSTERN_KEY of a steward) and print it."""
    from postern.client import WaitedTooLong
    from postern.client.call import given
    from postern.client.calls import readers, stewards

    body = _together([read_json_file(file) for file in files])
    check = check_spec(check_epsilon, check_delta)
    if check and "models" in body:
        raise InvalidInput("--check-epsilon", "nothing for several models: `check` stands beside the model it is of")
    said = given(by=by or None, where=where, title=title, description=description, force=force or None)
    said |= given(source=stewards.sealed_source(statistics))
    with remote_client() as client:
        facts = client.send(stewards.request_release(dataset, body | said | check, idempotency_key))
        if wait_s > 0:
            try:
                if sys.stderr.isatty():
                    with bar() as draw:
                        follow_release(client, facts.id, draw, wait_s)
                client.wait(facts, wait_s)
            except WaitedTooLong:
                typer.echo(f"postern: {facts.id} is still pending", err=True)
        print_json(client.send(as_sent(readers.read_release(facts.id))))


def access(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    samples: Annotated[int, typer.Argument(min=1, help="How long your prefix is to be; not how many more.")],
    part: PartOption = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeat with the same key and nothing is charged twice.")
    ] = None,
) -> None:
    """Pay for samples from your own cap (POSTERN_URL, POSTERN_KEY of an analyst); of several models, of all or of one part."""
    from postern.client.calls import readers

    with remote_client() as client:
        print_json(client.send(as_sent(readers.buy_access(release, samples, idempotency_key, part))))


def _together(bodies: list[Json]) -> Json:
    """Of several files: the models of all, and what is said once of a release as the last file has it."""
    if len(bodies) == 1:
        return bodies[0]
    found: Json = {"models": []}
    for body in bodies:
        own = {name: value for name, value in body.items() if name not in _SHARED}
        found |= {name: value for name, value in body.items() if name in _SHARED}
        if "models" in own:
            raise InvalidInput("models", "one model in each of several files")
        found["models"].append(own)
    return found
