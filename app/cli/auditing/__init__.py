"""`postern audit`: test a claim of privacy, on a mechanism of ours, on samples, or on a command; check a signed report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.json_files import print_json, read_json_file, read_json_value
from app.cli.session import with_runtime
from app.errors import InvalidAudit

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime

Json = dict[str, Any]

app = typer.Typer(
    help="Test claims of privacy; check signed reports.", invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def audit(
    context: typer.Context,
    own: Annotated[str | None, typer.Option(help="A mechanism of ours: a JSON file with model, mechanism, n.")] = None,
    command: Annotated[
        str | None, typer.Option(help='Run this: it gets {"dataset","runs","seed"} and prints a JSON value a run.')
    ] = None,
    x: Annotated[
        str | None, typer.Option("--x", help="One neighbour's dataset, or with --samples its outputs.")
    ] = None,
    y: Annotated[str | None, typer.Option("--y", help="The other neighbour's.")] = None,
    samples: Annotated[bool, typer.Option("--samples", help="The files hold outputs, not datasets.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="The claim: ε, or with --order a divergence.")] = None,
    delta: Annotated[float, typer.Option(help="The claim's δ; 0 is pure.")] = 0.0,
    order: Annotated[float | None, typer.Option(help="The claim's Rényi order; 1 is Kullback–Leibler.")] = None,
    level: Annotated[float, typer.Option(help="How often a true claim may be refuted, at most.")] = 0.01,
    runs: Annotated[int, typer.Option(help="Runs of the command on each side.")] = 5_000,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds the command may take on each side.")] = 60.0,
    output: Annotated[Path | None, typer.Option(help="Write the signed report here.")] = None,
    built: Annotated[bool, typer.Option("--built", help="Every family by every mechanism, as the build does.")] = False,
) -> None:
    """Exit code 1 if the claim was refuted, 2 if nothing can be said. Reads no rows of any dataset and charges nothing."""
    if context.invoked_subcommand is not None:
        return
    if built:
        _built()
        return
    spec = _spec(own, x, y, samples or command is None, epsilon, delta, order, level)

    async def work(runtime: Runtime) -> Json:
        from app.services.audits.operator_audit import audit_by_operator

        outputs = None
        if command is not None:
            from app.cli.auditing.command import outputs_of

            def outputs(role: str, seed: int) -> list[Any]:
                dataset = read_json_value((x if role == "x" else y) or "")
                return outputs_of(command, dataset, runs=runs, seed=seed, timeout_s=timeout_s)

        return await audit_by_operator(runtime, spec, command=command, runs=runs, outputs=outputs)

    report = with_runtime(work)
    if output is not None:
        import json

        output.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")
    print_json(report["body"])
    _exit(report["body"]["verdict"])


@app.command("verify")
def verify(
    file: Annotated[str, typer.Argument(help="A signed report, - for standard input.")],
    public_key: Annotated[
        list[str] | None, typer.Option("--public-key", help="Believe this key only, 64 hexadecimal digits; repeatable.")
    ] = None,
) -> None:
    """Check signatures and seed, and make an audit of our own mechanism again. No database, no settings."""
    from app.ledger.signed_head import Keyring, parse_public_key
    from app.services.audits import verified

    report = read_json_file(file)
    keys = public_key or [str(key) for key in dict(report.get("keys") or {}).values()]
    found = verified(report, Keyring(parse_public_key(text) for text in keys)) | {"key_given": bool(public_key)}
    print_json(found)
    if not public_key:
        typer.echo("postern: no --public-key given, so the report's own key was believed", err=True)
    if not found["ok"]:
        raise typer.Exit(1)


def _spec(
    own: str | None,
    x: str | None,
    y: str | None,
    sampled: bool,
    epsilon: float | None,
    delta: float,
    order: float | None,
    level: float,
) -> Json:
    if own is not None:
        return {"subject": {"kind": "own", **read_json_file(own)}, "level": level}
    if x is None or y is None or epsilon is None:
        raise InvalidAudit("audit", "--own FILE, or --x, --y and --epsilon with --command or --samples")
    claim: Json = {"kind": "pure", "epsilon": epsilon}
    if order is not None:
        claim = {"kind": "renyi", "order": order, "epsilon": epsilon}
    elif delta > 0:
        claim = {"kind": "approximate", "epsilon": epsilon, "delta": delta}
    if not sampled:
        return {"subject": {"kind": "command"}, "claim": claim, "level": level}
    subject = {"kind": "samples", "x": read_json_value(x), "y": read_json_value(y)}
    return {"subject": subject, "claim": claim, "level": level}


def _built() -> None:
    from app.services.audits import build_findings, start_findings

    found = [("at the start", start_findings()), *build_findings()]
    for name, each in found:
        typer.echo(f"{each.verdict:12} {name}" + (f": {'; '.join(each.reasons)}" if each.reasons else ""))
    if any(each.verdict not in ("certified", "not_refuted") for _, each in found):
        raise typer.Exit(1)


def _exit(verdict: str) -> None:
    code = {"refuted": 1, "inconclusive": 2}.get(verdict, 0)
    if code:
        raise typer.Exit(code)
