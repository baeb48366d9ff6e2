"""Releases as anyone with a right to them sees them: public numbers only, the same for everyone."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.core.decisions import View
from app.core.kinds import ReleaseModel, kind_of
from app.core.parameters import parameters_json
from app.errors import IntegrityFailure
from app.services.budgets import cost_view
from app.services.people.visibility import find_release, visible_datasets
from app.services.plans.asked_groups import described
from app.services.principals import AnyPrincipal
from app.services.releases.release_views import find_views, is_evidence_kept
from app.services.releases.stored_release import cost_from_json, stored_model
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.paging import Page
from app.storage.releases import Release


async def list_releases(
    runtime: Runtime, *, principal: AnyPrincipal, cursor: str | None, limit: int, dataset: str | None = None
) -> Page[ReleaseView]:
    """Newest first. A dataset this key may not see lists nothing, like one that does not exist."""
    async with runtime.database.read() as connection:
        visible = await visible_datasets(connection, principal)
        if dataset is not None:
            visible = {dataset} if visible is None else visible & {dataset}
        page = await releases.page_releases(connection, datasets=visible, cursor=cursor, limit=limit)
        views = [await _view(connection, release) for release in page.items]
    return Page(views, page.next_cursor)


async def read_release(runtime: Runtime, *, principal: AnyPrincipal, release_id: str) -> ReleaseView:
    async with runtime.database.read() as connection:
        return await _view(connection, await find_release(connection, principal, release_id))


async def _view(connection: Connection, release: Release) -> ReleaseView:
    dataset = await datasets.get_dataset(connection, release.dataset_id)
    if dataset is None:
        raise IntegrityFailure("a release without its dataset")
    model = stored_model(release, dataset)
    kept = await is_evidence_kept(connection, release, model)
    return release_view(release, dataset, model, await find_views(release, model, kept=kept))


def groups_json(model: ReleaseModel) -> list[dict[str, Any]] | None:
    """None of a release without groups. How many people a private group has is nobody's to know."""
    found = kind_of(model).groups(model)
    return [{"group": dict(group), "n": people} for group, people in found] or None


def release_view(release: Release, dataset: Dataset, model: ReleaseModel, views: Sequence[View]) -> ReleaseView:
    cost = cost_from_json(release.cost)
    return ReleaseView(
        id=release.id,
        dataset=release.dataset_id,
        status=release.status,
        **described(release.model),
        groups=groups_json(model),
        mechanism=dict(release.mechanism),
        parameters=parameters_json(model.parameters),
        cost=cost_view(cost, cost.samples, dataset.delta),
        n=release.n,
        samples=cost.samples,
        views=[*views],
        created_us=release.created_us,
        published_us=release.published_us,
        check=None if release.fit_check is None else dict(release.fit_check),
        title=release.title,
        description=release.description,
        rehearsal=dataset.rehearsal is not None,
    )
