"""What correlated people may lose by what a reader may read of one release, or of several of a dataset together.

Public numbers and what the caller declares: no sample is opened, nothing is charged. Only a right to the samples is asked for.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.dependence.inference import Question, epsilon_for, infer, samples_for
from app.core.dependence.losses import Losses, Together
from app.core.dependence.questions import read_question
from app.core.kinds.group_costs import ReleaseLosses
from app.errors import AccessRequired, IntegrityFailure, InvalidInput
from app.ledger.canonical import canonical_json
from app.services.principals import Reader
from app.services.reading.published_release import reading_right
from app.services.releases.parts import part_release
from app.services.releases.stored_release import cost_from_json, stored_check, stored_mechanism, stored_model
from app.services.runtime.cost_cache import compute
from app.services.runtime.reading_rights import ReadingRight
from app.services.runtime.runtime import Runtime
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.releases import Release

RELEASES_MAX = 20
OWN_FIELDS = ("samples", "releases")
"""Of the body; everything else is the question."""


async def read_inference(
    runtime: Runtime, *, reader: Reader, release_id: str, body: Mapping[str, Any]
) -> dict[str, Any]:
    """Remembered by a hash of what was asked and how much of what. Raises NotFound, ReleaseNotReady, ReleaseWithdrawn,
    AccessRequired, InvalidInput, NumericalFailure, TooBusy."""
    right = _asked_for(await reading_right(runtime, reader, release_id), body.get("samples"))
    rights = {release_id: right}
    for other in _others(body.get("releases"), release_id):
        rights[other] = await reading_right(runtime, reader, other)
    told = {name: [each.samples, list(each.parts)] for name, each in rights.items()}
    memo = hashlib.sha256(canonical_json({"inference": dict(body), "rights": told}).encode()).digest()
    known = runtime.warm.plans.get(memo)
    if known is not None:
        return known
    found, dataset = await _stored(runtime, list(rights))
    question = read_question({name: value for name, value in body.items() if name not in OWN_FIELDS}, dataset.delta)
    answer = await compute(runtime, lambda: _answer(found, dataset, rights, question))
    runtime.warm.plans.put(memo, answer, 1)
    return answer


def _asked_for(right: ReadingRight, samples: int | None) -> ReadingRight:
    """A shorter prefix, if that was asked. Raises AccessRequired, InvalidInput."""
    if samples is None:
        return right
    if right.parts:
        raise InvalidInput("samples", "nothing: of several models every part is read as far as the right to it goes")
    if samples > right.samples:
        raise AccessRequired(f"there is a right to {right.samples} samples")
    return ReadingRight(samples)


def _others(asked: Sequence[str] | None, release_id: str) -> list[str]:
    others = list(asked or ())
    if len({release_id, *others}) != len(others) + 1 or len(others) > RELEASES_MAX:
        raise InvalidInput("releases", f"at most {RELEASES_MAX} different other releases")
    return others


async def _stored(runtime: Runtime, names: Sequence[str]) -> tuple[list[Release], Dataset]:
    async with runtime.database.read() as connection:
        found = [await releases.get_release(connection, name) for name in names]
        known = [release for release in found if release is not None]
        dataset = await datasets.get_dataset(connection, known[0].dataset_id) if known else None
    if len(known) != len(names) or dataset is None:
        raise IntegrityFailure("a right to a release that is not there")
    if any(release.dataset_id != dataset.id for release in known):
        raise InvalidInput("releases", "releases of the same dataset")
    return known, dataset


def _answer(
    found: Sequence[Release], dataset: Dataset, rights: Mapping[str, ReadingRight], question: Question
) -> dict[str, Any]:
    parts = [part for release in found for part in losses_of(release, dataset, rights[release.id])]
    losses: Losses = parts[0] if len(parts) == 1 else Together(tuple(parts))
    answer = infer(losses, question) | {
        "release": found[0].id,
        "samples": rights[found[0].id].samples,
        "releases": [release.id for release in found],
    }
    if question.target is not None:
        answer["target"] = target_json(question, parts[0] if len(parts) == 1 else None)
    return answer


def losses_of(release: Release, dataset: Dataset, right: ReadingRight) -> list[ReleaseLosses]:
    """Of one model, or of every part that is read."""
    reached = right.parts or ((None, right.samples),)
    found = []
    for name, samples in reached:
        if samples > 0:
            own = part_release(release, name)
            model = stored_model(own, dataset)
            found.append(
                ReleaseLosses(
                    model=model,
                    mechanism=stored_mechanism(own, model),
                    cost=cost_from_json(own.cost),
                    people=release.n,
                    unit_rows=release.unit_rows,
                    samples=samples,
                    check=stored_check(own, model),
                )
            )
    return found


def target_json(question: Question, losses: ReleaseLosses | None) -> dict[str, Any]:
    """What keeps odds within the target: a pure ε, and samples where they are paid for one by one."""
    if question.target is None:
        raise ValueError("a target")
    samples = None
    if losses is not None and losses.cost.per_sample.pure > 0:
        most = losses.cost.samples
        samples = samples_for(question.target, question.exception, question.structure, losses.with_samples, most)
    return {
        "nu": question.target,
        "epsilon": epsilon_for(question.structure, question.target),
        "samples": samples,
        "basis": "certified",
        "assumption": "`epsilon`: pure, of one person; `samples`: how many of this release keep probable odds within it",
    }
