"""`postern doctor`: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from app.errors import PosternError

if TYPE_CHECKING:
    from app.settings import Settings

_CLOCK_FLOOR_S = 1_767_225_600  # 2026-01-01: this code did not exist before
_ADVICE = {
    "database": "check POSTERN_DATABASE_URL and that the server accepts connections",
    "migrations": "run `postern migrate`",
    "disk": "make room, or set POSTERN_DISK_BYTES_MIN",
    "redis": "check POSTERN_REDIS_URL, or unset it to work without Redis",
}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    advice: str = ""


def doctor() -> None:
    """Check settings, data directory, database, migrations, Redis, clock and entropy. Exit code 1 if one fails."""
    findings = list(examine())
    for finding in findings:
        typer.echo(f"{'ok  ' if finding.ok else 'FAIL'} {finding.name}: {finding.detail}")
        if not finding.ok and finding.advice:
            typer.echo(f"     {finding.advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    from app.settings import Settings, unknown_variables

    try:
        settings = Settings()
    except PosternError as error:
        yield Finding("settings", False, error.detail, "correct the variable, or unset it to use its default")
        return
    for name, value in settings.describe().items():
        yield Finding("setting", True, f"{name} = {value}")
    for name, meant in unknown_variables(os.environ).items():
        if name not in ("POSTERN_KEY", "POSTERN_URL", "POSTERN_INSECURE"):
            advice = f"did you mean {meant}?" if meant else "unset it: nothing reads it"
            yield Finding("settings", False, f"{name} is not a setting", advice)
    yield _clock()
    yield _entropy()
    yield _data_directory(settings)
    yield from _private_keys(settings)
    yield from _services(settings)


def _clock() -> Finding:
    ok = time.time() > _CLOCK_FLOOR_S
    detail = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Finding("clock", ok, detail, "set the clock: expiry of keys and the ledger's times depend on it")


def _entropy() -> Finding:
    """Samples are drawn from the operating system's generator; it must be seeded, so that no draw waits."""
    advice = "wait until the system has gathered entropy, or give the machine a random source"
    try:
        first, second = (os.getrandom(32, os.GRND_NONBLOCK) for _ in range(2))
    except (BlockingIOError, AttributeError):
        return Finding("entropy", False, "the operating system's generator is not ready", advice)
    return Finding("entropy", first != second, "the operating system's generator answers", advice)


def _data_directory(settings: Settings) -> Finding:
    advice = "make POSTERN_DATA_DIR a directory this user may write to"
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data_dir):
            pass
    except OSError as error:
        return Finding("data directory", False, f"{settings.data_dir}: {error.strerror}", advice)
    return Finding("data directory", True, f"{settings.data_dir} can be written to")


def _private_keys(settings: Settings) -> Iterator[Finding]:
    """Looked at, not made: they come with the first upload, and the first plan for statistics without rows."""
    from app.storage.signing_keys import DATA_KEY_FILE, SEALING_KEY_FILE

    yield _private_key(settings, "data key", settings.data_key is not None, DATA_KEY_FILE, "the first upload")
    yield _private_key(settings, "sealing key", settings.sealing_key is not None, SEALING_KEY_FILE, "the first plan")


def _private_key(settings: Settings, name: str, given: bool, file: str, made_by: str) -> Finding:
    path = settings.data_dir / file
    if given:
        variable = f"POSTERN_{name.replace(' ', '_').upper()}"
        return Finding(name, True, f"from {variable}; the same for every server and worker")
    if not path.exists():
        return Finding(name, True, f"none yet; {made_by} makes {path}")
    private = path.stat().st_mode & 0o077 == 0
    return Finding(name, private, f"{path}: back it up apart from the rows", f"run `chmod 600 {path}`")


def _services(settings: Settings) -> Iterator[Finding]:
    from app.services.ledger.ledger_trust import look
    from app.services.runtime.check_readiness import check_readiness
    from app.services.runtime.runtime import open_runtime

    async def checks() -> dict[str, dict[str, object]]:
        runtime = await open_runtime(settings)
        try:
            found = {name: dict(check) for name, check in (await check_readiness(runtime)).items()}
            if found["migrations"]["ok"]:
                faults = (await look(runtime)).faults
                told = "; ".join(f"{fault.name}: {fault.detail}" for fault in faults)
                found["ledger"] = {"ok": not faults, "detail": told or "its head is the one known from before"}
                _ADVICE["ledger"] = faults[0].advice if faults else ""
            return found
        finally:
            await runtime.close()

    try:
        found = asyncio.run(checks())
    except PosternError as error:
        yield Finding("services", False, error.detail, _ADVICE["database"])
        return
    for name, check in found.items():
        yield Finding(name, bool(check["ok"]), str(check["detail"]), _ADVICE.get(name, ""))
    if settings.redis_url is None:
        yield Finding("redis", True, "not configured; caches live in the process")
