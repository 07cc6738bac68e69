"""The server of the page, in a process of its own, and how commands find it and let a browser in."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException
from typing import Any

from memfolio.config import Config, load_config
from memfolio.types import frozen
from memfolio.vault.vault import Vault

KEY_SECONDS, PATIENCE = 60, 20
NOTE = "page"
"""The name of the note in the home's inside by which the command and the server know of each other."""


def hash_of(secret: str) -> str:
    return blake2b(secret.encode(), digest_size=32, person=b"memfolio-page").hexdigest()


@frozen
class Address:
    """Where the server of a home is: its process, its port, and the name that only its sessions know."""

    pid: int
    port: int
    name: str

    @property
    def hosts(self) -> tuple[str, str]:
        """What browsers may ask for, the usual one first.

        A cookie goes to every port of its host. So the host has a random name, which no other server has; where that
        name does not resolve, the address has to do.
        """
        return f"{self.name}.localhost:{self.port}", f"127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """Whether the server is there: another one on its port would not know its name."""
        headers = {"Host": self.hosts[0], "Sec-Fetch-Site": "same-origin"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection), suppress(OSError, HTTPException):
            connection.request("GET", "/static/icon.svg", headers=headers)
            return connection.getresponse().status == 200
        return False


class Noticeboard:
    """Where the server of a home is, and which keys are good; if that is lost, somebody has to open it again."""

    def __init__(self, vault: Vault, now: Callable[[], float] = time.time) -> None:
        self._vault, self._now = vault, now

    @property
    def address(self) -> Address | None:
        """Where a server said that it is, which may have ended since."""
        with suppress(TypeError):
            return Address(**self._vault.hint(NOTE).get("server", {}))
        return None

    def announce(self, address: Address | None) -> None:
        """Say where the server is; None where there is none."""
        with self._changing() as note:
            note["server"] = {each: getattr(address, each) for each in ("pid", "port", "name")} if address else {}

    def add_key(self) -> str:
        """A key that opens one session within a minute; only its hash is kept."""
        key = secrets.token_urlsafe(32)
        with self._changing() as note:
            note["keys"] = self._keys(note) | {hash_of(key): self._now() + KEY_SECONDS}
        return key

    def take_key(self, key: str) -> bool:
        """Whether a key is good, which it never is again."""
        with self._changing() as note:
            note["keys"] = keys = self._keys(note)
            return keys.pop(hash_of(key), None) is not None

    @property
    def has_keys(self) -> bool:
        return bool(self._keys(self._vault.hint(NOTE)))

    def _keys(self, note: Mapping[str, Any]) -> dict[str, float]:
        now, keys = self._now(), note.get("keys")
        return {key: until for key, until in keys.items() if now < until} if isinstance(keys, dict) else {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        with self._vault.holding(NOTE, patience=5):
            note = self._vault.hint(NOTE)
            try:
                yield note
            finally:
                self._vault.note_hint(NOTE, note)


def serve(config: Config) -> None:
    """Serve the page of a home on loopback until it is told to end, or nobody has a session any more."""
    from memfolio.serve.http.server import listen, run, server_of

    with listen("127.0.0.1", 0) as door, Vault.open(config=config) as vault:
        address = Address(pid=os.getpid(), port=door.getsockname()[1], name=f"mf-{secrets.token_hex(4)}")
        board = Noticeboard(vault)
        board.announce(address)  # a browser may connect from here on, and waits until all is loaded
        from memfolio.serve.page.app import LIMITS, OwnerPage

        page = OwnerPage(config, address)
        page.server = server_of(page.app, LIMITS, page.end_streams)
        try:
            run(page.server, door)
        finally:
            if board.address == address:
                board.announce(None)


if __name__ == "__main__":
    home, *given = sys.argv[1:]
    serve(load_config(home, overrides=dict(zip(("agent", "cache"), given, strict=True))))
