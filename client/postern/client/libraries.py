"""Libraries of the extra `notebook`, loaded when a conversion first needs them."""

from importlib import import_module
from typing import Any


def library(name: str) -> Any:
    """The module. Raises ModuleNotFoundError that says what to install."""
    root = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != root:
            raise
    raise ModuleNotFoundError(f"this needs {root}, which is not installed: pip install {root}", name=root)
