"""How people's dependence is described by whoever asks, and what makes a structure of it. Everything is checked here."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from app.core.dependence.alike import Exchangeable, Household, Relatives
from app.core.dependence.chains import Chain, stationary_law
from app.core.dependence.joints import Joint
from app.core.dependence.linked import ChainStructure, IsingStructure, TreeStructure
from app.core.dependence.structure import Secret, Structure
from app.core.dependence.trees import Edge, has_circle
from app.core.dependence.written import InfluenceStructure, JointStructure
from app.core.specs import OneOf, Spec, read_spec
from app.errors import InvalidInput

ALIKE_MAX = 1_000
PLACES_MAX = 10_000
STATES_MAX = 32
WIDE_PLACES_MAX = 2_000
GRAPH_MAX = 10_000
TREE_MAX = 2_000
MATRIX_MAX = 500
ENTRIES_MAX = 1_024
PEOPLE_WRITTEN_MAX = 10
COUPLING_MAX = 100.0
_SUMS_TO_ONE = 1e-9

Probability = Annotated[float, Field(ge=0, le=1)]
Mass = Annotated[float, Field(ge=0, le=1e15)]


class HouseholdPeople(Spec):
    """People whose data may depend on each other in any way."""

    kind: Literal["household"]
    size: int = Field(ge=1, le=ALIKE_MAX, description="How many they are.")


class RelativesPeople(Spec):
    """Others who share one person's yes/no value with some probability each, independently of each other given that."""

    kind: Literal["relatives"]
    count: int = Field(ge=1, le=ALIKE_MAX, description="How many others.")
    agreement: float = Field(ge=0.5, le=1, description="The probability that one of them has the same value.")


class ExchangeablePeople(Spec):
    """Yes/no people who are alike: only how many of them have the value 1 matters."""

    kind: Literal["exchangeable"]
    weights: list[Mass] = Field(
        min_length=2,
        max_length=ALIKE_MAX + 1,
        description="Of k = 0, 1, … m people with the value 1, in proportion to their probabilities.",
    )


class ChainPeople(Spec):
    """A stationary Markov chain: people in a row, or one person at several times."""

    kind: Literal["chain"]
    transition: list[list[Probability]] = Field(
        min_length=2, max_length=STATES_MAX, description="Rows that add up to 1: from each value to each."
    )
    steps: int = Field(ge=1, le=PLACES_MAX, description="How many places.")
    position: int = Field(ge=0, lt=PLACES_MAX, description="The place of the secret, from 0.")


class IsingPeople(Spec):
    """Yes/no people with log-probability Σ J·s_i·s_j + Σ h_i·s_i, s = ±1."""

    kind: Literal["ising"]
    edges: list[list[float]] = Field(
        max_length=2 * GRAPH_MAX, description="[i, j, J]: two people, from 0, and their coupling."
    )
    fields: list[Annotated[float, Field(ge=-COUPLING_MAX, le=COUPLING_MAX)]] | None = Field(
        default=None, min_length=1, max_length=GRAPH_MAX, description="h of every person; 0 if left out."
    )


class TreePeople(Spec):
    """A tree of people with values of any kind."""

    kind: Literal["tree"]
    edges: list[list[float]] = Field(
        max_length=TREE_MAX - 1,
        description="[i, j, c]: two people, from 0, and the largest log cross-ratio of their values.",
    )


class InfluencePeople(Spec):
    """People with a matrix of influences, of a law in which no combination of values is impossible."""

    kind: Literal["influence"]
    matrix: list[list[float]] = Field(
        min_length=1,
        max_length=MATRIX_MAX,
        description="Of every two people a quarter of the largest log cross-ratio of their values; 0 on the diagonal.",
    )


class JointPeople(Spec):
    """A few people with the probability of every combination of their values."""

    kind: Literal["joint"]
    levels: list[Annotated[int, Field(ge=1, le=ENTRIES_MAX)]] = Field(
        min_length=1, max_length=PEOPLE_WRITTEN_MAX, description="How many values each person has."
    )
    probabilities: list[Probability] = Field(
        max_length=ENTRIES_MAX,
        description="Of every combination, the last person's value changing first; they add up to 1.",
    )


PEOPLE_KINDS: dict[str, type[Spec]] = {
    "household": HouseholdPeople,
    "relatives": RelativesPeople,
    "exchangeable": ExchangeablePeople,
    "chain": ChainPeople,
    "ising": IsingPeople,
    "tree": TreePeople,
    "influence": InfluencePeople,
    "joint": JointPeople,
}
People = Annotated[Spec, OneOf("kind", PEOPLE_KINDS)]


def structure_of(people: Spec, members: Sequence[int] | None, known: bool) -> Structure:
    """Raises InvalidInput."""
    if isinstance(people, ChainPeople):
        return _chain(people, members, known)
    chosen = tuple(members) if members is not None else (0,)
    if len(set(chosen)) != len(chosen) or not chosen:
        raise InvalidInput("secret.members", "different people, at least one")
    build: Callable[[Any, Secret], Structure] = _BUILDERS[type(people)]
    return build(people, Secret(chosen, known))


def _held(secret: Secret, people: int) -> None:
    if not all(0 <= each < people for each in secret.members):
        raise InvalidInput("secret.members", f"people from 0 to {people - 1}")


def _household(people: HouseholdPeople, secret: Secret) -> Structure:
    _held(secret, people.size)
    return Household(people.size, secret)


def _relatives(people: RelativesPeople, secret: Secret) -> Structure:
    if secret.members != (0,):
        raise InvalidInput("secret.members", "[0], the person whose relatives they are")
    return Relatives(people.count, people.agreement, secret)


def _exchangeable(people: ExchangeablePeople, secret: Secret) -> Structure:
    weights = people.weights
    _held(secret, len(weights) - 1)
    if not (math.fsum(weights[1:]) > 0 and math.fsum(weights[:-1]) > 0):
        raise InvalidInput("people.weights", "weights by which either value of a person is possible")
    return Exchangeable(tuple(weights), secret)


def _chain(people: ChainPeople, members: Sequence[int] | None, known: bool) -> Structure:
    where = "people"
    if not people.position < people.steps:
        raise InvalidInput(f"{where}.position", f"a place from 0 to {people.steps - 1}")
    if members is not None and list(members) != [people.position]:
        raise InvalidInput("secret.members", f"[{people.position}], the position, or nothing")
    rows = people.transition
    if any(len(row) != len(rows) for row in rows):
        raise InvalidInput(f"{where}.transition", "as many numbers in a row as there are rows")
    if any(abs(math.fsum(row) - 1) > _SUMS_TO_ONE for row in rows):
        raise InvalidInput(f"{where}.transition", "rows that add up to 1")
    if len(rows) > 2 and people.steps > WIDE_PLACES_MAX:
        raise InvalidInput(f"{where}.steps", f"at most {WIDE_PLACES_MAX} places of more than two values")
    table = np.array(rows, dtype=np.float64)
    table /= table.sum(axis=1, keepdims=True)
    stationary = stationary_law(table)
    if stationary is None:
        raise InvalidInput(f"{where}.transition", "transitions by which every value is reached from every other")
    return ChainStructure(Chain(table, stationary, people.steps, people.position), Secret((people.position,), known))


def _edges(edges: Sequence[Sequence[float]], count: int, largest: float, *, signed: bool) -> tuple[Edge, ...]:
    found, seen = [], set()
    for at, edge in enumerate(edges):
        where = f"people.edges.{at}"
        if len(edge) != 3 or not all(each.is_integer() and 0 <= each < count for each in edge[:2]):
            raise InvalidInput(where, f"two people from 0 to {count - 1} and a number")
        a, b, value = int(edge[0]), int(edge[1]), float(edge[2])
        if a == b or (min(a, b), max(a, b)) in seen:
            raise InvalidInput(where, "two different people who have no edge yet")
        if not (-largest if signed else 0.0) <= value <= largest:
            raise InvalidInput(where, f"a number from {-largest if signed else 0:g} to {largest:g}")
        seen.add((min(a, b), max(a, b)))
        found.append((a, b, value))
    return tuple(found)


def _named(edges: Sequence[Sequence[float]], secret: Secret, most: int) -> int:
    """How many people edges name: one more than the largest number."""
    largest = max((each for edge in edges for each in edge[:2]), default=0.0)
    if not -1 < largest < most:
        raise InvalidInput("people.edges", f"people from 0 to {most - 1}")
    return max(int(largest), *secret.members, 0) + 1 if max(secret.members) < most else most


def _ising(people: IsingPeople, secret: Secret) -> Structure:
    count = len(people.fields) if people.fields is not None else _named(people.edges, secret, GRAPH_MAX)
    _held(secret, count)
    fields = tuple(people.fields) if people.fields is not None else (0.0,) * count
    return IsingStructure(fields, _edges(people.edges, count, COUPLING_MAX, signed=True), secret)


def _tree(people: TreePeople, secret: Secret) -> Structure:
    count = _named(people.edges, secret, TREE_MAX)
    _held(secret, count)
    edges = _edges(people.edges, count, 4 * COUPLING_MAX, signed=False)
    if has_circle(count, edges):
        raise InvalidInput("people.edges", "edges without a circle: for others, `influence` with c/4")
    return TreeStructure(count, edges, secret)


def _influence(people: InfluencePeople, secret: Secret) -> Structure:
    rows, where = people.matrix, "people.matrix"
    _held(secret, len(rows))
    if any(len(row) != len(rows) for row in rows):
        raise InvalidInput(where, "as many numbers in a row as there are rows")
    matrix = np.array(rows, dtype=np.float64)
    if not ((matrix >= 0).all() and (matrix <= COUPLING_MAX).all()) or np.diag(matrix).any():
        raise InvalidInput(where, f"numbers from 0 to {COUPLING_MAX:g}, and 0 on the diagonal")
    return InfluenceStructure(np.minimum(matrix, matrix.T), secret)


def _joint(people: JointPeople, secret: Secret) -> Structure:
    levels, where = people.levels, "people"
    _held(secret, len(levels))
    if math.prod(levels) > ENTRIES_MAX or len(people.probabilities) != math.prod(levels):
        raise InvalidInput(f"{where}.probabilities", f"one for each combination of levels, at most {ENTRIES_MAX}")
    total = math.fsum(people.probabilities)
    if abs(total - 1) > _SUMS_TO_ONE:
        raise InvalidInput(f"{where}.probabilities", "numbers that add up to 1")
    table = np.array(people.probabilities, dtype=np.float64).reshape(levels) / total
    joint = Joint(table, secret.members)
    if not (joint.masses > 0).all() or len(joint.masses) < 2:
        raise InvalidInput(
            f"{where}.probabilities", "a positive probability of each of two or more values of the secret"
        )
    return JointStructure(joint, secret)


_BUILDERS: dict[type[Spec], Callable[..., Structure]] = {
    HouseholdPeople: _household,
    RelativesPeople: _relatives,
    ExchangeablePeople: _exchangeable,
    IsingPeople: _ising,
    TreePeople: _tree,
    InfluencePeople: _influence,
    JointPeople: _joint,
}


class SecretSpec(Spec):
    """What the adversary wants to know: a function of some people's records."""

    members: list[Annotated[int, Field(ge=0, lt=GRAPH_MAX)]] | None = Field(
        default=None, min_length=1, max_length=8, description="Whom it is about, from 0; the first person if left out."
    )
    prior: list[Probability] | None = Field(
        default=None,
        min_length=2,
        max_length=ENTRIES_MAX,
        description="What the adversary believes before, value by value; even if left out.",
    )


_DESCRIBED: TypeAdapter[Any] = TypeAdapter(People)


def read_people(value: object) -> Spec:
    """Raises InvalidInput."""
    found: Spec = read_spec(_DESCRIBED, value, "people", InvalidInput)
    return found
