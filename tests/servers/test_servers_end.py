"""The throw-away servers are real, private to the run and gone with it."""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.servers import postgres, process
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer

ROOT = Path(__file__).resolve().parents[2]


def is_alive(pid: int) -> bool:
    """True while a process runs; one that ended and waits to be reaped does not count."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("kind", ["postgres.PostgresServer", "valkey.ValkeyServer"])
def test_a_killed_test_process_takes_its_server_and_folder_along(kind: str) -> None:
    module, name = kind.split(".")
    code = (
        f"from tests.servers.{module} import {name}; import time; s = {name}();"
        "print(s.pid, (s.folder if hasattr(s, 'folder') else s._server.folder), flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, folder = owner.stdout.readline().split()
    assert is_alive(int(pid))
    owner.kill()
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 60
    while (is_alive(int(pid)) or Path(folder).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(int(pid))
    assert not Path(folder).exists()


def test_the_servers_say_who_they_are(postgres_server: PostgresServer, redis_server: ValkeyServer) -> None:
    assert int(postgres_server.version.split(".")[0]) >= 14
    assert int(redis_server.version.split(".")[0]) >= 7


@pytest.mark.skipif(not process.is_root(), reason="only root has to step down")
def test_as_root_postgres_runs_as_nobody_even_where_nobody_cannot_read_the_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres, "reachable_by_others", lambda _path: False)
    server = PostgresServer()
    try:
        assert Path(f"/proc/{server.pid}").stat().st_uid == 65534
        assert Path(f"/proc/{server.pid}/exe").readlink().is_relative_to(server.folder)
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        server.stop()
    assert not is_alive(server.pid)
