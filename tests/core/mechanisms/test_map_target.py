"""`map` at a target (ε, δ): how far a point lies from the posterior's mode, by simulation, beside the rule it replaced."""

import math

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.mechanism_fields import CURRENT_LAW, SCORES
from app.core.kinds.one_parameter.comparison import Comparison
from app.core.kinds.one_parameter.mechanisms import MapPoint
from app.core.kinds.one_parameter.mechanisms.map_point import likelihood_power, score_gain, score_sensitivity
from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.targets import Target
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidMechanism

MODEL = bernoulli("x", 1.0, 1.0, 0.05)
TARGET = Target(1.0, 1e-6)


def former_epsilon(target: Target) -> float:
    """The largest ε whose min(ε, α·ε²/8) converts to the target: what every point was charged by."""

    def converted(epsilon: float) -> float:
        lines = [min(epsilon, a * epsilon**2 / 8) + conversion_offset(a, target.delta) for a in ORDERS]
        return min(epsilon, max(0.0, min(lines)))

    good, bad = target.epsilon, 100.0
    while bad - good > 1e-6:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if converted(middle) <= target.epsilon else (good, middle)
    return good


def table(point: MapPoint, people: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    """(points, probabilities) in doubles, from the definition of each score; the share 2⁻²⁴ of the uniform table left out."""
    power = likelihood_power(MODEL, point.epsilon, people, 1) if point.score == "log_density" else 1.0
    theta = MODEL.grid(people, power).theta
    yes, no = np.log(theta), np.log1p(-theta)
    log_w = (yes + no) / 2 + power * (total * yes + (people - total) * no)  # cells have a width of √(θ(1−θ))
    p = np.exp(log_w - log_w.max())
    p /= p.sum()
    if point.score == "probability":
        gain = score_gain(point.epsilon, score_sensitivity(MODEL, people, 1, point.law))
        p = np.exp(gain * (p - p.max()))
        p /= p.sum()
    return theta, p


def simulated(point: MapPoint, people: int, seed: int = 8, datasets: int = 240) -> tuple[float, float]:
    """(mean distance from the mode, root mean squared distance from the truth), θ uniform, sums binomial."""
    source = np.random.Generator(np.random.PCG64(seed))
    distances, squares = [], []
    for truth in source.uniform(0.05, 0.95, datasets):
        total = int(source.binomial(people, truth))
        mode = min(max(total / people, 0.05), 0.95)
        theta, p = table(point, people, total)
        distances.append(float(p @ np.abs(theta - mode)))
        squares.append(float(p @ (theta - truth) ** 2))
    return float(np.mean(distances)), math.sqrt(np.mean(squares))


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("people", [300, 3_000, pytest.param(20_000, marks=pytest.mark.deep), 100_000])
def test_a_point_at_a_target_is_at_least_twice_as_near_to_the_mode_as_before(people: int) -> None:
    """The plan's own error agrees with the simulation: its sd is 4 %, 16 % allowed."""
    few = 240 if people < 10_000 else 60
    planned = Comparison(MODEL, people, 1, TARGET).point()
    assert isinstance(planned.mechanism, MapPoint)
    assert planned.cost.total.epsilon(TARGET.delta) <= TARGET.epsilon
    former = MapPoint(former_epsilon(TARGET), "auto", law=1).settled(MODEL, people, 1)
    before, _ = simulated(former, people, datasets=few)
    now, error = simulated(planned.mechanism, people, datasets=few)
    assert before >= 2 * now
    allowed = 0.16 if few == 240 else 0.32
    assert planned.accuracy.total_sd == pytest.approx(error, rel=allowed)


def test_a_point_of_the_first_law_is_drawn_with_the_gain_it_had() -> None:
    """From total variation: a smaller gain, so a flatter table, for the same ε; the log-density score has not changed."""
    old, new = (MapPoint(5.0, "probability", law=law) for law in (1, CURRENT_LAW))
    assert score_sensitivity(MODEL, 200, 1, law=1) > 3 * score_sensitivity(MODEL, 200, 1)
    tops = []
    for point in (old, new):
        _, drawn = point.table(MODEL, 200, 1, ExactStatistic(60, 200))
        tops.append(max(np.diff([0, *drawn.cumulative]).astype(float)) / drawn.cumulative[-1])
    assert tops[0] < tops[1]
    assert "law" not in old.as_json()
    older, newer = (MapPoint(5.0, "log_density", law=law) for law in (1, CURRENT_LAW))
    assert older.cost(MODEL, 200, 1) == newer.cost(MODEL, 200, 1)
    for score in SCORES:
        assert MapPoint(5.0, score, law=1).cost(MODEL, 200, 1).total.pure <= 5.0


@pytest.mark.parametrize("law", [0, CURRENT_LAW + 1])
def test_a_law_nobody_knows_is_refused(law: int) -> None:
    with pytest.raises(InvalidMechanism, match="law"):
        MapPoint(1.0, law=law)
