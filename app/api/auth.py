"""Who is asking, as a type in a route's signature: `steward: StewardKey` is the whole check.

The dependencies are async, because a sync one costs a thread hop a request. The query routes call `read_reader`
themselves, which saves the framework's dependency bookkeeping on the path that is asked most.
"""

import re
from typing import Annotated

from fastapi import Depends, Request

from app.api.middleware.envelope import RATE_LIMIT
from app.api.parameters import runtime_of
from app.errors import Forbidden, Unauthenticated
from app.services.people import verify_key
from app.services.people.verify_key import TOKEN
from app.services.principals import Analyst, AnyPrincipal, Auditor, Dashboard, Overseer, Reader, Rehearser, Steward
from app.services.runtime.computing_room import asking
from app.services.runtime.identifiers import is_rehearsal
from app.services.runtime.rate_limits import RateLimits, address_of

HEAVY = frozenset({"plan_release", "rehearse_dataset", "request_audit", "verify_ledger"})
"""Operations that compute much and charge nothing: a smaller limit of their own."""

_BEARER = re.compile(rf"bearer +({TOKEN.pattern})", re.IGNORECASE)


def bearer_token(request: Request) -> str | None:
    """The token, or None without the header. Two headers or a garbled one are refused, never guessed at."""
    given = request.headers.getlist("authorization")
    if not given:
        return None
    match = _BEARER.fullmatch(given[0].strip()) if len(given) == 1 else None
    if match is None:
        raise Unauthenticated("expected one header `Authorization: Bearer pstn_<id>_<secret>`")
    return match[1]


async def read_principal(request: Request) -> AnyPrincipal:
    """Also where every request with a key is counted: against the key if it is good, against the address if not."""
    runtime = runtime_of(request)
    address = address_of(None if request.client is None else request.client.host)
    try:
        token = bearer_token(request)
        runtime.limits.check_address(address, token)
        principal = await verify_key(runtime, token=token)
    except Unauthenticated as refusal:
        if refusal.code == Unauthenticated.code:
            runtime.limits.check_address(address, None)
            runtime.limits.note_failure(address)
        raise
    await _count(request, runtime.limits, principal.key_id)
    asking(principal)
    return principal


async def _count(request: Request, limits: RateLimits, key_id: str) -> None:
    """One token; what is left is told by the envelope, with a refusal too."""
    heavy = getattr(request.scope.get("route"), "operation_id", None) in HEAVY
    limit = limits.heavy if heavy else limits.requests
    if limit is not None:
        state = request.scope.setdefault("state", {})
        state[RATE_LIMIT] = (limit.policy_header, limit.empty_header)
        state[RATE_LIMIT] = (limit.policy_header, await limit.spend(key_id))


async def read_steward(request: Request) -> Steward:
    principal = await read_principal(request)
    if isinstance(principal, Steward):
        return principal
    raise _forbidden("steward")


async def read_owner(request: Request) -> Steward:
    """A steward, or an analyst where the address names a rehearsal: services let only its owner have it."""
    return _as_owner(request, await read_principal(request), "steward")


async def read_ledger_reader(request: Request) -> Overseer:
    """Those who may read ledgers, and the owner of a rehearsal."""
    principal = await read_principal(request)
    return principal if isinstance(principal, Auditor) else _as_owner(request, principal, "steward", "auditor")


def _as_owner(request: Request, principal: AnyPrincipal, *roles: str) -> Steward:
    if isinstance(principal, Steward):
        return principal
    if isinstance(principal, Analyst) and any(is_rehearsal(str(value)) for value in request.path_params.values()):
        return Rehearser.of(principal)
    raise _forbidden(*roles)


async def read_rehearser(request: Request) -> Steward | Analyst:
    principal = await read_principal(request)
    if isinstance(principal, Steward | Analyst):
        return principal
    raise _forbidden("steward", "analyst")


async def read_analyst(request: Request) -> Analyst:
    principal = await read_principal(request)
    if isinstance(principal, Analyst):
        return principal
    raise _forbidden("analyst")


async def read_reader(request: Request) -> Reader:
    principal = await read_principal(request)
    if isinstance(principal, Steward | Analyst | Dashboard):
        return principal
    raise _forbidden("steward", "analyst", "dashboard")


async def read_overseer(request: Request) -> Overseer:
    principal = await read_principal(request)
    if isinstance(principal, Steward | Auditor):
        return principal
    raise _forbidden("steward", "auditor")


def _forbidden(*roles: str) -> Forbidden:
    return Forbidden(f"this takes the key of {' or '.join(roles)}", roles=list(roles))


AnyKey = Annotated[AnyPrincipal, Depends(read_principal)]
StewardKey = Annotated[Steward, Depends(read_steward)]
OwnerKey = Annotated[Steward, Depends(read_owner)]
LedgerKey = Annotated[Overseer, Depends(read_ledger_reader)]
RehearserKey = Annotated[Steward | Analyst, Depends(read_rehearser)]
AnalystKey = Annotated[Analyst, Depends(read_analyst)]
OverseerKey = Annotated[Overseer, Depends(read_overseer)]
