"""The guarantee card of every mechanism: each line with a value, a basis, an assumption and a sentence."""

import math
from typing import Any

import pytest

from app.core.privacy import ORDERS
from app.ledger.account import with_cap
from app.services.reading.lines.moment_line import moment_line
from app.services.reading.read_card import build_card, read_card
from app.services.releases.stored_release import cost_from_json
from app.storage import datasets
from app.storage.datasets import Dataset
from tests.conftest import POSTGRES_DEEP
from tests.services.family_world import COLUMNS, EXPONENTIAL, LAPLACE, POISSON, family_rows
from tests.services.world import World

BAPS = {"kind": "baps", "samples": 10, "temperature": 0.05}
POINT = {"kind": "map", "epsilon": 2.0}
LINES = [
    "approximate", "pure", "renyi", "zcdp_rho", "gdp_mu", "papers_lipschitz", "robustness", "distinguishability",
    "inferential", "guess", "reconstruction", "min_entropy_leakage_bits", "min_entropy_leakage_bits_any_record",
    "collusion", "budget", "audit", "range", "views", "synthetic", "moment",
]  # fmt: skip


async def card_of(world: World, **spec: Any) -> tuple[dict[str, Any], Any]:
    dataset = await world.dataset(columns=COLUMNS, data=family_rows())
    release = await world.published(dataset, **spec)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    return card, cost_from_json((await world.release(release)).cost)


def line(card: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in card["lines"] if each["name"] == name)
    return found


@POSTGRES_DEEP
@pytest.mark.parametrize("mechanism", [BAPS, LAPLACE, POINT], ids=lambda mechanism: str(mechanism["kind"]))
async def test_every_line_names_its_basis_its_assumption_and_a_sentence(world: World, mechanism: dict[str, Any]):
    card, cost = await card_of(world, model=EXPONENTIAL, mechanism=mechanism)
    assert [each["name"] for each in card["lines"]] == LINES
    for each in card["lines"]:
        assert each["basis"] in ("exact", "certified", "asymptotic")
        assert each["assumption"]
        assert each["text"].endswith(".")
    assert line(card, "approximate")["value"] == {"epsilon": cost.total.epsilon(1e-6), "delta": 1e-6}
    assert line(card, "pure")["value"] == cost.total.pure
    assert line(card, "renyi")["value"] == [[a, d] for a, d in zip(ORDERS, cost.total.curve, strict=True)]
    assert line(card, "papers_lipschitz")["value"] == cost.papers_pure
    needed = max(bound / order for order, bound in zip(ORDERS, cost.total.curve, strict=True))
    assert line(card, "zcdp_rho")["value"] >= needed
    assert line(card, "gdp_mu")["value"] > 0
    assert not card["vacuous"]


@POSTGRES_DEEP
async def test_a_cap_below_what_is_spent_is_not_shown_as_what_holds(world: World):
    dataset = await world.dataset(columns=COLUMNS, data=family_rows())
    release = await world.release(await world.published(dataset, model=POISSON, mechanism=BAPS))
    async with world.runtime.database.read() as connection:
        stored = await datasets.get_dataset(connection, dataset)
    assert stored is not None
    account = with_cap(await world.account(dataset), epsilon=0.001, delta=1e-6)
    shown = line(build_card(release, stored, 20.0, account), "budget")
    assert 0.001 < shown["value"]["epsilon"] < 20
    assert "promises nothing" in shown["text"]
    assert (
        "promises nothing"
        not in line(build_card(release, stored, 20.0, await world.account(dataset)), "budget")["text"]
    )


@POSTGRES_DEEP
async def test_a_lawyer_reads_the_factor_that_the_pure_cost_allows(world: World):
    card, _ = await card_of(world, model=POISSON, mechanism=LAPLACE | {"epsilon": math.log(2)})
    assert "by more than a factor 2:" in line(card, "pure")["text"]
    assert "No matter what else they know" in line(card, "pure")["text"]


@POSTGRES_DEEP
async def test_free_samples_are_counted_once_in_what_tells_datasets_apart(world: World):
    """N draws of `baps` multiply the divergence; N samples computed from one noisy number do not."""
    card, cost = await card_of(world, model=POISSON, mechanism=LAPLACE | {"epsilon": 0.5})
    told = line(card, "distinguishability")["value"]
    assert told == {"error_sum_at_least": 0.5 * math.exp(-cost.kl_sup)}
    assert "computed from one noisy number," in line(card, "collusion")["text"]


@POSTGRES_DEEP
async def test_paid_samples_say_how_many_would_tell_datasets_apart(world: World):
    card, cost = await card_of(world, model=POISSON, mechanism=BAPS)
    told = line(card, "distinguishability")["value"]
    assert told["error_sum_at_least"] == pytest.approx(0.5 * math.exp(-10 * cost.kl_sup))
    assert told["samples_needed"] == pytest.approx(math.log(5) / cost.kl_sup)
    assert told["papers"] > 0
    assert "hold prefixes of one sample set" in line(card, "collusion")["text"]


@POSTGRES_DEEP
async def test_people_who_resemble_each_other_are_promised_less(world: World):
    card, cost = await card_of(world, model=POISSON, mechanism=LAPLACE | {"epsilon": 1.0})
    shown = line(card, "inferential")["value"]
    assert shown["independent"] == cost.total.pure < shown["with_relatives"] < shown["influenced"]


@POSTGRES_DEEP
async def test_a_lower_ceiling_turns_the_card_of_an_old_release_into_a_warning(world: World):
    dataset = await world.dataset(columns=COLUMNS, data=family_rows())
    release = await world.release(await world.published(dataset, model=POISSON, mechanism=LAPLACE))
    async with world.runtime.database.read() as connection:
        stored = await datasets.get_dataset(connection, dataset)
    assert stored is not None
    for ceiling, first in ((20.0, "approximate"), (4.9, "vacuous")):
        card = build_card(release, stored, ceiling)
        assert card["lines"][0]["name"] == first
        assert card["vacuous"] is (first == "vacuous")


MEASURED = {
    "age": {"type": "real", "lower": 0, "upper": 100},
    "score": {"type": "real", "lower": 0, "upper": 20},
    "sick": {"type": "binary"},
}
LINEAR = {"family": "linear_regression", "target": "score", "features": ["age"], "noise_sd": 2.0, "radius": 4.0}
MEAN = {"family": "mvn_mean", "columns": ["age", "score"], "covariance": [[400.0, 0.0], [0.0, 4.0]]}
NETWORK = {"family": "network", "nodes": {"sick": {}}, "trim": 0.05}
WITH_SLACK = ("approximate", "renyi", "robustness", "distinguishability")
DRAWN = {"kind": "baps", "samples": 2, "temperature": 0.01}
PERTURBED = {"kind": "perturbed_statistics", "samples": 30, "epsilon": 5.0, "delta": 1e-7}


async def test_gaussian_noise_has_the_rho_and_the_mu_of_its_own_law(world: World):
    card, cost = await measured_card(world, MEAN, PERTURBED)
    rho, mu = line(card, "zcdp_rho")["value"], line(card, "gdp_mu")["value"]
    assert rho == pytest.approx(cost.once.curve[0] / ORDERS[0], rel=1e-9)
    assert math.sqrt(2 * rho) < mu < 1.001 * math.sqrt(2 * rho)


async def measured_card(world: World, model: dict[str, Any], mechanism: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    data = b"age,score,sick\n" + b"".join(b"%d,%d,%d\n" % (i % 90, i % 19, i % 2) for i in range(900))
    budget = {"epsilon": 20.0, "delta": 1e-5, "slack_delta": 1e-6}
    dataset = await world.dataset(columns=MEASURED, data=data, budget=budget)
    release = await world.published(dataset, model=model, mechanism=mechanism)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    return card, cost_from_json((await world.release(release)).cost)


@POSTGRES_DEEP
@pytest.mark.parametrize("model", [LINEAR, MEAN], ids=lambda model: str(model["family"]))
async def test_draws_of_an_inexact_sampler_name_its_slack_wherever_it_matters(world: World, model: dict[str, Any]):
    card, cost = await measured_card(world, model, DRAWN)
    assert cost.total.slack_delta > 0
    assert [line(card, name)["value"] for name in ("zcdp_rho", "gdp_mu")] == [None, None]
    for name in WITH_SLACK:
        assert f"a probability of {cost.total.slack_delta:.3g}" in line(card, name)["assumption"], name
        assert "certified given the sampler's declared allowance" in line(card, name)["assumption"], name
    told = line(card, "distinguishability")["value"]["error_sum_at_least"]
    assert told < 0.5 * math.exp(-2 * cost.kl_sup)


@POSTGRES_DEEP
@pytest.mark.parametrize(
    ("model", "mechanism", "word"),
    [(LINEAR, DRAWN, "L(w)"), (MEAN, DRAWN, "no L for this family"), (NETWORK, DRAWN, "one attribute")],
    ids=["regression", "mean", "network"],
)
async def test_the_papers_line_speaks_of_the_model_it_is_about(
    world: World, model: dict[str, Any], mechanism: dict[str, Any], word: str
):
    card, cost = await measured_card(world, model, mechanism)
    papers = line(card, "papers_lipschitz")
    assert word in papers["assumption"]
    assert ("attribute" in papers["assumption"]) is (model is NETWORK)
    assert f"{cost.papers_pure:.4g}" in papers["text"]
    assert "inf" not in papers["text"]


@POSTGRES_DEEP
async def test_noise_on_many_numbers_is_not_called_one(world: World):
    card, cost = await measured_card(world, LINEAR, PERTURBED)
    assert "computed from noisy numbers," in line(card, "collusion")["text"]
    assert cost.total.slack_delta == 0
    assert all("slack" not in each["assumption"] for each in card["lines"])
    assert all(" inf" not in each["text"] for each in card["lines"])


@POSTGRES_DEEP
@pytest.mark.parametrize(
    ("model", "mechanism", "basis", "word"),
    [
        (NETWORK, {"kind": "laplace", "samples": 3, "epsilon": 5.0}, "measured", "finite chains over made-up records"),
        (LINEAR, PERTURBED, "measured", "finite chains with a law of the features"),
        (MEAN, PERTURBED, "exact", "as often as they say."),
        (LINEAR, DRAWN, "exact", "few, or drawn below temperature 1"),
    ],
    ids=["network", "regression", "mean", "no belief"],
)
async def test_a_belief_that_is_nearly_the_posterior_promises_no_coverage(
    world: World, model: dict[str, Any], mechanism: dict[str, Any], basis: str, word: str
):
    card, _ = await measured_card(world, model, mechanism)
    views = line(card, "views")
    assert views["basis"] == basis
    assert word in views["text"]
    assert ("90 % intervals held" in views["text"]) is (basis == "measured")


@pytest.mark.parametrize(
    ("source", "unit", "value", "word"),
    [
        ({"kind": "upload"}, {"column": "who", "max_rows": 3}, "public", "the rows a person may own"),
        ({"kind": "file", "path": "a"}, None, "public", "may depend on the data"),
        ({"kind": "file", "path": "a", "rows_max": 70}, {"column": "who", "max_rows": 3}, "public", "limit of 70 rows"),
        ({"kind": "file", "path": "a"}, {"column": "who", "max_rows": 3}, "depends on rows", "WARNING"),
    ],
    ids=["upload", "file of one row a person", "file with a limit", "file without"],
)
def test_the_card_says_what_the_moment_of_publication_follows_from(
    source: dict[str, Any], unit: dict[str, Any] | None, value: str, word: str
):
    dataset = Dataset("ds_a", "an_a", "a", {"cured": {"type": "binary"}}, unit, source, 10, 1.0, 1e-6, 0)
    found = moment_line(dataset)
    assert found["value"] == value
    assert word in found["text"]
    assert ("card does not cover it" in found["text"]) == (value != "public")
