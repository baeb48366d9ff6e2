"""The layers around every request: ids, safe headers, limits, counts."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, generate_latest
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, StreamingResponse

from app.api.middleware.body_limit import BodyLimitMiddleware
from app.api.middleware.envelope import EnvelopeMiddleware
from app.api.middleware.last_resort import LastResortMiddleware
from app.api.middleware.observation import ObservationMiddleware, RequestMetrics
from app.api.problems import install_problem_handlers

LIMIT = 1000


def layered_app(registry: CollectorRegistry) -> FastAPI:
    app = FastAPI()
    install_problem_handlers(app)
    app.add_middleware(BodyLimitMiddleware, bytes_max=LIMIT)
    app.add_middleware(LastResortMiddleware)
    app.add_middleware(ObservationMiddleware, metrics=RequestMetrics(registry))
    app.add_middleware(EnvelopeMiddleware)

    @app.post("/things/{thing}/size")
    async def size(request: Request, thing: str) -> int:
        return len(await request.body())

    @app.put("/v1/datasets/{dataset_id}/data")
    async def upload(request: Request, dataset_id: str) -> int:
        return len(await request.body())

    @app.get("/kept")
    async def kept() -> PlainTextResponse:
        return PlainTextResponse("x", headers={"Cache-Control": "private"})

    @app.get("/torn")
    async def torn() -> StreamingResponse:
        async def chunks():
            yield b"some"
            raise RuntimeError("canary-41")

        return StreamingResponse(chunks())

    @app.get("/gone")
    async def gone() -> None:
        raise ClientDisconnect

    return app


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
async def client(registry):
    transport = httpx.ASGITransport(app=layered_app(registry))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as found:
        yield found


async def test_a_sane_request_id_is_echoed(client):
    answer = await client.get("/kept", headers={"X-Request-Id": "Trace_1-a"})
    assert answer.headers["x-request-id"] == "Trace_1-a"


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "x\tinjected", "ü", "<script>"])
async def test_a_strange_request_id_is_replaced(client, given):
    answer = await client.get("/kept", headers={"X-Request-Id": given.encode()})
    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 16


async def test_two_request_ids_are_replaced_by_one(client):
    answer = await client.get("/kept", headers=[("X-Request-Id", "one"), ("X-Request-Id", "two")])
    assert answer.headers.get_list("x-request-id")[0] not in ("one", "two")
    assert len(answer.headers.get_list("x-request-id")) == 1


async def test_answers_are_not_cached_unless_a_route_says_so(client):
    assert (await client.get("/nowhere")).headers["cache-control"] == "no-store"
    assert (await client.get("/kept")).headers["cache-control"] == "private"


async def test_a_browser_may_load_run_or_frame_nothing_of_an_answer(client):
    for path in ("/nowhere", "/kept"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'; frame-ancestors 'none'")
        assert (headers["x-frame-options"], headers["referrer-policy"]) == ("DENY", "no-referrer")


async def test_a_body_at_the_limit_passes_and_one_byte_more_does_not(client):
    assert (await client.post("/things/a/size", content=b"x" * LIMIT)).json() == LIMIT
    refused = await client.post("/things/a/size", content=b"x" * (LIMIT + 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "payload_too_large")


async def test_a_body_of_undeclared_length_is_counted(client):
    async def chunks():
        for _ in range(11):
            yield b"x" * 100

    refused = await client.post("/things/a/size", content=chunks())
    assert (refused.status_code, refused.json()["code"]) == (413, "payload_too_large")


async def test_uploads_are_left_to_their_own_limit(client):
    answer = await client.put("/v1/datasets/ds_a/data", content=b"x" * 5000)
    assert answer.json() == 5000


@pytest.mark.parametrize("path", ["/v1/datasets/ds_a/data/", "/v1/datasets/a/b/data", "/x/v1/datasets/ds_a/data"])
async def test_addresses_that_only_look_like_the_upload_are_limited(client, path):
    assert (await client.put(path, content=b"x" * 5000)).status_code == 413


async def test_metrics_name_templates_and_never_ids_or_strange_methods(client, registry):
    await client.post("/things/canary-thing/size", content=b"")
    await client.get("/canary-path")
    await client.request("CANARY", "/kept")
    shown = generate_latest(registry).decode()
    assert "canary" not in shown.lower()
    assert 'method="POST",route="/things/{thing}/size",status="200"' in shown
    assert 'route="unmatched",status="404"' in shown


async def test_metrics_of_uploads_tell_neither_time_nor_outcome(client, registry):
    await client.put("/v1/datasets/ds_a/data", content=b"x")
    lines = [line for line in generate_latest(registry).decode().splitlines() if "/data" in line]
    assert [line for line in lines if "_created" not in line] == [
        'postern_requests_total{method="PUT",route="/v1/datasets/{dataset_id}/data",status="any"} 1.0'
    ]


def test_metrics_of_declarations_tell_neither_time_nor_outcome_and_those_of_lists_do():
    """Declaring a dataset whose rows lie in a file checks every row of it."""
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    metrics.record(method="POST", route="/v1/datasets", status=422, seconds=7.5)
    metrics.record(method="GET", route="/v1/datasets", status=200, seconds=0.5)
    lines = [line for line in generate_latest(registry).decode().splitlines() if "/v1/datasets" in line]
    assert [line for line in lines if "POST" in line and "_created" not in line] == [
        'postern_requests_total{method="POST",route="/v1/datasets",status="any"} 1.0'
    ]
    assert any("seconds_sum" in line and "GET" in line for line in lines)


async def test_the_log_line_of_an_upload_tells_no_time(client, capsys):
    await client.put("/v1/datasets/ds_a/data", content=b"x")
    await client.get("/kept")
    upload, kept = [line for line in capsys.readouterr().out.splitlines() if "request" in line][-2:]
    assert "duration_ms" not in upload
    assert "duration_ms" in kept


async def test_a_failure_after_the_answer_began_is_logged_by_type_only(client, capsys):
    with pytest.raises(AssertionError):  # the test transport insists on a whole answer; a server cuts it off
        await client.get("/torn")
    logged = "".join(capsys.readouterr())
    assert "RuntimeError" in logged
    assert "canary-41" not in logged


async def test_a_caller_who_left_is_not_an_unexpected_failure(client, capsys):
    with pytest.raises(AssertionError):  # the test transport insists on an answer
        await client.get("/gone")
    assert "unexpected" not in "".join(capsys.readouterr())


async def test_layers_let_other_protocols_through(registry):
    seen = []

    async def inner(scope, receive, send):
        seen.append(scope["type"])

    for layer in (
        EnvelopeMiddleware(inner),
        ObservationMiddleware(inner, metrics=RequestMetrics(registry)),
        LastResortMiddleware(inner),
        BodyLimitMiddleware(inner, bytes_max=1),
    ):
        await layer({"type": "lifespan"}, asyncio.sleep, asyncio.sleep)
    assert seen == ["lifespan"] * 4


async def test_a_request_that_a_stop_cancels_is_told_to_come_again():
    """The server would say 500, and the client would not try again."""
    sent = []

    async def endless(scope, receive, send):
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    layered = EnvelopeMiddleware(LastResortMiddleware(endless))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}
    request = asyncio.create_task(layered(scope, None, send))
    await asyncio.sleep(0)
    request.cancel()
    await request
    assert sent[0]["status"] == 503
    assert dict(sent[0]["headers"])[b"retry-after"] == b"1"
