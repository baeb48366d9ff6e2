"""The ledger as text, in one snapshot, a batch in memory at a time."""

from collections.abc import AsyncIterator

from app.errors import IntegrityFailure
from app.ledger.export import act_line, entry_line, head_line, header_line
from app.services.runtime.runtime import Runtime
from app.storage.ledger_book import stream
from app.storage.ledger_heads import list_acts, read_stored

LINES_PER_CHUNK = 500


async def export_ledger(runtime: Runtime) -> AsyncIterator[bytes]:
    """Whatever is stored, sound or not: judging it is the verifier's part. Raises IntegrityFailure if unsigned."""
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
        if stored.signed is None:
            raise IntegrityFailure("the head is not signed yet: start the service once, then export")
        yield header_line(stored.signed.ledger, runtime.notary.keys.trusted.publics())
        chunk: list[bytes] = []
        async for entry in stream(connection):
            chunk.append(entry_line(entry))
            if len(chunk) == LINES_PER_CHUNK:
                yield b"".join(chunk)
                chunk.clear()
        yield b"".join(chunk)
        for act in await list_acts(connection):
            yield act_line(act)
        yield head_line(stored.signed)
