"""A draft of a schema from the names and types of a file, which is wiped before the answer."""

import asyncio
from collections.abc import AsyncIterator

from app.services.principals import Steward
from app.services.runtime.runtime import Runtime
from app.sources.files import UNDECLARED, DeclaredForm
from app.sources.files.names_and_types import names_and_types
from app.sources.files.schema_draft import SchemaDraft, draft_schema
from app.sources.uploads import PartialUpload

_NO_DATASET = "draft"


async def draft_from_file(
    runtime: Runtime, *, steward: Steward, chunks: AsyncIterator[bytes], form: DeclaredForm = UNDECLARED
) -> SchemaDraft:
    """No cell is looked at, and nothing is kept. Raises UnsupportedFormat, PayloadTooLarge, InvalidRows about line 1."""
    async with runtime.uploads.begin(_NO_DATASET) as sent:
        await sent.receive(chunks)
        return await asyncio.to_thread(_draft, runtime, sent, form)


def _draft(runtime: Runtime, sent: PartialUpload, form: DeclaredForm) -> SchemaDraft:
    return draft_schema(names_and_types(sent.path, form, runtime.uploads))
