"""Structures that are written out: a matrix of influences, a joint law."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.influence import coupled_reach
from app.core.dependence.joints import Joint
from app.core.dependence.linked import matrix_methods
from app.core.dependence.programs import PROGRAM, program_bound
from app.core.dependence.structure import Method, Plain, Secret, all_differ, everybody, scalar
from app.core.dependence.transport import couplings

Array = NDArray[np.float64]

PROGRAMS_MAX = 60


@dataclass(frozen=True, eq=False)
class InfluenceStructure(Plain):
    """γ_ij at least a quarter of the largest log cross-ratio of every two people's values; of a strictly positive law."""

    matrix: Array
    secret: Secret

    @property
    def people(self) -> int:
        return len(self.matrix)

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def told(self) -> str:
        told = "no two people's values have a log cross-ratio above four times the declared influence"
        return f"{told}, and no combination of values is impossible"

    def methods(self) -> list[Method]:
        return [everybody(self.people), *matrix_methods(self.matrix, self.secret.members, self.told)]

    def couplings(self) -> list[list[Array]]:
        return all_differ(self.people, self.members)

    def expected_others(self) -> float | None:
        reach = coupled_reach(self.matrix, list(self.secret.members))
        return math.fsum(reach.tolist()) - self.members


@dataclass(frozen=True, eq=False)
class JointStructure(Plain):
    """The probabilities of every combination."""

    joint: Joint
    secret: Secret

    @property
    def people(self) -> int:
        return self.joint.table.ndim

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def values(self) -> int | None:
        return len(self.joint.given)

    @property
    def prior(self) -> Sequence[float] | None:
        return [float(each) for each in self.joint.masses]

    @property
    def told(self) -> str:
        return "the declared joint probabilities are those the adversary believes in"

    def methods(self) -> list[Method]:
        joint, found = self.joint, [everybody(self.people)]
        if joint.full:
            found += matrix_methods(joint.influence, self.secret.members, self.told)
        if self.secret.known:
            return found
        ratio = scalar(lambda eps: joint.ratio_bound([eps] * self.people))
        found.append(Method("everybody else at a distance (F)", "certified", self.told, ratio))
        if (signs := joint.affiliated_signs()) is not None:
            exact = scalar(lambda eps: joint.affiliated_exact([eps] * self.people, signs))
            return [*found, Method("affiliated law (B)", "exact", self.told, exact)]
        return [*found, Method(PROGRAM, "certified", self.told, scalar(self._program), slow=True)]

    def couplings(self) -> list[list[Array]]:
        if self.secret.known:
            return all_differ(self.people, self.members)
        return self._couplings

    @cached_property
    def _couplings(self) -> list[list[Array]]:
        found = couplings(self.joint)
        return all_differ(self.people, self.members) if found is None else found

    def _program(self, epsilon: float) -> float:
        found = program_bound(self.joint, [epsilon] * self.people, PROGRAMS_MAX)
        return math.inf if found is None else found[0]
