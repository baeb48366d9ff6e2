from tests.services.fixtures import runtime, second_runtime, settings, world

__all__ = ["runtime", "second_runtime", "settings", "world"]
