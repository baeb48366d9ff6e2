"""Caps that are too wide for an inexact sampler: its δ-slack, (1 + e^ε)·η, is worked out for budgets up to some ε.

The dataset's own budget is compared when a release is asked for. An analyst's cap is another budget over the same samples, so it
is compared when samples are bought under it, and again when it is raised over what was bought.
"""

from collections.abc import Iterable

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import InvalidInput
from app.storage.datasets import Dataset
from app.storage.releases import Release


def refuse_wide_cap(field: str, epsilon: float, bought: Iterable[Release], dataset: Dataset) -> None:
    """Raises InvalidInput naming `field`. Most samplers are exact, and then nothing is parsed."""
    for release in bought:
        if not _is_inexact(release):
            continue
        model = parse_model(release.model, parse_columns(dataset.columns, stored=True))
        largest = parse_mechanism(release.mechanism, model).budget_epsilon_max
        if not epsilon <= largest:
            told = f"a cap with ε at most {largest:g}, which the inexact sampler of release {release.id} is charged for"
            raise InvalidInput(field, told)


def _is_inexact(release: Release) -> bool:
    return bool(release.cost.get("slack_delta") or release.cost.get("once_slack_delta"))
