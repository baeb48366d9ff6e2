"""Which views a release has: public, since it follows from its model and mechanism, and from when it was made."""

import asyncio

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.decisions import CALIBRATED, SAMPLES, View
from app.core.kinds import ReleaseModel
from app.core.kinds.protocols import MeasuringMechanism
from app.core.parameters import Parameter
from app.errors import CalibratedUnavailable
from app.services.releases.stored_release import stored_mechanism
from app.storage import sample_sets
from app.storage.releases import Release

NOT_KEPT = (
    "this release was made before the noisy statistic was kept with the samples drawn from it; ask of its samples, or for "
    "another release"
)


async def is_evidence_kept(connection: AsyncConnection, release: Release, model: ReleaseModel) -> bool:
    """Of a release that measures: what it measured. Of one that draws, the samples are all there is; of a pending one it
    will be."""
    measures = isinstance(stored_mechanism(release, model), MeasuringMechanism)
    return not measures or release.status == "pending" or await sample_sets.has_measured(connection, release.id)


def calibrated_parameters(release: Release, model: ReleaseModel, *, kept: bool) -> tuple[Parameter, ...]:
    """With the ranges of the untrimmed prior. Raises CalibratedUnavailable with the reason."""
    if not kept:
        raise CalibratedUnavailable(NOT_KEPT)
    return stored_mechanism(release, model).calibrated_parameters(model, release.n, release.unit_rows)


async def find_views(release: Release, model: ReleaseModel, *, kept: bool = True) -> list[View]:
    """In a thread: ranges of some priors take a library that takes half a second to load."""
    try:
        await asyncio.to_thread(calibrated_parameters, release, model, kept=kept)
    except CalibratedUnavailable:
        return [SAMPLES]
    return [SAMPLES, CALIBRATED]
