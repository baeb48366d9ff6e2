"""Which format a caller gets: what they name, else what their `Accept` likes best, else JSON."""

from app.api.conditional import weighted
from app.errors import InvalidInput, NotAcceptable
from app.services.reading.exports import FORMATS

DEFAULT = "json"
MEDIA_TYPES = {name: each.media_type.partition(";")[0] for name, each in FORMATS.items()}


def chosen_format(name: str | None, accept: str | None) -> str:
    """Raises InvalidInput for a name that is no format, NotAcceptable for an `Accept` that no format satisfies."""
    if name is not None:
        if name not in FORMATS:
            raise InvalidInput("format", "one of " + ", ".join(FORMATS))
        return name
    ranges = weighted(accept or "*/*")
    weights = {name: _weight(media, ranges) for name, media in MEDIA_TYPES.items()}
    best = max(weights, key=lambda each: (weights[each], each == DEFAULT))
    if not weights[best] > 0:
        raise NotAcceptable("Accept", "one of " + ", ".join(MEDIA_TYPES.values()))
    return best


def _weight(media: str, ranges: list[tuple[str, float]]) -> float:
    """Of the most specific range that covers it (RFC 9110 §12.5.1)."""
    for covering in (media, media.partition("/")[0] + "/*", "*/*"):
        found = [weight for given, weight in ranges if given == covering]
        if found:
            return found[0]
    return 0.0
