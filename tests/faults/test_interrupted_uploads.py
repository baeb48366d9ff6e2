"""Rows of an upload that never ended are wiped by the next start, and by no start before that."""

import asyncio
import json
import socket
import time

import pytest

from app.errors import Conflict, InvalidRows
from app.services.datasets.upload_data import upload_data
from app.services.ledger.recover import recover_on_start
from tests.end_to_end.fixtures import Start
from tests.services.world import World, chunks_of, rows, upload_files

CANARY = b"1,217.4091\n"
SENT = CANARY * 150_000


def begin_upload(port: int, path: str, token: str) -> socket.socket:
    """A request whose body stays unfinished: more was announced than is sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    head = (
        f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: text/csv\r\nContent-Length: {len(SENT) * 2}\r\n\r\n"
    )
    connection.sendall(head.encode() + b"cured,days\n" + SENT)
    return connection


async def stored_canary(world: World) -> bool:
    return any(CANARY in path.read_bytes() for path in upload_files(world.runtime))


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
async def test_what_a_killed_process_had_received_is_wiped_at_the_next_start(world: World, serve: Start):
    """The file system does not care which database there is; one is enough."""
    dataset = await world.dataset(source={"kind": "upload", "retain": False})
    (server,) = await asyncio.to_thread(serve, 1, EMBEDDED_WORKER="false")
    connection = begin_upload(server.port, f"/v1/datasets/{dataset}/data", world.boss.token)
    deadline = time.monotonic() + 20
    for _ in range(400):
        if await stored_canary(world):
            break
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in upload_files(world.runtime))
    await recover_on_start(world.runtime)
    assert await stored_canary(world), "another process's start wiped an upload in progress"
    server.kill()
    connection.close()
    await recover_on_start(world.runtime)
    assert not await stored_canary(world)
    assert len(upload_files(world.runtime)) == 1
    await world.published(dataset)


async def test_a_refused_upload_leaves_nothing_and_the_rows_before_it_in_place(world: World):
    dataset = await world.dataset()
    kept = upload_files(world.runtime)
    body = {"dataset_id": dataset}
    chunks = chunks_of(rows() + b"7,1\n")
    with pytest.raises(InvalidRows) as refused:
        await upload_data(world.runtime, steward=world.steward, chunks=chunks, **body)
    assert [(row.line, row.column) for row in refused.value.rows] == [(402, "cured")]
    assert "7" not in json.dumps([row.expected for row in refused.value.rows])
    assert upload_files(world.runtime) == kept
    await world.published(dataset)


async def test_a_client_that_goes_away_leaves_nothing(world: World):
    dataset = await world.dataset()
    kept = upload_files(world.runtime)

    async def broken() -> object:
        yield b"cured,days\n" + SENT
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await upload_data(world.runtime, steward=world.steward, dataset_id=dataset, chunks=broken())
    assert upload_files(world.runtime) == kept


async def test_rows_cannot_be_exchanged_under_a_release_that_waits_for_them(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    with pytest.raises(Conflict):
        await world.upload(dataset, rows(ones=399))
    assert len(upload_files(world.runtime)) == 1
    await world.work()
    assert (await world.release(requested.id)).status == "published"
