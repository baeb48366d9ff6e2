"""Bytes, number and time of what callers send are bounded before anything is kept, and health is answered throughout."""

import contextlib
import json
import socket
import time

import pytest

from tests.api.edge_server import answer_of, edge, get, is_over, refused

LIMIT = 4096
START = b"GET /healthz HTTP/1.1\r\n"


def flood(caller: socket.socket, piece: bytes, bytes_max: int) -> int:
    """How many bytes went out before the other side closed; it keeps what it has not read, so count generously."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < bytes_max:
            sent += caller.send(piece)
    return sent


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        pytest.param(START + b"X-Long: ", b"a" * 4096, id="one header without end"),
        pytest.param(START, b"X-Many: 1\r\n" * 100, id="headers without end"),
        pytest.param(b"GET /", b"a" * 4096, id="an address without end"),
        pytest.param(b"", b"\r\n" * 2048, id="blank lines"),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Late: 1\r\n" * 100, id="trailers"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: ",
            b"a" * 4096,
            id="one trailer without end",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x=", b"a" * 4096, id="words behind a chunk's size"
        ),
    ],
)
def test_what_comes_before_or_beside_a_body_is_bounded_in_bytes(start: bytes, piece: bytes):
    with edge(header_bytes_max=LIMIT) as served, served.connect() as caller:
        caller.sendall(start)
        with contextlib.suppress(ConnectionError):
            caller.sendall(piece * (65_536 // len(piece)))
        status, body = answer_of(caller)
        assert (status, json.loads(body)["code"]) == (431, "headers_too_large")
        flood(caller, piece, 64_000_000)
        assert is_over(caller)
        assert served.healthy()


def test_a_head_within_the_limits_passes_in_any_pieces_and_one_header_more_does_not():
    with edge(headers_max=10) as served:
        whole = get("/", *(f"X-{number}: {number}" for number in range(9)))
        with served.connect() as caller:
            for begin in range(0, len(whole), 7):
                caller.sendall(whole[begin : begin + 7])
            assert answer_of(caller)[0] == 200
        status, body = served.ask(get("/", *(f"X-{number}: {number}" for number in range(10))))
        assert (status, json.loads(body)["status"]) == (431, 431)


def test_headers_that_never_end_are_given_up_and_silent_sockets_closed_without_a_word():
    with edge(header_s=0.2) as served, served.connect() as slow, served.connect() as silent:
        begun = time.monotonic()
        slow.sendall(START)
        for _ in range(4):
            time.sleep(0.1)
            with contextlib.suppress(ConnectionError):
                slow.sendall(b"X-Drip: 1\r\n")
        assert answer_of(slow)[0] == 408
        assert answer_of(silent) == (0, b"")
        assert time.monotonic() - begun < 3


def test_a_connection_between_requests_is_closed_when_idle_and_blank_lines_do_not_count_as_life():
    with edge(idle_s=0.3) as served, served.connect() as caller:
        caller.sendall(get("/healthz") + get("/healthz"))
        assert [answer_of(caller)[0]] == [200]
        for _ in range(6):
            time.sleep(0.1)
            with contextlib.suppress(ConnectionError):
                caller.sendall(b"\r\n")
        assert is_over(caller, 2)


def test_a_body_that_drips_is_given_up_and_one_that_flows_is_not():
    drip = b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n"
    with edge(body_s=0.3, body_bytes_per_s_min=1000) as served:
        with served.connect() as slow, served.connect() as steady:
            slow.sendall(drip)
            steady.sendall(drip)
            for _ in range(10):
                time.sleep(0.06)
                steady.sendall(b"x" * 100)
                with contextlib.suppress(ConnectionError):
                    slow.sendall(b"x")
            assert json.loads(answer_of(steady)[1])["size"] == 1000
            status, body = answer_of(slow)
            assert (status, json.loads(body)["code"]) == (408, "request_timeout")
        assert served.application.ends == ["gone"]


def test_a_body_that_nobody_wants_is_not_read_for_ever():
    with edge(idle_s=5) as served, served.connect() as caller:
        caller.sendall(b"POST /refused HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n")
        assert answer_of(caller)[0] == 200
        assert flood(caller, b"x" * 65536, 200_000_000) < 100_000_000
        assert is_over(caller)


def test_a_reader_who_takes_nothing_is_cut():
    with edge(idle_s=0.3) as served, served.connect() as caller:
        before = refused("stalled")
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        caller.sendall(get("/large"))
        deadline = time.monotonic() + 5
        while refused("stalled") == before:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_trailers_do_not_reach_the_application_as_headers():
    with edge() as served:
        chunked = (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
        )
        assert json.loads(served.ask(chunked)[1]) == {
            "client": "127.0.0.1",
            "size": 3,
            "headers": ["transfer-encoding"],
        }


def test_garbage_and_upgrades_end_the_connection_with_an_answer():
    with edge() as served:
        status, body = served.ask(b"\x16\x03\x01\x02\x00\x01\r\n\r\n")
        assert (status, json.loads(body)["code"]) == (400, "malformed_request")
        with served.connect() as caller:
            caller.sendall(get("/", "Connection: Upgrade", "Upgrade: h2c") + b"PRI * HTTP/2.0\r\n\r\n")
            assert answer_of(caller)[0] == 200
            assert is_over(caller)


def test_one_address_full_of_idle_sockets_gives_way_to_its_own_next_and_leaves_others_alone():
    with edge(sockets_per_address_max=20, sockets_max=100) as served, contextlib.ExitStack() as stack:
        other = stack.enter_context(served.connect("127.0.0.3"))
        mine = [stack.enter_context(served.connect("127.0.0.2")) for _ in range(60)]
        assert served.healthy("127.0.0.2")
        assert is_over(mine[0], 2)
        mine[-1].sendall(get("/"))
        assert answer_of(mine[-1])[0] == 200
        other.sendall(get("/"))
        assert answer_of(other)[0] == 200


def test_a_house_full_of_requests_still_answers_health_and_refuses_the_rest():
    with edge(sockets_per_address_max=10, sockets_max=15) as served, contextlib.ExitStack() as stack:
        for address in ("127.0.0.2",) * 10 + ("127.0.0.3",) * 5:
            stack.enter_context(served.connect(address)).sendall(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1")
        time.sleep(0.1)
        for address in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            assert served.healthy(address)
            status, body = served.ask(get("/v1/me"), address)
            assert (status, json.loads(body)["code"]) == (503, "too_busy")
        for _ in range(200):
            stack.enter_context(served.connect("127.0.0.5"))
        assert served.healthy("127.0.0.5")


def test_nobody_says_who_they_are_unless_they_are_a_trusted_proxy():
    asked = get("/", "X-Forwarded-For: 203.0.113.9")
    with edge() as served:
        assert json.loads(served.ask(asked)[1])["client"] == "127.0.0.1"
    with edge(trusted_proxies=("127.0.0.2", "127.0.1.0/24"), sockets_per_address_max=2) as served:
        assert json.loads(served.ask(asked)[1])["client"] == "127.0.0.1"
        for proxy in ("127.0.0.2", "127.0.1.7"):
            with contextlib.ExitStack() as stack:
                callers = [stack.enter_context(served.connect(proxy)) for _ in range(6)]
                for caller in callers:
                    caller.sendall(asked)
                    assert json.loads(answer_of(caller)[1])["client"] == "203.0.113.9"


def test_a_body_on_its_way_when_the_service_stops_is_told_to_come_again():
    with edge() as served, served.connect() as caller:
        caller.sendall(b"PUT / HTTP/1.1\r\nContent-Length: 1000\r\n\r\nsome")
        time.sleep(0.05)
        begun = time.monotonic()
        served.server.should_exit = True
        caller.settimeout(10)
        data = caller.recv(65536)
        assert data.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in data.lower()
        assert time.monotonic() - begun < 1
        served.close()
        assert time.monotonic() - begun < 3
        assert served.application.ends == ["gone"]
