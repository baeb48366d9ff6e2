"""A release of several models, part by part: whoever reads one sees a release as if it were of that model alone.

Its samples are stored for all parts together, and so is what was measured; a part's own are cut out of them.
"""

from collections.abc import Sequence
from dataclasses import replace

from app.core.kinds import PARTS, SeveralChecks, SeveralMechanisms, SeveralModels
from app.core.kinds.belief import Whole
from app.core.kinds.several import part_measured, part_values, stored_values
from app.errors import IntegrityFailure, InvalidInput
from app.services.releases.stored_release import stored_checks, stored_mechanism, stored_model
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import read_samples
from app.storage import sample_sets
from app.storage.datasets import Dataset
from app.storage.releases import Release
from app.storage.sample_sets import SampleSetRecord, record_of


def part_names(release: Release) -> tuple[str, ...]:
    """In the order they were asked for; none of a release of one model."""
    return tuple(str(part["name"]) for part in release.model.get(PARTS, ()))


def part_release(release: Release, name: str | None) -> Release:
    """The release as if it were of that part alone; of None, itself. The id stays that of the whole."""
    if name is None:
        return release
    place = part_names(release).index(name)
    return replace(
        release,
        model=release.model[PARTS][place]["model"],
        mechanism=release.mechanism[PARTS][place],
        cost=release.cost[PARTS][place],
        fit_check=None if release.fit_check is None else release.fit_check[PARTS][place],
    )


def require_part(names: Sequence[str], part: str | None) -> None:
    """Names of parts are public. Raises InvalidInput."""
    if part is not None and part not in names:
        known = ", ".join(names)
        raise InvalidInput("part", f"one of {known}" if names else "nothing: this release is of one model")


async def read_part_samples(runtime: Runtime, release: Release, dataset: Dataset, part: str | None) -> SampleSetRecord:
    """All samples of the part, or of a release of one model. Raises IntegrityFailure, Unavailable."""
    model = stored_model(release, dataset)
    mechanism = stored_mechanism(release, model)
    if part is None:
        return await read_samples(runtime, release.id, int(release.cost["samples"]), len(model.parameters))
    if not isinstance(model, SeveralModels) or not isinstance(mechanism, SeveralMechanisms):
        raise IntegrityFailure("a part of a release of one model")
    whole = await read_samples(runtime, release.id, 1, stored_values(model, mechanism))
    return record_of(release.id, part_values(model, mechanism, whole.values, part))


async def read_part_checked(runtime: Runtime, release: Release, dataset: Dataset, part: str | None) -> Whole | None:
    """What the check of fit of the part measured, or that of a release of one model; None where none was paid for."""
    async with runtime.database.read() as connection:
        found = await sample_sets.get_checked(connection, release.id)
    checks = None if part is None else stored_checks(release, stored_model(release, dataset))
    if part is None or not isinstance(checks, SeveralChecks):
        return found
    return checks.measured(found, part_names(release).index(part))


async def read_part_measured(runtime: Runtime, release: Release, part: str | None) -> Whole | None:
    """What was measured for the part, or for a release of one model; None of draws."""
    async with runtime.database.read() as connection:
        found = await sample_sets.get_measured(connection, release.id)
    if part is None:
        return found
    names = part_names(release)
    return part_measured(found, len(names), names.index(part))
