"""Health, readiness, metrics and documentation need no key."""

import hashlib
import re

import httpx
import pytest

from app.api import reference
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
    assert (await known.client.get("/")).headers["location"] == "docs"


async def test_the_page_of_the_description_loads_nothing_that_is_not_served_here(known: Service):
    page = await known.client.get("/docs")
    assert "'unsafe" not in page.headers["content-security-policy"]
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) >= 5
    for address in set(loaded) - {"data:,"}:
        assert "//" not in address
        assert (await known.client.get(f"/{address}")).status_code == 200
    assert not re.search(r"<script(?![^>]*src=)|<style|style=|\son\w+=", page.text)


async def test_vendored_files_are_those_of_their_manifest_and_go_out_as_they_lie(known: Service):
    version, digests = reference.VERSION, reference.MANIFEST["files"]
    lying = {file.name for file in reference.VENDORED.iterdir()} - {"manifest.json"}
    assert lying == set(digests)
    for name in lying:
        assert hashlib.sha256((reference.VENDORED / name).read_bytes()).hexdigest() == digests[name]
    for packed in ("gzip", "identity"):
        sent = await known.client.get(f"/docs/{version}/swagger-ui-bundle.js", headers={"Accept-Encoding": packed})
        assert hashlib.sha256(sent.content).hexdigest() == digests["swagger-ui-bundle.js"]
        assert sent.headers.get("content-encoding", "identity") == packed
    for path in (f"{version}/manifest.json", f"{version}/..%2F__init__.py", "0.0.0/swagger-ui.css"):
        assert (await known.client.get(f"/docs/{path}")).status_code == 404


async def test_before_it_is_started_the_service_is_unavailable_not_broken():
    transport = httpx.ASGITransport(app=build_api(body_bytes_max=1024))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.get("/healthz")).status_code == 200
        for path in ("/readyz", "/v1/me"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert answer.headers["retry-after"] == "1"
