"""What was done to a chain, from where it breaks and from what the lines around still say about each other.

Every line names the one before by digest, and both columns are unique and indexed, so the true successor of the last
sound line is found wherever it was moved, in one look-up.
"""

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.entry import Head
from app.storage.tables import ledger_entries, ledger_head


async def name_tampering(connection: AsyncConnection, sound: Head) -> str:
    """The line after `sound` is not as it should be.

    `truncated` nothing follows · `deleted` it is gone · `reordered` it stands elsewhere, or another genuine line
    stands here · `inserted` a line that nothing refers to stands here · `edited` it is here, and says something else.
    """
    lines = ledger_entries.c
    links = select(lines.previous, lines.digest).where(lines.sequence == sound.sequence + 1)
    here = (await connection.execute(links)).one_or_none()
    heir = (await connection.execute(select(lines.sequence).where(lines.previous == sound.digest))).scalar_one_or_none()
    if here is None:
        if heir is not None:
            return "reordered"
        later = exists().where(lines.sequence > sound.sequence)
        return "deleted" if (await connection.execute(select(later))).scalar_one() else "truncated"
    if here.previous == sound.digest or not isinstance(here.previous, bytes):
        return "edited"
    referred = exists().where(lines.previous == here.digest)
    is_head = exists().where(ledger_head.c.digest == here.digest)
    if (await connection.execute(select(referred | is_head))).scalar_one():
        return "reordered" if heir is not None else "deleted"
    return "inserted" if heir is not None else "edited"
