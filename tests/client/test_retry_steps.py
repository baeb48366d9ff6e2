"""When to try again, with a clock and chance of the test's own."""

from collections.abc import Iterator

import pytest

from postern.client.call import Call, Chunks, Reply, nothing
from postern.client.retrying import Lost, Retries, pause_before_next

POLICY = Retries(attempts_max=5, total_s=60.0, first_pause_s=0.5, pause_s_max=4.0)
GET = Call("GET", "/v1/me", nothing)
AWAY = Reply(503, {}, b"")


def pauses(
    outcome: Reply | Lost, policy: Retries = POLICY, *, share: float = 1.0, call: Call[None] = GET
) -> tuple[list[float], int]:
    """What is waited, and after how many attempts it ends, if every attempt goes the same way."""
    waited = list[float]()
    while True:
        attempt = len(waited) + 1
        pause_s = pause_before_next(
            call, outcome, policy, attempt, sum(waited), lambda low, high: low + share * (high - low)
        )
        if pause_s is None:
            return waited, attempt
        waited.append(pause_s)


def test_pauses_double_up_to_the_longest() -> None:
    assert pauses(AWAY) == ([0.5, 1.0, 2.0, 4.0], 5)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_jitter_is_full(share: float) -> None:
    assert pauses(AWAY, share=share)[0] == [share * pause for pause in (0.5, 1.0, 2.0, 4.0)]


def test_what_the_service_asks_for_is_waited_at_least() -> None:
    assert pauses(Reply(429, {"retry-after": "3"}, b""))[0] == [3.0, 3.0, 3.0, 4.0]


@pytest.mark.parametrize("text", ["", "-1", "soon", "1e9", "Mon, 16 Nov 2026 09:18:26 GMT", "9" * 40])
def test_a_garbled_wish_is_no_wish(text: str) -> None:
    assert Reply(503, {"retry-after": text}, b"").retry_after_s is None


def test_total_time_bounds_everything() -> None:
    waited, attempts = pauses(AWAY, Retries(attempts_max=1_000, total_s=10.0, first_pause_s=0.5, pause_s_max=4.0))
    assert sum(waited) <= 10.0
    assert attempts == 5


def test_a_body_that_can_be_read_once_is_sent_again_only_if_it_never_left() -> None:
    def no_pieces() -> Iterator[bytes]:
        raise AssertionError

    once = Call("PUT", "/v1/x", nothing, body=Chunks(no_pieces, again=False))
    assert pauses(Lost("gone", received=True), call=once)[1] == 1
    assert pauses(Lost("refused", received=False), call=once)[1] == 5


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 409, 422, 500])
def test_other_answers_are_final(status: int) -> None:
    assert pauses(Reply(status, {}, b"")) == ([], 1)
