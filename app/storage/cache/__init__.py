"""What makes many workers fast and keeps them in step; never the truth, and safe to lose at any moment."""

from app.storage.cache.memory import MemoryCache
from app.storage.cache.protocol import Cache, FailureHook, Message
from app.storage.cache.token_bucket import Tokens

__all__ = ["Cache", "FailureHook", "MemoryCache", "Message", "Tokens", "open_cache"]


def open_cache(url: str | None, *, on_failure: FailureHook | None = None) -> Cache:
    """Redis at `redis://…` or, without an address, this process's own memory."""
    if url is None:
        return MemoryCache()
    from app.storage.cache.redis import RedisCache  # loaded only where it is used

    return RedisCache(url, on_failure=on_failure)
