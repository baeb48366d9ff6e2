"""Sample sets in the cache that all processes share, so that the database reads each of them once.

After a flush, a failover or a cold start everyone wants the same body at once. In a process one task fetches it
(`SingleFlight`); among processes the first to take a short lock reads the database, and the others look at the cache
until it is there. Nobody waits long: the lock ends by itself, and while the cache is away everyone may read.

What lies in the cache is sealed: a body that does not open, or has another length, is ignored and replaced.
"""

import asyncio
import contextlib
import random
import time

from prometheus_client import Counter

from app.errors import IntegrityFailure, Unavailable
from app.services.runtime.runtime import Runtime
from app.storage import installation, sample_sets
from app.storage.cache.sealed import seal, unseal
from app.storage.sample_sets import SampleSetRecord

TTL_S = 86_400
SHARED_BYTES_MAX = 64 * 1024 * 1024
FILLING_S = 2.0
LOOK_S = (0.02, 0.06)
OFF_LOOP_BYTES = 1024 * 1024
_BYTES_PER_VALUE = 8

SAMPLE_LOADS = Counter("postern_sample_loads_total", "Sample sets read from the database")


async def read_samples(runtime: Runtime, release_id: str, samples: int, parameters: int) -> SampleSetRecord:
    """The whole set. Raises IntegrityFailure if a published release has none of that shape, Unavailable."""
    return await runtime.warm.flights.do(
        ("samples", release_id), lambda: _fetch(runtime, release_id, samples, parameters)
    )


async def share_samples(runtime: Runtime, record: SampleSetRecord) -> None:
    """Put it where every process will look first. Losing it costs a read."""
    if len(record.body) > SHARED_BYTES_MAX:
        return
    key = _key(record.release_id)
    with contextlib.suppress(Unavailable):
        secret = await cache_secret(runtime)
        if len(record.body) < OFF_LOOP_BYTES:
            sealed = seal(secret, key, record.body)
        else:
            sealed = await asyncio.to_thread(seal, secret, key, record.body)
        await runtime.cache.put(key, sealed, TTL_S)


async def forget_samples(runtime: Runtime, release_id: str) -> None:
    """For a release that a restored database no longer has samples of."""
    await runtime.cache.delete(_key(release_id))


async def _fetch(runtime: Runtime, release_id: str, samples: int, parameters: int) -> SampleSetRecord:
    filling = f"filling:{release_id}"
    until = time.monotonic() + FILLING_S
    while True:
        body = await _shared(runtime, release_id)
        if body is not None and len(body) == samples * parameters * _BYTES_PER_VALUE:
            return SampleSetRecord(release_id, samples, parameters, body)
        if await runtime.cache.hold(filling, FILLING_S) or time.monotonic() > until:
            break
        await asyncio.sleep(random.uniform(*LOOK_S))  # noqa: S311 (a pause, not a secret)
    try:
        record = await _stored(runtime, release_id)
        if record is None or (record.samples, record.parameters) != (samples, parameters):
            raise IntegrityFailure("a published release without its samples")
        await share_samples(runtime, record)
    finally:
        await runtime.cache.delete(filling)
    return record


async def _shared(runtime: Runtime, release_id: str) -> bytes | None:
    sealed = await runtime.cache.get(_key(release_id))
    if sealed is None:
        return None
    secret = await cache_secret(runtime)
    if len(sealed) < OFF_LOOP_BYTES:
        return unseal(secret, _key(release_id), sealed)
    return await asyncio.to_thread(unseal, secret, _key(release_id), sealed)


async def _stored(runtime: Runtime, release_id: str) -> SampleSetRecord | None:
    SAMPLE_LOADS.inc()
    async with runtime.database.read() as connection:
        return await sample_sets.get_samples(connection, release_id)


async def cache_secret(runtime: Runtime) -> bytes:
    """Read once by a process; it never changes."""
    if runtime.warm.cache_secret is None:
        async with runtime.database.read() as connection:
            runtime.warm.cache_secret = await installation.get_secret(connection, installation.CACHE)
    return runtime.warm.cache_secret


def _key(release_id: str) -> str:
    return f"samples:{release_id}"
