"""Answers to questions, one by one and in batches."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from postern.client.problems import PosternProblem, problem_of
from postern.client.tables import Shown, cell, html_table, printable, text_table

Response = float | str | tuple[float, ...] | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Regret:
    """With probability `confidence` the response gives away at most `bound` of the utility's range, for a question fixed in
    advance."""

    bound: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """One reason not to take an answer at its word; `code` is stable."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """`float(answer)`, `answer.interval` and `answer.choice` say which kind of response is expected.

    `coverage`: at least how often an interval holds the truth, on average over the prior; None if nobody can say.
    """

    response: Response
    expected_utility: float
    regret: Regret
    samples: int
    release: str
    why: dict[str, Any] | None = None
    view: str = "samples"
    points: int | None = None
    coverage: float | None = None
    warnings: tuple[AnswerWarning, ...] = ()

    def __float__(self) -> float:
        if isinstance(self.response, float):
            return self.response
        raise TypeError(f"the response is {type(self.response).__name__}, not a number: {self!r}")

    @property
    def interval(self) -> tuple[float, float]:
        if isinstance(self.response, tuple) and len(self.response) == 2:
            return self.response[0], self.response[1]
        raise TypeError(f"the response is no interval: {self!r}")

    @property
    def choice(self) -> str:
        if isinstance(self.response, str):
            return self.response
        raise TypeError(f"the response is no name: {self!r}")

    def __repr__(self) -> str:
        bound = f"regret ≤ {self.regret.bound:.3g} at {self.regret.confidence:g}"
        warned = "".join(f", {printable(warning.code)}" for warning in self.warnings)
        return (
            f"Answer({printable(cell(self.response))}, {bound}, {self.samples} samples, {printable(self.view)}{warned})"
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """One question of a batch that was refused; the others are not touched by it."""

    problem: PosternProblem

    def __repr__(self) -> str:
        return f"Refused({printable(str(self.problem))!r})"


@dataclass(frozen=True, slots=True)
class Together:
    """All bounds of a batch of `questions` hold at once with probability `confidence`, if it was fixed in advance."""

    questions: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Answers:
    """In the order asked. `together` is None from a service that does not say."""

    items: tuple[Answer | Refused, ...]
    release: str
    samples: int
    together: Together | None = None

    def __iter__(self) -> Iterator[Answer | Refused]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Answer | Refused:
        return self.items[place]

    @property
    def refused(self) -> tuple[Refused, ...]:
        return tuple(item for item in self.items if isinstance(item, Refused))

    def all(self) -> tuple[Answer, ...]:
        """The answers; raises the first refusal if there is one."""
        for item in self.refused:
            raise item.problem
        return tuple(item for item in self.items if isinstance(item, Answer))

    def rows(self) -> list[tuple[str, ...]]:
        return [(str(place), *answer_cells(item)) for place, item in enumerate(self.items)]

    def __str__(self) -> str:
        return text_table(("", *ANSWER_HEADER), self.rows())

    def _repr_html_(self) -> str:
        return html_table(("", *ANSWER_HEADER), self.rows())


ANSWER_HEADER = ("response", "expected utility", "regret", "confidence")


def answer_cells(item: "Answer | Refused | Check") -> tuple[str, ...]:
    if isinstance(item, Refused):
        return (str(item.problem), "–", "–", "–")
    if isinstance(item, Check):
        return ("–", "–", cell(item.regret.bound), cell(item.regret.confidence))
    return (cell(item.response), cell(item.expected_utility), cell(item.regret.bound), cell(item.regret.confidence))


@dataclass(frozen=True, slots=True)
class Check(Shown):
    """A question that would be answered, and what is known of the answer beforehand. No sample was looked at."""

    valid: bool
    work: int
    samples: int
    regret: Regret
    release: str
    range: tuple[float, float] | None = None
    responses: int | None = None
    view: str = "samples"
    points: int | None = None


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The last line of a stream."""

    answers: int
    problems: int
    release: str
    samples: int
    together: Together | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    answers: list[dict[str, Any]]
    release: str
    samples: int
    together: Together | None = field(default=None)


_BATCH = msgspec.json.Decoder(_Batch)


def read_answers(body: bytes) -> Answers:
    found = _BATCH.decode(body)
    return Answers(tuple(map(answer_of, found.answers)), found.release, found.samples, found.together)


def read_checks(body: bytes) -> tuple[Check | Refused, ...]:
    found = msgspec.json.decode(body, type=dict[str, Any])["answers"]
    return tuple(map(check_of, found))


def answer_of(item: dict[str, Any]) -> Answer | Refused:
    return _refused(item) if "problem" in item else msgspec.convert(item, Answer)


def check_of(item: dict[str, Any]) -> Check | Refused:
    return _refused(item) if "problem" in item else msgspec.convert(item, Check)


def _refused(item: dict[str, Any]) -> Refused:
    return Refused(problem_of(item["problem"], status=422))
