"""A question's release and others of its dataset that it names: each as the reader may see it, samples paired in order.

Rights to all of them are asked for with every question, so that one taken back takes effect at once; what is refused is what
asking the other release directly would be refused with. Any of them may be of several models: a prefix is then of a part, the one
that is named beside the release, or those that are named in what is asked of it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from app.core.decisions import View, view_asked
from app.core.decisions.estimands.other_release import Named, releases_named
from app.errors import AccessRequired, InvalidInput, InvalidQuery, NotFound, ReleaseNotReady, ReleaseWithdrawn
from app.services.principals import Reader
from app.services.reading.published_release import describe_view, open_view, reading_right
from app.services.runtime.reading_rights import Reach, ReadingRight
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease

T = TypeVar("T")

OTHER_REFUSED = (NotFound, AccessRequired, ReleaseNotReady, ReleaseWithdrawn)
"""What a right to another release may be refused with: in a batch, a problem in the question's own place."""


async def open_asked(runtime: Runtime, reader: Reader, release_id: str, reach: Reach, spec: Any) -> PublishedRelease:
    """The view that the question names, of as much of a release as the reader has a right to. Raises OTHER_REFUSED,
    InvalidQuery, CalibratedUnavailable, TooBusy."""
    view = view_asked(spec)
    release = await open_view(runtime, release_id, reach, view)
    others = await _others(runtime, reader, release.public, spec, open_view)
    if not others:
        return release
    paired = release.samples.paired({other.public.named: other.samples for other in others})
    public = replace(release.public, size=paired.size, beside=tuple(other.public for other in others))
    return PublishedRelease(public, paired)


async def describe_asked(
    runtime: Runtime, reader: Reader, release_id: str, reach: Reach, spec: Any, own: PublicRelease | None = None
) -> PublicRelease:
    """The same without reading a sample. `own` is what is known of the release itself, if anything is."""
    public = await describe_view(runtime, release_id, reach, view_asked(spec)) if own is None else own
    others = await _others(runtime, reader, public, spec, describe_view)
    if not others:
        return public
    return replace(public, size=min(public.size, *(other.size for other in others)), beside=tuple(others))


async def _others(
    runtime: Runtime,
    reader: Reader,
    public: PublicRelease,
    spec: Any,
    opened: Callable[[Runtime, str, Reach, View], Awaitable[T]],
) -> list[T]:
    found = []
    for (release_id, part), named in releases_named(spec).items():
        field = f"{named.where}.release"
        if release_id == public.id:
            raise InvalidQuery(field, "another release than the one that is asked")
        reach = _reach(await reading_right(runtime, reader, release_id), part, named)
        if (await describe_view(runtime, release_id, reach, public.view)).dataset != public.dataset:
            raise InvalidQuery(field, "a release of the same dataset")
        found.append(await opened(runtime, release_id, reach, public.view))
    return found


def _reach(right: ReadingRight, part: str | None, named: Named) -> Reach:
    """Raises AccessRequired, and InvalidQuery where the part stands that is none."""
    try:
        return right.reach(part, named.asked)
    except InvalidInput as refusal:
        told = InvalidQuery(f"{named.where}.part", refusal.problems[0].expected)
    raise told
