"""Where a client may be pointed, what it exports, and that its errors cover the service's."""

import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import postern.client as surface
from app.api.problems import PROBLEMS
from app.core.decisions import UTILITIES
from app.core.kinds import ESTIMANDS
from postern.client import AsyncClient, AsyncRelease, Client, InvalidInput, Misconfigured, Release
from postern.client.address import Key, checked_url
from postern.client.blocking import client as blocking_client
from postern.client.problems import BY_CODE, ClientError, PosternProblem, ServiceFailure, problem_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "x",
        "",
        "http://",
        "https://me:pw@host",
        "https://host/?a=b",
        "http://host.example",
        "http://10.0.0.8:80",
    ],
)
def test_an_address_that_could_lose_the_key_is_refused(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        checked_url(url, "url", insecure=False)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:80", "https://host.example/p/"]
)
def test_this_machine_and_tls_are_fine(url: str) -> None:
    assert checked_url(url, "url", insecure=False) == url.rstrip("/")


def test_a_private_network_can_be_declared_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked_url("http://api:8000", "url", insecure=True) == "http://api:8000"
    monkeypatch.setenv("POSTERN_URL", "http://api:8000")
    monkeypatch.setenv("POSTERN_KEY", "k")
    with pytest.raises(Misconfigured, match="POSTERN_URL"):
        Client()
    monkeypatch.setenv("POSTERN_INSECURE", "1")
    with Client() as client:
        assert client.url == "http://api:8000"


def test_a_client_without_a_key_says_where_to_put_one() -> None:
    with pytest.raises(Misconfigured, match="POSTERN_KEY"):
        Client("http://127.0.0.1:1")


@pytest.mark.parametrize("token", ["two\nlines", "späce", "a b", "x" * 600])
def test_a_key_that_is_none_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        Key(token)
    assert token not in str(refused.value)


def test_a_key_neither_prints_nor_pickles() -> None:
    key = Key("pstn_canary")
    assert "canary" not in repr(key) + str(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_the_public_surface_is_what_it_is() -> None:
    """A name added or lost here is a change of the library's contract: say so in CHANGELOG.md."""
    assert sorted(surface.__all__) == (Path(__file__).parent / "surface.txt").read_text().split()
    assert all(hasattr(surface, name) for name in surface.__all__)


@pytest.mark.parametrize(("blocking", "awaiting"), [(Client, AsyncClient), (Release, AsyncRelease)])
def test_both_clients_have_the_same_methods_with_the_same_arguments(blocking: type, awaiting: type) -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        return {
            name.replace("aclose", "close"): list(inspect.signature(found).parameters)
            for name, found in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    assert methods(blocking) == methods(awaiting)


def test_the_blocking_client_is_what_the_asyncio_one_says() -> None:
    """`make format` writes it. Nothing of asyncio is left in it but the line that says where it comes from."""
    check = [sys.executable, str(ROOT / "client" / "write_blocking.py"), "--check"]
    assert subprocess.run(check, capture_output=True, text=True, check=False).stderr == ""
    for file in Path(blocking_client.__file__).parent.glob("*.py"):
        first, _, rest = file.read_text(encoding="utf-8").partition("\n")
        assert "awaiting/" in first
        assert re.findall(r"(?i)async|await", rest) == []


def test_every_refusal_of_the_service_has_a_class() -> None:
    for code, (status, _) in PROBLEMS.items():
        found = problem_of({"code": code, "detail": "d"}, status=status)
        assert found.code == code
        assert type(found) is not PosternProblem
        assert type(found) is type(problem_of({"code": code}, status=0))
        if status >= 500 and status != 503:
            assert isinstance(found, ServiceFailure)
    assert set(BY_CODE) <= set(PROBLEMS)
    assert isinstance(problem_of({"code": "new_one"}, status=418), InvalidInput)
    assert issubclass(PosternProblem, ClientError)


def test_there_is_a_builder_for_every_kind_of_question() -> None:
    theta = surface.parameter("theta")
    estimands = [
        theta,
        surface.expression("theta"),
        surface.predictive("mean"),
        surface.comparison(theta, theta),
        surface.probability({"a": 1}),
        surface.expectation("a"),
        surface.prediction({"a": 1}),
        surface.classification("a"),
        surface.explanation(),
        surface.contrast({"a": 1.0}),
        surface.in_group({"arm": "drug"}, theta),
        surface.in_part("cured", theta),
        surface.comparison(theta, surface.in_release("rel_other", theta)),
    ]
    utilities = [
        surface.squared(),
        surface.absolute(),
        surface.pinball(0.5),
        surface.interval(),
        surface.zero_one(),
        surface.log_score(),
        surface.actions({"a": "1", "b": "0"}, range=(0, 1)),
        surface.utility("r", responses=[0, 1], range=(0, 1)),
    ]
    assert {estimand.to_json()["kind"] for estimand in estimands} == set(ESTIMANDS)
    assert {utility.to_json()["kind"] for utility in utilities} == set(UTILITIES)
