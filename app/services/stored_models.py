"""A release's model and mechanism, parsed again from its row and its dataset's public schema."""

from app.core.families import Model, parse_model
from app.core.mechanisms import Mechanism, parse_mechanism
from app.core.schema import parse_columns
from app.storage.datasets import Dataset
from app.storage.releases import Release


def stored_model(release: Release, dataset: Dataset) -> Model:
    return parse_model(release.model, parse_columns(dataset.columns))


def stored_mechanism(release: Release) -> Mechanism:
    return parse_mechanism(release.mechanism)
