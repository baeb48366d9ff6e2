"""The summary table of a release: one row a parameter, a page at a time, from the reader's own prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from app.core.decisions import SAMPLES, View
from app.core.summaries import Summary, summarise
from app.errors import InvalidInput
from app.services.principals import Reader
from app.services.reading.answer_query import parts_json
from app.services.reading.exports.draws import Draws, choose
from app.services.reading.published_release import open_release
from app.services.reading.receipts import receipt_for
from app.services.reading.small_print import print_of_row
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import PublicRelease, ReadyBody, Receipt, ready_body, size_of
from app.storage.paging import decode_cursor, encode_cursor

OFF_LOOP_VALUES = 2_000
"""From this many values on, computing a page moves to a thread."""
_PLACE = "parameter"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class SummaryPage:
    ready: ReadyBody
    next_cursor: str | None


async def read_summary(
    runtime: Runtime,
    *,
    reader: Reader,
    release_id: str,
    level: float,
    parameters: Sequence[str],
    limit: int,
    cursor: str | None,
    view: View = SAMPLES,
    part: str | None = None,
) -> SummaryPage:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, CalibratedUnavailable, InvalidInput, TooBusy.

    `level` is read as the decimal that was written, like every share in a question.
    """
    release = await open_release(runtime, reader, release_id, view, part, [*parameters])
    chosen = choose(release.samples, parameters)
    start = _start(cursor, chosen.width)
    stop = min(start + limit, chosen.width)
    following = encode_cursor(stop, _PLACE) if stop < chosen.width else None
    public = release.public
    memo = ("summary", *public.key, level, chosen.indices, start, stop)
    ready = runtime.warm.bodies.get(memo)
    if ready is None:
        page = chosen.part(start, stop)
        receipt = await receipt_for(runtime, reader, public, page)
        if page.size * page.width < OFF_LOOP_VALUES:
            ready = _table(public, page, level, following, receipt)
        else:
            with runtime.answers.line(reader.id) as line:
                ready = await line.in_thread(_table, public, page, level, following, receipt)
        runtime.warm.bodies.put(memo, ready, size_of(ready))
    return SummaryPage(ready, following)


def _start(cursor: str | None, width: int) -> int:
    if cursor is None:
        return 0
    start, place = decode_cursor(cursor)
    if place != _PLACE or not 0 < start < width:
        raise InvalidInput("cursor", "a cursor from a previous page of the same parameters")
    return start


def _table(public: PublicRelease, page: Draws, level: float, following: str | None, receipt: Receipt) -> ReadyBody:
    share = Fraction(repr(level))
    summaries = [
        summarise(parameter, column, share) for parameter, column in zip(page.parameters, page.columns(), strict=True)
    ]
    rows = [_row(each) | print_of_row(public, each, share).as_json() for each in summaries]
    head = {
        "release": public.id,
        "view": public.view,
        "samples": public.evidence,
        **parts_json(public),
        "points": public.points,
        "level": level,
    }
    tail = {"next_cursor": following, "receipt": receipt.fields}
    return ready_body(_encode(head | {"rows": rows} | tail), receipt)


def _row(summary: Summary) -> dict[str, Any]:
    parameter = summary.parameter
    return {
        "parameter": parameter.name,
        **({} if parameter.part is None else {"part": parameter.part}),
        **({"group": dict(parameter.group)} if parameter.group else {}),
        "lower": parameter.lower,
        "upper": parameter.upper,
        "mean": summary.mean,
        "sd": summary.sd,
        "mcse_mean": summary.mcse_mean,
        "median": summary.median,
        "quantiles": summary.quantiles,
        "hdi": summary.hdi,
    }
