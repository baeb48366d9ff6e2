"""Something to ask on the first day: a shipped dataset, a published release, a steward's and an analyst's key.

Seeding again changes nothing: the tokens are kept in a private file of the data directory and used while they work.
"""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

from app.errors import IntegrityFailure, PosternError
from app.services.datasets.create_dataset import create_dataset
from app.services.datasets.set_cap import set_cap
from app.services.datasets.upload_data import upload_data
from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.people.verify_key import verify_key
from app.services.principals import Analyst, Steward
from app.services.releases.buy_access import buy_access
from app.services.releases.read_releases import read_release
from app.services.releases.request_release import request_release
from app.services.releases.run_release import run_next_release
from app.services.runtime.runtime import Runtime

FILE_NAME = "demo.json"
SAMPLES = 40
PREFIX = 20
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
CAP = {"epsilon": 2.0, "delta": 1e-6}


@dataclass(frozen=True, slots=True)
class Demo:
    steward_token: str
    analyst_token: str
    release_id: str


async def seed_demo(runtime: Runtime) -> Demo:
    """Interrupted half-way it starts over as another demo steward; nothing half-made is ever shown."""
    path = runtime.settings.data_dir / FILE_NAME
    known = _read(path)
    if known is not None and await _works(runtime, known):
        return known
    demo = await _seed(runtime)
    _write(path, demo)
    return demo


async def _works(runtime: Runtime, demo: Demo) -> bool:
    try:
        steward = await verify_key(runtime, token=demo.steward_token)
        await verify_key(runtime, token=demo.analyst_token)
        release = await read_release(runtime, principal=steward, release_id=demo.release_id)
    except PosternError:
        return False
    return release.status == "published"


async def _seed(runtime: Runtime) -> Demo:
    steward_token, _ = await _person(runtime, "steward", "Demo steward", None)
    steward = await verify_key(runtime, token=steward_token)
    if not isinstance(steward, Steward):
        raise IntegrityFailure("the demo steward is not a steward")
    analyst_token, analyst_id = await _person(runtime, "analyst", "Demo analyst", steward)
    analyst = await verify_key(runtime, token=analyst_token)
    if not isinstance(analyst, Analyst):
        raise IntegrityFailure("the demo analyst is not an analyst")
    folder = demo_folder()
    dataset = await create_dataset(runtime, steward=steward, spec=json.loads((folder / "trial.json").read_text()))
    rows = _chunks((folder / "trial.csv").read_bytes())
    await upload_data(runtime, steward=steward, dataset_id=dataset.id, chunks=rows)
    spec = {"model": MODEL, "mechanism": {"kind": "baps", "samples": SAMPLES, "temperature": 1.0}}
    release = await request_release(runtime, steward=steward, dataset_id=dataset.id, spec=spec)
    while await run_next_release(runtime):
        pass
    await set_cap(runtime, steward=steward, dataset_id=dataset.id, principal_id=analyst_id, spec=CAP)
    await buy_access(runtime, analyst=analyst, release_id=release.id, samples=PREFIX)
    return Demo(steward_token, analyst_token, release.id)


async def _person(runtime: Runtime, role: str, name: str, creator: Steward | None) -> tuple[str, str]:
    person = await create_principal(runtime, role=role, name=name, created_by=creator)
    key = await create_key(runtime, actor=creator, principal_id=person.id, label="demo", expires_us=None)
    return str(key.token), person.id


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


def demo_folder() -> Path:
    """Beside the package in a checkout, inside it when installed from a wheel."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "demo"
    return inside if inside.is_dir() else package.parent / "examples" / "demo"


def _read(path: Path) -> Demo | None:
    try:
        return Demo(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write(path: Path, demo: Demo) -> None:
    """0600 from its first byte: it holds keys."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(demo), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
