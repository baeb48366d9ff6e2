"""Ask for a release: the charge is on disk before any row is read.

Order of effects: parse → mechanism and cost from public numbers → its gates, from those numbers too → of statistics without
rows: look at the seal, keep it in a private file → one transaction {claim on the Idempotency-Key, reserve in the ledger, pending
release, use of the seal's plan, answer} → tell the workers. A refused charge writes nothing and reaches no sampler.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from app.core.kinds import ReleaseMechanism, ReleaseModel, parse_check, parse_model, refuse_wide_budget
from app.core.kinds.fit_check import AnyCheck, FitCheck
from app.core.privacy.losses.known import with_known
from app.core.privacy.release_cost import ReleaseCost
from app.core.schema import Column
from app.errors import BudgetExhausted, Conflict, DataMissing, IntegrityFailure, InvalidMechanism, StatisticsUsed
from app.services.audits import pass_gates
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.datasets.read_datasets import owned
from app.services.plans.asked_groups import grouped_spec
from app.services.plans.chosen_mechanism import concrete_mechanism, stored_model_of
from app.services.principals import Steward
from app.services.releases.asked_parts import settled_parts
from app.services.releases.public_moment import release_seconds
from app.services.releases.read_releases import part_views, release_view
from app.services.releases.rehearsal_limits import refuse_large_release, refuse_long_release, refuse_many_releases
from app.services.releases.release_views import find_views
from app.services.releases.reserve_charge import charged_accounts, reserve_postings
from app.services.releases.sealed_statistics import Sealed, give_out_plan, sealed_in
from app.services.releases.stored_release import audit_to_json, cost_to_json
from app.services.runtime import idempotency
from app.services.runtime.cost_cache import compute, refuse_vacuous, release_cost
from app.services.runtime.failpoints import failpoint
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import REHEARSAL, new_id
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView, SealingPlanView
from app.storage import accounts, datasets, releases
from app.storage.datasets import Dataset
from app.storage.ledger_book import post
from app.storage.releases import Release
from app.storage.vouched.sealing_plans import use_plan

CHANNEL = "releases"


async def request_release(
    runtime: Runtime,
    *,
    steward: Steward,
    dataset_id: str,
    spec: Mapping[str, Any],
    once: Once[ReleaseView] | None = None,
) -> ReleaseView:
    """`auto` is settled here, from public numbers, and so is a range left open: what is stored, charged and shown names both.

    Raises NotFound, InvalidModel, InvalidMechanism, InvalidCheck, CheckNotOffered, VacuousGuarantee, DataMissing, AuditFailed,
    InvalidStatistics, StatisticsUsed, BudgetExhausted, IdempotencyConflict; of an analyst's rehearsal also Conflict, beyond its
    limits.
    """
    release, model, cost, dataset = await _settled(runtime, steward, dataset_id, spec)
    sealed = await sealed_in(runtime, spec, release, dataset, once)
    await _refuse_hopeless(runtime, release, cost, dataset, once)
    failpoint("request.before_reserve")
    views, by_part = await find_views(release, model), await part_views(release, model)
    view = release_view(release, dataset, model, views, by_part)
    await _keep_and_reserve(runtime, steward, release, cost, view, once, dataset, sealed)
    failpoint("request.reserved")
    await runtime.cache.publish(CHANNEL, b"pending")
    return view


async def plan_statistics(
    runtime: Runtime,
    *,
    steward: Steward,
    dataset_id: str,
    spec: Mapping[str, Any],
    once: Once[SealingPlanView] | None = None,
) -> SealingPlanView:
    """What `postern statistics` has to compute, and seal, for this very release. Nothing is charged and nothing reserved.

    Raises what asking for the release would raise, but for BudgetExhausted; Conflict where too many plans are open.
    """
    release, _, _, dataset = await _settled(runtime, steward, dataset_id, spec)
    if dataset.source["kind"] != "statistics":
        raise Conflict(f"this dataset has rows here: its source is `{dataset.source['kind']}`")
    return await give_out_plan(runtime, release, dataset, once)


async def _settled(
    runtime: Runtime, steward: Steward, dataset_id: str, spec: Mapping[str, Any]
) -> tuple[Release, ReleaseModel, ReleaseCost, Dataset]:
    """The release as it would be stored, from public numbers alone, refused here for whatever they can refuse it for."""
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
        charged = await accounts.list_accounts(connection, ids=charged_accounts(dataset))
    if dataset.archived_us is not None:
        raise DataMissing("this dataset is archived: its rows are gone, and no release is made of it any more")
    if dataset.n is None:
        raise DataMissing("upload rows first: PUT /v1/datasets/{id}/data")
    columns, unit_rows = dataset_columns(dataset), dataset_unit(dataset).max_rows
    model, mechanism, check = await _described(runtime, spec, columns, dataset, dataset.n, unit_rows)
    refuse_wide_budget(mechanism, max(dataset.epsilon, *(account.epsilon for account in charged)))
    refuse_large_release(steward, model, mechanism)
    cost = await release_cost(runtime, model, mechanism, dataset.n, unit_rows, check)
    cost = await compute(runtime, partial(with_known, cost, dataset.delta))
    epsilon = cost.total.alone(dataset.delta)
    refuse_vacuous("mechanism", epsilon, dataset.delta, runtime.settings.epsilon_max, bool(spec.get("force")))
    seconds = release_seconds(
        dataset, model, mechanism, cost, dataset.n, unit_rows, check
    )  # refuses what has no public size
    refuse_long_release(steward, seconds)
    audit = audit_to_json(await pass_gates(runtime, model, mechanism, dataset.n, unit_rows))
    made = _new_release(runtime, steward, dataset, model, mechanism, check, cost, unit_rows)
    release = replace(
        made,
        cost={**made.cost, "audit": audit},
        title=spec.get("title"),
        description=spec.get("description"),
    )
    return release, model, cost, dataset


async def _described(
    runtime: Runtime,
    spec: Mapping[str, Any],
    columns: Mapping[str, Column],
    dataset: Dataset,
    people: int,
    unit_rows: int,
) -> tuple[ReleaseModel, ReleaseMechanism, AnyCheck | None]:
    """With nothing left open. Raises InvalidModel, InvalidMechanism, InvalidCheck, CheckNotOffered."""

    async def settled(part: Mapping[str, Any]) -> tuple[ReleaseModel, ReleaseMechanism, FitCheck | None]:
        read = parse_model(grouped_spec(part, columns, dataset.strata), columns)
        check = parse_check(part.get("check"), read)
        mechanism = await concrete_mechanism(runtime, part["mechanism"], read, people, unit_rows, dataset.delta)
        if mechanism.samples > runtime.settings.samples_max:
            raise InvalidMechanism("mechanism.samples", f"at most {runtime.settings.samples_max}")
        stored = await stored_model_of(runtime, read, mechanism, people, unit_rows)
        parse_model(stored.as_json(), columns)  # what could not be read again is refused before it is charged
        return stored, mechanism, check

    return await (settled(spec) if spec.get("models") is None else settled_parts(spec, settled))


def _new_release(
    runtime: Runtime,
    steward: Steward,
    dataset: Dataset,
    model: ReleaseModel,
    mechanism: ReleaseMechanism,
    check: AnyCheck | None,
    cost: ReleaseCost,
    unit_rows: int,
) -> Release:
    if dataset.n is None:
        raise IntegrityFailure("a release needs the public number of people")
    return Release(
        id=new_id("rel" if dataset.rehearsal is None else f"rel_{REHEARSAL}"),
        dataset_id=dataset.id,
        created_by=steward.id,
        model=model.as_json(),
        mechanism=mechanism.as_json(),
        cost=cost_to_json(cost),
        n=dataset.n,
        unit_rows=unit_rows,
        data_version=dataset.data_version,
        created_us=runtime.clock(),
        fit_check=None if check is None else check.as_json(),
    )


async def _refuse_hopeless(
    runtime: Runtime, release: Release, cost: ReleaseCost, dataset: Dataset, once: Once[ReleaseView] | None
) -> None:
    """What does not fit by a snapshot of the account is refused without waiting in line for it: a crowd at an empty budget
    gets its answer at once. If this very request emptied it, the same snapshot has its answer, which is given again."""
    async with runtime.database.read() as connection:
        found = await accounts.list_accounts(connection, ids=charged_accounts(dataset))
        try:
            reserve_postings({account.id: account for account in found}, release, cost, dataset)
        except BudgetExhausted:
            await idempotency.look_up(runtime, connection, once)
            raise


async def _keep_and_reserve(
    runtime: Runtime,
    steward: Steward,
    release: Release,
    cost: ReleaseCost,
    view: ReleaseView,
    once: Once[ReleaseView] | None,
    dataset: Dataset,
    sealed: Sealed | None,
) -> None:
    """What was sealed lies in a private file before the charge that names it, held against sweeps until that is on disk. If
    anything refuses the charge, or this process ends, the file is nobody's and goes."""
    if sealed is None:
        await _reserve(runtime, steward, release, cost, view, once, dataset.population)
        return
    async with runtime.uploads.begin(dataset.id) as kept:
        await asyncio.to_thread(kept.write, sealed.body)
        name = await asyncio.to_thread(kept.finish)
        failpoint("statistics.kept")
        await _reserve(runtime, steward, release, cost, view, once, dataset.population, (sealed.nonce, name))


async def _reserve(
    runtime: Runtime,
    steward: Steward,
    release: Release,
    cost: ReleaseCost,
    view: ReleaseView,
    once: Once[ReleaseView] | None,
    population: str | None,
    sealed: tuple[bytes, str] | None = None,
) -> None:
    """`population`: the one whose ε the mechanism was held against. `sealed`: a plan, and the private file of what was sealed by
    it."""
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        dataset = await datasets.get_dataset(connection, release.dataset_id, lock=True)
        if dataset is None or dataset.data_state != "ready" or dataset.archived_us is not None:
            raise DataMissing("the rows were wiped after use; upload them again")
        if (dataset.n, dataset.data_version) != (release.n, release.data_version):
            raise DataMissing("new rows were uploaded meanwhile; ask again")
        if dataset.population != population:
            raise Conflict("the dataset joined or left a population meanwhile; ask again")
        await refuse_many_releases(connection, steward, release)
        held = await accounts.lock_accounts(connection, charged_accounts(dataset))
        postings = reserve_postings(held, release, cost, dataset)
        await releases.insert_release(connection, release)
        if sealed is not None:
            nonce, name = sealed
            own = {"release_id": release.id, "dataset_id": release.dataset_id}
            if not await use_plan(connection, nonce, sealed_name=name, **own):
                raise StatisticsUsed("these statistics, or others by the same plan, were used for a release meanwhile")
        for posting in postings:
            await post(connection, posting)
        await idempotency.answer(runtime, connection, once, view)
        failpoint("request.reserving")
