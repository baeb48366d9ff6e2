"""Statistics without rows, at the service: a plan is given out, what was sealed by it is looked at, kept and found again.

A plan is settled like a release, from public numbers; nothing is charged for it. What comes back is compared with it in form
only: it stays sealed until the charge is on disk and a worker draws. Its bytes are in one private file and nowhere else.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import Conflict, DataMissing, InvalidModel, InvalidStatistics, StatisticsUsed
from app.services.runtime import idempotency
from app.services.runtime.idempotency import Once
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView, SealingKeyView, SealingPlanView
from app.sources.vouched.envelope import NONCE_BYTES, read_envelope, sealed_bytes
from app.sources.vouched.plan import SealingPlan, plan_of
from app.sources.vouched.sealed_source import SealedStatistics
from app.storage.datasets import Dataset
from app.storage.releases import Release
from app.storage.vouched import sealing_plans
from app.storage.vouched.sealing_plans import StoredPlan

LIFE_US = 7 * 86_400 * 1_000_000
"""From a plan to what was sealed by it."""
OPEN_MAX = 100
"""Plans of a dataset that were neither used nor have expired."""
_BODY_ROOM = 65_536
"""For what stands beside the seal in a request."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What came with a request, not opened."""

    nonce: bytes
    body: bytes

    def __repr__(self) -> str:
        return "Sealed(private)"


def sealing_key_view(runtime: Runtime) -> SealingKeyView:
    key = runtime.sealing_key()
    return SealingKeyView(key_id=key.key_id.hex(), key=key.public.hex(), algorithm="X25519-HKDF-SHA256-AES-256-GCM")


async def give_out_plan(
    runtime: Runtime, release: Release, dataset: Dataset, once: Once[SealingPlanView] | None
) -> SealingPlanView:
    """`release` is what would be asked for, with nothing left open. Raises InvalidModel, Conflict."""
    now_us = runtime.clock()
    stored = StoredPlan(runtime.random_bytes(NONCE_BYTES), dataset.id, now_us, now_us + LIFE_US)
    plan = sealing_plan(runtime, release, dataset, stored)
    room = int(runtime.settings.body_bytes_max) - _BODY_ROOM
    if sealed_bytes(plan.size) * 4 // 3 + 4 > max(room, int(runtime.settings.body_bytes_max) // 2):
        raise InvalidModel(
            "model", f"statistics that fit a request (POSTERN_BODY_BYTES_MAX); this has {plan.size} numbers"
        )
    view = SealingPlanView(
        version=1,
        dataset=dataset.id,
        columns=dict(dataset.columns),
        privacy_unit=None if dataset.unit is None else dict(dataset.unit),
        n=release.n,
        model=dict(release.model),
        mechanism=dict(release.mechanism),
        check=None if release.fit_check is None else dict(release.fit_check),
        nonce=stored.nonce.hex(),
        expires_us=stored.expires_us,
        key=plan.key.hex(),
        numbers=plan.size,
    )
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        await sealing_plans.forget_expired(connection, dataset.id, now_us)
        if await sealing_plans.count_open(connection, dataset.id) >= OPEN_MAX:
            raise Conflict(f"{OPEN_MAX} plans of this dataset wait for statistics; they are forgotten as they expire")
        await sealing_plans.insert_plan(connection, stored)
        await idempotency.answer(runtime, connection, once, view)
    return view


def sealing_plan(runtime: Runtime, release: Release, dataset: Dataset, stored: StoredPlan) -> SealingPlan:
    return plan_of(
        dataset=dataset.id,
        columns=dataset.columns,
        unit=dataset.unit,
        n=release.n,
        model=release.model,
        mechanism=release.mechanism,
        check=release.fit_check,
        nonce=stored.nonce,
        expires_us=stored.expires_us,
        key=runtime.sealing_key().public,
    )


async def sealed_in(
    runtime: Runtime, spec: Mapping[str, Any], release: Release, dataset: Dataset, once: Once[ReleaseView] | None
) -> Sealed | None:
    """What came with the request, if it may be what its plan asked for; None for a dataset with rows.

    Nothing is opened and nothing charged. Raises InvalidStatistics for what is missing, damaged, expired, or sealed for
    another key, dataset, schema, model or mechanism; StatisticsUsed for a plan that was used, unless by this very request.
    """
    source = spec.get("source")
    if dataset.source["kind"] != "statistics":
        if source is not None:
            raise InvalidStatistics("source", f"nothing: the source of this dataset is `{dataset.source['kind']}`")
        return None
    if source is None:
        raise InvalidStatistics(
            "source", "statistics that were sealed by a plan of this dataset (`postern statistics`)"
        )
    body = _decoded(source["sealed"])
    size = sealing_plan(runtime, release, dataset, StoredPlan(bytes(NONCE_BYTES), dataset.id, 0, 0)).size
    envelope = read_envelope(body, size)
    if envelope.key_id != runtime.sealing_key().key_id:
        raise InvalidStatistics("source.sealed", "statistics that were sealed to this service's own key")
    async with runtime.database.read() as connection:
        stored = await sealing_plans.get_plan(connection, envelope.nonce)
        if stored is not None and stored.dataset_id == dataset.id and stored.release_id is not None:
            await idempotency.look_up(runtime, connection, once)
            raise StatisticsUsed(
                "these statistics, or others by the same plan, were used for a release; ask for a new plan"
            )
    if min(envelope.expires_us, envelope.expires_us if stored is None else stored.expires_us) <= runtime.clock():
        raise InvalidStatistics("source.sealed", "statistics by a plan that has not expired")
    if stored is None or stored.dataset_id != dataset.id or stored.expires_us != envelope.expires_us:
        raise InvalidStatistics("source.sealed", "statistics by a plan of this dataset")
    if envelope.digest != sealing_plan(runtime, release, dataset, stored).digest:
        expected = (
            "statistics by the plan of this very release: schema, n, model, mechanism and check are bound to them"
        )
        raise InvalidStatistics("source.sealed", expected)
    return Sealed(envelope.nonce, body)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidStatistics("source.sealed", "base64, as `postern statistics` writes it") from None


async def sealed_source(runtime: Runtime, release: Release, dataset: Dataset) -> SealedStatistics | None:
    """Where the worker finds what was sealed for this release; None for a dataset with rows. Raises DataMissing."""
    if dataset.source["kind"] != "statistics":
        return None
    async with runtime.database.read() as connection:
        stored = await sealing_plans.plan_of_release(connection, release.id)
    if stored is None:
        raise DataMissing("nothing was sealed for this release")
    name = stored.sealed_name

    def find() -> Path:
        if name is None:
            raise DataMissing("what was sealed for this release is gone")
        return runtime.uploads.path(name)

    return SealedStatistics(find, sealing_plan(runtime, release, dataset, stored), runtime.sealing_key)
