from tests.attacks.kept_installations import kept_installations
from tests.attacks.long_ledger import long
from tests.attacks.past import past
from tests.end_to_end.fixtures import bytecode, forks, serve, start_worker
from tests.services.fixtures import runtime, second_runtime, settings, world

__all__ = [
    "bytecode",
    "forks",
    "kept_installations",
    "long",
    "past",
    "runtime",
    "second_runtime",
    "serve",
    "settings",
    "start_worker",
    "world",
]
