"""Populations: one budget for the same people in several datasets (ADR 33).

A dataset joins when it is declared, or while no release of it was asked for. From then on every charge to it is a charge to the
population's account too, and it stays. Rehearsals have no people, and are never in one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import Conflict, IntegrityFailure, InvalidInput, NotFound
from app.ledger.account import open_account
from app.ledger.posting import open_posting
from app.services.budgets import budget_view
from app.services.principals import Steward
from app.services.runtime import idempotency
from app.services.runtime.cost_cache import refuse_vacuous
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import new_id
from app.services.runtime.runtime import Runtime
from app.services.views import PopulationView
from app.storage import accounts, populations
from app.storage.datasets import Dataset
from app.storage.ledger_book import post
from app.storage.paging import Page
from app.storage.populations import Population

NAME_LENGTH_MAX = 200
DATASETS_MAX = 500
NO_PEOPLE = "nothing: the people of a rehearsal are made up, and never share an account"


async def create_population(
    runtime: Runtime, *, steward: Steward, spec: Mapping[str, Any], once: Once[PopulationView] | None = None
) -> PopulationView:
    """One transaction stores it and opens its account. Raises InvalidInput, VacuousGuarantee, NameTaken."""
    name, budget = _checked_name(spec["name"]), spec["budget"]
    epsilon, delta = float(budget["epsilon"]), float(budget["delta"])
    refuse_vacuous("budget.epsilon", epsilon, delta, runtime.settings.epsilon_max, bool(spec.get("force")))
    made = Population(new_id("pop"), steward.id, name, spec.get("description"), runtime.clock())
    slack_delta = float(budget.get("slack_delta") or 0.0)
    account = open_account(None, population=made.id, epsilon=epsilon, delta=delta, slack_delta=slack_delta)
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        await populations.insert_population(connection, made)
        opened = open_posting(account, actor=steward.id, reason="population declared", at_us=made.created_us)
        await post(connection, opened)
        view = await _view(connection, made)
        await idempotency.answer(runtime, connection, once, view)
    return view


async def list_populations(
    runtime: Runtime, *, steward: Steward, cursor: str | None, limit: int
) -> Page[PopulationView]:
    async with runtime.database.read() as connection:
        page = await populations.page_populations(connection, owner=steward.id, cursor=cursor, limit=limit)
        return Page([await _view(connection, each) for each in page.items], page.next_cursor)


async def read_population(runtime: Runtime, *, steward: Steward, population_id: str) -> PopulationView:
    """Raises NotFound."""
    async with runtime.database.read() as connection:
        found = await populations.get_population(connection, population_id)
        return await _view(connection, _owned(found, steward, population_id))


async def change_population(
    runtime: Runtime, *, steward: Steward, population_id: str, spec: Mapping[str, Any]
) -> PopulationView:
    """Another name or description; what is absent from `spec` stays. Raises NotFound, InvalidInput, NameTaken."""
    values = {name: spec[name] for name in ("name", "description") if name in spec}
    if "name" in values:
        _checked_name(values["name"])
    async with runtime.database.write() as connection:
        found = await populations.get_population(connection, population_id, lock=True)
        changed = replace(_owned(found, steward, population_id), **values)
        if values:
            await populations.change_population(connection, population_id, values)
        return await _view(connection, changed)


async def delete_population(runtime: Runtime, *, steward: Steward, population_id: str) -> None:
    """Its name is free again; its account, which nothing was charged to, stays in the ledger. Raises NotFound, Conflict while
    datasets are in it: those that were ever charged are, for good."""
    async with runtime.database.write() as connection:
        found = await populations.get_population(connection, population_id, lock=True)
        _owned(found, steward, population_id)
        if await populations.member_ids(connection, population_id):
            raise Conflict("datasets are in this population; those that were never charged can leave it first")
        await populations.delete_population(connection, population_id, runtime.clock())


async def joined(
    connection: AsyncConnection, owner: str, name_or_id: str, *, rehearsal: bool, present: str | None = None
) -> str:
    """The id of the population that a dataset of this owner is to be in, locked until it is; `present` is the one it is in.
    Raises InvalidInput, Conflict."""
    if rehearsal:
        raise InvalidInput("population", NO_PEOPLE)
    found = await populations.find_population(connection, owner, name_or_id)
    if found is None:
        raise InvalidInput("population", "the name or id of a population of yours")
    if found.id != present and len(await populations.member_ids(connection, found.id)) >= DATASETS_MAX:
        raise Conflict(f"this population has {DATASETS_MAX} datasets, and takes no more")
    return found.id


async def named(connection: AsyncConnection, dataset: Dataset) -> dict[str, str] | None:
    """The population of a dataset as everyone with a right on it sees it."""
    if dataset.population is None:
        return None
    return {"id": dataset.population} | {
        "name": (await populations.population_names(connection, [dataset.population]))[dataset.population]
    }


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise InvalidInput("name", f"1 to {NAME_LENGTH_MAX} printable characters")
    return name


def _owned(population: Population | None, steward: Steward, population_id: str) -> Population:
    if population is None or population.owner != steward.id:
        raise NotFound("population", population_id)
    return population


async def _view(connection: AsyncConnection, population: Population) -> PopulationView:
    account = await accounts.get_account(connection, population.id)
    if account is None:
        raise IntegrityFailure("a population without an account")
    return PopulationView(
        id=population.id,
        name=population.name,
        description=population.description,
        budget=budget_view(account),
        datasets=await populations.member_ids(connection, population.id),
        created_us=population.created_us,
    )
