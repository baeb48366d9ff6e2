"""`postern query`: ask a running service a question."""

from typing import Annotated

import typer

from app.cli.http_client import call
from app.cli.json_files import print_json, read_json_file


def query(
    release: Annotated[str, typer.Argument(help="The release's id.")],
    file: Annotated[str, typer.Argument(help="The question as a JSON file; - for standard input.")] = "-",
) -> None:
    """Ask a question (POSTERN_URL, POSTERN_KEY of a reader) and print the answer."""
    print_json(call("POST", f"/v1/releases/{release}/query", read_json_file(file)))
