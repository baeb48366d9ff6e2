"""Series for plots: a histogram, a smooth curve or a joint histogram over public ranges, from the reader's own prefix."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.core.decisions import SAMPLES, View
from app.core.parameters import parameter_json
from app.core.summaries import histogram, joint_histogram, kernel_density
from app.errors import InvalidInput
from app.services.principals import Reader
from app.services.reading.answer_query import parts_json
from app.services.reading.exports.draws import Draws, choose
from app.services.reading.published_release import open_release
from app.services.reading.receipts import receipt_for
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import PublishedRelease, ReadyBody, Receipt, ready_body, size_of

Kind = Literal["histogram", "density"]
BINS_MAX = 1_000
JOINT_BINS_MAX = 100
_encode = msgspec.json.Encoder().encode


async def read_density(
    runtime: Runtime,
    *,
    reader: Reader,
    release_id: str,
    parameters: Sequence[str],
    kind: Kind,
    bins: int,
    view: View = SAMPLES,
    part: str | None = None,
) -> ReadyBody:
    """Of one parameter or two. Raises what `read_summary` does."""
    release = await open_release(runtime, reader, release_id, view, part, [*parameters])
    draws = _chosen(release, parameters, kind, bins)
    public = release.public
    memo = ("density", *public.key, draws.indices, kind, bins)
    ready = runtime.warm.bodies.get(memo)
    if ready is None:
        receipt = await receipt_for(runtime, reader, public, draws)
        head = {"release": public.id, "view": view, "samples": public.evidence, "points": public.points, "kind": kind}
        head |= parts_json(public)
        with runtime.answers.line(reader.id) as line:
            ready = await line.in_thread(_plotted, draws, kind, bins, head, receipt)
        runtime.warm.bodies.put(memo, ready, size_of(ready))
    return ready


def _chosen(release: PublishedRelease, names: Sequence[str], kind: Kind, bins: int) -> Draws:
    if not names and len(release.public.parameters) == 1:
        names = [release.public.parameters[0].name]
    if not 1 <= len(names) <= 2:
        raise InvalidInput("parameter", "one name, or two for a joint histogram")
    draws = choose(release.samples, names)
    if len(names) == 2 and kind != "histogram":
        raise InvalidInput("kind", "histogram, for two parameters")
    if len(names) == 2 and bins > JOINT_BINS_MAX:
        raise InvalidInput("bins", f"at most {JOINT_BINS_MAX}, for two parameters")
    if not all(math.isfinite(parameter.upper - parameter.lower) for parameter in draws.parameters):
        raise InvalidInput("parameter", "a parameter whose public range is finite")
    return draws


def _plotted(draws: Draws, kind: Kind, bins: int, head: dict[str, Any], receipt: Receipt) -> ReadyBody:
    return ready_body(_encode(head | _series(draws, kind, bins) | {"receipt": receipt.fields}), receipt)


def _series(draws: Draws, kind: Kind, bins: int) -> dict[str, Any]:
    """`edges`, `counts` and `density` of cells, or the points `x`, `y` of a curve."""
    parameters, columns = draws.parameters, list(draws.columns())
    shown: dict[str, Any] = {"parameters": [parameter_json(parameter) for parameter in parameters]}
    if len(parameters) == 2:
        joint = joint_histogram(parameters[0], parameters[1], (columns[0], columns[1]), bins)
        edges = [each.tolist() for each in joint.edges]
        return shown | {"edges": edges, "counts": joint.counts.tolist(), "density": joint.density.tolist()}
    if kind == "histogram":
        cells = histogram(parameters[0], columns[0], bins)
        edges = cells.edges.tolist()
        return shown | {"edges": edges, "counts": cells.counts.tolist(), "density": cells.density.tolist()}
    curve = kernel_density(parameters[0], columns[0], bins)
    return shown | {"x": curve.x.tolist(), "y": curve.y.tolist(), "bandwidth": curve.bandwidth}
