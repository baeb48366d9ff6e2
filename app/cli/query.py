"""`postern query`: ask a running service questions; a table on a terminal, JSON for programs.

Exit codes: 0 all answered, 1 something was refused or out of reach, 2 the command line is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.json_files import print_json, read_json_value
from app.cli.remote import LayoutOption, PartOption, ViewOption, as_sent, in_view, remote_client
from app.cli.samples import print_file
from app.errors import MalformedBody

if TYPE_CHECKING:
    from postern.client import Client, Release

Json = dict[str, Any]
_About = "A parameter or an expression; repeat for several."


def query(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    file: Annotated[
        str | None,
        typer.Argument(help='A question as JSON, a list of them, or {"queries": [...]}; - for standard input.'),
    ] = None,
    mean: Annotated[list[str] | None, typer.Option(help=_About)] = None,
    median: Annotated[list[str] | None, typer.Option(help=_About)] = None,
    quantile: Annotated[list[str] | None, typer.Option(help=f"{_About} See --tau.")] = None,
    interval: Annotated[list[str] | None, typer.Option(help=f"{_About} See --level.")] = None,
    probability: Annotated[list[str] | None, typer.Option(help="A condition such as 'theta > 0.4'.")] = None,
    tau: Annotated[float, typer.Option(help="Which quantile.")] = 0.5,
    level: Annotated[float, typer.Option(help="Of intervals, also in --summary.")] = 0.9,
    confidence: Annotated[float | None, typer.Option(help="Of the regret bounds; 0.95 if left out.")] = None,
    together: Annotated[bool, typer.Option("--together", help="All bounds are to hold at once.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the questions, answer none.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="The table of all parameters instead.")] = False,
    view: ViewOption = None,
    part: PartOption = None,
    layout: LayoutOption = "wide",
    as_json: Annotated[
        bool | None, typer.Option("--json/--table", help="JSON unless this is a terminal.", show_default=False)
    ] = None,
) -> None:
    """Ask questions (POSTERN_URL, POSTERN_KEY of a reader) and print the answers."""
    machine = not sys.stdout.isatty() if as_json is None else as_json
    short = {"mean": mean, "median": median, "quantile": quantile, "interval": interval, "probability": probability}
    asked = {kind: about for kind, about in short.items() if about}
    if sum((file is not None, bool(asked), summary)) > 1:
        raise typer.BadParameter("give a file, or options such as --mean, or --summary")
    if layout == "long" and (not summary or as_json):
        raise typer.BadParameter("--layout long is of --summary, and printed as CSV")
    questions, alone = ([], False) if asked or summary else _read_questions(file or "-")
    from postern.client.calls import readers

    with remote_client() as client:
        found = in_view(client.release(release), view, part)
        if layout == "long":
            print_file(client, readers.long_summary(release, level, found.view, part))
            return
        if summary:
            _show_summary(found, level, machine)
            return
        if asked:
            questions = _short_questions(found, asked, tau, level, confidence)
        asked_of = {"view": found.view} | ({} if part is None else {"part": part})
        questions = [asked_of | question for question in questions]
        refused = _ask(client, release, questions, alone and not together, together, dry_run, machine)
    if refused:
        raise typer.Exit(1)


def _read_questions(file: str) -> tuple[list[Json], bool]:
    """The questions, and whether there is one that stands alone."""
    found = read_json_value(file)
    if isinstance(found, dict) and "queries" not in found:
        return [found], True
    questions = found["queries"] if isinstance(found, dict) else found
    if not isinstance(questions, list) or not questions or not all(isinstance(each, dict) for each in questions):
        raise MalformedBody(file, "a question, or a list of questions, as JSON objects")
    return questions, False


def _short_questions(
    release: Release, asked: dict[str, list[str]], tau: float, level: float, confidence: float | None
) -> list[Json]:
    from postern.client import Question, absolute, expression, interval, pinball, squared

    by = {"median": absolute(), "quantile": pinball(tau), "interval": interval(level)}
    return [
        Question(
            by.get(kind, squared()), expression(about) if kind == "probability" else release.estimand(about), confidence
        ).to_json()
        for kind, texts in asked.items()
        for about in texts
    ]


def _ask(
    client: Client, release: str, questions: list[Json], alone: bool, together: bool, dry_run: bool, machine: bool
) -> bool:
    """Prints; True if some question of several was refused. One that stands alone is asked alone, and raises."""
    from postern.client.calls import readers

    if alone:
        call: Any = (readers.check if dry_run else readers.ask)(release, questions[0])
        sent = client.send(as_sent(call))
        items = [sent]
    else:
        call = (readers.check_many if dry_run else readers.ask_many)(release, questions, together)
        sent = client.send(as_sent(call))
        items = sent["answers"]
    if machine:
        print_json(sent)
    else:
        _show_answers(questions, items, sent.get("together"), dry_run)
    return any("problem" in item for item in items)


def _show_answers(questions: list[Json], items: list[Json], together: Json | None, dry_run: bool) -> None:
    from postern.client.questions import describe
    from postern.client.results.answers import ANSWER_HEADER, answer_cells, answer_of, check_of
    from postern.client.tables import cell, text_table

    read = check_of if dry_run else answer_of
    rows = [(describe(question), *answer_cells(read(item))) for question, item in zip(questions, items, strict=True)]
    typer.echo(text_table(("question", *ANSWER_HEADER), rows))
    answered = [item for item in items if "samples" in item]
    views = dict.fromkeys(item.get("view", "samples") for item in answered)
    foot = [f"{answered[0]['samples']} samples, view {' and '.join(views)}"] if answered else []
    if together is not None:
        foot.append(f"all bounds hold at once with probability {cell(float(together['confidence']))}")
    if foot:
        typer.echo("\n" + "; ".join(foot))
    _show_warnings((str(each["code"]), str(each["detail"])) for item in items for each in item.get("warnings", ()))


def _show_warnings(warnings: Iterable[tuple[str, str]]) -> None:
    from postern.client.tables import printable

    for code, detail in dict.fromkeys(warnings):
        typer.echo(printable(f"{code}: {detail}"))


def _show_summary(release: Release, level: float, machine: bool) -> None:
    from dataclasses import asdict

    found = release.summary(level=level)
    if not machine:
        typer.echo(f"{found}\n\n{found.samples} samples, view {found.view}")
        _show_warnings((each.code, each.detail) for each in found.warnings)
        return
    shown = asdict(found) | {"receipts": [receipt.to_json() for receipt in found.receipts]}
    print_json(shown)
