"""How much of a published release a reader may see, and how much of that a question is about."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from app.core.parameters import listed
from app.errors import AccessRequired, InvalidInput

NOTHING_PAID = "pay for samples first: POST /v1/releases/{id}/access"


@dataclass(frozen=True, slots=True)
class Reach:
    """The first `samples` samples of a release of one model; or of the `part` of one of several; or, where that is None, of
    several read together, which are paired up to the shortest. `parts` has, by name, the prefix of each that is read."""

    samples: int
    part: str | None = None
    parts: tuple[tuple[str, int], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parts)

    @property
    def joint(self) -> bool:
        """Several models read together, under names that say whose each parameter is."""
        return self.part is None and bool(self.parts)

    def alone(self, name: str) -> "Reach":
        """One of several, by itself."""
        samples = dict(self.parts)[name]
        return Reach(samples, name, ((name, samples),))


@dataclass(frozen=True, slots=True)
class ReadingRight:
    """The right of one reader to the first `samples` samples of one published release.

    Of a release of several models `parts` has every part, with nothing where it was not paid for, and `samples` is the most.
    """

    samples: int
    parts: tuple[tuple[str, int], ...] = ()

    def reach(self, part: str | None = None, asked: object = None) -> Reach:
        """What `part` names, as if the release were of it alone; without it, all parts that are named in `asked`, or, if none is,
        all that may be read. Raises InvalidInput for what is no part, AccessRequired for one that was not paid for."""
        if not self.parts:
            if part is not None:
                raise InvalidInput("part", "nothing: this release is of one model")
            return Reach(self.samples)
        known = dict(self.parts)
        if part is not None:
            if not isinstance(part, str) or part not in known:
                raise InvalidInput("part", f"one of {listed([*known])}")
            if known[part] < 1:
                raise AccessRequired(f"{NOTHING_PAID}, with `part`: {part}")
            return Reach(known[part], part, ((part, known[part]),))
        readable = [(name, samples) for name, samples in self.parts if samples > 0]
        named = _named(asked, [name for name, _ in readable])
        chosen = tuple(each for each in readable if each[0] in named) or tuple(readable)
        return Reach(min(samples for _, samples in chosen), None, chosen)

    def covers(self, reach: Reach) -> bool:
        """Whether what was opened with another right may still be read."""
        if not self.parts:
            return self.samples >= reach.samples
        known = dict(self.parts)
        return all(known.get(name, 0) >= samples for name, samples in reach.parts)


def _named(asked: object, names: Collection[str]) -> set[str]:
    """Parts that some text in a question names: as itself, or as what stands before a dot. One too many makes the answer rest on
    fewer samples, and is no harm."""
    found: set[str] = set()
    for text in _texts(asked):
        found |= {name for name in names if text == name or f"{name}." in text}
    return found


def _texts(value: Any) -> Iterator[str]:
    """But for what is asked of another release. Not recursive: nothing here has been checked yet."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict) and not ("release" in each and "kind" in each):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            waiting += each
