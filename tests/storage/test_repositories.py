"""Each noun goes in and comes out unchanged, and the first writer wins."""

import asyncio
import hashlib
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy.exc import IntegrityError

from app.errors import IdempotencyConflict, InvalidInput, NameTaken
from app.storage.accesses import get_access, list_accesses, raise_access
from app.storage.accounts import get_account, list_accounts, lock_accounts
from app.storage.datasets import (
    get_dataset,
    list_uploads,
    mark_wiped,
    owned_ids,
    page_datasets,
    set_data,
)
from app.storage.engine import Database
from app.storage.grants import Grant, get_grant, list_grants, put_grant
from app.storage.idempotency import answer_key, claim_key, forget_keys
from app.storage.installation import bump_epoch, get_epoch
from app.storage.keys import ApiKey, get_key, insert_key, list_keys, revoke_key, touch_keys
from app.storage.principals import Principal, get_principal, insert_principal, page_principals
from app.storage.releases import get_release
from app.storage.sample_sets import get_checked, get_measured, get_samples, has_samples, insert_samples, record_of
from tests.storage.populated import NOW_US, add_account, add_dataset, add_principal, add_release, populate

KEY = hashlib.sha256(b"key").digest()


def key_of(name: str, principal: str = "an_steward", role: str = "steward") -> ApiKey:
    return ApiKey(name, principal, role, hashlib.sha256(name.encode()).digest(), NOW_US, label="laptop")


async def test_principals_and_keys_come_back_as_written(database: Database) -> None:
    async with database.write() as connection:
        steward = await add_principal(connection, "steward")
        await insert_principal(connection, Principal("an_b", "analyst", "b", "an_steward", NOW_US))
        await insert_key(connection, key_of("k1"))
        await insert_key(connection, replace(key_of("k2"), created_us=NOW_US + 1, expires_us=NOW_US + 5))
    async with database.read() as connection:
        assert await get_principal(connection, "an_steward") == steward
        assert await get_principal(connection, "an_nobody") is None
        analysts = await page_principals(connection, created_by="an_steward")
        assert [found.id for found in analysts.items] == ["an_b"]
        assert await get_key(connection, "k1") == key_of("k1")
        assert [key.id for key in await list_keys(connection, "an_steward")] == ["k1", "k2"]
    assert "secret_hash" not in repr(key_of("k1"))


async def test_a_key_carries_its_owners_role_or_reads_only_for_an_analyst(database: Database) -> None:
    async with database.write() as connection:
        await add_principal(connection, "b", "analyst")
    for role in ("steward", "auditor"):
        with pytest.raises(IntegrityError):
            async with database.write() as connection:
                await insert_key(connection, key_of("k1", "an_b", role))
    async with database.write() as connection:
        await insert_key(connection, key_of("k1", "an_b", "dashboard"))
        stored = await get_key(connection, "k1")
    assert stored is not None
    assert stored.role == "dashboard"


async def test_revoking_twice_keeps_the_first_time_and_use_never_moves_back(database: Database) -> None:
    async with database.write() as connection:
        await add_principal(connection, "steward")
        await insert_key(connection, key_of("k1"))
        await touch_keys(connection, {"k1": NOW_US + 9, "gone": NOW_US})
        await touch_keys(connection, {"k1": NOW_US + 3})
        await touch_keys(connection, {})
        assert await revoke_key(connection, "k1", NOW_US + 10)
        assert not await revoke_key(connection, "k1", NOW_US + 20)
        key = await get_key(connection, "k1")
    assert key is not None
    assert (key.last_used_us, key.revoked_us) == (NOW_US + 9, NOW_US + 10)


async def test_a_dataset_keeps_its_declaration_and_counts_uploads(database: Database) -> None:
    async with database.write() as connection:
        await add_principal(connection, "steward")
        unit = {"column": "patient", "max_rows": 3}
        dataset = await add_dataset(connection, unit=unit, epsilon=0.1, delta=1e-300, n=None)
        assert await get_dataset(connection, "ds_a", lock=True) == dataset
        assert await set_data(connection, "ds_a", n=10**12, upload_name="u1") == 1
        assert await set_data(connection, "ds_a", n=10**12, upload_name="u2") == 2
        assert [found.upload_name for found in await list_uploads(connection)] == ["u2"]
        assert not await mark_wiped(connection, "ds_a", 1)
        assert await mark_wiped(connection, "ds_a", 2)
        assert await list_uploads(connection) == ()
        now = await get_dataset(connection, "ds_a")
    assert now == replace(dataset, n=10**12, data_version=2, data_state="wiped")


async def test_a_name_is_taken_once_an_owner_and_the_first_stays(database: Database) -> None:
    async with database.write() as connection:
        await add_principal(connection, "steward")
        await add_principal(connection, "other")
        await add_dataset(connection, "ds_a", name="trial")
        await add_dataset(connection, "ds_b", name="trial", owner="an_other")
    with pytest.raises(NameTaken):
        async with database.write() as connection:
            await add_dataset(connection, "ds_c", name="trial")
    async with database.read() as connection:
        mine = await page_datasets(connection, owner="an_steward")
        others = await page_datasets(connection, owner="an_other")
        ids = await owned_ids(connection, "an_steward")
    assert [found.id for found in mine.items] == ["ds_a"]
    assert [found.id for found in others.items] == ["ds_b"]
    assert ids == {"ds_a"}


@pytest.mark.parametrize("cursor", ["", "x", "!!", "MTIz", "LTE6YQ", "MTphAA==", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk6YQ"])
async def test_a_cursor_nobody_issued_is_refused(database: Database, cursor: str) -> None:
    async with database.read() as connection:
        with pytest.raises(InvalidInput):
            await page_datasets(connection, owner="an_steward", cursor=cursor)


async def test_accounts_are_found_by_dataset_and_analyst_and_locked_together(database: Database) -> None:
    first = await populate(database)
    async with database.write() as connection:
        await add_principal(connection, "b", "analyst")
        second = await add_account(connection, analyst="an_b", epsilon=0.7, delta=0.0)
    async with database.write() as connection:
        assert await get_account(connection, "ds_a") == first
        assert await lock_accounts(connection, ["ds_a", "an_b@ds_a", "none"]) == {"ds_a": first, "an_b@ds_a": second}
        assert await list_accounts(connection, dataset="ds_a") == (second, first)
        assert await list_accounts(connection, analyst="an_b") == (second,)


async def test_samples_come_back_bit_for_bit_and_cannot_be_changed_in_memory(database: Database) -> None:
    await populate(database)
    values = np.array([[0.1, -0.0], [5e-324, 1 / 3], [1.0, 2.0]])
    async with database.write() as connection:
        await add_release(connection, "rel_1")
        assert not await has_samples(connection, "rel_1")
        await insert_samples(connection, record_of("rel_1", np.asfortranarray(values)))
    async with database.read() as connection:
        assert await has_samples(connection, "rel_1")
        record = await get_samples(connection, "rel_1")
        assert await get_samples(connection, "rel_2") is None
    assert record is not None
    assert record.values.tobytes() == values.tobytes()
    assert "body" not in repr(record)
    with pytest.raises(ValueError, match="read-only"):
        record.values[0, 0] = 1.0


async def test_what_was_measured_and_checked_comes_back_as_it_was_kept(database: Database) -> None:
    await populate(database)
    measured, checked = np.array([-(2**62), 5]), np.array([3, 0, -7, 2**40])
    async with database.write() as connection:
        await add_release(connection, "rel_1", fit_check={"epsilon": 0.1, "delta": None})
        await add_release(connection, "rel_2")
        await insert_samples(connection, record_of("rel_1", np.ones((1, 1))), measured, checked)
        await insert_samples(connection, record_of("rel_2", np.ones((1, 1))))
    async with database.read() as connection:
        kept = await get_measured(connection, "rel_1"), await get_checked(connection, "rel_1")
        assert [None if each is None else each.tolist() for each in kept] == [measured.tolist(), checked.tolist()]
        assert await get_checked(connection, "rel_2") is None
        found = await get_release(connection, "rel_1"), await get_release(connection, "rel_2")
    assert [None if each is None else each.fit_check for each in found] == [{"epsilon": 0.1, "delta": None}, None]


async def test_a_release_comes_back_as_written(database: Database) -> None:
    await populate(database)
    async with database.write() as connection:
        written = await add_release(connection, "rel_1", cost={"pure": 588.9, "curve": [0.1, 1e-17]}, n=10**10)
    async with database.read() as connection:
        assert await get_release(connection, "rel_1") == written
        assert await get_release(connection, "rel_2") is None


async def test_an_access_only_grows(database: Database) -> None:
    await populate(database)
    async with database.write() as connection:
        await add_principal(connection, "b", "analyst")
        await add_release(connection, "rel_1")
        assert await raise_access(connection, "an_b", "rel_1", samples=50, at_us=1)
        assert not await raise_access(connection, "an_b", "rel_1", samples=50, at_us=2)
        assert not await raise_access(connection, "an_b", "rel_1", samples=20, at_us=3)
        assert await raise_access(connection, "an_b", "rel_1", samples=60, at_us=4)
        access = await get_access(connection, "an_b", "rel_1")
        assert await list_accesses(connection, "an_b") == (access,)
        assert await list_accesses(connection, "an_steward") == ()
    assert access is not None
    assert (access.samples, access.created_us, access.updated_us) == (60, 1, 4)


async def test_grants_are_put_and_replaced(database: Database) -> None:
    await populate(database)
    async with database.write() as connection:
        await add_principal(connection, "d", "dashboard")
        await put_grant(connection, Grant("an_d", "ds_a", None, 1))
        await put_grant(connection, Grant("an_d", "ds_a", 10, 2))
        assert await list_grants(connection, "an_d") == (Grant("an_d", "ds_a", 10, 2),)
        assert await get_grant(connection, "an_d", "ds_a") == Grant("an_d", "ds_a", 10, 2)
        assert await get_grant(connection, "an_d", "ds_b") is None


async def test_one_of_many_simultaneous_requests_with_a_key_does_the_work(database: Database) -> None:
    worked = []

    async def request(index: int) -> bytes | None:
        async with database.write() as connection:
            found = await claim_key(
                connection, "an_a", KEY, route="POST /x", input_hash=b"h" * 32, now_us=NOW_US, expired_us=0
            )
            if found is not None:
                return found.sealed
            worked.append(index)
            body = b"answer %d" % index
            await answer_key(connection, "an_a", KEY, sealed=body, location="/v1/x")
            return body

    answers = await asyncio.gather(*(request(index) for index in range(12)))
    assert len(worked) == 1
    assert set(answers) == {b"answer %d" % worked[0]}


async def test_the_same_key_with_other_input_is_a_conflict_until_it_is_forgotten(database: Database) -> None:
    async def claim(body: bytes, route: str = "POST /x", principal: str = "an_a", expired_us: int = 0) -> object:
        async with database.write() as connection:
            return await claim_key(
                connection,
                principal,
                KEY,
                route=route,
                input_hash=hashlib.sha256(body).digest(),
                now_us=NOW_US,
                expired_us=expired_us,
            )

    assert await claim(b"one") is None
    assert await claim(b"one", principal="an_b") is None
    assert await claim(b"one") is not None
    with pytest.raises(IdempotencyConflict):
        await claim(b"two")
    with pytest.raises(IdempotencyConflict):
        await claim(b"one", route="POST /y")
    assert await claim(b"three", expired_us=NOW_US) is None
    with pytest.raises(IdempotencyConflict):
        await claim(b"one")
    async with database.write() as connection:
        assert await forget_keys(connection, NOW_US - 1) == 0
        assert await forget_keys(connection, NOW_US, limit=1) == 1
        assert await forget_keys(connection, NOW_US) == 1
    assert await claim(b"two") is None


async def test_the_epoch_counts_from_zero(database: Database) -> None:
    async with database.write() as connection:
        for count in range(4):
            assert await get_epoch(connection) == count
            await bump_epoch(connection)
