"""Commands that ask a running service, all through the client: one way to make a request.

Where and as whom is said by POSTERN_URL and POSTERN_KEY. Loaded by the command that needs it, so that `--help` stays quick.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.errors import PosternError

if TYPE_CHECKING:
    from postern.client import Client, Release
    from postern.client.call import Call

ViewOption = Annotated[
    Literal["samples", "calibrated"] | None,
    typer.Option(
        help="Of the release: its draws as they are, or what may be believed given them. Calibrated if there is that."
    ),
]
PartOption = Annotated[
    str | None, typer.Option(help="Of a release of several models: this one, as if the release were of it alone.")
]
LayoutOption = Annotated[
    Literal["wide", "long"],
    typer.Option(
        help="long: one row a group and parameter, and draw, with the group's columns, and the part, as columns; not for .nc."
    ),
]
_ATTEMPTS_MAX = 3
_PATIENCE_S = 20.0


@contextmanager
def remote_client() -> Iterator[Client]:
    """What goes wrong becomes one sentence. Someone is watching, so it gives up sooner than a program would."""
    from postern.client import Client, ClientError, Retries
    from postern.client.tables import printable

    try:
        with Client(retries=Retries(attempts_max=_ATTEMPTS_MAX, total_s=_PATIENCE_S)) as client:
            yield client
    except ClientError as error:
        sentence = printable(str(error))
    else:
        return
    raise PosternError(sentence)


def in_view(release: Release, view: Literal["samples", "calibrated"] | None, part: str | None = None) -> Release:
    found = release if part is None else release.part(part)
    return found if view is None else found.in_view(view)


def as_sent(call: Call[Any]) -> Call[dict[str, Any]]:
    """The same call, answered with the service's own JSON instead of what the client makes of it."""
    return replace(call, read=json.loads)
