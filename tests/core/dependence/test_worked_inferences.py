"""The worked figures of the specification, to their digits, by the code that was written from the theorems."""

import math

import numpy as np
import pytest

from app.core.dependence import chains, counts, leakage, trees
from app.core.dependence.descriptions import read_people, structure_of
from app.core.dependence.inference import Question, epsilon_for, infer, pure_bound, samples_for
from app.core.dependence.structure import Structure
from app.core.grids.bernoulli import bernoulli
from app.core.kinds.group_costs import ReleaseLosses
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.privacy.cost import ORDERS, Cost


def declared(member: int | None = None, known: bool = False, **people: object) -> Structure:
    return structure_of(read_people(people), None if member is None else [member], known)


class Pure:
    """Of a mechanism of which only ε is known."""

    people = 10**6

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def group(self, count: int) -> Cost:
        return Cost(self.epsilon * count, (self.epsilon * count,) * len(ORDERS))

    def kl(self, count: int) -> float:
        return self.epsilon * count


def loss(structure: Structure, epsilon: float) -> float:
    found = pure_bound(Pure(epsilon), structure)
    assert found is not None
    return found.value


PATH = {"kind": "ising", "edges": [[i, i + 1, 0.5] for i in range(4)]}
WEAK_PATH = {"kind": "ising", "edges": [[i, i + 1, 0.2] for i in range(4)]}
TRIANGLE = {"kind": "ising", "edges": [[0, 1, -0.5], [1, 2, -0.5], [0, 2, -0.5]]}
CHAIN = {"kind": "chain", "transition": [[0.8, 0.2], [0.3, 0.7]], "steps": 11, "position": 5}


@pytest.mark.parametrize(
    ("people", "member", "epsilon", "figure", "digits"),
    [
        ({"kind": "relatives", "count": 2, "agreement": 0.75}, 0, 1.0, 1.941229839, 9),
        (PATH, 0, 1.0, 1.642557364, 9),
        (PATH, 2, 1.0, 2.168948496, 9),
        (WEAK_PATH, 2, 1.0, 1.420729031, 9),
        (TRIANGLE, 0, 1.0, 1.555532511, 9),
        ({"kind": "exchangeable", "weights": [1.0] * 5}, 0, 0.5, 0.976475614, 9),
        (CHAIN, None, 0.5, 1.456553407, 9),
        ({"kind": "tree", "edges": [[i, i + 1, 2.0] for i in range(4)]}, 2, 1.0, 2.299473756, 9),
    ],
)
def test_the_loss_is_the_worked_one(
    people: dict[str, object], member: int | None, epsilon: float, figure: float, digits: int
) -> None:
    assert loss(declared(member, **people), epsilon) == pytest.approx(figure, abs=10**-digits)


def named(structure: Structure, epsilon: float) -> dict[str, float]:
    return {method.name[-2]: float(method.values(np.array([epsilon]))[0]) for method in structure.methods()}


def test_every_theorem_has_its_own_worked_figure() -> None:
    middle = named(declared(2, **PATH), 1.0)
    assert (middle["E"], middle["D"], middle["C"]) == pytest.approx((2.299473756, 2.667384422, 3.0), abs=1e-9)
    assert named(declared(2, **WEAK_PATH), 1.0)["C"] == pytest.approx(1.5, abs=1e-9)
    chain = named(declared(None, **CHAIN), 0.5)
    assert chain["E"] == pytest.approx(1.468867988, abs=1e-9)
    assert chain["F"] == pytest.approx(2.712, abs=5e-4)
    assert trees.bounded_degree(0.1, 3, 0.4) == pytest.approx(0.5530170966, abs=1e-10)
    assert trees.bounded_degree(0.01, 3, 0.8) == pytest.approx(3.935, abs=5e-4)


@pytest.mark.slow
def test_an_epsilon_for_a_target_and_cliffs_of_a_family_tree() -> None:
    star = declared(0, kind="relatives", count=2, agreement=0.75)
    assert epsilon_for(star, 1.0) == pytest.approx(0.5039365006, abs=1e-7)
    nodes = 2**15 - 1
    tree = trees.rooted(nodes, [((i - 1) // 2, i, 1.5) for i in range(1, nodes)], 0)
    assert tree is not None
    found = trees.binary_exact(np.array([0.1, 0.2, 0.15, 0.3]), tree, [0.1] * nodes)
    assert found == pytest.approx([0.110, 6.11, 0.165, 12.1], rel=6e-3)


def test_bits_and_guesses_are_the_worked_ones() -> None:
    assert leakage.bits(1.0, 5) == pytest.approx(1.016530819, abs=1e-9)
    assert leakage.guess((0.6, 0.3, 0.1), [(1.0, 0.0)]) == pytest.approx(0.6579527208, abs=1e-10)
    assert leakage.guess((0.6, 0.3, 0.1), [(0.5, 0.01)]) == pytest.approx(0.604, abs=1e-9)


FEW = {
    "independent": (declared(0, kind="household", size=1), 5.29835, 0.53693, 0.5354, 36),
    "two relatives": (declared(0, kind="relatives", count=2, agreement=0.75), 18.98845, 1.51946, 0.5708, 4),
    "household of four": (declared(0, kind="household", size=4), 30.13719, 2.27179, 0.6417, 2),
}


def drawn(people: int) -> ReleaseLosses:
    mechanism, model = Baps(samples=100), bernoulli("cured")
    return ReleaseLosses(model, mechanism, mechanism.cost(model, people, 1), people, 1, 100)


def visited(structure: Structure) -> float:
    """The same by every pair of sums so far apart, one order after the other, and none of the service's bounds."""
    grid = bernoulli("cured").grid(1_000, 1.0)
    logs = grid.log_prior + np.outer(np.arange(1_001), grid.eta) - 1_000 * grid.partition
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    best, laws = math.inf, structure.couplings()[0]
    for order in (1.75, 2.0, 3.0, 4.0, 6.0):
        terms = []
        for others, mass in enumerate(laws[0].tolist()):
            if mass > 0:
                first, last = logs[: -1 - others], logs[1 + others :]
                powers = [
                    np.logaddexp.reduce(order * p - (order - 1) * q, axis=1).max()
                    for p, q in ((first, last), (last, first))
                ]
                terms.append(math.log(mass) + 100 * max(powers))
        best = min(best, float(np.logaddexp.reduce(terms) + math.log(1e3)) / (order - 1))
    return best


@pytest.mark.slow
def test_probable_odds_of_a_hundred_draws_are_the_worked_ones() -> None:
    few, many = drawn(1_000), drawn(10**5)
    for structure, of_few, of_many, guess, samples in FEW.values():
        question = Question(structure, (0.5, 0.5), 1e-3, 1e-6)
        small, large = infer(few, question), infer(many, question)
        assert visited(structure) == pytest.approx(of_few, abs=6e-6)
        assert small["probable"]["nu"] == pytest.approx(of_few, abs=6e-6)
        assert large["probable"]["nu"] == pytest.approx(of_many, abs=6e-6)
        assert large["guess"]["after"] == pytest.approx(guess, abs=6e-5)
        assert samples_for(3.0, 1e-3, structure, few.with_samples, 10**6) == samples
    household = infer(many, Question(FEW["household of four"][0], (0.5, 0.5), 1e-3, 1e-6))
    assert household["probable"]["nu"] <= 2.28
    assert household["pure"]["nu"] == pytest.approx(33.79, abs=0.01), "from the pure ε alone, shown beside it"


def test_the_papers_slips_have_their_counterexamples() -> None:
    copies = np.zeros((2, 2, 2))
    copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    triplets = declared(0, kind="joint", levels=[2, 2, 2], probabilities=copies.ravel().tolist())
    assert loss(triplets, 1.0) == pytest.approx(3.0, abs=1e-9), "their theorem claims 2ε of laws without full support"
    assert {"C", "D"}.isdisjoint(named(triplets, 1.0)), (
        "no bound from cross-ratios where some combination is impossible"
    )
    # x0 is the parity of its two relatives, nearly: pairwise independent, and yet as bad as one more copy
    noise = 1e-12
    parity = np.array([[[noise, 1.0], [1.0, noise]], [[1.0, noise], [noise, 1.0]]])
    parity /= parity.sum()
    whole = declared(0, kind="joint", levels=[2, 2, 2], probabilities=parity.ravel().tolist())
    assert loss(whole, 0.5) == pytest.approx(1.0, abs=1e-6)
    path, star = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0.0]]), np.full((10, 10), 2.0)
    star[0], star[:, 0] = 1.0, 1.0
    np.fill_diagonal(star, 0.0)
    of_path, of_star = leakage.graph_vulnerability(math.log(2), path), leakage.graph_vulnerability(2.0, star)
    assert of_path == (pytest.approx(3 * 0.5556, abs=2e-4), True), "where the papers claim 3 · .500"
    assert of_star[0] / 10 == pytest.approx(0.739, abs=5e-4), "where the papers claim .451"
    count = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    assert leakage.graph_vulnerability(0.7, count)[0] == pytest.approx(1 + 7 * math.tanh(0.35), abs=1e-9)


def test_stationary_laws_and_runs_are_those_of_the_chain() -> None:
    chain = declared(None, **CHAIN)
    law = chain.couplings()[0][0]
    assert math.fsum(law) == pytest.approx(1.0, abs=1e-12)
    assert law[0] == pytest.approx(0.25)
    assert chains.stationary_law(np.array([[0.8, 0.2], [0.3, 0.7]])) == pytest.approx([0.6, 0.4])
    assert counts.star_differing(2, 0.75) == pytest.approx([0.25, 0.5, 0.25])
    assert counts.counts_differing([1.0] * 5) == pytest.approx([0.2, 0.6, 0.2])
