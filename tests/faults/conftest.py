from tests.end_to_end.fixtures import bytecode, forks, serve, start_worker
from tests.services.fixtures import runtime, second_runtime, settings, world

__all__ = ["bytecode", "forks", "runtime", "second_runtime", "serve", "settings", "start_worker", "world"]
