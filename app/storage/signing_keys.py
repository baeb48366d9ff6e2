"""Where the signing key and the trusted public keys come from: settings, else files in the data directory.

A generated key is a text file of mode 0600, made once: each process writes its own candidate under a private name and
links it to the final one, which the file system lets exactly one do. Earlier public keys stand one a line in
`verifying.keys`, so that heads signed before a rotation still verify.
"""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.errors import InvalidInput
from app.ledger.signed_head import Keyring, SigningKey, parse_public_key
from app.storage.durable_files import candidate_for, sync_directory, write_new, write_over

KEY_FILE = "signing.key"
VERIFYING_FILE = "verifying.keys"
DATA_KEY_FILE = "data.key"
"""The secret uploaded rows are sealed under, made like the signing key; beside the folder of uploads, not in it."""
SEALING_KEY_FILE = "sealing.key"
"""The secret behind the key pair that statistics are sealed to, made like the others."""
SECRET_LENGTH_MIN = 32


@dataclass(frozen=True, slots=True)
class Keys:
    """What this process signs with, and everything it believes, its own key included."""

    signing: SigningKey
    trusted: Keyring


def load_keys(folder: Path, secret: str | None, verifying: Sequence[str] = ()) -> Keys:
    """`secret` from the settings, else from the file, which is made on the first start. Blocking, short."""
    signing = SigningKey(secret if secret is not None else read_or_make_secret(folder))
    earlier = [parse_public_key(text) for text in (*verifying, *_listed(folder))]
    return Keys(signing, Keyring([signing.public, *earlier]))


def read_or_make_secret(folder: Path, name: str = KEY_FILE) -> str:
    """Whoever links first decides; everybody, the winner included, then reads what is there."""
    path = folder / name
    with suppress(FileNotFoundError):
        return _checked(path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    candidate = candidate_for(path)
    write_new(candidate, f"{secrets.token_hex(32)}\n".encode())
    try:
        with suppress(FileExistsError):
            os.link(candidate, path)
            sync_directory(folder)
    finally:
        candidate.unlink()
    return _checked(path)


def replace_secret(folder: Path) -> None:
    """A new generated key; the old one's public key joins the list of those believed, first and durably."""
    old = SigningKey(read_or_make_secret(folder))
    listed = [*_listed(folder), old.public.hex()]
    write_over(folder / VERIFYING_FILE, "".join(f"{line}\n" for line in dict.fromkeys(listed)).encode())
    write_over(folder / KEY_FILE, f"{secrets.token_hex(32)}\n".encode())


def _checked(path: Path) -> str:
    secret = path.read_text("utf-8").strip()
    if len(secret) < SECRET_LENGTH_MIN:
        raise InvalidInput(str(path), f"a secret of at least {SECRET_LENGTH_MIN} characters")
    return secret


def _listed(folder: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return [line.strip() for line in (folder / VERIFYING_FILE).read_text("utf-8").splitlines() if line.strip()]
    return []
