"""One log line and one count for each request: method, route template, status; no ids in metrics, no data anywhere.

How long an upload takes, and whether it is refused, depends on private rows; so does declaring a dataset whose rows lie in a
file, which is checked then, changing its schema, wiping rows with their dataset, and following such work; and `/metrics`
answers to anyone who reaches the port. So for these neither duration nor status is recorded. The other durations depend on
public numbers and load; the log, which is the operator's alone, names paths with their ids.
"""

import time
from collections.abc import Iterable

import structlog
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
UNMATCHED = "unmatched"
DATA_DEPENDENT_ROUTES = frozenset(
    {
        ("PUT", "/v1/datasets/{dataset_id}/data"),
        ("POST", "/v1/datasets"),
        ("PATCH", "/v1/datasets/{dataset_id}"),
        ("DELETE", "/v1/datasets/{dataset_id}"),
        ("POST", "/v1/schemas/draft"),
        ("GET", "/v1/releases/{release_id}/progress/events"),
        ("GET", "/v1/datasets/{dataset_id}/progress/events"),
    }
)
_log = structlog.get_logger("postern.requests")


class ServiceMetrics(Collector):
    """What services count, without the client library's own figures: CPU time of a process that reads private rows
    is a stopwatch."""

    def collect(self) -> Iterable[Metric]:
        return [metric for metric in REGISTRY.collect() if metric.name.startswith("postern_")]


class RequestMetrics:
    """Counters of one application; bound children are kept, so a request costs two dictionary reads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._requests = Counter("postern_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "postern_request_seconds",
            "Time to answer, by route; routes whose time depends on private rows are left out.",
            ("method", "route"),
            registry=registry,
        )
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}

    def record(self, *, method: str, route: str, status: int, seconds: float) -> None:
        counter = self._counters.get((method, route, status))
        if counter is None:
            shown = "any" if (method, route) in DATA_DEPENDENT_ROUTES else str(status)
            counter = self._counters[method, route, status] = self._requests.labels(method, route, shown)
        counter.inc()
        if (method, route) in DATA_DEPENDENT_ROUTES:
            return
        histogram = self._histograms.get((method, route))
        if histogram is None:
            histogram = self._histograms[method, route] = self._seconds.labels(method, route)
        histogram.observe(seconds)


class ObservationMiddleware:
    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        try:
            await self.app(scope, receive, send_noted)
        finally:
            self._observe(scope, status, time.perf_counter() - started)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Status 0 means the caller went away before the answer began."""
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", UNMATCHED)
        self.metrics.record(method=method, route=route, status=status, seconds=seconds)
        facts = {"method": method, "route": route, "path": scope["path"][:200], "status": status}
        if (method, route) not in DATA_DEPENDENT_ROUTES:
            facts["duration_ms"] = round(seconds * 1000, 2)
        _log.info("request", **facts)
