"""Real responses: the search is as good as brute force, its gap is true, its work is bounded, and the gap is in the regret."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.expressions import compile_expression
from app.core.decisions.search import search
from app.core.decisions.utilities.real_responses import EVALUATIONS_MAX, EVALUATIONS_MIN, MeanUtility
from app.core.kinds import compile_question
from app.core.language.tree import OPERATIONS_MAX
from app.core.parameters import Parameter
from app.errors import InvalidExpression, InvalidQuery
from tests.core.decisions.expression_fuzzer import Fuzzer
from tests.deep import deep

PARAMETERS = (Parameter("theta", 0.0, 1.0), Parameter("phi", -1.0, 1.0), Parameter("psi", 0.5, 2.0))
BOUNDED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
CASES = {
    "pinball": ("-4 * max(theta - r, 0) - max(r - theta, 0)", lambda t, p, s, r: -4 * max(t - r, 0) - max(r - t, 0)),
    "absolute": ("-abs(theta - r)", lambda t, p, s, r: -abs(t - r)),
    "quadratic": ("-psi * (theta - r) ** 2", lambda t, p, s, r: -s * (t - r) ** 2),
    "two kinds of loss": ("-(theta - r) ** 2 - abs(phi - r)", lambda t, p, s, r: -((t - r) ** 2) - abs(p - r)),
    "stock": ("3 * min(r, theta) - r - r ** 2 / 8", lambda t, p, s, r: 3 * min(r, t) - r - r * r / 8),
    "several peaks": ("exp(-50 * (theta - r) ** 2)", lambda t, p, s, r: np.exp(-50 * (t - r) ** 2)),
    "linex": ("2 * (r - theta) - exp(2 * (r - theta))", lambda t, p, s, r: 2 * (r - t) - np.exp(2 * (r - t))),
    "yield": ("theta * r / (0.2 + r) - 0.3 * psi * r", lambda t, p, s, r: t * r / (0.2 + r) - 0.3 * s * r),
    "by group": ("where(phi > 0, r, psi * (1 - r))", lambda t, p, s, r: r if p > 0 else s * (1 - r)),
    "flat": ("theta + 0 * r", lambda t, p, s, r: t),
}
RANGE = (-40.0, 20.0)
rows = st.tuples(
    st.sampled_from([0.0, 1.0, 0.25, 0.5]) | st.floats(0, 1),
    st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1),
    st.sampled_from([0.5, 2.0]) | st.floats(0.5, 2),
)


def body(text: str, **more) -> dict:
    spec = {"kind": "expression", "utility": text, "responses": {"lower": 0, "upper": 1}, "range": list(RANGE)}
    return {"utility": spec | more}


def samples_of(size: int, seed: int = 1) -> SampleSet:
    rng = np.random.default_rng(seed)
    columns = [rng.beta(2, 3, size), rng.uniform(-1, 1, size), rng.uniform(0.5, 2, size)]
    return SampleSet(PARAMETERS, np.column_stack(columns))


@pytest.mark.parametrize("examples", [12, deep(200)])
@pytest.mark.parametrize("name", CASES)
def test_no_response_of_a_fine_grid_is_better_by_more_than_a_billionth(name, examples):
    draws = st.lists(rows, min_size=1, max_size=10)
    settings(BOUNDED, max_examples=examples)(given(st.just(name), draws)(check_against_a_fine_grid))()


def check_against_a_fine_grid(name, draws):
    text, plain = CASES[name]
    answer = answer_question(compile_question(body(text), PARAMETERS), SampleSet(PARAMETERS, np.array(draws)))

    def mean(r: float) -> float:
        return (sum(plain(*draw, r) for draw in draws) / len(draws) - RANGE[0]) / (RANGE[1] - RANGE[0])

    tried = [*np.linspace(0, 1, 401).tolist(), *(min(max(value, 0.0), 1.0) for draw in draws for value in draw)]
    assert answer.expected_utility >= max(map(mean, tried)) - 1e-9
    assert answer.expected_utility == pytest.approx(mean(answer.response), abs=1e-12)
    assert 0 <= answer.response <= 1
    assert answer.why is None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("size", "allowed"), [(1, 4_000), (300, 17 + 192), (300, 900), (20_000, 40), (5_000, 250)])
def test_the_gap_is_true_and_the_search_stops_when_told(name, size, allowed):
    """Also where samples are put into boxes of neighbours for their slopes, and where hardly any cell can be cut."""
    utility = compile_question(body(CASES[name][0]), PARAMETERS).utility
    surface = MeanUtility(utility, samples_of(size))
    found = search(surface, 0.0, 1.0, allowed, surface.slope_cost)
    assert found.evaluations <= allowed
    assert surface.means(np.linspace(0, 1, 101)).max() <= found.value + found.gap
    assert surface.means(np.array([found.response]))[0] == found.value
    assert found.gap < 0.05


def test_slopes_over_boxes_of_neighbours_contain_those_over_samples():
    few, many = samples_of(1_000), samples_of(1_000)
    many = SampleSet(PARAMETERS, np.repeat(few.matrix, 5, axis=0))
    low, high = np.linspace(0, 0.9, 7), np.linspace(0.1, 1.0, 7)
    for text, _ in CASES.values():
        utility = compile_question(body(text), PARAMETERS).utility
        exact, boxed = MeanUtility(utility, few).slopes(low, high), MeanUtility(utility, many).slopes(low, high)
        assert (boxed[0] <= exact[0] + 1e-9).all()
        assert (exact[1] <= boxed[1] + 1e-9).all()


def test_what_the_search_leaves_is_added_to_the_regret_bound():
    long = "exp(-50 * (theta - r) ** 2) + " + " + ".join(["0 * psi * phi"] * 30)
    question, samples = compile_question(body(long), PARAMETERS), samples_of(8_000)
    assert question.utility.expression.nodes * EVALUATIONS_MAX * samples.size > OPERATIONS_MAX
    answer, public = answer_question(question, samples), question.preview(samples.size).regret
    assert public.bound + 1e-9 < answer.regret.bound < public.bound + 0.05
    assert answer.regret.method == public.method + "; plus how far the search may be from the best"
    surface, allowed = MeanUtility(question.utility, samples), question.utility.evaluations(samples.size)
    assert question.utility.expression.nodes * allowed * samples.size <= OPERATIONS_MAX
    found = search(surface, 0.0, 1.0, allowed, surface.slope_cost)
    assert (found.response, found.evaluations <= allowed) == (answer.response, True)
    assert answer.regret.bound == pytest.approx(public.bound + found.gap, abs=1e-12)
    best = surface.means(np.linspace(0, 1, 301)).max()
    assert best <= answer.expected_utility + (answer.regret.bound - public.bound) + 1e-12


def test_equally_good_responses_go_to_the_smallest_found():
    samples = samples_of(50)
    assert answer_question(compile_question(body("theta + 0 * r"), PARAMETERS), samples).response == 0
    two_peaks = answer_question(compile_question(body("abs(r - 0.5)"), PARAMETERS), samples)
    assert two_peaks.response == 0
    plateau = answer_question(compile_question(body("min(r, 0.5, 2 - 2 * r)"), PARAMETERS), samples)
    assert plateau.response == 0.5


class Tents:
    """Two equal peaks between the first points the search tries; all arithmetic is exact."""

    error = 0.0

    def means(self, points: np.ndarray) -> np.ndarray:
        return 1 - np.minimum(abs(points - 13 / 64), abs(points - 51 / 64))

    def slopes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rising = ((low < 13 / 64) | ((high > 0.5) & (low < 51 / 64))) + 0.0
        falling = (((high > 13 / 64) & (low < 0.5)) | (high > 51 / 64)) + 0.0
        return np.where(falling > 0, -1.0, 1.0), np.where(rising > 0, 1.0, -1.0)


def test_of_equal_peaks_found_one_after_the_other_the_smaller_is_the_response():
    found = search(Tents(), 0.0, 1.0, 500, lambda cells: cells)
    assert (found.response, found.value) == (13 / 64, 1.0)
    assert found.gap < 1e-10


def test_a_question_for_so_many_samples_that_nothing_could_be_searched_is_refused():
    question = compile_question(body("-abs(theta - r)"), PARAMETERS)
    most = OPERATIONS_MAX // (question.utility.expression.nodes * EVALUATIONS_MIN)
    question.preview(most)
    with pytest.raises(InvalidExpression) as caught:
        question.preview(most + 1)
    assert caught.value.problems[0].field == "utility.utility"


@pytest.mark.parametrize(
    ("responses", "field"),
    [
        ({"lower": 1, "upper": 1}, "utility.responses.upper"),
        ({"lower": 0}, "utility.responses.upper"),
        ({"upper": 0}, "utility.responses.lower"),
        ({"lower": 0, "upper": 1, "steps": None}, "utility.responses.steps"),
        ({"lower": 0, "upper": 1, "step": 2}, "utility.responses.step"),
        ({"lower": 0, "upper": float("nan")}, "utility.responses.upper"),
        ({"lower": 0, "upper": True}, "utility.responses.upper"),
    ],
)
def test_an_interval_of_responses_has_two_increasing_ends(responses, field):
    with pytest.raises(InvalidQuery) as caught:
        compile_question(body("-abs(theta - r)", responses=responses), PARAMETERS)
    assert caught.value.problems[0].field == field


def test_a_utility_that_jumps_is_told_to_give_steps_where_it_jumps():
    text = "where(theta > r, 1, 0)"
    with pytest.raises(InvalidExpression) as caught:
        compile_question(body(text), PARAMETERS)
    assert (caught.value.problems[0].field, caught.value.position) == ("utility.utility", 12)
    assert "steps" in caught.value.problems[0].expected
    compile_question(body(text, responses={"lower": 0, "upper": 1, "steps": 11}), PARAMETERS)


def test_a_preview_knows_real_responses_and_their_bound_is_below_that_of_a_fine_grid():
    real = compile_question(body("-abs(theta - r)", range=[-1, 0]), PARAMETERS).preview(100)
    grid = {"lower": 0, "upper": 1, "steps": 100}
    listed = compile_question(body("-abs(theta - r)", range=[-1, 0], responses=grid), PARAMETERS).preview(100)
    assert (real.responses, listed.responses) == (None, 100)
    assert real.regret.bound < listed.regret.bound < 1


@pytest.mark.parametrize(
    ("text", "responses", "bounds"),
    [
        ("min(max(r, 0), 1e-300)", {"lower": -1e150, "upper": 1e150}, [0, 1e-300]),
        ("min(max(1e9 * (theta - r), 0), 1)", {"lower": 0, "upper": 1}, [0, 1]),
        ("(r + 1e15) - (theta + 1e15)", {"lower": 0, "upper": 1}, [-1, 1]),
        ("theta * r", {"lower": 0, "upper": 5e-324}, [-1, 1]),
        ("-abs(theta - r)", {"lower": 0.1, "upper": 0.1 + 2**-56}, [-1, 0]),
    ],
)
def test_extremes_are_answered_with_a_true_if_vacuous_bound(text, responses, bounds):
    samples = samples_of(9)
    question = compile_question(body(text, responses=responses, range=bounds), PARAMETERS)
    answer = answer_question(question, samples)
    assert responses["lower"] <= answer.response <= responses["upper"]
    assert 0 <= answer.regret.bound <= 1
    surface = MeanUtility(question.utility, samples)
    found = search(surface, float(responses["lower"]), float(responses["upper"]), 4_000, surface.slope_cost)
    tried = np.linspace(responses["lower"], responses["upper"], 101)
    assert surface.means(tried).max() <= found.value + found.gap


@pytest.mark.slow
@pytest.mark.parametrize(("inputs", "least"), [(2_000, 100), deep(20_000, 1_000)])
def test_fuzzed_utilities_are_answered_with_a_true_gap_or_refused_at_a_position(inputs, least):
    """Texts of the expression fuzzer with r in the place of x, over the range that interval arithmetic gives them."""
    fuzzer, searched = Fuzzer(seed=5), 0
    parameters, samples = (*PARAMETERS, Parameter("a b=c", 0.0, 1.0)), samples_of(7)
    samples = SampleSet(parameters, np.column_stack([samples.matrix, samples.columns[0]]))
    for text in fuzzer.texts(inputs):
        own = text.replace("`x`", "r").replace("x", "r")
        try:
            expression = compile_expression(own, parameters, "field", [Parameter("r", -2.0, 3.0)])
        except InvalidExpression as refusal:
            fuzzer.learn(text, refusal)
            continue
        fuzzer.learn(text, expression)
        spec = {"responses": {"lower": -2, "upper": 3}, "range": [expression.lower, expression.upper]}
        if not expression.lower < expression.upper or not gap_is_true(body(own, **spec), samples):
            continue
        searched += 1
    assert searched >= least


def gap_is_true(question_body: dict, samples: SampleSet) -> bool:
    """False where the question is refused."""
    question, position = None, 0
    try:
        question = compile_question(question_body, samples.parameters)
    except InvalidExpression as refusal:
        position = refusal.position
    assert 0 <= position < len(question_body["utility"]["utility"])
    if question is None:
        return False
    surface = MeanUtility(question.utility, samples)
    found = search(surface, -2.0, 3.0, 1_500, surface.slope_cost)
    assert surface.means(np.linspace(-2, 3, 41)).max() <= found.value + found.gap
    return True
