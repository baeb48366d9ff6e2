"""A published release as one reader may see it: process memory, then the cache, then the database."""

import asyncio

from app.core.decisions import SampleSet
from app.errors import IntegrityFailure
from app.services.ledger_trust import require_servable
from app.services.principals import Reader
from app.services.runtime import ReadingRight, Runtime
from app.services.shared_samples import read_samples
from app.services.stored_models import stored_model
from app.services.visibility import find_release, readable_samples
from app.services.warm_memory import ENTRY_OVERHEAD_BYTES, PublishedRelease
from app.storage import datasets, releases


async def open_release(runtime: Runtime, reader: Reader, release_id: str) -> PublishedRelease:
    """Nothing in the result depends on a sample beyond the reader's prefix."""
    right = runtime.readings.get((reader.id, reader.role, release_id))
    if right is None:
        right = await _read_right(runtime, reader, release_id)
    memo = (release_id, right.samples)
    warm = runtime.warm.releases.get(memo)
    if warm is None:
        warm = await runtime.warm.flights.do(memo, lambda: _load(runtime, release_id, right.samples))
        size = warm.samples.bytes_max + ENTRY_OVERHEAD_BYTES
        runtime.warm.releases.put(memo, warm, size)
    return warm


async def _read_right(runtime: Runtime, reader: Reader, release_id: str) -> ReadingRight:
    generation = runtime.rights.generation
    async with runtime.database.read() as connection:
        release = await find_release(connection, reader, release_id)
        await require_servable(runtime, connection, release_id)
        right = ReadingRight(await readable_samples(connection, reader, release, runtime.clock()))
    runtime.readings.put((reader.id, reader.role, release_id), right, generation)
    return right


async def _load(runtime: Runtime, release_id: str, samples: int) -> PublishedRelease:
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
    if release is None or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    model = stored_model(release, dataset)
    parameters = model.parameters
    published = int(release.cost["samples"])
    record = await read_samples(runtime, release_id, published, len(parameters))
    held = await asyncio.to_thread(SampleSet, parameters, record.values[:samples])
    return PublishedRelease(release_id, parameters, held, model)
