"""Whether this process can do its work: database, migrations, ledger, Redis if configured."""

import asyncio
import shutil
from collections.abc import Mapping
from typing import Any

from app.errors import ProgramTooOld, Unavailable
from app.services.runtime.runtime import Runtime
from app.storage.migrate import is_current

REQUIRED = ("database", "migrations", "disk")
"""Redis is not among them: without it answers stay correct and budgets safe, only slower (ADR 0007).

Neither is the ledger: a process that refuses to charge still serves what was published before the fault (ADR 0011).
"""


def is_ready(checks: Mapping[str, Mapping[str, Any]]) -> bool:
    return all(checks[name]["ok"] for name in REQUIRED)


async def _disk(runtime: Runtime) -> dict[str, Any]:
    """A threshold, no number: how much rows took is nobody's business who can reach the port."""
    try:
        free = (await asyncio.to_thread(shutil.disk_usage, runtime.settings.data_dir)).free
    except OSError as error:
        return {"ok": False, "detail": f"the data directory cannot be looked at: {error.strerror}"}
    least = int(runtime.settings.disk_bytes_min)
    if free >= least:
        return {"ok": True, "detail": "room in the data directory"}
    return {"ok": False, "detail": f"less than {least // 1_000_000} MB left in the data directory: make room"}


async def check_readiness(runtime: Runtime) -> dict[str, dict[str, Any]]:
    checks: dict[str, dict[str, Any]] = {}
    try:
        await runtime.database.ping()
        full = runtime.database.is_full
        told = "its disk is full: nothing can be changed; questions from memory go on" if full else "answers"
        checks["database"] = {"ok": not full, "detail": told}
        current = await is_current(runtime.database)
        detail = "current" if current else "pending: run `postern migrate`"
        checks["migrations"] = {"ok": current, "detail": detail}
    except ProgramTooOld as newer:
        checks["migrations"] = {"ok": False, "detail": newer.detail}
    except Unavailable:
        checks["database"] = {"ok": False, "detail": "does not answer"}
        checks["migrations"] = {"ok": False, "detail": "unknown while the database is away"}
    checks["disk"] = await _disk(runtime)
    fault = runtime.notary.fault
    detail = "trusted" if fault is None else f"{fault.name}: {fault.detail}; nothing is charged. {fault.advice}"
    checks["ledger"] = {"ok": fault is None, "detail": detail}
    if runtime.settings.redis_url is not None:
        answers = await runtime.cache.ping()
        detail = "answers" if answers else "does not answer; answers stay correct, only slower"
        checks["redis"] = {"ok": answers, "detail": detail}
    return checks
