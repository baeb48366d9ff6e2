"""What goes wrong on the way: tried again where that is safe, one charge only, and the key nowhere it should not be."""

import gzip
import json
import logging
import ssl
import traceback
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from postern.client import (
    ClientError,
    RateLimited,
    Retries,
    ServiceFailure,
    Unavailable,
    UnexpectedReply,
    Unreachable,
)
from tests.client.conftest import Opener
from tests.client.misbehaving import Drop, PassOn, Say, Seen, misbehaving
from tests.client.served_place import BAPS, MODEL, Trial
from tests.servers.process import free_port

SECRET = "pstn_aaaaaaaaaaaaaaaa_canary" + "x" * 37
QUICK = Retries(attempts_max=4, total_s=20.0, first_pause_s=0.01, pause_s_max=0.02)
ME = json.dumps(
    {"id": "an_x", "role": "analyst", "name": "Eve", "key": "k", "caps": [], "accesses": [], "more": "new field"}
).encode()


def refusal(code: str, status: int, **headers: str) -> Say:
    body = json.dumps({"code": code, "detail": "later", "status": status, "instance": "urn:postern:request:r1"})
    return Say(status, body.encode(), headers)


def script(*actions: Say | Drop | PassOn) -> Any:
    """These in turn, the last for ever."""
    return lambda number, _: actions[min(number, len(actions) - 1)]


@pytest.mark.parametrize(
    "first",
    [Drop(), Say(body=ME, cut=True), refusal("unavailable", 503), refusal("rate_limited", 429), Say(502, b"<html>")],
    ids=["dropped", "cut short", "503", "429", "502"],
)
def test_what_passes_is_tried_again(opened: Opener, first: Say | Drop) -> None:
    with misbehaving(script(first, first, Say(body=ME))) as server:
        assert opened(server.url, SECRET, retries=QUICK).me().name == "Eve"
        assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("always", "kind"),
    [
        (Drop(), Unreachable),
        (refusal("too_busy", 503), Unavailable),
        (refusal("rate_limited", 429), RateLimited),
        (Say(503, b"a proxy's page"), Unavailable),
    ],
    ids=["dropped", "503", "429", "proxy"],
)
def test_it_gives_up_after_as_many_attempts_as_allowed(
    opened: Opener, always: Say | Drop, kind: type[ClientError]
) -> None:
    with misbehaving(script(always)) as server:
        with pytest.raises(kind):
            opened(server.url, SECRET, retries=QUICK).me()
        assert len(server.seen) == QUICK.attempts_max


@pytest.mark.parametrize(
    "answer",
    [refusal("internal", 500), refusal("ledger_untrusted", 503), Say(body=b"not json"), Say(body=b'{"id": 1}')],
    ids=["500", "ledger", "garbage", "fields"],
)
def test_what_does_not_pass_is_not_tried_again(opened: Opener, answer: Say) -> None:
    with misbehaving(script(answer)) as server:
        with pytest.raises((ServiceFailure, Unavailable, UnexpectedReply)):
            opened(server.url, SECRET, retries=QUICK).me()
        assert len(server.seen) == 1


def test_an_answer_without_a_field_names_it_and_one_with_more_is_read(opened: Opener) -> None:
    short = json.dumps({name: value for name, value in json.loads(ME).items() if name != "caps"}).encode()
    with misbehaving(script(Say(body=ME), Say(body=short))) as server:
        client = opened(server.url, SECRET)
        assert client.me().role == "analyst"
        with pytest.raises(UnexpectedReply, match=r"GET /v1/me.*`caps`"):
            client.me()


def test_a_longer_wait_than_there_is_time_for_is_not_begun(opened: Opener) -> None:
    with misbehaving(script(refusal("rate_limited", 429, **{"Retry-After": "3600"}))) as server:
        with pytest.raises(RateLimited) as refused:
            opened(server.url, SECRET, retries=QUICK).me()
        assert refused.value.retry_after_s == 3600
        assert len(server.seen) == 1


def test_the_key_follows_no_redirect(opened: Opener) -> None:
    with misbehaving(script(Say(body=ME))) as elsewhere:
        for status in (301, 302, 307, 308):
            moved = Say(status, b"", {"Location": f"{elsewhere.url}/v1/me"})
            with misbehaving(script(moved)) as server, pytest.raises(UnexpectedReply, match="redirect"):
                opened(server.url, SECRET, retries=QUICK).me()
        assert elsewhere.seen == []


def test_an_endless_answer_is_cut_off(opened: Opener) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    long = Say(body=b" " * 2_000_000)
    packed = Say(body=bomb, headers={"Content-Encoding": "gzip"})
    broken = Say(body=b"garbage", headers={"Content-Encoding": "gzip"})
    with misbehaving(script(long, packed, broken)) as server:
        client = opened(server.url, SECRET, reply_bytes_max=1_000_000)
        for _ in range(2):
            with pytest.raises(UnexpectedReply, match="more than 1000000 bytes"):
                client.me()
        with pytest.raises(UnexpectedReply, match="compressed"):
            client.me()


def test_nothing_listening_is_said_with_the_address(opened: Opener) -> None:
    port = free_port()
    with pytest.raises(Unreachable, match=f"nothing answers at http://127.0.0.1:{port}") as failed:
        opened(f"http://127.0.0.1:{port}", SECRET, retries=QUICK).me()
    assert failed.value.attempts == QUICK.attempts_max


def test_a_charge_whose_answer_is_lost_is_made_once(opened: Opener, trial: Trial) -> None:
    """Between client and service every answer to a POST is lost twice, after the service has done its work."""

    def lose_twice(number: int, request: Seen) -> PassOn:
        earlier = [seen for seen in server.seen[:number] if (seen.method, seen.path) == (request.method, request.path)]
        return PassOn(trial.place.url, lose=request.method == "POST" and len(earlier) < 2)

    with misbehaving(lose_twice) as server:
        client = opened(server.url, trial.place.steward_key, retries=QUICK)
        before = [entry.kind for entry in client.ledger(trial.dataset)]
        release = client.request_release(trial.dataset, MODEL, BAPS, timeout_s=60)
        after = [entry.kind for entry in client.ledger(trial.dataset)]
    assert release.status == "published"
    assert after[: len(before)] == before
    assert sorted(after[len(before) :]) == ["commit", "reserve"]
    posts = [seen for seen in server.seen if seen.method == "POST"]
    assert len(posts) == 3
    assert len({seen.headers["idempotency-key"] for seen in posts}) == 1
    assert len({seen.body for seen in posts}) == 1


def test_two_calls_are_two_requests_unless_they_share_a_key(opened: Opener) -> None:
    answer = Say(201, json.dumps({"id": "a", "role": "r", "name": "n", "created_at": "2026-03-01T09:30:00Z"}).encode())
    with misbehaving(script(answer)) as server:
        client = opened(server.url, SECRET)
        client.create_analyst("n")
        client.create_analyst("n")
        client.create_analyst("n", idempotency_key="mine")
        keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_the_key_is_in_the_header_and_nowhere_else(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with misbehaving(script(Say(body=ME), refusal("unauthenticated", 401), Drop())) as server:
        client = opened(server.url, SECRET, retries=QUICK)
        told = [repr(client), repr(getattr(client, "_wire", None)), str(client.me())]
        for _ in range(2):
            try:
                client.me()
            except ClientError as error:
                shown = traceback.TracebackException.from_exception(error, capture_locals=True)
                told += [repr(error), str(error), "".join(shown.format())]
    assert len(told) == 9
    assert not any("canary" in text for text in [*told, caplog.text])
    assert all(seen.headers["authorization"] == f"Bearer {SECRET}" for seen in server.seen)
    assert all(seen.headers["user-agent"].startswith("pypostern/") for seen in server.seen)


def test_no_proxy_sees_what_is_asked_of_this_machine(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    with misbehaving(script(Say(body=ME))) as server, misbehaving(script(Say(body=ME))) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert opened(server.url, SECRET).me().name == "Eve"
        assert (len(server.seen), len(proxy.seen)) == (1, 0)


def self_signed(folder: Path) -> ssl.SSLContext:
    """A certificate for 127.0.0.1 that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def test_a_certificate_nobody_vouches_for_gets_no_key(opened: Opener, tmp_path: Path) -> None:
    with misbehaving(script(Say(body=ME)), tls=self_signed(tmp_path)) as server:
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            opened(server.url, SECRET, retries=QUICK).me()
        assert server.seen == []
