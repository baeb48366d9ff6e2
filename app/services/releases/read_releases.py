"""Releases as anyone with a right to them sees them: public numbers only, the same for everyone."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.core.decisions import View
from app.core.kinds import ReleaseModel, SeveralModels, kind_of
from app.core.parameters import parameters_json
from app.errors import IntegrityFailure
from app.services.budgets import cost_view
from app.services.people.visibility import find_release, visible_datasets
from app.services.plans.asked_groups import described
from app.services.principals import AnyPrincipal
from app.services.releases.parts import part_release
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
    return release_view(
        release, dataset, model, await find_views(release, model, kept=kept), await part_views(release, model)
    )


def groups_json(model: ReleaseModel) -> list[dict[str, Any]] | None:
    """None of a release without groups. How many people a private group has is nobody's to know."""
    found = kind_of(model).groups(model)
    return [{"group": dict(group), "n": people} for group, people in found] or None


async def part_views(release: Release, model: ReleaseModel) -> list[list[View]]:
    """Of several models, those of each; what a part of them measured is always kept."""
    if not isinstance(model, SeveralModels):
        return []
    return [await find_views(part_release(release, name), own) for name, own in model]


def release_view(
    release: Release,
    dataset: Dataset,
    model: ReleaseModel,
    views: Sequence[View],
    by_part: Sequence[Sequence[View]] = (),
) -> ReleaseView:
    cost = cost_from_json(release.cost)
    several = isinstance(model, SeveralModels)
    about = {"model": None} if several else described(release.model)
    return ReleaseView(
        id=release.id,
        dataset=release.dataset_id,
        status=release.status,
        **about,
        groups=groups_json(model),
        mechanism=None if several else dict(release.mechanism),
        parameters=parameters_json(model.parameters),
        cost=cost_view(cost, cost.samples, dataset.delta),
        n=release.n,
        samples=cost.samples,
        views=[*views],
        created_us=release.created_us,
        published_us=release.published_us,
        check=None if several or release.fit_check is None else dict(release.fit_check),
        title=release.title,
        description=release.description,
        rehearsal=dataset.rehearsal is not None,
        models=_parts_json(release, model, dataset.delta, by_part) if isinstance(model, SeveralModels) else None,
    )


def _parts_json(
    release: Release, model: SeveralModels, delta: float, views: Sequence[Sequence[View]]
) -> list[dict[str, Any]]:
    found = []
    for (name, own), shown in zip(model, views, strict=True):
        part = part_release(release, name)
        cost = cost_from_json(part.cost)
        found.append(
            {"name": name, "by": None, "where": None}
            | described(part.model)
            | {
                "mechanism": dict(part.mechanism),
                "groups": groups_json(own),
                "parameters": parameters_json(own.parameters),
                "cost": cost_view(cost, cost.samples, delta),
                "samples": cost.samples,
                "views": [*shown],
                "check": None if part.fit_check is None else dict(part.fit_check),
            }
        )
    return found
