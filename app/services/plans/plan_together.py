"""Several models on one budget: how to split it, from public numbers only. Free, touches no data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.kinds import kind_of, parse_model
from app.core.kinds.accuracy_goal import AccuracyQuestion, Goal, Offer, Price, reached
from app.core.kinds.protocols import ReleaseModel
from app.core.kinds.several import default_name
from app.core.privacy import ORDERS
from app.core.schema import Column
from app.errors import DataMissing, Forbidden, IntegrityFailure, InvalidInput
from app.ledger.account import Account, account_id, open_account
from app.ledger.filters import GAUSSIAN
from app.ledger.reading import spent_epsilon
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.datasets.read_datasets import owned
from app.services.plans.accuracy_answers import goal_json, precision_json, release_json, why
from app.services.plans.asked_groups import described, grouped_spec, planned_spec
from app.services.plans.plan_questions import (
    mechanism_of,
    open_samples,
    plan_columns,
    read_delta,
    read_goal,
    read_unit_rows,
)
from app.services.plans.split_budget import Part, Split, smallest_budget, split_within
from app.services.principals import Analyst, AnyPrincipal, Rehearser, Steward
from app.services.runtime.cost_cache import check_people, compute
from app.services.runtime.identifiers import is_rehearsal
from app.services.runtime.runtime import Runtime
from app.storage import accounts, datasets

MODELS_MAX = 16
NO_DATASET = "plan"
FREE_LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class _Together:
    """What all models share. `account` None: the smallest budget that does is looked for."""

    columns: Mapping[str, Column] | None
    people: int
    unit_rows: int
    delta: float
    account: Account | None
    of_dataset: str | None
    samples_max: int
    strata: Mapping[str, Any] | None = None
    population: Account | None = None
    """Charged beside the dataset's account."""

    def grouped(self, spec: Mapping[str, Any], columns: Mapping[str, Column]) -> Mapping[str, Any]:
        if self.of_dataset is None or self.strata is None:
            return planned_spec(spec, columns, self.people)
        return grouped_spec(spec, columns, self.strata)


async def plan_together(runtime: Runtime, *, principal: AnyPrincipal | None, spec: Mapping[str, Any]) -> dict[str, Any]:
    """On `target`'s (ε, δ), on what is left of the dataset's `account`, or, without either, on the least that does.

    Raises InvalidModel, InvalidMechanism, InvalidInput, AccuracyUnreachable, BudgetExhausted where an account has nothing left,
    NotFound for a dataset that is not this steward's, Forbidden for other keys, DataMissing, TooBusy.
    """
    models = spec["models"]
    if not isinstance(models, list) or not 1 <= len(models) <= MODELS_MAX:
        raise InvalidInput("models", f"a list of 1 to {MODELS_MAX} models")
    shared = await _shared(runtime, principal, spec)
    check_people(shared.people, shared.unit_rows)
    asked = [_Asked.read(each, f"models.{i}", shared, spec) for i, each in enumerate(models)]
    if shared.account is None and not all(each.goal for each in asked):
        raise InvalidInput("target", "an (ε, δ) or an account to share, or a target for every model")
    return await compute(runtime, lambda: _plan(shared, asked))


@dataclass(frozen=True, slots=True)
class _Asked:
    field: str
    model: ReleaseModel
    goal: Goal | None
    samples: int | None

    @classmethod
    def read(cls, spec: Mapping[str, Any], field: str, shared: _Together, body: Mapping[str, Any]) -> "_Asked":
        if not isinstance(spec, Mapping) or not isinstance(spec.get("model"), Mapping):
            raise InvalidInput(f"{field}.model", "a model")
        columns = shared.columns or plan_columns({"columns": body.get("columns"), "model": spec["model"]})
        target = spec.get("target")
        goal = read_goal(target, f"{field}.target")
        if target is not None and goal is None:
            raise InvalidInput(f"{field}.target", "a half_width or an sd: ε is shared, in `target`")
        samples = open_samples(mechanism_of(spec), shared.samples_max, f"{field}.mechanism")
        return cls(field, parse_model(shared.grouped(spec, columns), columns), goal, samples)


async def _shared(runtime: Runtime, principal: AnyPrincipal | None, spec: Mapping[str, Any]) -> _Together:
    target, most = spec.get("target") or {}, runtime.settings.samples_max
    if spec.get("account") is not None:
        return await _of_dataset(runtime, principal, spec, most)
    if spec.get("n") is None:
        raise InvalidInput("n", "the public number of people, unless an account says it")
    if read_goal(target or None) is not None:
        raise InvalidInput("target", "an (ε, δ) to share; a half_width or an sd belongs to each model")
    delta = read_delta(spec.get("delta"), target.get("delta"))
    account = open_account(NO_DATASET, epsilon=float(target["epsilon"]), delta=delta) if target else None
    return _Together(None, spec["n"], read_unit_rows(spec), delta, account, None, most)


async def _of_dataset(
    runtime: Runtime, principal: AnyPrincipal | None, spec: Mapping[str, Any], samples_max: int
) -> _Together:
    """Columns, people, unit and δ are the dataset's own."""
    for field in ("target", "delta", "columns", "privacy_unit"):
        if spec.get(field) is not None:
            raise InvalidInput(field, "nothing: the account's dataset says it")
    name = spec["account"]
    if isinstance(principal, Analyst) and is_rehearsal(name):
        principal = Rehearser.of(principal)
    if not isinstance(principal, Steward):
        raise Forbidden("this takes the key of the dataset's steward", roles=["steward"])
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, name), principal, name)
        account = await accounts.get_account(connection, account_id(name))
        shared = None if dataset.population is None else await accounts.get_account(connection, dataset.population)
    if account is None or (shared is None) != (dataset.population is None):
        raise IntegrityFailure("a dataset without an account")
    people = spec.get("n") if dataset.n is None else dataset.n
    if people is None:
        raise DataMissing("the dataset has no rows yet: upload them, or say `n`")
    if spec.get("n") not in (None, people):
        raise InvalidInput("n", f"{people}, as the dataset has, or nothing")
    rows = dataset_unit(dataset).max_rows
    return _Together(
        dataset_columns(dataset), people, rows, account.delta, account, name, samples_max, dataset.strata, shared
    )


def _plan(shared: _Together, asked: list[_Asked]) -> dict[str, Any]:
    parts = [_part(shared, each) for each in asked]
    if shared.account is not None:
        beside = [] if shared.population is None else [shared.population]
        before, split = shared.account, split_within(shared.account, parts, beside)
    else:
        found = smallest_budget(NO_DATASET, shared.delta, parts)
        if found is None:
            raise InvalidInput("models", "targets that some ε reaches together")
        before, split = found
    models = [
        _part_json(shared, each, part, offers, split)
        for each, part, offers in zip(asked, parts, split.offers, strict=True)
    ]
    return {
        "models": models,
        "release": {"models": _named([each["release"] for each in models])},
        "n": shared.people,
        "privacy_unit_rows": shared.unit_rows,
        "account": shared.of_dataset,
        "population": _population_json(split),
        "budget": {"epsilon": before.epsilon, "delta": before.delta},
        "spent_epsilon": min(spent_epsilon(split.account).epsilon, before.epsilon),
        "filter": "gaussian" if split.account.regime == GAUSSIAN else "renyi" if before.rest_delta > 0 else "pure",
        "order": split.account.order_in_force if before.rest_delta > 0 else None,
        "reached": split.short_by == 1.0,
        "short_by": split.short_by if any(part.wanted for part in parts) else None,
        "advice": _advice(split, parts),
    }


def _population_json(split: Split) -> dict[str, Any] | None:
    """The account that all of it would be charged to as well, as it would read afterwards."""
    return next(
        (
            {
                "id": each.id,
                "epsilon": each.epsilon,
                "delta": each.delta,
                "spent_epsilon": min(spent_epsilon(each).epsilon, each.epsilon),
            }
            for each in split.beside
        ),
        None,
    )


def _part(shared: _Together, asked: _Asked) -> Part:
    question = AccuracyQuestion(
        asked.model, shared.people, shared.unit_rows, shared.delta, asked.samples, shared.samples_max, drawn=False
    )
    search = kind_of(asked.model).planner.accuracy(question)
    if asked.goal is None:
        goal = Goal("sd", search.best_sd, FREE_LEVEL)
        return Part(search, goal, search.best_sd, wanted=False)

    found = reached(search, asked.goal, _price(shared), f"{asked.field}.target.{asked.goal.measure}")
    return Part(search, asked.goal, asked.goal.sd / found.correction, wanted=True)


def _price(shared: _Together) -> Price:
    """What will most probably decide between mechanisms: the order in force."""
    account = shared.account
    if account is None:
        return lambda cost: cost.epsilon(shared.delta)
    order = account.order_in_force
    if order is None or not account.rest_delta > 0:
        return lambda cost: cost.pure
    return lambda cost: cost.curve[ORDERS.index(order)]


def _part_json(shared: _Together, asked: _Asked, part: Part, offers: list[Offer], split: Split) -> dict[str, Any]:
    best = offers[0]
    settled = kind_of(asked.model).planner.settled_model
    model = settled(asked.model, best.mechanism, shared.people, shared.unit_rows).as_json()
    precision = precision_json(part.search, part.goal.level, best.mechanism, best.sd)
    shown = precision[part.goal.measure]
    return {
        **described(model),
        "mechanism": best.mechanism.as_json(),
        "release": release_json(model, best),
        "target": goal_json(asked.goal),
        "epsilon": best.cost.total.epsilon(shared.delta),
        "share": _share(split, best),
        "precision": precision,
        "wider_by": shown / (part.goal.value if part.wanted else part.search.best_sd),
        "why": why(offers, split.price, "a charge of"),
    }


def _named(releases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts of one release, each under a name of its own."""
    found: dict[str, dict[str, Any]] = {}
    for place, body in enumerate(releases):
        name = default_name(body["model"], place)
        while name in found:
            name += "_"
        found[name] = {"name": name} | body
    return [*found.values()]


def _share(split: Split, offer: Offer) -> float:
    """Of what all of them are charged together, by what decided between mechanisms."""
    total = sum(split.price(each[0].cost.total) for each in split.offers)
    return split.price(offer.cost.total) / total if total > 0 else 0.0


def _advice(split: Split, parts: list[Part]) -> str:
    spent = spent_epsilon(split.account).epsilon
    rest = f". Together the account then reads ε = {spent:.4g}"
    if split.short_by > 1:
        return (
            f"The budget does not reach every target: all fall short by the same factor, answers {split.short_by:.2f} times as "
            "wide as asked. More ε, wider targets, fewer models or more people would do"
        )
    if not all(part.wanted for part in parts):
        return f"Every target is reached; models without one share the rest, each as many times wider than without noise{rest}"
    return f"Every target is reached{rest}"
