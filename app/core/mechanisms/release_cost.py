"""What a whole release costs and what is said about it, from public numbers only."""

from dataclasses import dataclass

from app.core.privacy.cost import Cost


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """`papers_pure` is the papers' 2NτLρ, shown beside ours and never charged."""

    per_sample: Cost
    samples: int
    kl_sup: float
    papers_pure: float
    method: str
    grid_points: int

    @property
    def total(self) -> Cost:
        return self.per_sample.times(self.samples)
