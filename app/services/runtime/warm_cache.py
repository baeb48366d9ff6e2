"""Published things this process has at hand. They never change, so they are kept until room is needed.

Bounded by bytes and entries; losing an entry costs a read, never an answer.
"""

import gzip
import hmac
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from app.core.decisions import CALIBRATED, Question, SampleSet, View
from app.core.decisions.sample_set import OtherName
from app.core.kinds import ReleaseModel
from app.core.kinds.fit_check import Verdict
from app.core.parameters import Parameter
from app.services.runtime.async_tasks import SingleFlight
from app.services.runtime.reading_rights import Reach

T = TypeVar("T")

SAMPLE_BYTES_MAX = 512 * 1024 * 1024
ANSWER_BYTES_MAX = 32 * 1024 * 1024
QUESTION_BYTES_MAX = 16 * 1024 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024
RECEIPT_BYTES_MAX = 32 * 1024 * 1024
PLANS_MAX = 500
VERDICTS_MAX = 500
ENTRY_OVERHEAD_BYTES = 256
COMPILED_BYTES_PER_BYTE = 32
"""A compiled question is a tree of objects, each far larger than the few characters it was written with."""


class Shelf(Generic[T]):
    """Least recently used goes first, by size."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> T | None:
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        if size > self._size_max:
            return
        old = self._entries.pop(key, None)
        self._size += size - (0 if old is None else old[1])
        self._entries[key] = (value, size)
        while self._size > self._size_max:
            _, (_, gone) = self._entries.popitem(last=False)
            self._size -= gone

    def clear(self) -> None:
        self._entries.clear()
        self._size = 0


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """What anyone with a right to the first `evidence` samples of a release may know of a view of it before seeing one.

    `temperature` is None where samples are no draws of a posterior; `assumes` is what nobody has checked, if anything, and
    `doubt` what a check that was paid for speaks for instead.
    """

    id: str
    view: View
    parameters: tuple[Parameter, ...]
    evidence: int
    size: int
    """How many values questions are answered from: `evidence`, or the points of the belief."""
    model: ReleaseModel
    temperature: float | None
    assumes: str | None
    approximate: str | None = None
    """Of the calibrated view: why its points are nearly the posterior's, and what was measured; None where they are its own."""

    doubt: str | None = None
    rehearsal: bool = False
    dataset: str = ""
    reach: Reach | None = None
    """Of a release of several models: which parts, and how far; of one model, as far as `evidence` says."""
    beside: "tuple[PublicRelease, ...]" = ()
    """Other releases that a question names, as this reader may see them; `size` is then that of the shortest."""

    @property
    def samples_used(self) -> int:
        """How many of the reader's samples answers rest on."""
        return self.evidence if self.view == CALIBRATED else self.size

    @property
    def points(self) -> int | None:
        return self.size if self.view == CALIBRATED else None

    @property
    def key(self) -> tuple[str, Hashable, View]:
        return self.id, self.prefix, self.view

    @property
    def named(self) -> OtherName:
        """As a question names it that is asked of another: by id, and by the part that is read as if it were alone."""
        return self.id, None if self.reach is None else self.reach.part

    @property
    def prefix(self) -> Hashable:
        """What tells two readers of the same view apart: how many samples, or how many of which parts."""
        return self.evidence if self.reach is None or not self.reach.parts else self.reach

    @property
    def parts(self) -> dict[str, int] | None:
        """Of several models: how many samples of each that is read; None of a release of one."""
        return None if self.reach is None or not self.reach.parts else dict(self.reach.parts)

    @property
    def compiled_for(self) -> tuple[Hashable, ...]:
        """What a question is compiled for beside its own text: which parameters there are, here and beside."""
        own = (self.id,) if self.reach is None else (self.id, self.reach.part, self.reach.names)
        return own if not self.beside else (*own, *(other.compiled_for for other in self.beside))

    def answer_key(self, questions: int, body: bytes) -> Hashable:
        """Of an answer: which prefix of which releases, how many were asked together, and the text, which names the view."""
        return (self.id, self.prefix, questions, body, *((other.id, other.prefix) for other in self.beside))


@dataclass(frozen=True, slots=True)
class PublishedRelease:
    """A view of a published release as a reader may see it: of the samples they have a right to, and no others.

    `samples` are those, or the points of the belief given them: the same engine answers from both.
    """

    public: PublicRelease
    samples: SampleSet


@dataclass(frozen=True, slots=True)
class Receipt:
    """What goes with an export. `mark` stands for all of it and never leaves: only this installation can compute it."""

    fields: dict[str, Any]
    mark: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadyBody:
    """An answer to send as it is, with its strong tag; `gzipped` is None where that would not be shorter."""

    body: bytes
    etag: str
    gzipped: bytes | None = None


class WarmMemory:
    """Views of releases by (id, prefix, view), compiled questions by (release, body), answers by (ids, prefixes, body), plans by
    body, verdicts by release; tables, curves and small files by what was asked of which prefix, and receipts by release, prefix
    and parameters."""

    def __init__(self) -> None:
        self.flights = SingleFlight()
        self.cache_secret: bytes | None = None
        self.releases: Shelf[PublishedRelease] = Shelf(SAMPLE_BYTES_MAX)
        self.questions: Shelf[Question] = Shelf(QUESTION_BYTES_MAX)
        self.answers: Shelf[bytes] = Shelf(ANSWER_BYTES_MAX)
        self.plans: Shelf[dict[str, Any]] = Shelf(PLANS_MAX)
        self.verdicts: Shelf[Verdict] = Shelf(VERDICTS_MAX)
        self.bodies: Shelf[ReadyBody] = Shelf(BODY_BYTES_MAX)
        self.receipts: Shelf[Receipt] = Shelf(RECEIPT_BYTES_MAX)

    def clear(self) -> None:
        for shelf in (
            self.releases,
            self.questions,
            self.answers,
            self.plans,
            self.verdicts,
            self.bodies,
            self.receipts,
        ):
            shelf.clear()


COMPRESS_BYTES_MIN = 1024
"""Shorter answers fit a packet as they are."""
LEVEL = 6
TAG_LENGTH = 32


def ready_body(body: bytes, receipt: Receipt) -> ReadyBody:
    """The tag hashes the bytes under the receipt's secret mark: tags end in the logs of proxies, where bodies do not."""
    etag = hmac.digest(receipt.mark, body, "sha256").hex()[:TAG_LENGTH]
    if len(body) <= COMPRESS_BYTES_MIN:
        return ReadyBody(body, etag)
    gzipped = gzip.compress(body, LEVEL, mtime=0)
    return ReadyBody(body, etag, gzipped if len(gzipped) < len(body) else None)


def size_of(ready: ReadyBody) -> int:
    return len(ready.body) + len(ready.gzipped or b"") + ENTRY_OVERHEAD_BYTES
