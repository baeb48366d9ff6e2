"""JSON in from a file or standard input, JSON out for people and for `jq`."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from app.errors import MalformedBody


def read_json_value(name: str) -> Any:
    """`-` is standard input."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return json.loads(text)
    except ValueError as error:
        raise MalformedBody(name, f"JSON ({error})") from None


def read_json_file(name: str) -> dict[str, Any]:
    value = read_json_value(name)
    if not isinstance(value, dict):
        raise MalformedBody(name, "a JSON object")
    return value


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
