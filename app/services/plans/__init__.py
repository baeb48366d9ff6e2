"""Plans: what a release would cost and how accurate it would be, from public numbers only."""

from app.services.plans.plan_release import plan_release
from app.services.plans.plan_together import plan_together

__all__ = [
    "plan_release",
    "plan_together",
]
