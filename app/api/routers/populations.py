"""Populations: declare, list, read, rename, delete; their ledgers."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import OverseerKey, StewardKey
from app.api.documentation import JSON, ONCE, PARAMETERS, ROLE, THING, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_spec
from app.api.parameters import LIMIT_DEFAULT, Cursor, IdempotencyKey, Limit, PopulationId, runtime_of
from app.api.responses import model_response, page_headers
from app.api.schemas.ledger import LedgerPage
from app.api.schemas.populations import Population, PopulationBody, PopulationChange, PopulationPage
from app.services.datasets import (
    change_population,
    create_population,
    delete_population,
    list_populations,
    read_population,
)
from app.services.ledger import read_population_ledger

router = APIRouter(prefix="/v1", tags=["populations"])


@router.post(
    "/populations",
    response_model=Population,
    **operation(
        "create_population",
        "Declare a population",
        ROLE,
        JSON,
        ONCE,
        ("name_taken", "vacuous_guarantee"),
        body=PopulationBody,
        status=201,
        headers={"Location": "The population's address.", **REPLAY_HEADERS},
    ),
)
async def post_population(request: Request, steward: StewardKey, idempotency_key: IdempotencyKey = None) -> Response:
    """One budget for the same people in several datasets, which name it when they are declared, or later while nothing was
    charged to them. Charges to any of them are charges to it, and have to fit both."""
    spec = await read_spec(request, PopulationBody)
    return await answer_once(
        request,
        steward,
        idempotency_key,
        spec,
        lambda once: create_population(runtime_of(request), steward=steward, spec=spec, once=once),
        lambda view: reply_of(Population.of(view), 201, f"/v1/populations/{view.id}"),
    )


@router.get(
    "/populations",
    response_model=PopulationPage,
    **operation("list_populations", "List your populations", ROLE, PARAMETERS),
)
async def get_populations(
    request: Request, steward: StewardKey, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> Response:
    """Newest first, a page at a time; `Link: rel="next"` and `next_cursor` lead on."""
    page = await list_populations(runtime_of(request), steward=steward, cursor=cursor, limit=limit)
    return model_response(PopulationPage.of(page), headers=page_headers(request, page))


@router.get(
    "/populations/{population_id}",
    response_model=Population,
    **operation("read_population", "Read a population", ROLE, THING),
)
async def get_population(request: Request, steward: StewardKey, population_id: PopulationId) -> Response:
    """Its budget, what its datasets have spent of it together, and what is left."""
    view = await read_population(runtime_of(request), steward=steward, population_id=population_id)
    return model_response(Population.of(view))


@router.patch(
    "/populations/{population_id}",
    response_model=Population,
    **operation(
        "change_population",
        "Rename or describe a population",
        ROLE,
        THING,
        JSON,
        ("name_taken",),
        body=PopulationChange,
    ),
)
async def patch_population(request: Request, steward: StewardKey, population_id: PopulationId) -> Response:
    """Cards and datasets show the new name from then on. Its budget never changes, and its datasets come and go by themselves."""
    spec = await read_spec(request, PopulationChange)
    view = await change_population(runtime_of(request), steward=steward, population_id=population_id, spec=spec)
    return model_response(Population.of(view))


@router.delete(
    "/populations/{population_id}",
    response_class=Response,
    **operation("delete_population", "Delete a population without datasets", ROLE, THING, ("conflict",), status=204),
)
async def remove_population(request: Request, steward: StewardKey, population_id: PopulationId) -> Response:
    """Its name is free again. Datasets that were ever charged stay in it for good; others can leave it first."""
    await delete_population(runtime_of(request), steward=steward, population_id=population_id)
    return Response(status_code=204)


@router.get(
    "/populations/{population_id}/ledger",
    response_model=LedgerPage,
    **operation("read_population_ledger", "Read a population's ledger", ROLE, THING, PARAMETERS),
)
async def get_population_ledger(
    request: Request,
    overseer: OverseerKey,
    population_id: PopulationId,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> Response:
    """Every charge and void on the population's account, in order. Each names its dataset, whose own ledger has the same."""
    page = await read_population_ledger(
        runtime_of(request), overseer=overseer, population_id=population_id, cursor=cursor, limit=limit
    )
    return model_response(LedgerPage.of(page), headers=page_headers(request, page))
