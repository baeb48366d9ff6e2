"""`postern plan`: the cost of a release from public numbers, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.json_files import print_json, read_json_file
from app.cli.session import with_runtime

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime


def plan(
    file: Annotated[str, typer.Argument(help="The body of POST /v1/plans as a JSON file; - for standard input.")],
) -> None:
    """Show what a release would cost. Reads no data and charges nothing."""
    spec = read_json_file(file)

    async def work(runtime: Runtime) -> dict[str, Any]:
        from app.services.plans import plan_release

        return await plan_release(runtime, spec=spec)

    print_json(with_runtime(work))
