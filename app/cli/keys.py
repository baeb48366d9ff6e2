"""`postern keys`: the first key cannot come from the API, so it comes from here."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.session import with_runtime

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime

app = typer.Typer(help="Create and revoke keys.", no_args_is_help=True, rich_markup_mode=None)
_DAY_US = 86_400_000_000


class RoleName(StrEnum):
    steward = "steward"
    analyst = "analyst"
    dashboard = "dashboard"
    auditor = "auditor"


@app.command("create")
def create(
    role: Annotated[RoleName, typer.Option(help="What the key may do.")],
    name: Annotated[str, typer.Option(help="Whose key it is.")],
    expires_days: Annotated[int | None, typer.Option(min=1, max=36_500, help="Days until it expires.")] = None,
) -> None:
    """Create a person with a key and print the key alone on standard output. It cannot be shown again."""
    from app.services.people import create_key, create_principal

    async def work(runtime: Runtime) -> str | None:
        principal = await create_principal(runtime, role=role.value, name=name, created_by=None)
        key = await create_key(
            runtime, actor=None, principal_id=principal.id, label=name, expires_us=_expiry_us(expires_days)
        )
        return key.token

    typer.echo(with_runtime(work))


@app.command("add")
def add(
    person: Annotated[str, typer.Argument(help="The person's id, an_…; `GET /v1/me` shows one's own.")],
    label: Annotated[str, typer.Option(help="What the key is for.")] = "",
    expires_days: Annotated[int | None, typer.Option(min=1, max=36_500, help="Days until it expires.")] = None,
) -> None:
    """Give a person another key, say after a lost one, and print it alone on standard output."""
    from app.services.people import create_key

    async def work(runtime: Runtime) -> str | None:
        key = await create_key(
            runtime, actor=None, principal_id=person, label=label, expires_us=_expiry_us(expires_days)
        )
        return key.token

    typer.echo(with_runtime(work))


@app.command("revoke")
def revoke(key_id: Annotated[str, typer.Argument(help="The middle part of the token, or the token itself.")]) -> None:
    """Revoke a key. Every worker refuses it within a second."""
    from app.services.people import revoke_key

    identifier = key_id.split("_", 2)[1] if key_id.startswith("pstn_") and key_id.count("_") >= 2 else key_id

    async def work(runtime: Runtime) -> None:
        await revoke_key(runtime, actor=None, key_id=identifier)

    with_runtime(work)
    typer.echo(f"revoked {identifier}")


def _expiry_us(days: int | None) -> int | None:
    return None if days is None else time.time_ns() // 1000 + days * _DAY_US
