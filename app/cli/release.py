"""`postern release`: ask a running service for a release."""

import secrets
import time
from typing import Annotated, Any

import typer

from app.cli.http_client import call
from app.cli.json_files import print_json, read_json_file

_POLL_S = 0.2


def release(
    dataset: Annotated[str, typer.Argument(help="The dataset's id.")],
    file: Annotated[str, typer.Argument(help="Model and mechanism as a JSON file; - for standard input.")],
    idempotency_key: Annotated[
        str | None, typer.Option(help="Repeat with the same key and nothing is charged twice.")
    ] = None,
    wait_s: Annotated[float, typer.Option(min=0, help="Wait up to this long for it to be published.")] = 0,
) -> None:
    """Request a release (POSTERN_URL, POSTERN_KEY of a steward) and print it."""
    body = read_json_file(file)
    headers = {"Idempotency-Key": idempotency_key or secrets.token_hex(16)}
    found: dict[str, Any] = call("POST", f"/v1/datasets/{dataset}/releases", body, headers=headers)
    deadline = time.monotonic() + wait_s
    while found["status"] == "pending" and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        found = call("GET", f"/v1/releases/{found['id']}")
    print_json(found)
