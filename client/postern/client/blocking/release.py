# Written by client/write_blocking.py: change awaiting/release.py and run `make format`.
"""A release in the hands of a blocking client."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from postern.client.asking import AskedRelease
from postern.client.call import Call, given
from postern.client.calls import pages, readers
from postern.client.exporting import form_of, whole_file
from postern.client.questions import AnyQuestion, View
from postern.client.results.answers import Answer, Answers, Check, Refused, StreamEnd
from postern.client.results.cards import Card
from postern.client.results.checks import FitCheck
from postern.client.results.density import Density
from postern.client.results.inferences import Inference
from postern.client.results.receipts import Receipt, ReceiptCheck
from postern.client.results.releases import Access, Progress, ReleaseFacts
from postern.client.results.samples import Samples
from postern.client.results.summaries import Summary, SummaryPage
from postern.client.streams import Lines, Transcript, sum_of_ends

if TYPE_CHECKING:
    from postern.client.blocking.client import Client

_LEDGER_PAGE = 200


class AnswerStream:
    """Items in the order asked, as they arrive. After the last, `end` counts them. Close it to stop early."""

    def __init__(self, items: Generator[Answer | Refused, None], ends: list[StreamEnd]) -> None:
        self._items = items
        self._ends = ends

    def __iter__(self) -> Iterator[Answer | Refused]:
        return self._items

    @property
    def end(self) -> StreamEnd | None:
        return sum_of_ends(self._ends) if self._ends else None

    def close(self) -> None:
        self._items.close()

    def __enter__(self) -> AnswerStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Release(AskedRelease[Answer]):
    """`release.mean("theta")`, `release.ask_many([...])`, `release.samples()`."""

    def __init__(self, client: Client, facts: ReleaseFacts, view: View | None = None, part: str | None = None) -> None:
        super().__init__(facts, view, part)
        self._client = client

    def in_view(self, view: View) -> Release:
        """The same release, asked in this view: `release.in_view("samples").mean("theta")`."""
        return Release(self._client, self.whole, view, self.part_name)

    def part(self, name: str) -> Release:
        """One of several models, as if the release were of it alone: `release.part("cured").mean("theta")`."""
        return Release(self._client, self.whole, self._told, name)

    def refresh(self) -> Release:
        """The same release as it is now."""
        return Release(self._client, self._client.send(readers.read_release(self.id)), self._told, self.part_name)

    def wait(self, *, timeout_s: float = 300.0, on_progress: Progress | None = None) -> Release:
        """Until it is published or withdrawn."""
        return Release(self._client, self._client.wait(self.whole, timeout_s, on_progress), self._told, self.part_name)

    def buy_access(self, samples: int, *, idempotency_key: str | None = None) -> Access:
        """Pay for the first `samples` samples from your own cap; longer later costs the difference. Of several models: of every
        one, or of the `part` this is."""
        return self._client.send(readers.buy_access(self.id, samples, idempotency_key, self.part_name))

    def ask(self, question: AnyQuestion) -> Answer:
        return self._client.send(readers.ask(self.id, question, self._view, self.part_name))

    def check(self, question: AnyQuestion) -> Check:
        """What the answer would carry, without looking at a sample. A bad question is refused as it would be."""
        return self._client.send(readers.check(self.id, question, self._view, self.part_name))

    def ask_many(self, questions: Iterable[AnyQuestion], *, together: bool = False) -> Answers:
        """One request, at most 1,000 questions. `together`: the bounds all hold at once with the confidence asked for."""
        return self._client.send(readers.ask_many(self.id, questions, together, self._view, self.part_name))

    def check_many(self, questions: Iterable[AnyQuestion], *, together: bool = False) -> tuple[Check | Refused, ...]:
        return self._client.send(readers.check_many(self.id, questions, together, self._view, self.part_name))

    def stream(self, questions: Iterable[AnyQuestion], *, together: bool = False) -> AnswerStream:
        """Any number of questions, answered as they are read."""
        ends: list[StreamEnd] = []
        return AnswerStream(self._streamed(questions, together, ends), ends)

    def _streamed(
        self, questions: Iterable[AnyQuestion], together: bool, ends: list[StreamEnd]
    ) -> Generator[Answer | Refused, None]:
        for call in readers.stream(self.id, questions, together, self._view, self.part_name):
            lines, transcript = Lines(), Transcript()
            with closing(self._client.open(call)) as opened:
                for chunk in opened.chunks():
                    for item in transcript.read(lines.feed(chunk)):
                        yield item
                for item in transcript.read(lines.end()):
                    yield item
            ends.append(transcript.finish())

    def card(self) -> Card:
        return self._client.send(readers.read_card_of(self.id))

    def fit_check(self) -> FitCheck:
        """Whether rows look like the model's, if a check was paid for with it, or with the part. Raises Conflict if none was."""
        return self._client.send(readers.fit_check(self.id, self.part_name))

    def inference(
        self,
        people: Mapping[str, Any],
        *,
        secret: Mapping[str, Any] | None = None,
        knowledge: Literal["prior", "any"] | None = None,
        exception: float | None = None,
        gain: Sequence[Sequence[float]] | None = None,
        nu: float | None = None,
        samples: int | None = None,
        releases: Sequence[str] | None = None,
    ) -> Inference:
        """How far anyone can move their belief about a person whose data depend on others', such as
        `{"kind": "household", "size": 4}`. `nu` asks which ε, and how many samples, would keep log-odds so close; `releases` are
        others of the dataset to take together with this one. Free: nothing is read but public numbers."""
        asked = given(secret=secret, knowledge=knowledge, exception=exception, gain=gain, samples=samples)
        asked |= given(releases=releases, target=None if nu is None else {"nu": nu})
        return self._client.send(readers.infer(self.id, {"people": dict(people)} | asked))

    def summary(self, parameters: Sequence[str] | None = None, *, level: float = 0.9) -> Summary:
        found: list[SummaryPage] = []
        cursor: str | None = None
        while not found or cursor is not None:
            found.append(
                self._client.send(readers.summary_page(self.id, level, parameters, cursor, self._view, self.part_name))
            )
            cursor = found[-1].next_cursor
        return Summary.of(found)

    def samples(self, parameters: Sequence[str] | None = None) -> Samples:
        """Joint draws, all you may read, or points of the belief given them; of all parameters or of some."""
        return self._client.send(readers.samples(self.id, parameters, self._view, self.part_name))

    def export(
        self,
        target: str | PathLike[str],
        *,
        form: str | None = None,
        parameters: Sequence[str] | None = None,
        layout: Literal["long"] | None = None,
    ) -> Path:
        """Draws as a file, in the format of its suffix: .csv, .json, .arrow, .parquet, .nc. Streamed to disk.

        `layout="long"`: one row a draw, group and parameter, with the group's columns as columns; not for .nc."""
        place = Path(target)
        call = readers.export(self.id, form_of(place, form), parameters, self._view, self.part_name, layout)
        return self._fetched(call, place)

    def synthetic(
        self, target: str | PathLike[str], *, rows: int = 1_000, seed: int = 0, form: str | None = None
    ) -> Path:
        """Made-up rows as a file, .csv or .parquet: free, from what you may believe, and no more accurate than the release.

        Of several models one makes them: `release.part(…).synthetic(…)`."""
        place = Path(target)
        shown = form_of(place, form, readers.SYNTHETIC_FORMS)
        return self._fetched(readers.synthetic(self.id, shown, rows, seed, self.part_name), place)

    def _fetched(self, call: Call[None], place: Path) -> Path:
        with closing(self._client.open(call)) as opened, whole_file(place) as file:
            for chunk in opened.chunks():
                file.write(chunk)
        return place

    def density(
        self,
        parameter: str | Sequence[str],
        *,
        kind: Literal["histogram", "density"] | None = None,
        bins: int | None = None,
    ) -> Density:
        """A histogram or a smooth curve of one parameter, or a joint histogram of two."""
        names = [parameter] if isinstance(parameter, str) else list(parameter)
        return self._client.send(readers.density(self.id, names, kind, bins, self._view, self.part_name))

    def verify_receipt(self, what: Receipt | Samples, *, ledger: bool = False) -> ReceiptCheck:
        """Against the card, the values if they are at hand, and with `ledger` the dataset's ledger.

        The card's digest is recomputed from its figures, the values' from the values; the service's word is not taken for it.
        The ledger takes the key of a steward or an auditor.
        """
        receipt = what.receipt if isinstance(what, Samples) else what
        card = self.card()
        same = receipt.release == self.id and receipt.dataset in (None, self.dataset)
        values = what.match(receipt) if isinstance(what, Samples) else None
        line = self._has_line(receipt) if ledger else None
        return ReceiptCheck(same, card.recomputed_digest == receipt.card_sha256, values, line)

    def _has_line(self, receipt: Receipt) -> bool:
        cursor: str | None = None
        while True:
            page = self._client.send(pages.ledger(cursor, _LEDGER_PAGE, self.dataset))
            for entry in page.items:
                if entry.sequence == receipt.ledger.sequence:
                    return entry.digest == receipt.ledger.digest and entry.release == self.id
            cursor = page.next_cursor
            if cursor is None:
                return False
