"""Integer constants of a model's grid, worked out once where a test draws from the same public grid hundreds of times."""

import pytest

from app.core.grids.natural_model import NaturalModel
from app.core.grids.public_grid import GridConstants, PublicGrid


@pytest.fixture
def shared_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a function of public numbers alone, and nearly all the time a table takes."""
    known: dict[tuple[NaturalModel, bytes, float], GridConstants] = {}
    work_out = NaturalModel.constants

    def constants(model: NaturalModel, grid: PublicGrid) -> GridConstants:
        key = model, grid.theta.tobytes(), grid.temperature
        if key not in known:
            known[key] = work_out(model, grid)
        return known[key]

    monkeypatch.setattr(NaturalModel, "constants", constants)
