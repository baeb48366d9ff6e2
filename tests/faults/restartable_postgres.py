"""A PostgreSQL of a test's own that can crash and come back with its data."""

import signal

from tests.servers.postgres import PostgresServer
from tests.servers.process import Server


class RestartablePostgres(PostgresServer):
    """Keeps fsync on: what was committed has to be there after a crash."""

    def __init__(self) -> None:
        super().__init__(durable=True)
        self._gone: list[Server] = []

    def crash(self) -> None:
        """SIGQUIT: every backend ends at once, nothing is written, the next start replays the log."""
        self._server.process.send_signal(signal.SIGQUIT)
        self._server.process.wait(timeout=10)

    def start_again(self) -> None:
        """The old one's watchdog would remove the folder, so it is kept until both stop."""
        self._gone.append(self._server)
        self._server = self._start()

    def stop(self) -> None:
        super().stop()
        for server in self._gone:
            server.stop()
