"""Which format a caller gets: what they name, else what their `Accept` likes best, else the first there is."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.api.conditional import weighted
from app.errors import InvalidInput, NotAcceptable
from app.services.reading.exports import FORMATS, LONG_FORMATS, SYNTHETIC_FORMATS, ExportFormat


def media_types(formats: Iterable[ExportFormat[Any]]) -> dict[str, str]:
    return {each.name: each.media_type.partition(";")[0] for each in formats}


MEDIA_TYPES = media_types(FORMATS.values())
LONG_MEDIA_TYPES = media_types(LONG_FORMATS.values())
SYNTHETIC_MEDIA_TYPES = media_types(SYNTHETIC_FORMATS.values())


def chosen_format(name: str | None, accept: str | None, types: Mapping[str, str] = MEDIA_TYPES) -> str:
    """Of what `accept` likes equally the first. Raises InvalidInput for a name that is no format, NotAcceptable for an `Accept`
    that no format satisfies."""
    if name is not None:
        if name not in types:
            raise InvalidInput("format", "one of " + ", ".join(types))
        return name
    ranges = weighted(accept or "*/*")
    weights = {name: _weight(media, ranges) for name, media in types.items()}
    best = max(weights, key=lambda each: weights[each])
    if not weights[best] > 0:
        raise NotAcceptable("Accept", "one of " + ", ".join(types.values()))
    return best


def _weight(media: str, ranges: list[tuple[str, float]]) -> float:
    """Of the most specific range that covers it (RFC 9110 §12.5.1)."""
    for covering in (media, media.partition("/")[0] + "/*", "*/*"):
        found = [weight for given, weight in ranges if given == covering]
        if found:
            return found[0]
    return 0.0
