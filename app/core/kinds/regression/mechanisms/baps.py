"""`baps` on the ball-restricted posterior of a regression, or of a normal mean: N draws, once.

The sampler's running time depends on the data: releases are published at a public tick (PRIVACY §5).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.mechanism_fields import BapsFields
from app.core.kinds.regression.ball.ball_mean import MeanBall
from app.core.kinds.regression.ball.ball_posterior import BUDGET_EPSILON_MAX, SAMPLER_LAW
from app.core.kinds.regression.ball.ball_regression import RegressionBall
from app.core.kinds.regression.beliefs.drawn_mean_belief import believed_means
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.statistic import clamped_moments, rows_checked
from app.core.parameters import Parameter
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.together.path import GroupCost
from app.core.statistics.moments import ExactMoments
from app.errors import CalibratedUnavailable, InvalidMechanism

Ball = RegressionBall | MeanBall
DrawnModel = LinearModel | MeanModel | PrecisionMatrixModel | MeanAndSdModel

PRECISE_S = 30e-6
"""One operation with 160 bits in the factor of the proposal, on the machine of reference."""
COORDINATE_S = 60e-9
"""One coordinate of one proposal."""
NOT_FOR_REGRESSION = (
    "how a draw of weights depends on the features involves all their products, whose law is neither declared nor released; "
    "perturbed_statistics has a calibrated view"
)


@dataclass(frozen=True, slots=True)
class RegressionBaps(BapsFields):
    """Its δ-slack covers datasets whose budget ε is at most `budget_epsilon_max`; for others it must be refused.

    `law`: the sampler's, so that draws of an earlier one can be costed as they were made. No part of a request.
    """

    law: int = SAMPLER_LAW
    budget_epsilon_max: ClassVar[float] = BUDGET_EPSILON_MAX

    def cost(self, model: DrawnModel, people: int, unit_rows: int) -> ReleaseCost:
        ball = self._ball(model, people, unit_rows)
        _ = ball.bounds.cap  # refuses before anything is charged
        return ReleaseCost(
            per_sample=ball.draw_cost(),
            samples=self.samples,
            kl_sup=ball.kl_sup(),
            papers_pure=2 * self.samples * self.temperature * ball.papers_lipschitz(),
            method="certified: the least of bounds over all data of so many people; sampler in doubles with a declared allowance",
            grid_points=0,
        )

    def together(self, model: DrawnModel, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost:
        """The bounds know what many rows change at once. The sampler's slack stands once, however many people change."""
        each = self._ball(model, people, unit_rows).group_cost(min(count, people))
        return GroupCost(each, ZERO_COST, min(each.curve), 0.0)

    def draw(
        self,
        model: DrawnModel,
        people: int,
        unit_rows: int,
        moments: ExactMoments,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        """(samples, parameters); `random_bytes` is the operating system's in production."""
        ball = self._ball(model, people, unit_rows)
        posterior = ball.posterior(clamped_moments(model.statistic, moments, people, unit_rows))
        return ball.parameters(posterior.draw(self.samples, random_bytes))

    def work(
        self,
        model: DrawnModel,
        people: int,
        unit_rows: int,
        cost: ReleaseCost,
    ) -> float:
        """How many proposals a draw takes depends on the data: 1/p, and p ≥ 0.4/√(2κ) at its worst (`acceptance.py`), with
        2κ at most d + ‖b‖; half as many again for the last of the doubling rounds."""
        bounds = self._ball(model, people, unit_rows).bounds
        proposals = 1.5 * max(1.0, 2.5 * math.sqrt(bounds.dimension + bounds.linear_norm))
        return 0.02 + bounds.dimension**3 * PRECISE_S + self.samples * proposals * (1 + bounds.dimension) * COORDINATE_S

    def calibrated_parameters(self, model: DrawnModel, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        if not isinstance(model, MeanModel):
            raise CalibratedUnavailable(NOT_FOR_REGRESSION)
        return untrimmed(model).parameters

    def approximation(self, model: DrawnModel) -> str:
        return "points are of finite chains, and 90 % intervals held 89.0 to 91.8 % in simulations (200 datasets a setting)"

    def belief(self, model: DrawnModel, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        parameters = self.calibrated_parameters(model, people, unit_rows)
        if not isinstance(model, MeanModel):
            raise CalibratedUnavailable(NOT_FOR_REGRESSION)
        stream = SeededStream(evidence.seed)
        points = believed_means(model, people, self.temperature, evidence.samples, self.belief_points, stream)
        return Belief(parameters, points)

    def _ball(self, model: DrawnModel, people: int, unit_rows: int) -> Ball:
        rows = rows_checked(people, unit_rows)
        if isinstance(model, LinearModel):
            return RegressionBall(model, rows, unit_rows, self.temperature, self.law)
        if unit_rows != 1:
            raise InvalidMechanism("mechanism.kind", f"{model.family} needs one row a person")
        if isinstance(model, MeanModel):
            return MeanBall(model, people, self.temperature, self.law)
        raise InvalidMechanism("mechanism.kind", f"perturbed_statistics: {model.family} has no exact sampler")
