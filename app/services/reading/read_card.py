"""The guarantee card: what is promised to the people in the data, line by line, from public numbers only."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.core.decisions import SAMPLES, View
from app.core.kinds import ReleaseModel, SeveralModels, split_groups
from app.core.kinds.plan_figures import finite
from app.core.kinds.protocols import MeasuringMechanism
from app.core.schema import Column
from app.errors import IntegrityFailure
from app.ledger.account import Account, account_id
from app.ledger.canonical import canonical_json
from app.services.budgets import guarantee_epsilon
from app.services.datasets.dataset_sources import dataset_columns
from app.services.people.visibility import find_release
from app.services.principals import AnyPrincipal
from app.services.reading.lines.audit_line import audit_line
from app.services.reading.lines.card_lines import (
    COMPOSED_LINES,
    LINES,
    CardFacts,
    check_line,
    neighbours_of,
    vacuous_line,
)
from app.services.reading.lines.changes_line import changes_line, rehearsal_line
from app.services.reading.lines.group_lines import groups_line, public_line
from app.services.reading.lines.moment_line import moment_line
from app.services.reading.lines.part_lines import part_figures, part_lines, parts_line
from app.services.reading.lines.population_line import UNTRACKED, population_line, untracked
from app.services.reading.lines.view_lines import range_line, synthetic_line, views_line
from app.services.reading.lines.vouched_line import vouched_line
from app.services.releases.parts import part_names, part_release
from app.services.releases.release_views import find_views, is_evidence_kept
from app.services.releases.stored_release import cost_from_json, stored_check, stored_mechanism, stored_model
from app.services.runtime.runtime import Runtime
from app.storage import accounts, datasets
from app.storage.datasets import Dataset
from app.storage.populations import population_names
from app.storage.releases import Release

NOT_PROMISED = [
    UNTRACKED,
    "Who is in the data, and how many they are, is public by declaration.",
    "Nothing here holds if bounds, prior, range, temperature or samples were chosen by looking at these data.",
    "A machine that works on rows is busy: whoever can time other requests to it, or sees its load, may see for how long.",
    "What is true of people in general may be learnt, and applied to anyone, in the data or not.",
]

NOT_FIGURES = frozenset({"lines", "not_promised", "vacuous", "status", "digest"})
"""Sentences, and what may change while the guarantee stays: wording improves, a ceiling is set, a release is withdrawn."""


async def read_card(runtime: Runtime, *, principal: AnyPrincipal, release_id: str) -> dict[str, Any]:
    """Raises NotFound. A function of the release's public numbers: the same bytes for everyone."""
    async with runtime.database.read() as connection:
        release = await find_release(connection, principal, release_id)
        dataset = await datasets.get_dataset(connection, release.dataset_id)
        account = await accounts.get_account(connection, account_id(release.dataset_id))
        if dataset is None or account is None:
            raise IntegrityFailure("a release without its dataset")
        model = stored_model(release, dataset)
        kept = await is_evidence_kept(connection, release, model)
        population = await _population(connection, dataset)
    views = await find_views(release, model, kept=kept)
    ceiling = runtime.settings.epsilon_max
    return await asyncio.to_thread(build_card, release, dataset, ceiling, account, views, population)


async def _population(connection: Connection, dataset: Dataset) -> tuple[str, Account] | None:
    """Its name and its account."""
    if dataset.population is None:
        return None
    names = await population_names(connection, [dataset.population])
    account = await accounts.get_account(connection, dataset.population)
    if account is None:
        raise IntegrityFailure("a population without its account")
    return names[dataset.population], account


def build_card(
    release: Release,
    dataset: Dataset,
    epsilon_max: float,
    account: Account | None = None,
    views: Sequence[View] = (SAMPLES,),
    population: tuple[str, Account] | None = None,
) -> dict[str, Any]:
    """A forced, vacuous guarantee says so in its first line. `account`: the dataset's, for what all releases together cost.
    Neither that nor `views` nor `population` (its name and account) is what a figure of the digest is about."""
    cost = cost_from_json(release.cost)
    epsilon, order = cost.total.alone(dataset.delta), cost.total.best_order(dataset.delta)[1]
    vacuous = not epsilon <= epsilon_max
    model = stored_model(release, dataset)
    columns = dataset_columns(dataset)
    several = isinstance(model, SeveralModels)
    check = None if several else stored_check(release, model)  # those of several stand on the cards of their parts
    facts = CardFacts(
        model=model,
        cost=cost,
        delta=dataset.delta,
        people=release.n,
        unit_rows=release.unit_rows,
        budget_epsilon=dataset.epsilon if account is None else guarantee_epsilon(account),
        cap_epsilon=dataset.epsilon if account is None else account.epsilon,
        check=check,
        neighbours=neighbours_of(columns),
    )
    checked = [] if check is None else [check_line(check, model, release.unit_rows, dataset.delta, facts.neighbours)]
    changed = [changes_line(dataset.changes)] if dataset.changes else []
    changed += [] if dataset.rehearsal is None else [rehearsal_line(dataset.rehearsal)]
    changed += vouched_line(dataset, release.n, release.unit_rows)
    parts, by_part = _parts(release, dataset, epsilon_max) if several else ([], [])
    own = [parts_line(parts)] if several else _own_lines(release, model, views, columns)
    shared = [] if population is None else [population_line(*population)]
    about = [*shared, *audit_line(release.cost), *checked, *own, *public_line(columns), moment_line(dataset), *by_part]
    lines = [*changed, *(line(facts) for line in (COMPOSED_LINES if several else LINES)), *about]
    card = {
        "release": release.id,
        "status": release.status,
        "n": release.n,
        "samples": cost.samples,
        "neighbours": facts.neighbours,
        "privacy_unit_rows": release.unit_rows,
        "epsilon": float(epsilon),
        "delta": dataset.delta,
        "best_order": None if order is None else float(order),
        "pure_epsilon": finite(cost.total.pure),
        "vacuous": vacuous,
        "lines": [vacuous_line(epsilon, epsilon_max), *lines] if vacuous else lines,
        "not_promised": [untracked(population[0] if population else None), *NOT_PROMISED[1:]],
    } | ({"parts": parts} if several else {})
    return card | {"digest": card_digest(card)}


def _own_lines(
    release: Release, model: ReleaseModel, views: Sequence[View], columns: Mapping[str, Column]
) -> list[dict[str, Any]]:
    """What is said of one model: its groups, its range, its views and synthetic rows."""
    mechanism = stored_mechanism(release, model)
    _, groups = split_groups(release.model)
    return [
        *groups_line(model, groups or {}, columns),
        range_line(model.parameters, views, noisy=isinstance(mechanism, MeasuringMechanism)),
        views_line(views, mechanism.approximation(model)),
        *synthetic_line(model),
    ]


def _parts(release: Release, dataset: Dataset, epsilon_max: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(figures, lines) of each of several models, without what is said of the whole; every line names its part."""
    cards = [(name, build_card(part_release(release, name), dataset, epsilon_max)) for name in part_names(release)]
    lines = [line for name, card in cards for line in part_lines(name, card)]
    return [part_figures(name, card) for name, card in cards], lines


def card_digest(card: Mapping[str, Any]) -> str:
    """SHA-256 of the card's figures as canonical JSON: of every field but those in NOT_FIGURES.

    The same from a card that was sent as JSON and read again, so anyone who holds it can compare it with a receipt.
    """
    figures = {name: value for name, value in card.items() if name not in NOT_FIGURES}
    return hashlib.sha256(canonical_json(figures).encode()).hexdigest()
