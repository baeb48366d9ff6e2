"""A release's model and mechanism, parsed again from its row."""

from app.core.families import Model, parse_model
from app.core.mechanisms import Mechanism, parse_mechanism
from app.core.schema import Column
from app.storage.releases import Release


def stored_model(release: Release) -> Model:
    """The column was checked against the dataset when the release was requested."""
    column = str(release.model["column"])
    return parse_model(release.model, {column: Column(column, "binary")})


def stored_mechanism(release: Release) -> Mechanism:
    return parse_mechanism(release.mechanism)
