"""What a whole release costs and what is said about it, from public numbers only."""

from dataclasses import dataclass

from app.core.privacy.cost import ZERO_COST, Cost


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """`once` is charged with the first sample, `per_sample` with every one.

    Mechanisms whose samples are free post-processing have only the first, `baps` only the second. `papers_pure` is the
    papers' figure, shown beside ours and never charged.
    """

    per_sample: Cost
    samples: int
    kl_sup: float
    papers_pure: float
    method: str
    grid_points: int
    once: Cost = ZERO_COST

    @property
    def total(self) -> Cost:
        return self.prefix(self.samples)

    def prefix(self, samples: int) -> Cost:
        """What knowing the first `samples` samples costs."""
        return ZERO_COST if samples == 0 else self.once.plus(self.per_sample.times(samples))
