"""Another signing key from now on; the old one's signatures are still believed."""

import asyncio

from app.errors import Conflict
from app.services.ledger.verify_lines import sound_or_raise
from app.services.ledger.watch_ledger import remember_head, sign_again
from app.services.runtime.runtime import Runtime
from app.storage.signing_keys import replace_secret


async def rotate_signing_key(runtime: Runtime, *, reason: str) -> str:
    """For a key that was generated: write a new one, list the old, sign the head anew. Returns the new key's id.

    Running processes read the files again when they meet the new signature. A key from the settings is changed
    there: this raises Conflict and says how. The chain has to verify first: IntegrityFailure, LedgerUntrusted.
    """
    if runtime.settings.signing_key is not None:
        raise Conflict(
            "the key comes from POSTERN_SIGNING_KEY: add the new public key to POSTERN_VERIFYING_KEYS everywhere, then"
            " change the secret, keeping the old public key listed"
        )
    runtime.notary.require_trust()
    await sound_or_raise(runtime)
    await asyncio.to_thread(replace_secret, runtime.settings.data_dir)
    runtime.notary.reload()
    await sign_again(runtime, "rotated", reason)
    await remember_head(runtime)
    return runtime.notary.keys.signing.id
