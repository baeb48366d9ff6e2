"""The people a steward created."""

from app.services.principals import Steward
from app.services.runtime import Runtime
from app.services.views import PrincipalView
from app.storage.paging import Page
from app.storage.principals import page_principals


async def list_principals(runtime: Runtime, *, steward: Steward, cursor: str | None, limit: int) -> Page[PrincipalView]:
    async with runtime.database.read() as connection:
        page = await page_principals(connection, created_by=steward.id, cursor=cursor, limit=limit)
    items = [PrincipalView(person.id, person.role, person.name, person.created_us) for person in page.items]
    return Page(items, page.next_cursor)
