"""`postern`: every command, and one line on standard error for whatever goes wrong."""

import sys

import typer

from app.cli import (
    auditing,
    check,
    doctor,
    inference,
    keys,
    ledger,
    network,
    operations,
    plan,
    population,
    query,
    release,
    samples,
    schema,
    serve,
    upload,
    worker,
)
from app.cli.steward import progress, statistics
from app.cli.wiring import Wiring
from app.errors import InvalidInput, PosternError

app = typer.Typer(
    name="postern",
    help="Private answers from a Bayesian posterior: pay once, ask forever.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.command("migrate")(operations.migrate)
app.command("plan")(plan.plan)
app.command("network")(network.network)
app.command("release")(release.release)
app.command("access")(release.access)
app.command("upload")(upload.upload)
app.command("progress")(progress.progress)
app.command("statistics")(statistics.statistics)
app.command("statistics-plan")(statistics.plan_statistics)
app.command("sealing-key")(statistics.sealing_key)
app.command("rehearse")(population.rehearse)
app.command("query")(query.query)
app.command("samples")(samples.samples)
app.command("synthetic")(samples.synthetic)
app.command("check")(check.check)
app.command("inference")(inference.inference)
app.command("doctor")(doctor.doctor)
app.command("openapi")(operations.openapi)
app.add_typer(keys.app, name="keys")
app.add_typer(schema.app, name="schema")
app.add_typer(population.app, name="population")
app.add_typer(ledger.app, name="ledger")
app.add_typer(auditing.app, name="audit")


@app.callback()
def root() -> None:
    """Settings are environment variables with the prefix POSTERN_; `postern doctor` shows those in use."""


def run(wiring: Wiring, arguments: list[str] | None = None) -> None:
    """Refusals, missing files and bad settings end with exit code 1 and a sentence; a traceback would bury it."""
    try:
        app(args=arguments, prog_name="postern", obj=wiring)
    except InvalidInput as error:
        found = [f"{problem.field}: expected {problem.expected}" for problem in error.problems]
        _fail("; ".join(found))
    except PosternError as error:
        _fail(error.detail)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or type(error).__name__}")


def _fail(sentence: str) -> None:
    typer.echo(f"postern: {sentence}", err=True)
    sys.exit(1)
