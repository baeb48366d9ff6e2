"""The guarantee card: what is promised to the people in the data, line by line, from public numbers only."""

import math
from collections.abc import Callable
from typing import Any

from app.core.mechanisms import ReleaseCost
from app.core.privacy import ORDERS
from app.core.privacy import statements as say
from app.errors import IntegrityFailure
from app.services.budgets import finite
from app.services.principals import AnyPrincipal
from app.services.runtime import Runtime
from app.services.stored_costs import cost_from_json
from app.services.stored_models import stored_model
from app.services.visibility import find_release
from app.storage import datasets
from app.storage.releases import Release

ERROR_SHOWN = 0.05
INFLUENCE_SHOWN = 0.5
REPLACE_ONE = "the same n people, one person's data replaced; presence and n are public"


async def read_card(runtime: Runtime, *, principal: AnyPrincipal, release_id: str) -> dict[str, Any]:
    """Raises NotFound. A function of the release's public numbers: the same bytes for everyone."""
    async with runtime.database.read() as connection:
        release = await find_release(connection, principal, release_id)
        dataset = await datasets.get_dataset(connection, release.dataset_id)
    if dataset is None:
        raise IntegrityFailure("a release without its dataset")
    return build_card(release, dataset.delta, runtime.settings.epsilon_max)


def build_card(release: Release, delta: float, epsilon_max: float) -> dict[str, Any]:
    cost = cost_from_json(release.cost)
    total = cost.total
    epsilon, order = total.best_order(delta)
    vacuous = not epsilon <= epsilon_max
    lines = [builder(release, cost, delta) for builder in _LINES]
    warning = {
        "name": "vacuous",
        "value": True,
        "basis": "exact",
        "assumption": "none",
        "text": f"WARNING: ε = {epsilon:.3g} is above {epsilon_max:g}. This release promises next to nothing; "
        "it was forced by its steward.",
    }
    return {
        "release": release.id,
        "status": release.status,
        "n": release.n,
        "samples": cost.samples,
        "neighbours": REPLACE_ONE,
        "privacy_unit_rows": release.unit_rows,
        "epsilon": epsilon,
        "delta": delta,
        "best_order": order,
        "pure_epsilon": finite(total.pure),
        "vacuous": vacuous,
        "lines": [warning, *lines] if vacuous else lines,
        "not_promised": [
            "The same people in another dataset are not tracked: their losses add up.",
            "Who is in the data, and how many they are, is public by declaration.",
        ],
    }


def _pure(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    factor = say.odds_factor(cost.total.pure)
    known = f"a factor {factor:.3g}" if math.isfinite(factor) else "more than any useful factor"
    return {
        "name": "pure",
        "value": finite(cost.total.pure),
        "basis": "certified",
        "assumption": REPLACE_ONE,
        "text": "No matter what else they know, nobody can raise their odds about one person whose data are independent "
        f"of everyone else's by more than {known} (worst case over every outcome, δ = 0).",
    }


def _approximate(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    epsilon = cost.total.epsilon(delta)
    return {
        "name": "approximate",
        "value": {"epsilon": epsilon, "delta": delta},
        "basis": "certified",
        "assumption": REPLACE_ONE,
        "text": f"Except with probability {delta:g}, everything all analysts together can learn from this release, with "
        f"any number of questions, multiplies their odds about one person by at most {math.exp(min(epsilon, 700)):.3g}.",
    }


def _renyi(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    return {
        "name": "renyi",
        "value": [[order, value] for order, value in zip(ORDERS, cost.total.curve, strict=True)],
        "basis": cost.method,
        "assumption": REPLACE_ONE,
        "text": "Rényi divergence between the outputs on neighbouring datasets, at most this at each order; the numbers "
        "the ledger adds up.",
    }


def _papers(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    return {
        "name": "papers_lipschitz",
        "value": cost.papers_pure,
        "basis": "certified",
        "assumption": "2·N·τ·L·ρ with ρ the number of rows a person owns; looser than the pure line, never charged",
        "text": "What the papers behind this mechanism would report for the same release.",
    }


def _robustness(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    return {
        "name": "robustness",
        "value": cost.kl_sup,
        "basis": "certified",
        "assumption": REPLACE_ONE,
        "text": "Kullback–Leibler divergence between one sample's distributions on neighbouring datasets, at most.",
    }


def _distinguishability(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    needed = say.samples_to_distinguish(cost.kl_sup, ERROR_SHOWN)
    lipschitz = stored_model(release).lipschitz
    return {
        "name": "distinguishability",
        "value": {
            "error": ERROR_SHOWN,
            "samples_needed": finite(needed),
            "papers": say.papers_samples_to_distinguish(lipschitz, ERROR_SHOWN),
        },
        "basis": "certified",
        "assumption": "Bretagnolle–Huber; the papers' figure is theirs and concludes too much",
        "text": f"To tell two neighbouring datasets apart with both error rates at most {ERROR_SHOWN:g}, anyone needs at "
        f"least {math.floor(needed) if math.isfinite(needed) else 'infinitely many'} samples; there are {cost.samples}.",
    }


def _inferential(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    bound = say.inferential_bound(cost.total.pure, INFLUENCE_SHOWN)
    return {
        "name": "inferential",
        "value": {"independent": finite(cost.total.pure), "influence": INFLUENCE_SHOWN, "bounded": finite(bound)},
        "basis": "certified",
        "assumption": f"each person's data influenced by all others together by at most {INFLUENCE_SHOWN:g} (multiplicative "
        "influence matrix, half log-ratios, symmetric); from the pure ε only",
        "text": "If people's data depend on each other, more can be inferred about one person than from their own record; "
        "this bounds by how much the log-odds can move.",
    }


def _leakage(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    return {
        "name": "min_entropy_leakage_bits",
        "value": say.leakage_bits(cost.total.pure, 2),
        "basis": "certified",
        "assumption": "one person with one of two equally likely records; from the pure ε only",
        "text": "Bits of information about one person's record that the whole release can leak, at most.",
    }


def _collusion(release: Release, cost: ReleaseCost, delta: float) -> dict[str, Any]:
    return {
        "name": "collusion",
        "value": cost.samples,
        "basis": "exact",
        "assumption": "none",
        "text": "Analysts hold prefixes of one sample set. All of them together know the longest prefix and no more, so the "
        f"figures above, which pay for all {cost.samples} samples, cover every coalition and a thief of the database.",
    }


_LINES: tuple[Callable[[Release, ReleaseCost, float], dict[str, Any]], ...] = (
    _approximate,
    _pure,
    _renyi,
    _papers,
    _robustness,
    _distinguishability,
    _inferential,
    _leakage,
    _collusion,
)
