"""The verdict on a release's check of fit, worked out once by each process and remembered.

It follows from the noisy counts, which were paid for with the release, and from public numbers, and from no sample: the same for
everyone with a right to the release, on every worker, by a seed of public names.
"""

import hashlib

from app.core.kinds import ReleaseModel, check_of
from app.core.kinds.fit_check import Verdict
from app.errors import IntegrityFailure
from app.services.releases.stored_release import stored_check
from app.services.runtime.cost_cache import compute
from app.services.runtime.runtime import Runtime
from app.storage import sample_sets
from app.storage.releases import Release


async def verdict_of(runtime: Runtime, release: Release, model: ReleaseModel) -> Verdict | None:
    """None where no check was paid for. Whoever asks has a right to the release. Raises TooBusy."""
    check = stored_check(release, model)
    if check is None:
        return None
    known = runtime.warm.verdicts.get(release.id)
    if known is not None:
        return known
    async with runtime.database.read() as connection:
        measured = await sample_sets.get_checked(connection, release.id)
    kind = check_of(model)
    if measured is None or len(measured) != kind.request(model).bins:
        raise IntegrityFailure("a published release without the check that was paid for")
    seed = hashlib.sha256(b"\0".join((b"verdict", release.id.encode()))).digest()
    found = await compute(runtime, lambda: kind.verdict(model, release.n, release.unit_rows, check, measured, seed))
    runtime.warm.verdicts.put(release.id, found, 1)
    return found
