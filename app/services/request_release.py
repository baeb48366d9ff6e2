"""Ask for a release: the charge is on disk before any row is read.

Order of effects: parse → mechanism and cost from public numbers → one transaction {idempotency key, reserve in the
ledger, pending release} → tell the workers. A refused charge writes nothing and reaches no sampler.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.core.families import Model, parse_model
from app.core.mechanisms import Mechanism, ReleaseCost
from app.errors import DataMissing, IntegrityFailure, InvalidMechanism
from app.ledger.account import account_id
from app.ledger.amounts import prefix_charge
from app.ledger.canonical import canonical_json, release_event
from app.ledger.posting import reserve_posting
from app.services.chosen_mechanism import concrete_mechanism
from app.services.computed_costs import refuse_vacuous, release_cost
from app.services.dataset_sources import dataset_columns, dataset_unit
from app.services.failpoints import failpoint
from app.services.identifiers import new_id
from app.services.principals import Steward
from app.services.read_datasets import owned
from app.services.read_releases import release_view
from app.services.runtime import Runtime
from app.services.stored_costs import cost_to_json
from app.services.views import ReleaseView
from app.storage import accounts, datasets, idempotency, releases
from app.storage.datasets import Dataset
from app.storage.ledger_book import post
from app.storage.releases import Release

CHANNEL = "releases"
_ROUTE = "request_release"


async def request_release(
    runtime: Runtime, *, steward: Steward, dataset_id: str, spec: Mapping[str, Any], idempotency_key: str | None
) -> ReleaseView:
    """`auto` is settled here, from public numbers: what is stored, charged and shown names its mechanism.

    Raises NotFound, InvalidModel, InvalidMechanism, VacuousGuarantee, DataMissing, BudgetExhausted,
    IdempotencyConflict.
    """
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
    model = parse_model(spec["model"], dataset_columns(dataset))
    unit_rows = dataset_unit(dataset).max_rows
    if dataset.n is None:
        raise DataMissing("upload rows first: PUT /v1/datasets/{id}/data")
    mechanism = await concrete_mechanism(runtime, spec["mechanism"], model, dataset.n, unit_rows, dataset.delta)
    if mechanism.samples > runtime.settings.samples_max:
        raise InvalidMechanism("mechanism.samples", f"at most {runtime.settings.samples_max}")
    cost = await release_cost(runtime, model, mechanism, dataset.n, unit_rows)
    epsilon = cost.total.epsilon(dataset.delta)
    refuse_vacuous("mechanism", epsilon, dataset.delta, runtime.settings.epsilon_max, bool(spec.get("force")))
    release = _new_release(runtime, steward, dataset, model, mechanism, cost, unit_rows)
    failpoint("request.before_reserve")
    stored = await _reserve(runtime, steward, release, cost, _body_hash(dataset_id, spec), idempotency_key)
    failpoint("request.reserved")
    await runtime.cache.publish(CHANNEL, b"pending")
    return release_view(stored, dataset)


def _new_release(
    runtime: Runtime,
    steward: Steward,
    dataset: Dataset,
    model: Model,
    mechanism: Mechanism,
    cost: ReleaseCost,
    unit_rows: int,
) -> Release:
    if dataset.n is None:
        raise IntegrityFailure("a release needs the public number of people")
    return Release(
        id=new_id("rel"),
        dataset_id=dataset.id,
        created_by=steward.id,
        model=model.as_json(),
        mechanism=mechanism.as_json(),
        cost=cost_to_json(cost),
        n=dataset.n,
        unit_rows=unit_rows,
        data_version=dataset.data_version,
        created_us=runtime.clock(),
    )


async def _reserve(
    runtime: Runtime, steward: Steward, release: Release, cost: ReleaseCost, body_hash: bytes, key: str | None
) -> Release:
    async with runtime.database.write() as connection:
        if key is not None:
            earlier = await idempotency.claim_key(
                connection, steward.id, key, route=_ROUTE, body_hash=body_hash, now_us=release.created_us
            )
            if earlier is not None:
                return await _replayed(connection, earlier.location)
        dataset = await datasets.get_dataset(connection, release.dataset_id, lock=True)
        if dataset is None or dataset.data_state != "ready":
            raise DataMissing("the rows were wiped after use; upload them again")
        if (dataset.n, dataset.data_version) != (release.n, release.data_version):
            raise DataMissing("new rows were uploaded meanwhile; ask again")
        number = account_id(release.dataset_id)
        account = (await accounts.lock_accounts(connection, [number]))[number]
        event = release_event(
            model=release.model,
            mechanism=release.mechanism,
            n=release.n,
            unit_rows=release.unit_rows,
            samples=cost.samples,
        )
        charge = prefix_charge(cost.per_sample, cost.samples, cost.once)
        posting = reserve_posting(
            account, release.id, charge, event=event, actor=steward.id, reason="release", at_us=release.created_us
        )
        await releases.insert_release(connection, release)
        await post(connection, posting)
        if key is not None:
            await idempotency.answer_key(connection, steward.id, key, status=202, body=b"", location=release.id)
        failpoint("request.reserving")
    return release


async def _replayed(connection: Connection, release_id: str | None) -> Release:
    found = None if release_id is None else await releases.get_release(connection, release_id)
    if found is None:
        raise IntegrityFailure("an idempotency key without its release")
    return found


def _body_hash(dataset_id: str, spec: Mapping[str, Any]) -> bytes:
    """Of a request's public parameters: nothing here was computed from rows."""
    return hashlib.sha256(canonical_json({"dataset": dataset_id, "body": spec}).encode()).digest()
