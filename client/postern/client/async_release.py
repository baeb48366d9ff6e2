"""A release in the hands of an asyncio client: `Release` with `await`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import aclosing
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from postern.client.asking import AskedRelease
from postern.client.calls import readers
from postern.client.exporting import form_of, whole_file
from postern.client.questions import AnyQuestion
from postern.client.results.answers import Answer, Answers, Check, Refused, StreamEnd
from postern.client.results.cards import Card
from postern.client.results.density import Density
from postern.client.results.receipts import Receipt, ReceiptCheck
from postern.client.results.releases import Access, ReleaseFacts
from postern.client.results.samples import Samples
from postern.client.results.summaries import Summary, SummaryPage
from postern.client.streams import Lines, Transcript, sum_of_ends
from postern.client.verifying import verify_receipt
from postern.client.waiting import Progress

if TYPE_CHECKING:
    from postern.client.async_client import AsyncClient


class AsyncAnswerStream:
    """Items in the order asked, as they arrive. After the last, `end` counts them. Close it to stop early."""

    def __init__(self, items: AsyncGenerator[tuple[int, Answer | Refused], None], ends: list[StreamEnd]) -> None:
        self._items = items
        self._ends = ends

    async def __aiter__(self) -> AsyncIterator[Answer | Refused]:
        async for _, item in self._items:
            yield item

    @property
    def end(self) -> StreamEnd | None:
        return sum_of_ends(self._ends) if self._ends else None

    async def aclose(self) -> None:
        await self._items.aclose()

    async def __aenter__(self) -> AsyncAnswerStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncRelease(AskedRelease[Awaitable[Answer]]):
    """`await release.mean("theta")`; every method as in `Release`."""

    def __init__(self, client: AsyncClient, facts: ReleaseFacts) -> None:
        super().__init__(facts)
        self._client = client

    async def refresh(self) -> AsyncRelease:
        return AsyncRelease(self._client, await self._client.send(readers.read_release(self.id)))

    async def wait(self, *, timeout_s: float = 300.0, on_progress: Progress | None = None) -> AsyncRelease:
        return AsyncRelease(self._client, await self._client.wait(self.facts, timeout_s, on_progress))

    async def buy_access(self, samples: int, *, idempotency_key: str | None = None) -> Access:
        return await self._client.send(readers.buy_access(self.id, samples, idempotency_key))

    async def ask(self, question: AnyQuestion) -> Answer:
        return await self._client.send(readers.ask(self.id, question))

    async def check(self, question: AnyQuestion) -> Check:
        return await self._client.send(readers.check(self.id, question))

    async def ask_many(self, questions: Iterable[AnyQuestion], *, together: bool = False) -> Answers:
        return await self._client.send(readers.ask_many(self.id, questions, together))

    async def check_many(
        self, questions: Iterable[AnyQuestion], *, together: bool = False
    ) -> tuple[Check | Refused, ...]:
        return await self._client.send(readers.check_many(self.id, questions, together))

    def stream(self, questions: Iterable[AnyQuestion], *, together: bool = False) -> AsyncAnswerStream:
        ends: list[StreamEnd] = []
        return AsyncAnswerStream(self._streamed(questions, together, ends), ends)

    async def _streamed(
        self, questions: Iterable[AnyQuestion], together: bool, ends: list[StreamEnd]
    ) -> AsyncGenerator[tuple[int, Answer | Refused], None]:
        for first, call in readers.stream(self.id, questions, together):
            lines, transcript = Lines(), Transcript(first)
            async with aclosing(await self._client.open(call)) as opened:
                async for chunk in opened.chunks_async():
                    for item in transcript.read(lines.feed(chunk)):
                        yield item
                for item in transcript.read(lines.end()):
                    yield item
            ends.append(transcript.finish())

    async def card(self) -> Card:
        return await self._client.send(readers.read_card_of(self.id))

    async def summary(self, parameters: Sequence[str] | None = None, *, level: float = 0.9) -> Summary:
        pages: list[SummaryPage] = []
        cursor: str | None = None
        while not pages or cursor is not None:
            pages.append(await self._client.send(readers.summary_page(self.id, level, parameters, cursor)))
            cursor = pages[-1].next_cursor
        return Summary.of(pages)

    async def samples(self, parameters: Sequence[str] | None = None) -> Samples:
        return await self._client.send(readers.samples(self.id, parameters))

    async def export(
        self, target: str | PathLike[str], *, form: str | None = None, parameters: Sequence[str] | None = None
    ) -> Path:
        place = Path(target)
        call = readers.export(self.id, form_of(place, form), parameters)
        async with aclosing(await self._client.open(call)) as opened:
            with whole_file(place) as file:
                async for chunk in opened.chunks_async():
                    file.write(chunk)
        return place

    async def density(
        self,
        parameter: str | Sequence[str],
        *,
        kind: Literal["histogram", "density"] | None = None,
        bins: int | None = None,
    ) -> Density:
        names = [parameter] if isinstance(parameter, str) else list(parameter)
        return await self._client.send(readers.density(self.id, names, kind, bins))

    async def verify_receipt(self, what: Receipt | Samples, *, ledger: bool = False) -> ReceiptCheck:
        return await self._client.follow(verify_receipt(self.facts, what, ledger=ledger))
