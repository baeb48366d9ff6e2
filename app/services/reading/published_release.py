"""A view of a published release as one reader may see it: process memory, then the cache, then the database.

The calibrated view is made from the reader's own prefix, what was measured, and public numbers, by a seed of public names: the
same points in every process, for ever.
"""

import asyncio
import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.decisions import CALIBRATED, SAMPLES, SampleSet, View
from app.core.kinds import ReleaseMechanism, check_of, kind_of
from app.core.kinds.belief import Evidence, Whole
from app.core.kinds.protocols import MeasuringMechanism
from app.errors import AccessRequired, IntegrityFailure
from app.services.ledger.ledger_trust import require_servable
from app.services.people.verify_key import require_still_valid
from app.services.people.visibility import find_release, readable_samples
from app.services.principals import Reader
from app.services.reading.joint_parts import joined_public, paired
from app.services.reading.verdicts import verdict_of
from app.services.releases.parts import part_release, read_part_measured, read_part_samples
from app.services.releases.release_views import calibrated_parameters, is_evidence_kept
from app.services.releases.stored_release import stored_mechanism, stored_model
from app.services.runtime.cost_cache import compute
from app.services.runtime.reading_rights import Reach, ReadingRight
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import ENTRY_OVERHEAD_BYTES, PublicRelease, PublishedRelease
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.releases import Release


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a release before its samples are."""

    public: PublicRelease
    whole: Release
    dataset: Dataset
    release: Release
    """As if it were of the part that is read alone; of a release of one model, itself."""
    mechanism: ReleaseMechanism


async def reading_right(runtime: Runtime, reader: Reader, release_id: str) -> ReadingRight:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired."""
    known = runtime.readings.get((reader.id, reader.role, release_id))
    return await _read_right(runtime, reader, release_id) if known is None else known


async def open_release(
    runtime: Runtime,
    reader: Reader,
    release_id: str,
    view: View = SAMPLES,
    part: str | None = None,
    asked: object = None,
) -> PublishedRelease:
    """Nothing in the result depends on a sample beyond the reader's prefix, or of a part they have no right to; `asked` is where
    parts may be named. Raises CalibratedUnavailable, InvalidInput, AccessRequired, TooBusy."""
    right = await reading_right(runtime, reader, release_id)
    return await open_view(runtime, release_id, right.reach(part, asked), view)


async def open_view(runtime: Runtime, release_id: str, reach: Reach, view: View) -> PublishedRelease:
    """For who has a right to as much: `reading_right` comes first."""
    memo = (release_id, reach, view)
    warm = runtime.warm.releases.get(memo)
    if warm is None:
        load = _load_joint if reach.joint else _load_calibrated if view == CALIBRATED else _load_samples
        warm = await runtime.warm.flights.do(memo, lambda: load(runtime, release_id, reach, view))
        size = warm.samples.bytes_max + ENTRY_OVERHEAD_BYTES
        runtime.warm.releases.put(memo, warm, size)
    return warm


async def describe_view(runtime: Runtime, release_id: str, reach: Reach, view: View) -> PublicRelease:
    """What is public about a view of a release, and how many samples the reader has. No sample is read, not even to be kept."""
    warm = runtime.warm.releases.get((release_id, reach, view))
    if warm is not None:
        return warm.public
    if reach.joint:
        parts = [await describe_view(runtime, release_id, reach.alone(name), view) for name in reach.names]
        return joined_public(parts, reach)
    return (await _stored(runtime, release_id, reach, view)).public


async def require_still_readable(runtime: Runtime, reader: Reader, release_id: str, reach: Reach) -> None:
    """For answers that take a while: the key still works and still reads as much. Asks nobody when warm.

    Raises KeyRevoked, KeyExpired, AccessRequired, NotFound, LedgerUntrusted; Unavailable if nobody can say.
    """
    await require_still_valid(runtime, reader)
    right = await reading_right(runtime, reader, release_id)
    if not right.covers(reach):
        raise AccessRequired("the right to these samples was taken back")


async def _read_right(runtime: Runtime, reader: Reader, release_id: str) -> ReadingRight:
    generation = runtime.rights.generation
    async with runtime.database.read() as connection:
        release = await find_release(connection, reader, release_id)
        await require_servable(runtime, connection, release_id)
        right = await readable_samples(connection, reader, release, runtime.clock())
    runtime.readings.put((reader.id, reader.role, release_id), right, generation)
    return right


async def _load_samples(runtime: Runtime, release_id: str, reach: Reach, view: View) -> PublishedRelease:
    stored = await _stored(runtime, release_id, reach, SAMPLES)
    record = await read_part_samples(runtime, stored.whole, stored.dataset, reach.part)
    held = await asyncio.to_thread(_hold, stored.public, record.values[: reach.samples])
    return PublishedRelease(stored.public, held)


async def _load_calibrated(runtime: Runtime, release_id: str, reach: Reach, view: View) -> PublishedRelease:
    """From the reader's own samples, and in a thread: it may take seconds."""
    stored = await _stored(runtime, release_id, reach, CALIBRATED)
    drawn = await open_view(runtime, release_id, reach, SAMPLES)
    measured = None
    if isinstance(stored.mechanism, MeasuringMechanism):
        measured = await read_part_measured(runtime, stored.whole, reach.part)
    seed = belief_seed(release_id, reach.samples if measured is None else None, reach.part)
    return await compute(runtime, lambda: _believe(stored, drawn.samples, measured, seed))


async def _load_joint(runtime: Runtime, release_id: str, reach: Reach, view: View) -> PublishedRelease:
    """Several parts, each as its own reader sees it, side by side as far as the shortest goes."""
    parts = [await open_view(runtime, release_id, reach.alone(name), view) for name in reach.names]
    public = joined_public([part.public for part in parts], reach)
    return await asyncio.to_thread(paired, public, [part.samples for part in parts])


def belief_seed(release_id: str, samples: int | None, part: str | None = None) -> bytes:
    """Of public names: how many samples is one where a belief rests on them, and so is the part, whose points must not go with
    those of another."""
    rests_on = "measured" if samples is None else str(samples)
    name = "postern belief", release_id, rests_on, *(() if part is None else (part,))
    return hashlib.sha256("\0".join(name).encode()).digest()


def _believe(stored: Stored, drawn: SampleSet, measured: Whole | None, seed: bytes) -> PublishedRelease:
    release = stored.release
    evidence = Evidence(np.ascontiguousarray(drawn.matrix), measured, seed)
    belief = stored.mechanism.belief(stored.public.model, release.n, release.unit_rows, evidence)
    public = replace(stored.public, parameters=belief.parameters, size=len(belief.points))
    return PublishedRelease(public, _hold(public, belief.points))


def _hold(public: PublicRelease, values: NDArray[np.float64]) -> SampleSet:
    """In a thread, which also loads what quantiles need: half a second that the first such question would hold the loop."""
    import scipy.special  # noqa: F401

    return SampleSet(public.parameters, values)


async def _stored(runtime: Runtime, release_id: str, reach: Reach, view: View) -> Stored:
    """Of a release of one model, or of one part of another. Raises CalibratedUnavailable."""
    async with runtime.database.read() as connection:
        whole = await releases.get_release(connection, release_id)
        dataset = None if whole is None else await datasets.get_dataset(connection, whole.dataset_id)
        if whole is None or dataset is None:
            raise IntegrityFailure("a right to a release that is not there")
        release = part_release(whole, reach.part)
        model = stored_model(release, dataset)
        kept = view != CALIBRATED or await is_evidence_kept(connection, release, model)
    mechanism = stored_mechanism(release, model)
    parameters, size = model.parameters, reach.samples
    if view == CALIBRATED:
        parameters = await asyncio.to_thread(calibrated_parameters, release, model, kept=kept)
        size = mechanism.belief_points
    verdict = await verdict_of(runtime, whole, dataset, reach.part)
    assumes = kind_of(model).card.assumes(model, release.unit_rows)
    public = PublicRelease(
        id=release_id,
        view=view,
        parameters=parameters,
        evidence=reach.samples,
        size=size,
        model=model,
        temperature=mechanism.drawn_at,
        assumes=assumes if verdict is None else check_of(model).unchecked(model, release.unit_rows),
        approximate=mechanism.approximation(model) if view == CALIBRATED else None,
        doubt=None if verdict is None or verdict.outcome == "no_objection" else verdict.text,
        rehearsal=dataset.rehearsal is not None,
        dataset=dataset.id,
        reach=reach,
    )
    return Stored(public, whole, dataset, release, mechanism)
