"""What every service needs, opened once per process and handed down by `main`."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache as once

from prometheus_client import Counter

from app.services.principals import AnyPrincipal
from app.services.runtime.answer_thread_pool import AnswerRoom
from app.services.runtime.computing_room import ComputingRoom
from app.services.runtime.export_thread_pool import ExportRoom
from app.services.runtime.rate_limits import RateLimits
from app.services.runtime.reading_rights import ReadingRight
from app.services.runtime.rights import Rights, RightsTable
from app.services.runtime.warm_cache import WarmMemory
from app.settings import Settings
from app.sources.data_key import DataKey
from app.sources.engine import Limits
from app.sources.uploads import UploadStore
from app.sources.vouched.sealing_key import SealingKey
from app.storage.cache import Cache, open_cache
from app.storage.engine import Database
from app.storage.notary import OPTION, Notary
from app.storage.signing_keys import DATA_KEY_FILE, SEALING_KEY_FILE, Keys, load_keys, read_or_make_secret
from app.storage.witnesses import Witnesses, open_witnesses

FOLLOWERS_MAX = 64
"""How many at a time may follow the progress of work in one process."""
CACHE_FAILURES = Counter("postern_cache_failures_total", "Cache calls that failed and were served without it", ["call"])


@dataclass(frozen=True, slots=True)
class VerifiedKey:
    """A key as stored, with the person it belongs to."""

    secret_hash: bytes
    principal: AnyPrincipal
    expires_us: int | None
    revoked_us: int | None


@dataclass(slots=True)
class PaceMeasured:
    """When this process last measured how fast it works, in microseconds since the epoch."""

    at_us: int | None = None


@dataclass(frozen=True, slots=True)
class Runtime:
    """`clock` gives microseconds since the epoch, `random_bytes` the operating system's randomness. `monotonic` counts seconds
    and cannot be set; `sleep` waits for some. `data_key` opens uploaded rows, `sealing_key` statistics that come without
    rows; each is read, or made, when first asked for."""

    settings: Settings
    database: Database
    cache: Cache
    uploads: UploadStore
    rights: Rights
    keys: RightsTable[VerifiedKey]
    readings: RightsTable[ReadingRight]
    warm: WarmMemory
    limits: RateLimits
    notary: Notary
    witnesses: Witnesses
    clock: Callable[[], int]
    random_bytes: Callable[[int], bytes]
    data_key: Callable[[], DataKey]
    sealing_key: Callable[[], SealingKey]
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    computations: ComputingRoom = field(default_factory=ComputingRoom)
    followers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(FOLLOWERS_MAX))
    exports: ExportRoom = field(default_factory=ExportRoom)
    answers: AnswerRoom = field(default_factory=AnswerRoom)
    pace_measured: PaceMeasured = field(default_factory=PaceMeasured)

    @property
    def engine_limits(self) -> Limits:
        """What one reading of rows may use, by the settings."""
        settings = self.settings
        return Limits(
            memory_mb=max(1, int(settings.engine_memory) // 1_000_000),
            spill_mb=max(1, int(settings.engine_spill) // 1_000_000),
            threads=settings.engine_threads,
            seconds=settings.engine_s,
        )

    async def close(self) -> None:
        self.answers.close()
        await self.witnesses.close()
        await self.cache.close()
        await self.database.dispose()


async def open_runtime(settings: Settings) -> Runtime:
    """Creates the data directory; opens database and cache lazily, so an absent server shows at first use."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    rights = Rights(settings.stale_rights_s)
    notary = Notary(lambda: _keys(settings))
    database = Database.open(settings.database_url, options={OPTION: notary}, silence_s=settings.database_silence_s)
    witnesses = open_witnesses(settings.data_dir, database.url, settings.redis_url, lambda: notary.keys)
    notary.pinned = frozenset(filter(None, [witnesses.disk.pinned(witnesses.place)]))
    cache = open_cache(settings.redis_url, on_failure=lambda call: CACHE_FAILURES.labels(call).inc())
    return Runtime(
        settings=settings,
        database=database,
        cache=cache,
        uploads=UploadStore(settings.data_dir / "uploads", settings.upload_bytes_max),
        rights=rights,
        keys=RightsTable(rights),
        readings=RightsTable(rights),
        warm=WarmMemory(),
        limits=RateLimits.of(settings, cache),
        notary=notary,
        witnesses=witnesses,
        clock=lambda: time.time_ns() // 1_000,
        random_bytes=os.urandom,
        data_key=once(lambda: _data_key(settings)),
        sealing_key=once(lambda: load_sealing_key(settings)),
    )


def _data_key(settings: Settings) -> DataKey:
    if settings.data_key is not None:
        return DataKey(settings.data_key.get_secret_value())
    return DataKey(read_or_make_secret(settings.data_dir, DATA_KEY_FILE))


def load_sealing_key(settings: Settings) -> SealingKey:
    if settings.sealing_key is not None:
        return SealingKey(settings.sealing_key.get_secret_value())
    return SealingKey(read_or_make_secret(settings.data_dir, SEALING_KEY_FILE))


def _keys(settings: Settings) -> Keys:
    secret = None if settings.signing_key is None else settings.signing_key.get_secret_value()
    return load_keys(settings.data_dir, secret, settings.verifying_keys)
