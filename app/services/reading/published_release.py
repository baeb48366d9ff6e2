"""A published release as one reader may see it: process memory, then the cache, then the database."""

import asyncio

import numpy as np
from numpy.typing import NDArray

from app.core.decisions import SampleSet
from app.errors import AccessRequired, IntegrityFailure
from app.services.ledger.ledger_trust import require_servable
from app.services.people.verify_key import require_still_valid
from app.services.people.visibility import find_release, readable_samples
from app.services.principals import Reader
from app.services.releases.stored_release import stored_model
from app.services.runtime.runtime import ReadingRight, Runtime
from app.services.runtime.samples_cache import read_samples
from app.services.runtime.warm_cache import ENTRY_OVERHEAD_BYTES, PublicRelease, PublishedRelease
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


async def describe_release(runtime: Runtime, reader: Reader, release_id: str) -> PublicRelease:
    """What is public about a release, and how many samples the reader has. No sample is read, not even to be kept."""
    right = runtime.readings.get((reader.id, reader.role, release_id))
    if right is None:
        right = await _read_right(runtime, reader, release_id)
    warm = runtime.warm.releases.get((release_id, right.samples))
    if warm is not None:
        return warm.public
    described, _ = await _describe(runtime, release_id, right.samples)
    return described


async def require_still_readable(runtime: Runtime, reader: Reader, release: PublicRelease) -> None:
    """For answers that take a while: the key still works and still reads as many samples. Asks nobody when warm.

    Raises KeyRevoked, KeyExpired, AccessRequired, NotFound, LedgerUntrusted; Unavailable if nobody can say.
    """
    await require_still_valid(runtime, reader)
    right = runtime.readings.get((reader.id, reader.role, release.id))
    if right is None:
        right = await _read_right(runtime, reader, release.id)
    if right.samples < release.size:
        raise AccessRequired("the right to these samples was taken back")


async def _read_right(runtime: Runtime, reader: Reader, release_id: str) -> ReadingRight:
    generation = runtime.rights.generation
    async with runtime.database.read() as connection:
        release = await find_release(connection, reader, release_id)
        await require_servable(runtime, connection, release_id)
        right = ReadingRight(await readable_samples(connection, reader, release, runtime.clock()))
    runtime.readings.put((reader.id, reader.role, release_id), right, generation)
    return right


async def _load(runtime: Runtime, release_id: str, samples: int) -> PublishedRelease:
    public, published = await _describe(runtime, release_id, samples)
    record = await read_samples(runtime, release_id, published, len(public.parameters))
    held = await asyncio.to_thread(_hold, public, record.values[:samples])
    return PublishedRelease(release_id, public.parameters, held, public.model)


def _hold(public: PublicRelease, values: NDArray[np.float64]) -> SampleSet:
    """In a thread, which also loads what quantiles need: half a second that the first such question would hold the loop."""
    import scipy.special  # noqa: F401

    return SampleSet(public.parameters, values)


async def _describe(runtime: Runtime, release_id: str, samples: int) -> tuple[PublicRelease, int]:
    """With the number of samples published, which is not the reader's business."""
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
    if release is None or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    model = stored_model(release, dataset)
    return PublicRelease(release_id, model.parameters, samples, model), int(release.cost["samples"])
