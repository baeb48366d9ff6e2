"""Where the service is and whose key is used; from arguments, else from POSTERN_URL and POSTERN_KEY.

A key is a secret that travels in every request, so it has a type that does not print, and it is not sent in the clear: plain
http is accepted for this machine alone unless `insecure` says otherwise. Certificates are checked always.
"""

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from postern.client.problems import Misconfigured

URL_DEFAULT = "http://127.0.0.1:8000"
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


class Key:
    """A bearer token that shows itself to the request it signs and to nothing else."""

    __slots__ = ("_token",)

    def __init__(self, token: str) -> None:
        if not _TOKEN.fullmatch(token):
            raise Misconfigured("the key has characters that no key has (a line break, perhaps); it is not shown here")
        self._token = token

    def header(self) -> str:
        return f"Bearer {self._token}"

    def __repr__(self) -> str:
        return "Key(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled; open a client where it is needed")


@dataclass(frozen=True, slots=True)
class Address:
    """`url` without a slash at its end."""

    url: str
    key: Key

    @property
    def local(self) -> bool:
        return is_this_machine(urlsplit(self.url).hostname or "")

    @property
    def secure(self) -> bool:
        return self.url.startswith("https://")


def find_address(url: str | None, key: str | None, *, insecure: bool) -> Address:
    chosen = key if key is not None else os.environ.get("POSTERN_KEY")
    if not chosen:
        raise Misconfigured("set POSTERN_KEY to a key (and POSTERN_URL unless the service is local)")
    name = "POSTERN_URL" if url is None and os.environ.get("POSTERN_URL") else "url"
    given = url or os.environ.get("POSTERN_URL") or URL_DEFAULT
    return Address(checked_url(given, name, insecure=insecure), Key(chosen))


def checked_url(url: str, name: str, *, insecure: bool) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise Misconfigured(f"{name} should start with http:// or https:// and name a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise Misconfigured(f"{name} should be an address alone: no user, password, query or fragment")
    if parts.scheme == "http" and not insecure and not is_this_machine(host):
        raise Misconfigured(
            f"{name} is plain http to another machine, and the key would travel in the clear: use https, or pass insecure "
            "(POSTERN_INSECURE=1) where the network itself is private"
        )
    return url.rstrip("/")


def is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def insecure_by_environment() -> bool:
    return os.environ.get("POSTERN_INSECURE", "").lower() in ("1", "true", "yes")
