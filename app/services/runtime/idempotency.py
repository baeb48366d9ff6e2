"""The same request again gets the same answer, and its work is done once.

A caller names a request with an `Idempotency-Key`. The claim on that name and the answer are written in the
transaction of the work itself, so a request that fails leaves nothing behind and one that succeeds is always
answered alike: status, address and body, byte for byte, until `POSTERN_IDEMPOTENCY_S` have passed.

An answer may hold a secret (a new key's token), and the database must not. It is sealed with AES-256-GCM under

    HKDF-SHA256(bearer token ‖ Idempotency-Key, salt),    salt and nonce fresh for each answer,

and bound to its row by the associated data. Neither input is stored: of the token a hash of its secret is kept, of
the Idempotency-Key a digest together with its owner, so that a stolen database opens no answer. The price is that
the *same* API key has to repeat the request: another key of the same person is told where the result is.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IdempotencyConflict
from app.ledger.canonical import canonical_json
from app.services.runtime.runtime import Runtime
from app.storage import idempotency
from app.storage.idempotency import StoredReply

T = TypeVar("T")

_SALT_BYTES, _NONCE_BYTES = 16, 12
_INFO = b"postern/idempotent-reply/1"


class Reply(msgspec.Struct, frozen=True):
    """What a request was answered with."""

    status: int
    body: bytes
    location: str | None = None

    def __repr__(self) -> str:
        return f"Reply(status={self.status})"


class AnsweredBefore(Exception):
    """Ends the transaction that found its key answered: there is nothing to do but to say it again."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("answered before")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Once(Generic[T]):
    """A request under a name: whose, for what, and how its result becomes an answer. `token` is the bearer token."""

    principal_id: str
    route: str
    input_hash: bytes = field(repr=False)
    key: str = field(repr=False)
    token: str = field(repr=False)
    render: Callable[[T], Reply] = field(repr=False)

    @property
    def key_digest(self) -> bytes:
        text = f"postern/idempotency-key/1\n{len(self.principal_id)}:{self.principal_id}{self.key}"
        return hashlib.sha256(text.encode()).digest()


def input_hash(body: Any) -> bytes:
    """Of what a caller sent, all of it public parameters; the order of its fields does not matter."""
    return hashlib.sha256(canonical_json(body).encode()).digest()


async def perform_once(runtime: Runtime, once: Once[T], work: Callable[[], Awaitable[T]]) -> tuple[Reply, bool]:
    """(answer, whether it is a repetition). `work` calls a service that claims and answers `once`.

    The early look spares a repetition the work's own checks, which may fail by now: a time that has passed, rows
    that are gone. Raises IdempotencyConflict and whatever `work` raises.
    """
    try:
        async with runtime.database.read() as connection:
            await look_up(runtime, connection, once)
        return once.render(await work()), False
    except AnsweredBefore as earlier:
        return earlier.reply, True


async def look_up(runtime: Runtime, connection: AsyncConnection, once: Once[T] | None) -> None:
    """Without claiming anything. Raises AnsweredBefore, IdempotencyConflict."""
    if once is None:
        return
    found = await idempotency.find_reply(
        connection,
        once.principal_id,
        once.key_digest,
        route=once.route,
        input_hash=once.input_hash,
        expired_us=_expired_us(runtime),
    )
    if found is not None:
        raise AnsweredBefore(_opened(once, found))


async def claim(runtime: Runtime, connection: AsyncConnection, once: Once[T] | None) -> None:
    """First in the transaction of the work. Raises AnsweredBefore, IdempotencyConflict."""
    if once is None:
        return
    found = await idempotency.claim_key(
        connection,
        once.principal_id,
        once.key_digest,
        route=once.route,
        input_hash=once.input_hash,
        now_us=runtime.clock(),
        expired_us=_expired_us(runtime),
    )
    if found is not None:
        raise AnsweredBefore(_opened(once, found))


async def answer(runtime: Runtime, connection: AsyncConnection, once: Once[T] | None, result: T) -> None:
    """Last in the transaction of the work: what it commits is what will be said, now and again."""
    if once is None:
        return
    reply = once.render(result)
    sealed = _sealed(once, reply, runtime.random_bytes(_SALT_BYTES), runtime.random_bytes(_NONCE_BYTES))
    await idempotency.answer_key(connection, once.principal_id, once.key_digest, sealed=sealed, location=reply.location)


async def forget_expired(runtime: Runtime) -> int:
    """Drop what has expired, in short transactions; returns how many."""
    dropped = 0
    while True:
        async with runtime.database.write() as connection:
            batch = await idempotency.forget_keys(connection, _expired_us(runtime))
        dropped += batch
        if batch < idempotency.SWEEP_MAX:
            return dropped


def _expired_us(runtime: Runtime) -> int:
    return runtime.clock() - int(runtime.settings.idempotency_s * 1e6)


def _sealed(once: Once[T], reply: Reply, salt: bytes, nonce: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # loaded only where it is used

    ciphertext = AESGCM(_cipher_key(once, salt)).encrypt(nonce, msgspec.msgpack.encode(reply), _bound_to(once))
    return salt + nonce + ciphertext


def _opened(once: Once[T], found: StoredReply) -> Reply:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    sealed = bytes(found.sealed or b"")
    salt, rest = sealed[:_SALT_BYTES], sealed[_SALT_BYTES:]
    try:
        opened = AESGCM(_cipher_key(once, salt)).decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], _bound_to(once))
    except (InvalidTag, ValueError):
        detail = "this request was answered under another API key, which alone can have the answer repeated"
        raise IdempotencyConflict(detail, location=found.location) from None
    return msgspec.msgpack.decode(opened, type=Reply)


def _cipher_key(once: Once[T], salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    secret = f"{len(once.token)}:{once.token}{once.key}".encode()
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=_INFO).derive(secret)


def _bound_to(once: Once[T]) -> bytes:
    return once.key_digest + once.input_hash + once.route.encode()
