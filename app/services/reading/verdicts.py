"""The verdict on a release's check of fit, worked out once by each process and remembered.

It follows from the noisy counts, which were paid for with the release, and from public numbers, and from no sample: the same for
everyone with a right to the release, on every worker, by a seed of public names.
"""

import hashlib

from app.core.kinds import check_of
from app.core.kinds.fit_check import Verdict
from app.errors import IntegrityFailure
from app.services.releases.parts import part_release, read_part_checked
from app.services.releases.stored_release import stored_check, stored_model
from app.services.runtime.cost_cache import compute
from app.services.runtime.runtime import Runtime
from app.storage.datasets import Dataset
from app.storage.releases import Release


async def verdict_of(runtime: Runtime, whole: Release, dataset: Dataset, part: str | None = None) -> Verdict | None:
    """Of the part, or of a release of one model; None where no check was paid for. Whoever asks has a right to it. Raises
    TooBusy."""
    release = part_release(whole, part)
    if release.fit_check is None:
        return None
    model = stored_model(release, dataset)
    check = stored_check(release, model)
    if check is None:
        return None
    known = runtime.warm.verdicts.get((release.id, part))
    if known is not None:
        return known
    measured = await read_part_checked(runtime, whole, dataset, part)
    kind = check_of(model)
    if measured is None or len(measured) != kind.request(model).bins:
        raise IntegrityFailure("a published release without the check that was paid for")
    name = "verdict", release.id, *(() if part is None else (part,))
    seed = hashlib.sha256("\0".join(name).encode()).digest()
    found = await compute(runtime, lambda: kind.verdict(model, release.n, release.unit_rows, check, measured, seed))
    runtime.warm.verdicts.put((release.id, part), found, 1)
    return found
