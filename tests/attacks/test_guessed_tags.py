"""A tag travels where bodies do not: into logs of proxies, into caches, into bug reports.

Whoever holds k − 1 samples knows everything about the body of k samples but one value of a public grid. If a tag were a hash
that anyone can compute, finding someone else's tag would be finding their next sample.
"""

import hashlib

import pytest

from app import __version__
from app.ledger.canonical import canonical_json
from app.services.reading.exports import FORMATS
from app.services.runtime.warm_cache import TAG_LENGTH
from tests.services.world import World, over_http

pytestmark = pytest.mark.engine_in_turn


def hashed(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:TAG_LENGTH]


async def test_nobody_computes_a_tag_from_the_bytes_it_stands_for(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    analyst = await world.buyer(dataset, release, 5)
    async with over_http(world.runtime) as client:
        for path in ("summary", "density", "samples"):
            answer = await client.get(f"/v1/releases/{release}/{path}", headers=analyst.headers)
            tag = answer.headers["etag"].strip('"').removesuffix("-gzip")
            receipt = hashlib.sha256(canonical_json(answer.json()["receipt"]).encode()).hexdigest()
            described = f"postern/{__version__} {FORMATS['json'].made_with()} {receipt}"
            assert tag not in (hashed(answer.content), hashed(described.encode()), receipt[:TAG_LENGTH])


async def test_tags_of_the_same_bytes_differ_between_readers_of_different_prefixes_only(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    readers = [await world.buyer(dataset, release, bought, f"reader {i}") for i, bought in enumerate((5, 5, 6))]
    async with over_http(world.runtime) as client:
        for path in ("summary", "density", "samples"):
            answers = [await client.get(f"/v1/releases/{release}/{path}", headers=each.headers) for each in readers]
            tags = [answer.headers["etag"] for answer in answers]
            assert tags[0] == tags[1] != tags[2]
