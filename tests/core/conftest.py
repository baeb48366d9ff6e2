from tests.core.families.shared_constants import shared_constants

__all__ = ["shared_constants"]
