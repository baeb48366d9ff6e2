"""A release's model and mechanism, parsed again from its row and its dataset's public schema."""

from typing import Any

from app.core.kinds import ReleaseMechanism, ReleaseModel, parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.storage.datasets import Dataset
from app.storage.releases import Release


def stored_model(release: Release, dataset: Dataset) -> ReleaseModel:
    return parse_model(release.model, parse_columns(dataset.columns))


def stored_mechanism(release: Release, model: ReleaseModel) -> ReleaseMechanism:
    return parse_mechanism(release.mechanism, model)


def parameters_json(model: ReleaseModel) -> list[dict[str, Any]]:
    return [{"name": p.name, "lower": p.lower, "upper": p.upper} for p in model.parameters]
