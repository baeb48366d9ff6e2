"""`postern plan`: the cost of a release from public numbers, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.check import CheckDelta, CheckEpsilon, check_spec
from app.cli.json_files import print_json, read_json_file
from app.cli.session import with_runtime
from app.errors import InvalidInput

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime

Json = dict[str, Any]


def plan(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="The body of POST /v1/plans as a JSON file; - for standard input. Several: their models on one budget.",
        ),
    ],
    half_width: Annotated[
        float | None, typer.Option(help="Find what reaches this expected half width of an interval.")
    ] = None,
    sd: Annotated[float | None, typer.Option(help="Find what reaches this expected sd.")] = None,
    level: Annotated[float, typer.Option(help="Of the interval.")] = 0.9,
    epsilon: Annotated[float | None, typer.Option(help="What may be spent, by all models together.")] = None,
    delta: Annotated[float | None, typer.Option(help="The δ at which ε is counted.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="The public number of people.")] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Group by this column; again for another. Overrides the file's.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="A condition on rows, such as 'age >= 65'.")] = None,
    declaration: Annotated[
        str | None,
        typer.Option(help="The body of POST /v1/datasets as a JSON file: columns and privacy unit for files without."),
    ] = None,
    check_epsilon: CheckEpsilon = None,
    check_delta: CheckDelta = None,
    machine: Annotated[bool, typer.Option("--json", help="Print the service's own JSON.")] = False,
) -> None:
    """Show what a release would cost and how accurate it would be. Reads no data and charges nothing."""
    goal = _goal(half_width, sd, level)
    more = _groups(by, where)
    declared = {} if declaration is None else _declared(read_json_file(declaration))
    spec = _body([declared | read_json_file(file) | more for file in files], goal, epsilon, delta)
    if n is not None:
        spec["n"] = n
    spec |= check_spec(check_epsilon, check_delta)
    if "models" in spec and "check" in spec:
        raise InvalidInput("--check-epsilon", "nothing for several models: check them one by one")
    _check(spec)

    async def work(runtime: Runtime) -> Json:
        from app.services.plans import plan_release, plan_together

        if "models" in spec:
            return await plan_together(runtime, principal=None, spec=spec)
        return await plan_release(runtime, spec=spec)

    found = with_runtime(work)
    if machine:
        print_json(found)
        return
    from app.cli.plan_table import plan_table, shared_table

    typer.echo(shared_table(found) if "models" in spec else plan_table(found))


def _groups(by: list[str] | None, where: str | None) -> Json:
    return ({"by": by} if by else {}) | ({} if where is None else {"where": where})


def _declared(dataset: Json) -> Json:
    """What of a dataset's declaration a plan is about."""
    return {name: dataset[name] for name in ("columns", "privacy_unit", "n") if dataset.get(name) is not None}


def _goal(half_width: float | None, sd: float | None, level: float) -> Json | None:
    if half_width is not None and sd is not None:
        raise InvalidInput("--sd", "nothing beside --half-width")
    if half_width is None and sd is None:
        return None
    return ({"half_width": half_width} if sd is None else {"sd": sd}) | {"level": level}


def _body(bodies: list[Json], goal: Json | None, epsilon: float | None, delta: float | None) -> Json:
    """One body; options take the place of what files say."""
    spec = dict(bodies[0]) if len(bodies) == 1 else _together(bodies)
    if "models" in spec:
        if goal is not None and isinstance(spec["models"], list):
            spec["models"] = [_with_goal(each, goal) for each in spec["models"]]
        return spec | _budget(spec, epsilon, delta)
    if goal is not None:
        if epsilon is not None:
            raise InvalidInput("--epsilon", "nothing beside a target by accuracy: it is what is found")
        spec["target"] = goal
        spec.setdefault("mechanism", {"kind": "auto"})
        return spec | ({} if delta is None else {"delta": delta})
    return spec | _budget(spec, epsilon, delta)


def _budget(spec: Json, epsilon: float | None, delta: float | None) -> Json:
    if epsilon is None:
        return {} if delta is None else {"delta": delta}
    return {"target": {"epsilon": epsilon, "delta": delta or spec.get("delta") or 1e-6}, "delta": None}


def _with_goal(part: Any, goal: Json) -> Any:
    """A model that has a target of its own keeps it."""
    return part | {"target": part.get("target") or goal} if isinstance(part, dict) else part


def _together(bodies: list[Json]) -> Json:
    """The models of several bodies, with the columns of all; people and unit have to be the same."""
    shared: Json = {"models": [], "columns": {}}
    for body in bodies:
        target = body.get("target") or {}
        part = {name: body[name] for name in ("model", "by", "where") if body.get(name) is not None}
        part["target"] = None if "epsilon" in target else body.get("target")
        shared["models"].append(part | ({"mechanism": body["mechanism"]} if _is_auto(body.get("mechanism")) else {}))
        shared["columns"] |= body.get("columns") or _own_column(body.get("model"))
        for field in ("n", "privacy_unit"):
            if body.get(field) is not None and shared.setdefault(field, body[field]) != body[field]:
                raise InvalidInput(field, "the same in every file: one budget covers the same people")
    return shared


def _is_auto(mechanism: Any) -> bool:
    return isinstance(mechanism, dict) and mechanism.get("kind") == "auto"


def _own_column(model: Any) -> Json:
    """A yes/no column needs no bounds."""
    if isinstance(model, dict) and model.get("family") == "bernoulli" and isinstance(model.get("column"), str):
        return {model["column"]: {"type": "binary"}}
    return {}


def _check(spec: Json) -> None:
    """What a server would have refused by the body's shape."""
    for field in ("n",) if "models" in spec else ("model", "n"):
        if spec.get(field) is None and spec.get("account") is None:
            raise InvalidInput(field, "this field to be present")
    if not isinstance(spec.get("n") or 1, int) or isinstance(spec.get("n"), bool):
        raise InvalidInput("n", "a whole number")
