"""Fixtures over the services, for every folder of tests that starts from a running Postern."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.services.runtime.runtime import Runtime
from app.settings import Settings
from tests.conftest import Backend
from tests.services.world import World, new_world, services, settings_for


@pytest.fixture
def settings(backend: Backend, tmp_path: Path) -> Settings:
    return settings_for(backend, tmp_path)


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    async with services(settings) as opened:
        yield opened


@pytest.fixture
async def world(runtime: Runtime) -> World:
    return await new_world(runtime)


@pytest.fixture
async def second_runtime(settings: Settings, runtime: Runtime) -> AsyncIterator[Runtime]:
    """Another process's services on the same database and cache: nothing in memory is shared."""
    async with services(settings) as opened:
        yield opened
