"""A kind of model: a folder beside this file that ends in one `Kind`, and one line in `KINDS`.

Services, cards, plans, questions and the specification find everything particular to a model through its kind; nothing
outside the folder asks which kind a model is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.audits.own_mechanism import Effort
from app.core.audits.verdict import Findings
from app.core.decisions.estimands import SHARED_ESTIMANDS, Askable, EstimandKind
from app.core.kinds.belief import Belief
from app.core.kinds.fit_check import KindCheck
from app.core.kinds.plan_figures import Planner
from app.core.kinds.private_groups import PrivateGroups
from app.core.kinds.protocols import Family, MechanismKind, ReleaseMechanism, ReleaseModel
from app.core.kinds.synthetic import RowLaw
from app.core.parameters import Group
from app.core.specs import Spec, read_one_of
from app.errors import InvalidMechanism


@dataclass(frozen=True, slots=True)
class CardWords:
    """What a kind says on the guarantee card and beside answers, where its words are its own."""

    papers_assumption: Callable[[Any, int], str]
    """(model, rows a person may own) → what the papers' figure for draws assumes."""
    records: Callable[[Any, int], int | None]
    """(model, rows a person may own) → how many records of one person the statistic tells apart; None: too many."""
    assumes: Callable[[Any, int], str | None]
    """(model, rows a person may own) → what answers take for granted about how rows come about; None: nothing."""
    noisy: Callable[[Any, int], str]
    """(model, rows a person may own) → what free samples were computed from, as in "one noisy number"."""


class Nobody(Protocol):
    """What is said of a stratum without people: the prior, and nothing about anyone. Hashable, and the same for every model."""

    def samples(self, model: Any, samples: int, random_bytes: Callable[[int], bytes], /) -> NDArray[np.float64]:
        """(samples, parameters), inside the public range."""
        ...

    def belief(self, model: Any, seed: bytes, /) -> Belief:
        """Of the prior without the public range."""
        ...


@dataclass(frozen=True, slots=True)
class MeasuredKind:
    """Models by private groups that are a kind of their own."""

    holds: Callable[[Any], bool]
    """Whether a model of this kind is one of them."""
    kind: "Callable[[Askable], Kind]"
    """From what may be asked of a release without groups."""
    counted: bool = True
    """Whether noisy numbers of rows say in which shares synthetic rows of several strata come."""

    def by_strata(self, stratified: "Kind") -> "Kind":
        return stratified if self.counted else replace(stratified, rows=None)


@dataclass(frozen=True, slots=True)
class Kind:
    """Families that share a class of models, the mechanisms that release it, and what is particular to it elsewhere."""

    name: str
    families: Mapping[str, Family[ReleaseModel]]
    mechanisms: Mapping[str, MechanismKind[ReleaseMechanism]]
    planner: Planner
    estimands: Mapping[str, EstimandKind[Any]]
    card: CardWords
    check: KindCheck | None = None
    """Of fit; None where none is offered."""
    nobody: Nobody | None = None
    """None where releases by strata refuse one without people."""
    private: Callable[[Any, PrivateGroups], ReleaseModel] | None = None
    """A model by groups between which a person may move; None where there are none for this kind. Raises InvalidModel."""
    measured: MeasuredKind | None = None
    """What those models are of; None where they are of this kind again."""
    audit: Callable[[Any, Any, int, int, Effort], Findings] | None = None
    """(model, mechanism, people, rows a person, effort) → what exact laws and made-up neighbours say of the charge; None refuses
    every release at its gate."""
    rows: RowLaw | None = None
    """How synthetic rows are made; None where no model of the kind can say how many rows a group has."""
    groups: Callable[[Any], list[tuple[Group, int | None]]] = field(default=lambda model: [])
    """Of a model by groups: each with its public number of people, None where that is private."""

    def parse_mechanism(self, spec: Mapping[str, Any]) -> ReleaseMechanism:
        """Raises InvalidMechanism."""
        choices = {name: each.spec for name, each in self.mechanisms.items()}
        name, read = read_one_of("kind", choices, spec, "mechanism", InvalidMechanism, " for this kind of model")
        return self.mechanisms[name].build(read)


def estimands_of(kinds: Sequence[Kind]) -> dict[str, list[type[Spec]]]:
    """Every `kind` of estimand, with its shape; with several where kinds of models use one name for different things."""
    found: dict[str, list[type[Spec]]] = {}
    for estimands in (SHARED_ESTIMANDS, *(kind.estimands for kind in kinds)):
        for name, estimand in estimands.items():
            if estimand.spec not in found.setdefault(name, []):
                found[name].append(estimand.spec)
    return found


def askable_of(own: Kind | None, kinds: Sequence[Kind]) -> Askable:
    """None is for a release of which nothing but the parameters is known."""
    known = {**SHARED_ESTIMANDS, **({} if own is None else own.estimands)}
    others = {name: [kind.name for kind in kinds if name in kind.estimands] for name in estimands_of(kinds)}
    return Askable(known, {name: " or ".join(names) for name, names in others.items() if name not in known})
