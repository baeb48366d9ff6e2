"""All places that remember the last head seen: the data directory, and Redis where there is one."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import URL

from app.errors import Unavailable
from app.ledger.signed_head import Mark, SignedHead
from app.ledger.trust import Witness
from app.storage.disk_witness import DiskWitness, place_of
from app.storage.signing_keys import Keys

if TYPE_CHECKING:
    from app.storage.redis_witness import RedisWitness


class Witnesses:
    """`kept` is the newest (acts, sequence) this process wrote to disk; asking again for the same costs nothing.

    `keys` as they are now: they sign the number of acts beside a head.
    """

    def __init__(self, data_dir: Path, url: URL, redis: "RedisWitness | None", keys: Callable[[], Keys]) -> None:
        self._keys = keys
        self.disk = DiskWitness(data_dir)
        self.redis = redis
        self.place = place_of(url)
        self.kept: tuple[str, int, int] | None = None
        self._lock = asyncio.Lock()

    async def pinned(self) -> frozenset[str]:
        found = {await asyncio.to_thread(self.disk.pinned, self.place)}
        if self.redis is not None:
            found.add(await self.redis.pinned(self.place))
        return frozenset(ledger for ledger in found if ledger is not None)

    async def seen(self, ledger: str) -> list[Witness]:
        """Ask before reading the database: a head seen in between could only be newer there."""
        found = []
        on_disk = await asyncio.to_thread(self.disk.newest, ledger)
        if on_disk is not None:
            found.append(Witness(self.disk.name, *on_disk))
        in_redis = None if self.redis is None else await self.redis.newest(ledger)
        if in_redis is not None:
            found.append(Witness("Redis", *in_redis))
        return found

    async def keep(self, signed: SignedHead, acts: int) -> None:
        """On disk, synced, when this returns, unless what is there is further on or another ledger's.

        Callers that come together share one write. Raises Unavailable.
        """
        mark = (signed.ledger, acts, signed.head.sequence)
        if self._covers(mark):
            return
        async with self._lock:
            if self._covers(mark):
                return
            try:
                await asyncio.to_thread(self._keep_on_disk, signed, acts, False)
            except OSError:
                raise Unavailable("the data directory cannot be written to") from None
            self.kept = mark

    async def tell_redis(self, signed: SignedHead, acts: int) -> None:
        """Again and again: a Redis that was emptied knows it from here on."""
        if self.redis is not None:
            await self.redis.pin(self.place, signed.ledger)
            await self.redis.advance(signed, acts, self._mark(signed, acts))

    async def move(self, signed: SignedHead, acts: int) -> None:
        """This place holds this ledger from here on, wherever it ends: after a head was accepted by hand, or found to be
        in order with everything that was seen before, acts included. Raises Unavailable."""
        async with self._lock:
            try:
                await asyncio.to_thread(self._keep_on_disk, signed, acts, True)
            except OSError:
                raise Unavailable("the data directory cannot be written to") from None
            self.kept = (signed.ledger, acts, signed.head.sequence)
        if self.redis is not None:
            await self.redis.pin(self.place, signed.ledger, back=True)
            await self.redis.advance(signed, acts, self._mark(signed, acts), back=True)

    async def close(self) -> None:
        if self.redis is not None:
            await self.redis.close()

    def _covers(self, mark: tuple[str, int, int]) -> bool:
        kept = self.kept
        return kept is not None and kept[0] == mark[0] and kept[1:] >= mark[1:]

    def _keep_on_disk(self, signed: SignedHead, acts: int, back: bool) -> None:
        self.disk.pin(self.place, signed.ledger, back=back)
        self.disk.advance(signed, acts, self._mark(signed, acts), back=back)

    def _mark(self, signed: SignedHead, acts: int) -> Mark:
        return self._keys().signing.sign_count(signed, acts)


def open_witnesses(data_dir: Path, url: URL, redis_url: str | None, keys: Callable[[], Keys]) -> Witnesses:
    if redis_url is None:
        return Witnesses(data_dir, url, None, keys)
    from app.storage.redis_witness import RedisWitness  # loaded only where it is used

    return Witnesses(data_dir, url, RedisWitness(redis_url), keys)
