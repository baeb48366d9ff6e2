"""A dataset without rows, its plans, and seals of any numbers one likes: the other side of the wire, without files."""

import base64
import json
import os
from collections.abc import Sequence
from typing import Any

from app.api.schemas.statistics import SealingPlan as PlanAnswer
from app.services.datasets.create_dataset import create_dataset
from app.services.releases.request_release import plan_statistics
from app.sources.vouched.envelope import seal
from app.sources.vouched.plan import SealingPlan, read_plan
from tests.services.world import World, release_spec

PEOPLE, CURED = 400, 130
COLUMNS = {"cured": {"type": "binary"}}


async def without_rows(world: World, name: str = "elsewhere", **changes: Any) -> str:
    spec: dict[str, Any] = {
        "name": name,
        "columns": COLUMNS,
        "budget": {"epsilon": 20.0, "delta": 1e-6},
        "source": {"kind": "statistics"},
        "n": PEOPLE,
    }
    return (await create_dataset(world.runtime, steward=world.steward, spec=spec | changes)).id


async def planned(world: World, dataset: str, **changes: Any) -> SealingPlan:
    """As the steward saves and reads it, through JSON."""
    spec = release_spec(**changes)
    view = await plan_statistics(world.runtime, steward=world.steward, dataset_id=dataset, spec=spec)
    return read_plan(json.loads(PlanAnswer.of(view).model_dump_json()))


def sealed(plan: SealingPlan, numbers: Sequence[int] = (CURED, PEOPLE), **changes: Any) -> bytes:
    given: dict[str, Any] = {
        "public": plan.key,
        "nonce": plan.nonce,
        "expires_us": plan.expires_us,
        "digest": plan.digest,
        "random_bytes": os.urandom,
    }
    return seal(numbers, **given | changes)


def source_of(body: bytes) -> dict[str, str]:
    return {"kind": "statistics", "sealed": base64.b64encode(body).decode()}


async def asked_for(world: World, dataset: str, numbers: Sequence[int] = (CURED, PEOPLE), **changes: Any) -> str:
    plan = await planned(world, dataset, **changes)
    return (await world.request(dataset, source=source_of(sealed(plan, numbers)), **changes)).id
