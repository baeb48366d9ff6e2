"""The OpenAPI document: what the framework derives from routes, plus the shapes bodies are read with."""

import json
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from app import __version__
from app.api.documentation import problem_examples
from app.api.schemas.audits import AuditBody
from app.api.schemas.datasets import CapBody, DatasetBody, DatasetChange, RehearsalBody
from app.api.schemas.inference import InferenceBody
from app.api.schemas.operations import Problem
from app.api.schemas.plans import PlanBody
from app.api.schemas.populations import PopulationBody, PopulationChange
from app.api.schemas.principals import AnalystBody, KeyBody
from app.api.schemas.queries import QueriesBody, QueryBody
from app.api.schemas.releases import AccessBody, ReleaseBody, SeveralReleaseBody
from app.api.schemas.shared_plans import SharedPlanBody

BODIES: tuple[type[BaseModel], ...] = (
    AccessBody,
    AnalystBody,
    AuditBody,
    CapBody,
    DatasetBody,
    DatasetChange,
    KeyBody,
    InferenceBody,
    PlanBody,
    PopulationBody,
    PopulationChange,
    QueriesBody,
    QueryBody,
    RehearsalBody,
    ReleaseBody,
    SeveralReleaseBody,
    SharedPlanBody,
    Problem,
)
DESCRIPTION = """Fit a Bayesian posterior once, draw a fixed set of samples, pay for it in a ledger, and answer any
number of questions from those samples at no further privacy cost.

Every refusal is `application/problem+json` (RFC 9457) with a stable `code`. Keys go in
`Authorization: Bearer pstn_<id>_<secret>`.
"""
TAGS = [
    {"name": "datasets", "description": "Public schema, budget and data, for stewards."},
    {"name": "audits", "description": "Whether what runs keeps what it is charged; signed reports."},
    {"name": "populations", "description": "One budget for the same people in several datasets."},
    {"name": "plans", "description": "What a release would cost, from public numbers."},
    {"name": "releases", "description": "Sample sets drawn once, and their guarantee cards."},
    {"name": "queries", "description": "Questions answered from the samples; free."},
    {"name": "readings", "description": "Tables, curves and draws of a release, with receipts; free."},
    {"name": "analysts", "description": "People, keys and caps."},
    {"name": "me", "description": "What the key in hand is and may do."},
    {"name": "ledger", "description": "Append-only, hash-chained charges."},
    {"name": "operations", "description": "Health, readiness, metrics."},
]
_SECURITY = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "pstn_<id>_<secret>",
    "description": "A key of a steward, analyst, dashboard or auditor.",
}


def openapi_document(routes: list[BaseRoute]) -> dict[str, Any]:
    document = get_openapi(
        title="Postern",
        version=__version__,
        summary="Private answers from a Bayesian posterior: pay once, ask forever.",
        description=DESCRIPTION,
        routes=routes,
        tags=TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = {"key": _SECURITY}
    components["examples"] = problem_examples()
    _add_bodies(components.setdefault("schemas", {}))
    for path, methods in document["paths"].items():
        if path.startswith("/v1/"):
            for described in methods.values():
                described["security"] = [{"key": []}]
    return document


def openapi_text(document: dict[str, Any]) -> str:
    """The committed form: sorted, so that a difference is a change."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _add_bodies(schemas: dict[str, Any]) -> None:
    """Bodies are read by `json_body`, not by the framework, so it does not know their shapes."""
    _, defined = models_json_schema(
        [(model, "validation") for model in BODIES], ref_template="#/components/schemas/{model}"
    )
    for name, schema in defined["$defs"].items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two shapes are called {name}")
