"""Plans for Bayesian networks: every mechanism at the same (ε, δ), the papers' utility bounds, what `auto` chooses."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from app.core.grids.bernoulli import TRIM_MIN
from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch
from app.core.kinds.mechanism_fields import SCORES
from app.core.kinds.networks.accuracy import expected_accuracy
from app.core.kinds.networks.accuracy_search import accuracy_search
from app.core.kinds.networks.comparison import NetworkAlternative, fitting_baps, network_alternatives, rated
from app.core.kinds.networks.drawn_settings import best_drawn, why_cool
from app.core.kinds.networks.mechanisms import (
    NetworkBaps,
    NetworkFourier,
    NetworkGaussian,
    NetworkLaplace,
    NetworkMap,
    NetworkMechanism,
)
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.utility_bounds import proposition_1, theorem_1, theorem_3
from app.core.kinds.plan_figures import (
    COMPARED_FROM,
    COMPARED_TO,
    DRAWS,
    SAMPLES,
    Choice,
    Figures,
    Planner,
    PlanQuestion,
    auto_samples,
    finite,
    is_auto,
    written_mechanism,
)
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target, largest_samples
from app.errors import InvalidInput, InvalidMechanism

MEASURE = (
    "root mean squared error of a conditional probability; `kl` is the divergence of the joint distribution, in nats"
)
METHOD = "simulated from the prior with a fixed seed; no data"
IF_ALL = f"{METHOD}; as if all rows met the condition: how many do is private"
CONFIDENCE = 0.95
_ABOUT_DRAWS = (
    ". Posterior draws of a table that may be empty do not get cheaper with n; noise on its counts does not "
    "get larger. A stronger prior, a wider trim, a lower temperature or fewer parents make draws cheaper"
)
SAMPLES_SHOWN = (1, 10, 100, 1_000)
EPSILONS_SHOWN = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def figures(question: PlanQuestion) -> Figures:
    model, people, unit_rows = cast(NetworkModel, question.model), question.people, question.unit_rows
    if is_auto(question.mechanism):
        samples = auto_samples(question.mechanism, question.samples_max)
        own, *rest = _kept(network_alternatives(model, people, unit_rows, question.auto_target, samples), question)
    else:
        own = rated(model, _calibrated(question, model), people, unit_rows)
        rest = _compared(question, model, own)
    own = replace(own, model=settled_model(model, own.mechanism, people, unit_rows))
    return Figures(
        model=own.model,
        mechanism=own.mechanism,
        cost=own.cost,
        accuracy=_accuracy_json(own),
        alternatives=[_alternative_json(other, question.delta) for other in rest],
        advice=". ".join(_advised(question, model, own, rest)) or None,
        curves=_curves(question, model, own),
        bounds=_bounds(model, own.mechanism, people, unit_rows, own.cost),
    )


def _advised(
    question: PlanQuestion, model: NetworkModel, own: NetworkAlternative, rest: list[NetworkAlternative]
) -> Iterator[str]:
    if rest or is_auto(question.mechanism):
        yield _advice([own, *rest])
    if question.calibrate == DRAWS and question.target is not None and isinstance(own.mechanism, NetworkBaps):
        why = why_cool(model, own.mechanism, question.people, question.unit_rows, question.target)
        if why is not None:
            yield why


def choose(choice: Choice) -> ReleaseMechanism:
    model = cast(NetworkModel, choice.model)
    ranked = network_alternatives(model, choice.people, choice.unit_rows, choice.target, choice.samples)
    for each in ranked:
        if choice.samples is None or each.mechanism.samples == choice.samples:
            return each.mechanism.with_samples(min(each.mechanism.samples, choice.samples_max))
    raise InvalidMechanism("mechanism.epsilon", "more: no mechanism with that many samples fits")


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    """A `map` with the score that errs less in simulation."""
    if isinstance(mechanism, NetworkMap) and mechanism.score == "auto":
        network = cast(NetworkModel, model)
        tried = [NetworkMap(mechanism.epsilon, score) for score in SCORES]
        return min(tried, key=lambda each: expected_accuracy(network, each, people, unit_rows).kl)
    return mechanism


def settled_model(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> NetworkModel:
    """A trim that nobody declared is tiny where it costs nothing: noise on counts does not depend on it."""
    network = cast(NetworkModel, model)
    if not network.trim_open:
        return network
    tiny = isinstance(mechanism, NetworkLaplace | NetworkGaussian | NetworkFourier)
    return replace(network, trim=TRIM_MIN if tiny else network.trim, trim_open=False)


def _calibrated(question: PlanQuestion, model: NetworkModel) -> NetworkMechanism:
    people, unit_rows, target = question.people, question.unit_rows, question.target
    if question.calibrate is None or target is None:
        return cast(NetworkMechanism, settled(written_mechanism(question), model, people, unit_rows))
    if question.calibrate == DRAWS:
        written_mechanism(
            question, samples=1
        )  # refuses draws where there are none, of rows that meet a private condition
        return best_drawn(model, people, unit_rows, target, question.samples_max)
    if question.calibrate == SAMPLES:
        one = cast(NetworkMechanism, written_mechanism(question, samples=1))
        return one.with_samples(min(largest_samples(one.cost(model, people, unit_rows), target), question.samples_max))
    if question.calibrate == "temperature":
        samples = written_mechanism(question, temperature=1.0).samples
        return fitting_baps(model, people, unit_rows, target, samples)
    raise InvalidMechanism("calibrate", "samples or temperature: a network's trim is shared by all its tables")


def _compared(question: PlanQuestion, model: NetworkModel, own: NetworkAlternative) -> list[NetworkAlternative]:
    """The other kinds of mechanism at this one's own cost."""
    epsilon = own.cost.total.epsilon(question.delta)
    if not question.compared or not COMPARED_FROM <= epsilon <= COMPARED_TO:
        return []
    target = Target(epsilon * (1 + 1e-9), question.delta)
    found = network_alternatives(model, question.people, question.unit_rows, target)
    return _kept([each for each in found if each.mechanism.kind != own.mechanism.kind], question)


def _kept(found: list[NetworkAlternative], question: PlanQuestion) -> list[NetworkAlternative]:
    """The best of every kind, none with more samples than may be stored."""
    best: dict[str, NetworkAlternative] = {}
    for each in found:
        if each.mechanism.samples <= question.samples_max:
            best.setdefault(each.mechanism.kind, each)
    if not best:
        raise InvalidMechanism("mechanism.samples", f"at most {question.samples_max}")
    return list(best.values())


def _advice(compared: list[NetworkAlternative]) -> str:
    best, *rest = sorted(compared, key=lambda each: each.accuracy.kl)
    if not rest:
        return f"{best.mechanism.kind}: the only mechanism that fits"
    others = ", ".join(f"{each.mechanism.kind} {each.accuracy.kl:.3g}" for each in rest)
    return (
        f"{best.mechanism.kind}: expected divergence from the truth {best.accuracy.kl:.3g} nats, against {others}, all at "
        "the same cost"
    ) + ("" if best.model.within else _ABOUT_DRAWS)


def _curves(question: PlanQuestion, model: NetworkModel, own: NetworkAlternative) -> dict[str, list[dict[str, Any]]]:
    people, unit_rows, delta = question.people, question.unit_rows, question.delta

    def error(mechanism: NetworkMechanism) -> float:
        return expected_accuracy(model, mechanism, people, unit_rows).rmse

    shown = [samples for samples in SAMPLES_SHOWN if samples <= question.samples_max]
    by_samples = [
        {
            "samples": samples,
            "epsilon": own.cost.prefix(samples).epsilon(delta),
            "total_sd": error(own.mechanism.with_samples(samples)),
        }
        for samples in ([] if isinstance(own.mechanism, NetworkMap) else shown)
    ]
    by_epsilon = []
    for epsilon in EPSILONS_SHOWN:
        each = _at_epsilon(own, epsilon, delta, question.samples_max)
        if each is not None:
            by_epsilon.append({"epsilon": epsilon, "samples": each.samples, "total_sd": error(each)})
    return {"by_samples": by_samples, "by_epsilon": by_epsilon}


def _at_epsilon(own: NetworkAlternative, epsilon: float, delta: float, samples_max: int) -> NetworkMechanism | None:
    mechanism = own.mechanism
    if isinstance(mechanism, NetworkBaps):
        try:
            most = largest_samples(own.cost, Target(epsilon, delta))
        except InvalidMechanism:
            return None
        return mechanism.with_samples(min(most, samples_max))
    if isinstance(mechanism, NetworkLaplace):
        return NetworkLaplace(mechanism.samples, epsilon)
    if isinstance(mechanism, NetworkGaussian):
        return NetworkGaussian(mechanism.samples, epsilon, mechanism.delta)
    if isinstance(mechanism, NetworkFourier):
        return NetworkFourier(mechanism.samples, epsilon, mechanism.t, mechanism.truncate)
    return NetworkMap(epsilon, mechanism.score) if isinstance(mechanism, NetworkMap) else None


def _bounds(
    model: NetworkModel, mechanism: NetworkMechanism, people: int, unit_rows: int, cost: ReleaseCost
) -> list[dict[str, Any]]:
    """What the papers prove about utility, with constants that hold."""
    delta = 1 - CONFIDENCE
    if isinstance(mechanism, NetworkLaplace):
        most = proposition_1(model, mechanism, people, unit_rows, delta)
        noisy = _bound("proposition_1", most, "no count is further from its noisy version than this")
        if model.pooled:
            return [noisy]  # theorem 1 is about tables of one prior each
        divergence = theorem_1(model, mechanism, people, unit_rows, delta)
        return [
            noisy,
            _bound("theorem_1", divergence, "divergence of the exact posterior from the noisy one, at most, in nats"),
        ]
    if isinstance(mechanism, NetworkFourier):
        nodes = range(len(model.network.nodes))
        worst = max(theorem_3(model, mechanism, i, unit_rows, delta) for i in nodes)
        return [_bound("theorem_3", worst, "L1 distance of any table of counts from the exact one, at most")]
    if isinstance(mechanism, NetworkBaps):
        attribute = mechanism.attribute_cost(model, people, unit_rows)
        return [
            _bound(
                "attribute_level",
                finite(attribute.pure),
                "pure ε if only one attribute of one record changed: what the papers quote for a network. Never charged",
                confidence=None,
            )
        ]
    return []


def _bound(name: str, value: float | None, text: str, confidence: float | None = CONFIDENCE) -> dict[str, Any]:
    return {"name": name, "value": value, "confidence": confidence, "text": text}


def _accuracy_json(of: NetworkAlternative) -> dict[str, Any]:
    method = METHOD if of.model.within is None else IF_ALL
    return {"total_sd": of.accuracy.rmse, "kl": _positive(of.accuracy.kl), "measure": MEASURE, "method": method}


def _positive(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _alternative_json(other: NetworkAlternative, delta: float) -> dict[str, Any]:
    return {
        "model": settled_model(other.model, other.mechanism, other.people, other.unit_rows).as_json(),
        "mechanism": other.mechanism.as_json(),
        "epsilon": other.cost.total.epsilon(delta),
        "accuracy": _accuracy_json(other),
    }


def _unforeseen(question: AccuracyQuestion) -> AccuracySearch:
    raise InvalidInput("target", "an (ε, δ): how wide answers are depends on how many rows meet a private condition")


PLANNER = Planner(figures, choose, settled, settled_model, accuracy_search)
CONDITION_PLANNER = replace(PLANNER, accuracy=_unforeseen)
