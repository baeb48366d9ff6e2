"""What everyone with a right to a release does: look, buy, ask, export."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from postern.client.call import Call, encode, nothing, once, path, query, reads
from postern.client.problems import Misconfigured
from postern.client.questions.question import AnyQuestion, View, as_json
from postern.client.results.answers import Answer, Answers, Check, Refused, read_answers, read_checks
from postern.client.results.cards import Card, read_card
from postern.client.results.checks import FitCheck
from postern.client.results.datasets import PublicDataset
from postern.client.results.density import Density, read_density
from postern.client.results.inferences import Inference
from postern.client.results.people import Me
from postern.client.results.releases import Access, ReleaseFacts
from postern.client.results.samples import Samples, read_samples
from postern.client.results.summaries import SummaryPage

NDJSON = "application/x-ndjson"
BATCH_BYTES_MAX = 512 * 1024
"""Half of what a service takes as a body unless it was told otherwise."""
STREAM_MAX = 100_000

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
    "netcdf": "application/x-netcdf",
}
SYNTHETIC_FORMS = ("csv", "parquet")
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".parquet": "parquet",
    ".nc": "netcdf",
}

_me, _release, _access = reads(Me), reads(ReleaseFacts), reads(Access)
_public_dataset, _inference = reads(PublicDataset), reads(Inference)
_answer, _check, _summary, _fit_check = reads(Answer), reads(Check), reads(SummaryPage), reads(FitCheck)


def me() -> Call[Me]:
    return Call("GET", path("me"), _me)


def public_dataset(dataset: str) -> Call[PublicDataset]:
    return Call("GET", path("datasets", dataset), _public_dataset)


def read_release(release: str) -> Call[ReleaseFacts]:
    return Call("GET", path("releases", release), _release)


def read_card_of(release: str) -> Call[Card]:
    return Call("GET", path("releases", release, "card"), read_card)


def fit_check(release: str, part: str | None = None) -> Call[FitCheck]:
    return Call("GET", path("releases", release, "check"), _fit_check, query(part=part))


def infer(release: str, question: Mapping[str, Any]) -> Call[Inference]:
    return Call("POST", path("releases", release, "inference"), _inference, body=encode(dict(question)))


def buy_access(release: str, samples: int, idempotency_key: str | None, part: str | None = None) -> Call[Access]:
    body = encode({"samples": samples} | ({} if part is None else {"part": part}))
    return Call("POST", path("releases", release, "access"), _access, body=body, idempotency_key=once(idempotency_key))


def ask(release: str, question: AnyQuestion, view: View | None = None, part: str | None = None) -> Call[Answer]:
    return Call("POST", path("releases", release, "query"), _answer, body=encode(as_json(question, view, part)))


def check(release: str, question: AnyQuestion, view: View | None = None, part: str | None = None) -> Call[Check]:
    where = path("releases", release, "query")
    return Call("POST", where, _check, query(dry_run=True), encode(as_json(question, view, part)))


def ask_many(
    release: str, questions: Iterable[AnyQuestion], together: bool, view: View | None = None, part: str | None = None
) -> Call[Answers]:
    return Call(
        "POST", path("releases", release, "queries"), read_answers, body=_batch(questions, together, view, part)
    )


def check_many(
    release: str, questions: Iterable[AnyQuestion], together: bool, view: View | None = None, part: str | None = None
) -> Call[tuple[Check | Refused, ...]]:
    body = _batch(questions, together, view, part)
    return Call("POST", path("releases", release, "queries"), read_checks, query(dry_run=True), body)


def stream(
    release: str, questions: Iterable[AnyQuestion], together: bool, view: View | None = None, part: str | None = None
) -> Iterator[Call[None]]:
    """Bounds that hold together need one call; others are cut to size."""
    where = path("releases", release, "queries")
    if together:
        yield Call("POST", where, nothing, body=_batch(questions, together, view, part), accept=NDJSON)
        return
    for pieces in _cut(questions, view, part):
        yield Call("POST", where, nothing, body=_joined(pieces, together), accept=NDJSON)


def _cut(questions: Iterable[AnyQuestion], view: View | None, part: str | None) -> Iterator[list[bytes]]:
    pieces, size = list[bytes](), 0
    for question in questions:
        piece = encode(as_json(question, view, part))
        if pieces and (size + len(piece) > BATCH_BYTES_MAX or len(pieces) >= STREAM_MAX):
            yield pieces
            pieces, size = [], 0
        pieces.append(piece)
        size += len(piece) + 1
    if pieces:
        yield pieces


def _batch(questions: Iterable[AnyQuestion], together: bool, view: View | None, part: str | None) -> bytes:
    pieces = [encode(as_json(question, view, part)) for question in questions]
    if not pieces:
        raise Misconfigured("there is no question to ask")
    return _joined(pieces, together)


def _joined(pieces: Sequence[bytes], together: bool) -> bytes:
    return b'{"queries":[' + b",".join(pieces) + (b'],"together":true}' if together else b"]}")


def summary_page(
    release: str,
    level: float,
    parameters: Sequence[str] | None,
    cursor: str | None,
    view: View | None = None,
    part: str | None = None,
) -> Call[SummaryPage]:
    asked = query(level=level, parameter=parameters, limit=1_000, cursor=cursor, view=view, part=part)
    return Call("GET", path("releases", release, "summary"), _summary, asked)


def long_summary(release: str, level: float, view: View | None = None, part: str | None = None) -> Call[None]:
    asked = query(level=level, view=view, part=part, layout="long", format="csv")
    return Call("GET", path("releases", release, "summary"), nothing, asked, accept=MEDIA_TYPES["csv"])


def samples(
    release: str, parameters: Sequence[str] | None, view: View | None = None, part: str | None = None
) -> Call[Samples]:
    asked = query(format="json", parameter=parameters, view=view, part=part)
    return Call("GET", path("releases", release, "samples"), read_samples, asked)


def export(
    release: str,
    form: str,
    parameters: Sequence[str] | None,
    view: View | None = None,
    part: str | None = None,
    layout: str | None = None,
) -> Call[None]:
    asked = query(format=form, parameter=parameters, view=view, part=part, layout=layout)
    return Call("GET", path("releases", release, "samples"), nothing, asked, accept=MEDIA_TYPES[form])


def synthetic(release: str, form: str, rows: int, seed: int, part: str | None = None) -> Call[None]:
    asked = query(format=form, rows=rows, seed=seed, part=part)
    return Call("GET", path("releases", release, "synthetic"), nothing, asked, accept=MEDIA_TYPES[form])


def density(
    release: str,
    parameters: Sequence[str],
    kind: str | None,
    bins: int | None,
    view: View | None = None,
    part: str | None = None,
) -> Call[Density]:
    asked: Any = query(parameter=parameters, kind=kind, bins=bins, view=view, part=part)
    return Call("GET", path("releases", release, "density"), read_density, asked)
