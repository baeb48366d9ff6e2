"""The last head seen, in Redis: a witness on another machine. Soft like every use of Redis, and only forward.

A script compares and replaces in one step, so processes that race leave the newer head. `marked` names the acts and the
sequence whose mark the body holds; anything else there, as from before there were marks, makes the number of acts 0.
Keys live a quarter of a year after their last use. Redis lost or emptied is a witness lost, never a false alarm.
"""

from collections.abc import Awaitable
from typing import Any, TypeVar, cast

from redis.exceptions import RedisError

from app.ledger.head_record import decode_witness, encode_witness
from app.ledger.signed_head import Mark, SignedHead
from app.storage.cache.redis import NAMESPACE, open_client

T = TypeVar("T")

LIFETIME_S = 90 * 86_400
_ADVANCE = """
local acts, sequence = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = redis.call('HMGET', KEYS[1], 'acts', 'sequence', 'marked')
local known_acts, known_sequence = tonumber(known[1]), tonumber(known[2])
if known_acts and known_sequence and known[3] ~= known[1] .. ':' .. known[2] then
  known_acts = 0
end
if not known_acts or not known_sequence
   or (acts > known_acts and (ARGV[5] == '1' or sequence >= known_sequence))
   or (acts == known_acts and sequence > known_sequence) then
  redis.call('HSET', KEYS[1], 'acts', ARGV[1], 'sequence', ARGV[2], 'body', ARGV[3], 'marked', ARGV[6])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
"""


class RedisWitness:
    """Never raises because Redis is away: then it knows nothing."""

    def __init__(self, url: str) -> None:
        self._client = open_client(url, connections_max=4)

    async def pinned(self, place: str) -> str | None:
        found = await self._softly(self._client.get(self._key("place", place)))
        return found.decode(errors="replace") if isinstance(found, bytes) else None

    async def pin(self, place: str, ledger: str, *, back: bool = False) -> None:
        """Another ledger's place is taken only by whoever just compared both; its own lives on."""
        key = self._key("place", place)
        if back or await self.pinned(place) == ledger:
            await self._softly(self._client.set(key, ledger, ex=LIFETIME_S))
        else:
            await self._softly(self._client.set(key, ledger, ex=LIFETIME_S, nx=True))

    async def newest(self, ledger: str) -> tuple[SignedHead, int, Mark | None] | None:
        found = await self._softly(self._client.hget(self._key("head", ledger), "body"))
        return decode_witness(found, ledger) if isinstance(found, bytes) else None

    async def advance(self, signed: SignedHead, acts: int, mark: Mark | None = None, *, back: bool = False) -> None:
        key, body = self._key("head", signed.ledger), encode_witness(signed, acts, mark)
        sequence = signed.head.sequence
        marked = "" if mark is None else f"{acts}:{sequence}"
        await self._softly(self._client.eval(_ADVANCE, 1, key, acts, sequence, body, LIFETIME_S, int(back), marked))

    async def close(self) -> None:
        await self._softly(self._client.aclose())

    def _key(self, kind: str, name: str) -> str:
        return f"{NAMESPACE}:ledger:{kind}:{name}"

    async def _softly(self, call: Any) -> Any:
        try:
            return await cast("Awaitable[Any]", call)
        except (RedisError, OSError, TimeoutError):
            return None
