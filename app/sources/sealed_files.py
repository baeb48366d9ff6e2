"""Uploaded rows at rest: a file of chunks, each sealed with AES-256-GCM under a key of that file's own.

    header   8 bytes of magic, 16 of salt, 16 of check (`data_key.py`)
    chunk    up to 1 MiB of plaintext, as ciphertext and tag; as many as it takes, at least one

Chunk i has the nonce (i, last?): a chunk left out, moved, repeated or cut off at the end does not open, nor one of another
file, whose key is another. The header is authenticated with every chunk. This is the STREAM construction (Hoang, Reyhanitabar,
Rogaway and Vizár 2015), with the counter and the last-bit in the nonce.

DuckDB can encrypt Parquet by itself, but the module it brings may only read: writing needs an extension that would have to be
fetched, or a switch that it calls unsafe (ADR 22).
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.errors import DataMissing
from app.sources.data_key import CHECK_BYTES, SALT_BYTES, DataKey

MAGIC = b"PSTNROW1"
HEADER_BYTES = len(MAGIC) + SALT_BYTES + CHECK_BYTES
CHUNK_BYTES = 1 << 20
_TAG_BYTES = 16
_UNREADABLE = "the rows cannot be opened: damaged, or written under another data key"


def is_sealed(path: Path) -> bool:
    """By the first bytes. OSError if there is nothing to read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def opens_with(path: Path, key: DataKey) -> bool:
    """Whether a sealed file was written under this key; looks at the header only, so it cannot depend on a row."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    return len(header) == HEADER_BYTES and key.wrote(*_salt_and_check(header))


def seal(plain: Path, write: Callable[[bytes], None], key: DataKey, salt: bytes) -> None:
    """The whole file `plain`, sealed, through `write`. Blocking."""
    header = MAGIC + salt + key.check(salt)
    cipher = AESGCM(key.file_key(salt))
    write(header)
    with plain.open("rb") as file:
        chunk, number = file.read(CHUNK_BYTES), 0
        while True:
            following = file.read(CHUNK_BYTES)
            write(cipher.encrypt(_nonce(number, last=not following), chunk, header))
            if not following:
                return
            chunk, number = following, number + 1


def unseal(path: Path, plain: Path, key: DataKey, heard: Callable[[int], None] = lambda done: None) -> None:
    """`heard` is told how many bytes were opened. Into a new file for the owner alone. DataMissing if it does not open with
    this key, to the last byte. Blocking."""
    descriptor = os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with path.open("rb") as sealed, os.fdopen(descriptor, "wb") as opened:
        header = sealed.read(HEADER_BYTES)
        if len(header) != HEADER_BYTES or not key.wrote(*_salt_and_check(header)):
            raise DataMissing(_UNREADABLE)
        cipher = AESGCM(key.file_key(_salt_and_check(header)[0]))
        _unseal_chunks(sealed, opened, cipher, header, heard)


def _unseal_chunks(
    sealed: BinaryIO, opened: BinaryIO, cipher: AESGCM, header: bytes, heard: Callable[[int], None]
) -> None:
    size = CHUNK_BYTES + _TAG_BYTES
    chunk, number = sealed.read(size), 0
    while True:
        following = sealed.read(size)
        try:
            opened.write(cipher.decrypt(_nonce(number, last=not following), chunk, header))
        except InvalidTag:
            raise DataMissing(_UNREADABLE) from None
        heard(sealed.tell() - len(following))
        if not following:
            return
        chunk, number = following, number + 1


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _salt_and_check(header: bytes) -> tuple[bytes, bytes]:
    salt = header[len(MAGIC) : len(MAGIC) + SALT_BYTES]
    return salt, header[len(MAGIC) + SALT_BYTES :]
