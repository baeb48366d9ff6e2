"""What the rest of the service needs of any model and any mechanism, whatever its statistic is."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Drawn, Evidence, Whole
from app.core.kinds.mechanism_fields import CURRENT_LAW
from app.core.parameters import Parameter
from app.core.privacy.release_cost import ReleaseCost
from app.core.schema import Column
from app.core.specs import Spec
from app.core.statistics import RowRequest
from app.errors import InvalidMechanism

Model = TypeVar("Model", contravariant=True)
Statistic = TypeVar("Statistic", contravariant=True)
Built = TypeVar("Built", covariant=True)


class ReleaseModel(Hashable, Protocol):
    """Pure data, validated before anything is read. `statistic` is a request that a source can answer exactly."""

    @property
    def family(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def statistic(self) -> RowRequest[Any]: ...
    def as_json(self) -> dict[str, Any]: ...


class MechanismOf(Hashable, Protocol[Model, Statistic]):
    """Validated by its own constructor; frozen. `cost` uses public numbers only, `draw` alone sees a statistic."""

    @property
    def kind(self) -> str: ...
    @property
    def samples(self) -> int: ...
    @property
    def budget_epsilon_max(self) -> float:
        """An inexact sampler's δ-slack, (1 + e^ε)·η, is worked out for budgets up to this ε; infinite for exact ones."""
        ...

    def as_json(self) -> dict[str, Any]: ...
    def with_samples(self, samples: int) -> Self: ...
    def cost(self, model: Model, people: int, unit_rows: int, /) -> ReleaseCost: ...
    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost, /) -> float:
        """Seconds that `draw` takes at most on the machine of reference, whatever the statistic; from public numbers."""
        ...

    def draw(
        self, model: Model, people: int, unit_rows: int, statistic: Statistic, random_bytes: Callable[[int], bytes], /
    ) -> NDArray[np.float64]:
        """(samples, parameters), from the operating system's randomness in production."""
        ...

    @property
    def drawn_at(self) -> float | None:
        """The temperature of the posterior of which samples are independent draws; None where they are something else."""
        ...

    @property
    def belief_points(self) -> int:
        """How many points a belief has: public, so that what a question would be answered with is known before."""
        ...

    def approximation(self, model: Model, /) -> str | None:
        """Why points of `belief` are of p(θ|R) only nearly, and what their intervals were measured to hold; None: exactly."""
        ...

    def calibrated_parameters(self, model: Model, people: int, unit_rows: int, /) -> tuple[Parameter, ...]:
        """Those of `belief`, whose ranges are the untrimmed prior's; from public numbers. Raises CalibratedUnavailable."""
        ...

    def belief(self, model: Model, people: int, unit_rows: int, evidence: Evidence, /) -> Belief:
        """The calibrated posterior given what a reader sees (`belief.py`). Raises CalibratedUnavailable."""
        ...


ReleaseMechanism = MechanismOf[Any, Any]


@runtime_checkable
class MeasuringMechanism(Protocol):
    """One that adds noise to the statistic once: `measure` is what is paid for, `infer` free samples from it.

    Its `draw` is the one after the other.
    """

    def measure(self, model: Any, people: int, unit_rows: int, statistic: Any, /) -> Whole: ...
    def infer(
        self, model: Any, people: int, unit_rows: int, measured: Whole, random_bytes: Callable[[int], bytes], /
    ) -> NDArray[np.float64]: ...


@runtime_checkable
class WrappingMechanism(Protocol):
    """One that is another at heart, whose law it has."""

    def with_law(self, changed: Callable[[ReleaseMechanism], ReleaseMechanism], /) -> Self: ...


@runtime_checkable
class WholeDraw(Protocol):
    """One that is several at heart, each with samples and a noisy statistic of its own."""

    def drawn(
        self, model: Any, people: int, unit_rows: int, statistic: Any, random_bytes: Callable[[int], bytes], /
    ) -> Drawn: ...


def drawn_once(
    mechanism: ReleaseMechanism,
    model: ReleaseModel,
    people: int,
    unit_rows: int,
    statistic: Any,
    random_bytes: Callable[[int], bytes],
    checked: Whole | None = None,
) -> Drawn:
    """What a release consists of. What was measured is kept with it: it was paid for, and beliefs rest on it."""
    if isinstance(mechanism, WholeDraw):
        return replace(mechanism.drawn(model, people, unit_rows, statistic, random_bytes), checked=checked)
    if isinstance(mechanism, MeasuringMechanism):
        measured = mechanism.measure(model, people, unit_rows, statistic)
        return Drawn(mechanism.infer(model, people, unit_rows, measured, random_bytes), measured, checked)
    return Drawn(mechanism.draw(model, people, unit_rows, statistic, random_bytes), checked=checked)


@dataclass(frozen=True, slots=True)
class Family(Generic[Built]):
    """How a model is described, and what makes it from the description and the dataset's columns.

    `build` raises InvalidModel for what only the columns can tell.
    """

    spec: type[Spec]
    build: Callable[[Any, Mapping[str, Column]], Built]


@dataclass(frozen=True, slots=True)
class MechanismKind(Generic[Built]):
    """How a mechanism is described, and the class whose fields are the description's, but for `kind`.

    `plan_spec` is how it may be described in a plan, where that leaves open what the plan finds.
    """

    spec: type[Spec]
    mechanism: Callable[..., Built]
    plan_spec: type[Spec] | None = None

    def build(self, spec: Spec) -> Built:
        """Raises InvalidMechanism."""
        return self.mechanism(**{name: value for name, value in spec if name != "kind"})


def drawn_by(law: int, mechanism: ReleaseMechanism) -> ReleaseMechanism:
    """The mechanism as that law has it: cost and draw of a release follow the law it was charged under.

    Raises InvalidMechanism for a law this version does not know.
    """
    if type(law) is not int or not 1 <= law <= CURRENT_LAW:
        raise InvalidMechanism("law", f"a law from 1 to {CURRENT_LAW}, which this version knows")
    if isinstance(mechanism, WrappingMechanism):
        return mechanism.with_law(lambda inner: drawn_by(law, inner))
    settings: Any = mechanism
    if not any(field.name == "law" for field in fields(settings)):
        return mechanism
    changed: ReleaseMechanism = replace(settings, law=law)
    return changed


def refuse_wide_budget(mechanism: ReleaseMechanism, budget_epsilon: float) -> None:
    """Raises InvalidMechanism where the δ-slack of this mechanism would not cover the dataset's budget."""
    largest = mechanism.budget_epsilon_max
    if not budget_epsilon <= largest:
        raise InvalidMechanism(
            "mechanism.kind", f"another: {mechanism.kind} of this model needs a budget with ε at most {largest:g}"
        )
