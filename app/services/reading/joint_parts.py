"""Several models of one release read together: a prefix of each, paired in order up to the shortest.

Given the data, or given what was released of it, parts are independent draws: the i-th of each, side by side, are independent
draws of the product of the parts' posteriors. That product is the posterior of all parameters if what one part models is
independent of what the others model, given their parameters. Nothing here can tell whether it is, so every answer that rests on
two parts says that it was assumed.
"""

import math
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from app.core.decisions.sample_set import SampleSet
from app.core.kinds import SeveralModels
from app.core.parameters import in_part
from app.services.runtime.reading_rights import Reach
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease


def joined_public(parts: Sequence[PublicRelease], reach: Reach) -> PublicRelease:
    """From what is public of each, in the order of `reach`."""
    first = parts[0]
    named = [*zip(reach.names, parts, strict=True)]
    temperatures = [part.temperature for part in parts]
    return PublicRelease(
        id=first.id,
        view=first.view,
        parameters=tuple(in_part(each, name) for name, part in named for each in part.parameters),
        evidence=reach.samples,
        size=min(part.size for part in parts),
        model=SeveralModels(reach.names, tuple(part.model for part in parts)),
        temperature=None if None in temperatures else min(each or math.inf for each in temperatures),
        assumes=_told((name, part.assumes) for name, part in named),
        approximate=_told((name, part.approximate) for name, part in named),
        doubt=_told((name, part.doubt) for name, part in named),
        rehearsal=first.rehearsal,
        dataset=first.dataset,
        reach=reach,
    )


def paired(public: PublicRelease, parts: Sequence[SampleSet]) -> PublishedRelease:
    values = np.concatenate([part.matrix[: public.size] for part in parts], axis=1)
    return PublishedRelease(public, SampleSet(public.parameters, values))


def rests_on(public: PublicRelease) -> tuple[str, ...]:
    """The parts that were paired for it; none, or one, where nothing was."""
    return () if public.reach is None or not public.reach.joint else cast(SeveralModels, public.model).names


def _told(said: Iterable[tuple[str, str | None]]) -> str | None:
    return "; ".join(f"{name}: {text}" for name, text in said if text is not None) or None
