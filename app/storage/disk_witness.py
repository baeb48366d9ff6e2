"""The last head seen, beside the database and not in it: small files in the data directory.

    ledger/head-<ledger id>.json     newest signed head seen, and the number of acts then, signed too
    ledger/place-<hash>.json         which ledger lives at this database's address
    ledger/checkpoint-<ledger id>.json  how far lines were verified, signed

A file is written under another name, synced and renamed, so it is always whole. Heads only move forward: processes
that share the directory take a lock to compare and replace. Losing a file is losing a witness, never a false alarm.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import URL

from app.ledger.head_record import decode_witness, encode_witness
from app.ledger.signed_head import Mark, SignedHead
from app.storage.durable_files import write_over

FOLDER = "ledger"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def place_of(url: URL) -> str:
    """The database's address without credentials: changing a password is not moving."""
    address = f"{url.get_backend_name()}|{url.host or ''}|{url.port or ''}|{url.database or ''}"
    return hashlib.sha256(address.encode()).hexdigest()[:24]


def is_newer(found: tuple[int, int], known: tuple[int, int], back: bool) -> bool:
    """Both are (acts, sequence). Only `back` lets the sequence fall."""
    return found > known and (back or found[1] >= known[1])


class DiskWitness:
    """All methods block, briefly: run them in a thread."""

    name = "the data directory"

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    def pinned(self, place: str) -> str | None:
        """The ledger known to live at a place."""
        body = self._read(f"place-{place}.json")
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            return None if body is None else str(json.loads(body)["ledger"]).encode().decode()
        return None

    def pin(self, place: str, ledger: str, *, back: bool = False) -> None:
        """Another ledger's place is taken only by whoever just compared both."""
        known = self.pinned(place)
        if known is None or (back and known != ledger):
            self._write(f"place-{place}.json", json.dumps({"ledger": ledger}).encode())

    def newest(self, ledger: str) -> tuple[SignedHead, int, Mark | None] | None:
        """(the newest head seen, acts then, who says so)."""
        body = self._read(_named("head", ledger))
        return None if body is None else decode_witness(body, ledger)

    def advance(self, signed: SignedHead, acts: int, mark: Mark | None = None, *, back: bool = False) -> None:
        """Keep it if it is further on, and counts no fewer acts, than what is kept. A number without a mark is 0.

        `back`: acts decide first, since an accepted head may lie behind. For whoever just compared both.
        """
        name = _named("head", signed.ledger)
        with self._locked():
            body = self._read(name)
            known = None if body is None else decode_witness(body, signed.ledger)
            if known is None or is_newer((acts, signed.head.sequence), _reached(*known), back):
                self._write(name, encode_witness(signed, acts, mark))

    def checkpoint(self, ledger: str) -> SignedHead | None:
        """As far as all lines were verified once; whoever reads it checks the signature."""
        body = self._read(_named("checkpoint", ledger))
        found = None if body is None else decode_witness(body, ledger)
        return None if found is None else found[0]

    def keep_checkpoint(self, signed: SignedHead) -> None:
        self._write(_named("checkpoint", signed.ledger), encode_witness(signed, 0))

    def _read(self, name: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return (self._folder / name).read_bytes()
        return None

    def _write(self, name: str, body: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_over(self._folder / name, body)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _reached(signed: SignedHead, acts: int, mark: Mark | None) -> tuple[int, int]:
    return (0 if mark is None else acts), signed.head.sequence


def _named(kind: str, ledger: str) -> str:
    """Ids come from the database, which is what is under suspicion: none of them becomes a path as it is."""
    safe = ledger if set(ledger) <= _SAFE and len(ledger) <= 64 else hashlib.sha256(ledger.encode()).hexdigest()
    return f"{kind}-{safe}.json"
