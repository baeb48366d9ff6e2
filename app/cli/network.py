"""`postern network`: a network from a BIF file or pgmpy's JSON, as the columns and the model of a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.json_files import print_json, read_json_file
from app.errors import InvalidModel


def network(
    file: Annotated[
        str, typer.Argument(help="A .bif file, or JSON with nodes, edges and cpds; - for BIF on standard input.")
    ],
    strength: Annotated[float, typer.Option(help="The Dirichlet prior's weight of every level.")] = 1.0,
) -> None:
    """Print `columns` for a dataset and `model` for a release. Probabilities in the file are not used: data are."""
    print_json(_imported(file, strength))


def _imported(file: str, strength: float) -> dict[str, Any]:
    from app.core.kinds.networks.exchange.bif import network_from_bif
    from app.core.kinds.networks.exchange.network_json import network_from_json

    if file.lower().endswith(".json"):
        found = network_from_json(read_json_file(file), strength, "file").network
    else:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidModel("file", "text in UTF-8") from None
        found = network_from_bif(text, strength, "file").network
    return {
        "columns": {node.name: {"type": "categorical", "levels": list(node.levels)} for node in found.nodes},
        "model": {
            "family": "network",
            "nodes": {node.name: {"parents": list(node.parents)} for node in found.nodes},
            "prior": {"strength": strength},
        },
    }
