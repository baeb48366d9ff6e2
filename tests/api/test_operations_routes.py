"""Health, readiness, metrics and documentation need no key."""

import httpx
import pytest

from app.api.application import build_api
from tests.api.conftest import Service

pytestmark = pytest.mark.engine_in_turn


async def test_the_service_is_alive_and_ready(known: Service):
    assert (await known.client.get("/healthz")).json()["status"] == "ok"
    ready = await known.client.get("/readyz")
    assert ready.status_code == 200, ready.text
    assert ready.json()["ready"] is True
    assert {"database", "migrations"} <= set(ready.json()["checks"])


async def test_metrics_count_requests_and_name_nobody(own_service: Service):
    await own_service.call("ada", "GET", "/me")
    await own_service.call("ada", "GET", "/releases/rel_canary")
    shown = (await own_service.client.get("/metrics")).text
    assert 'postern_requests_total{method="GET",route="/v1/me",status="200"} 1.0' in shown
    assert "canary" not in shown
    assert own_service.people["ada"] not in shown
    assert "cpu" not in shown


async def test_the_description_and_its_page_are_served(known: Service):
    assert (await known.client.get("/openapi.json")).json()["info"]["title"] == "Postern"
    assert "swagger" in (await known.client.get("/docs")).text.lower()


async def test_before_it_is_started_the_service_is_unavailable_not_broken():
    transport = httpx.ASGITransport(app=build_api(body_bytes_max=1024))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.get("/healthz")).status_code == 200
        for path in ("/readyz", "/v1/me"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert answer.headers["retry-after"] == "1"
