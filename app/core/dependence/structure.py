"""What every structure of dependence answers: bounds from a pure ε, and couplings of what the secret leaves to the others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import Basis, Bound

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Secret:
    """What the adversary wants to know: any function of these people's records; `known`: they may know other people's."""

    members: tuple[int, ...]
    known: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """A theorem applied to a structure: ν for each of several ε, all people's alike; infinite where it says nothing.

    `slow`: no more than a few values at a time.
    """

    name: str
    basis: Basis
    assumption: str
    values: Callable[[Array], Array]
    slow: bool = False

    def bound(self, epsilon: float) -> Bound | None:
        value = float(self.values(np.array([epsilon]))[0])
        return Bound(value, self.name, self.basis, self.assumption) if np.isfinite(value) else None


class Structure(Protocol):
    """`people` who depend on each other, the secret's `members` among them; everybody else is independent of them given what the
    adversary knows. `told` is a sentence about it."""

    @property
    def people(self) -> int: ...
    @property
    def told(self) -> str: ...
    @property
    def members(self) -> int:
        """How many people the secret is about."""
        ...

    @property
    def values(self) -> int | None:
        """How many values the secret has; None where that is not said."""
        ...

    @property
    def prior(self) -> Sequence[float] | None:
        """Of the secret, where the structure says it."""
        ...

    def methods(self) -> list[Method]: ...
    def couplings(self) -> list[list[Array]]:
        """For every two values of the secret, laws of how many others differ, each of one coupling."""
        ...

    def quilts(self, widest: int) -> Iterator[tuple[int, Array]]:
        """(how many people a quilt leaves between, D_α of what it tells at every order)."""
        ...

    def expected_others(self) -> float | None:
        """A bound of how many others differ on average, where only that is known."""
        ...


class Plain:
    """What most structures do not have."""

    @property
    def values(self) -> int | None:
        return None

    @property
    def prior(self) -> Sequence[float] | None:
        return None

    def quilts(self, widest: int) -> Iterator[tuple[int, Array]]:
        return iter(())

    def expected_others(self) -> float | None:
        return None


def scalar(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """Of one ε at a time."""
    return lambda epsilons: np.array([function(each) for each in epsilons.tolist()])


def everybody(people: int, exact: bool = False) -> Method:
    """Σε: all people's records together."""
    told = "any dependence between them" if exact else "any dependence between the declared people"
    return Method(f"sum of ε over {people} people", "exact" if exact else "certified", told, lambda eps: eps * people)


def all_differ(people: int, members: int) -> list[list[Array]]:
    """The coupling in which everybody else differs, whatever the law."""
    return [[np.eye(people - members + 1)[-1]]]
