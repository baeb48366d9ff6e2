"""A listening socket for each worker, all on one port.

Workers that share one socket race for its connections, and an idle one takes every connection that has arrived: a caller who
opens sixteen at once may well have all of them at one worker, while the others do nothing. With `SO_REUSEPORT` the kernel
deals connections out among the sockets of a port.
"""

import socket
import sys
from typing import Any

BALANCES = sys.platform == "linux"
"""Elsewhere the option is missing, or lets several listen without dealing anything out."""


class OwnListener:
    """Stands for a socket in the list that is handed to workers: each unpickles one of its own.

    `bound` was bound without the option and does not listen: it keeps the port, and a second service that is started on the
    same port by mistake still fails.
    """

    def __init__(self, bound: socket.socket) -> None:
        self.family = int(bound.family)
        self.address = bound.getsockname()

    def __reduce__(self) -> tuple[Any, ...]:
        return open_listener, (self.family, self.address)


def open_listener(family: int, address: tuple[Any, ...]) -> socket.socket:
    own = socket.socket(socket.AddressFamily(family))
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(address)
    return own
