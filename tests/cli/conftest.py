from tests.cli.console import postern
from tests.end_to_end.fixtures import bytecode

__all__ = ["bytecode", "postern"]
