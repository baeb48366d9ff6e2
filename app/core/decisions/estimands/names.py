"""`"names": {"p": {estimand}, "q": {estimand}}`: estimands under names that expressions can use beside parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.decisions.estimands.estimand import Context, Estimand, Inner, check_total_work
from app.core.decisions.expressions.operations import FUNCTIONS
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import NAME_LENGTH_MAX
from app.core.language.tokens import NAME
from app.core.parameters import Parameter
from app.core.specs import Expects
from app.errors import InvalidQuery

NAMES_MAX = 16

Names = Annotated[dict[str, Inner], Field(max_length=NAMES_MAX), Expects(f"an object of at most {NAMES_MAX} estimands")]


@dataclass(frozen=True, slots=True)
class NamedEstimands:
    """In the order given. A name's range is its estimand's."""

    entries: tuple[tuple[str, Estimand], ...] = ()
    where: str = "estimand"

    @property
    def names(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(name, estimand.lower, estimand.upper) for name, estimand in self.entries)

    @property
    def work(self) -> int:
        return sum(estimand.work for _, estimand in self.entries)

    @property
    def nodes(self) -> int:
        return sum(estimand.nodes for _, estimand in self.entries)

    def check(self, samples: int) -> None:
        check_total_work(f"{self.where}.names", self.work, samples)
        for _, estimand in self.entries:
            estimand.check(samples)

    def columns(self, samples: SampleSet) -> list[NDArray[np.float64]]:
        """One array a name, inside its range."""
        return [estimand.distribution(samples).values for _, estimand in self.entries]


def read_names(given: Mapping[str, object], context: Context, reserved: tuple[str, ...] = ()) -> NamedEstimands:
    """`reserved` are names that mean something else in this place."""
    entries = []
    for name, inner in given.items():
        known = len(name) <= NAME_LENGTH_MAX and NAME.fullmatch(name)
        if not known or name in FUNCTIONS or name in reserved:
            taken = ", ".join((*FUNCTIONS, *reserved))
            raise InvalidQuery(f"{context.where}.names", f"names of letters, digits and _ other than {taken}")
        entries.append((name, context.inner(f"names.{name}", inner)))
    return NamedEstimands(tuple(entries), context.where)
