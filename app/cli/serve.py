"""`postern serve`: the HTTP service, and with `--demo` something to ask it."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.own_listeners import BALANCES, OwnListener
from app.cli.session import prepare_database, with_runtime
from app.cli.wiring import wiring_of

if TYPE_CHECKING:
    from app.services.seed_demo import Demo

_STARTUP_S_MAX = 120.0
_QUESTION = {
    "estimand": {"kind": "parameter", "name": "theta"},
    "utility": {"kind": "squared"},
    "confidence": 0.95,
    "view": "calibrated",
}


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (POSTERN_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port, 0 for any free one (POSTERN_PORT).")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes (POSTERN_WORKERS).")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Seed a demo release and print commands to paste.")] = False,
) -> None:
    """Serve the HTTP API. Without configuration: SQLite in .postern, on 127.0.0.1:8000."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from app.settings import Settings

    settings = Settings()
    wiring_of(context).configure_logs(settings)
    prepare_database(settings)
    config = wiring_of(context).server(settings, host, port, workers)
    with config.bind_socket() as listening:
        if demo:
            _announce_when_ready(*listening.getsockname()[:2])
        if config.workers > 1:
            sockets: list[Any] = [OwnListener(listening) if BALANCES else listening]
            Multiprocess(config, sockets=sockets).run()
            return
        server = uvicorn.Server(config)
        server.run(sockets=[listening])
        if not server.started:
            raise typer.Exit(1)


def base_url(address: str, port: int) -> str:
    """An address to paste: one that listens everywhere is reached here, and IPv6 needs its brackets."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def paste_commands(url: str, *, token: str, release_id: str) -> list[str]:
    key = f"-H 'Authorization: Bearer {token}'"
    question = f"-H 'Content-Type: application/json' -d '{json.dumps(_QUESTION)}'"
    return [
        f"curl -s {url}/v1/me {key}",
        f"curl -s {url}/v1/releases/{release_id}/query {key} {question}",
        f"curl -s {url}/v1/releases/{release_id}/card {key}",
    ]


def _announce_when_ready(address: str, port: int) -> None:
    """Seed now, print later from a thread: the server takes over this one."""
    from app.services.seed_demo import seed_demo

    seeded = with_runtime(seed_demo)
    threading.Thread(target=_announce, args=(base_url(address, port), seeded), daemon=True).start()


def _announce(url: str, seeded: Demo) -> None:
    """Wait until the service says it is ready: commands printed earlier would fail when pasted."""
    deadline = time.monotonic() + _STARTUP_S_MAX
    while not _is_ready(url):
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)
    typer.echo(f"\nPostern is ready at {url} (documentation: {url}/docs). Three commands to paste:\n")
    for command in paste_commands(url, token=seeded.analyst_token, release_id=seeded.release_id):
        typer.echo(f"{command}\n")
    typer.echo(f"The steward's key: {seeded.steward_token}")


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
