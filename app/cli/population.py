"""`postern population` and `postern rehearse`: one budget for the same people, and made-up rows of a dataset you may see."""

from typing import Annotated

import typer

from app.cli.json_files import print_json
from app.cli.remote import as_sent, remote_client

app = typer.Typer(help="Populations: one budget for the same people.", no_args_is_help=True, rich_markup_mode=None)

Key = Annotated[str | None, typer.Option(help="Repeat with the same key and nothing is done twice.")]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Datasets name it by this, or by its id.")],
    epsilon: Annotated[float, typer.Option(help="For all of its datasets together.")],
    delta: Annotated[float, typer.Option(help="For all of its datasets together.")],
    slack_delta: Annotated[float | None, typer.Option(help="The part of δ kept for inexact samplers.")] = None,
    description: Annotated[str | None, typer.Option(help="Who these people are.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Declare a population (POSTERN_URL, POSTERN_KEY of a steward) and print it."""
    from postern.client.call import given
    from postern.client.calls import stewards

    budget = given(epsilon=epsilon, delta=delta, slack_delta=slack_delta)
    spec = given(name=name, budget=budget, description=description)
    with remote_client() as client:
        print_json(client.send(as_sent(stewards.create_population(spec, idempotency_key))))


@app.command("show")
def show(population: Annotated[str, typer.Argument(help="The population's id.")]) -> None:
    """Print a population: its budget, what its datasets have spent of it together, what is left."""
    from postern.client.calls import stewards

    with remote_client() as client:
        print_json(client.send(as_sent(stewards.read_population(population))))


@app.command("list")
def listing() -> None:
    """Print your populations, newest first."""
    from postern.client.calls import pages

    items: list[object] = []
    cursor: str | None = None
    with remote_client() as client:
        while True:
            page = client.send(as_sent(pages.populations(cursor, None)))
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
    print_json({"items": items})


@app.command("change")
def change(
    population: Annotated[str, typer.Argument(help="The population's id.")],
    name: Annotated[str | None, typer.Option(help="Another name, shown from now on.")] = None,
    description: Annotated[str | None, typer.Option(help="Who these people are.")] = None,
) -> None:
    """Rename or describe a population and print it; what is left out stays, and so does its budget."""
    from postern.client.call import given
    from postern.client.calls import stewards

    with remote_client() as client:
        changes = given(name=name, description=description)
        print_json(client.send(as_sent(stewards.change_population(population, changes))))


@app.command("delete")
def delete(population: Annotated[str, typer.Argument(help="The population's id.")]) -> None:
    """Delete a population that no dataset is in; its name is then free again."""
    with remote_client() as client:
        client.delete_population(population)


def rehearse(
    dataset: Annotated[str, typer.Argument(help="The id of a dataset you may see.")],
    name: Annotated[
        str | None, typer.Option(help="Of the rehearsal; `rehearsal of` the dataset's if left out.")
    ] = None,
    n: Annotated[int | None, typer.Option(min=1, help="How many people are made up.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed makes up the same rows.")] = None,
    idempotency_key: Key = None,
) -> None:
    """Make a rehearsal (POSTERN_URL, POSTERN_KEY of a steward or an analyst with a right on the dataset) and print it."""
    from postern.client.call import given
    from postern.client.calls import stewards

    spec = given(name=name, n=n, seed=seed)
    with remote_client() as client:
        print_json(client.send(as_sent(stewards.rehearse(dataset, spec, idempotency_key))))
