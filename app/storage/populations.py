"""Populations: the same people in several datasets, and the account that covers them all."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Insert, Update, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import NameTaken
from app.storage.paging import Page, newest_first, page_of
from app.storage.tables import datasets, populations


@dataclass(frozen=True, slots=True)
class Population:
    id: str
    owner: str
    name: str
    description: str | None
    created_us: int
    deleted_us: int | None = None


async def insert_population(connection: AsyncConnection, population: Population) -> None:
    """`NameTaken` if the owner has one of that name; the transaction is then over."""
    values = {name: getattr(population, name) for name in Population.__dataclass_fields__}
    await _named(connection, insert(populations).values(values), population.name)


async def change_population(connection: AsyncConnection, population_id: str, values: Mapping[str, Any]) -> None:
    """`NameTaken` if the owner has another of that name; the transaction is then over."""
    statement = update(populations).where(populations.c.id == population_id).values(values)
    await _named(connection, statement, values.get("name", ""))


async def _named(connection: AsyncConnection, statement: Insert | Update, name: str) -> None:
    try:
        await connection.execute(statement)
    except IntegrityError as error:
        if "populations_owner_name" in str(error.orig) or "populations.owner, populations.name" in str(error.orig):
            raise NameTaken(f"you already have a population named {name!r}") from None
        raise


async def get_population(connection: AsyncConnection, population_id: str, *, lock: bool = False) -> Population | None:
    """None if it was deleted. `lock` holds the row until the transaction ends, against datasets that join meanwhile."""
    statement = select(populations).where(populations.c.id == population_id, populations.c.deleted_us.is_(None))
    if lock:
        statement = statement.with_for_update(key_share=True)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else Population(**row._mapping)


async def find_population(connection: AsyncConnection, owner: str, name_or_id: str) -> Population | None:
    """One of this owner's, locked. Should a name read like another's id, the id counts."""
    named = or_(populations.c.id == name_or_id, populations.c.name == name_or_id)
    statement = select(populations).where(populations.c.owner == owner, populations.c.deleted_us.is_(None), named)
    statement = statement.with_for_update(key_share=True).order_by(populations.c.id)
    found = [Population(**row._mapping) for row in await connection.execute(statement)]
    return next((each for each in found if each.id == name_or_id), found[0] if found else None)


async def page_populations(
    connection: AsyncConnection, *, owner: str, cursor: str | None = None, limit: int = 50
) -> Page[Population]:
    """An owner's, newest first."""
    statement = select(populations).where(populations.c.owner == owner, populations.c.deleted_us.is_(None))
    statement = newest_first(statement, populations.c.created_us, populations.c.id, cursor, limit)
    found = [Population(**row._mapping) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.created_us, item.id))


async def population_names(connection: AsyncConnection, ids: Collection[str]) -> dict[str, str]:
    if not ids:
        return {}
    statement = select(populations.c.id, populations.c.name).where(populations.c.id.in_(sorted(ids)))
    return {row.id: row.name for row in await connection.execute(statement)}


async def member_ids(connection: AsyncConnection, population_id: str) -> list[str]:
    """The datasets in it, archived ones included: what was charged to them stays charged."""
    statement = select(datasets.c.id).where(datasets.c.population == population_id).order_by(datasets.c.id)
    return list((await connection.execute(statement)).scalars())


async def delete_population(connection: AsyncConnection, population_id: str, at_us: int) -> None:
    """Its name is free again. No name that anyone can choose begins with a character that does not print."""
    values = {"name": f"\x7f{population_id}", "description": None, "deleted_us": at_us}
    await connection.execute(update(populations).where(populations.c.id == population_id).values(values))
