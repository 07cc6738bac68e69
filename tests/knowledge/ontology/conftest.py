"""Fixtures for tests of the ontology."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.embed.embedder import HashedEmbedder
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.recall.searcher import Searcher
from memfolio.vault.vault import Vault


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    made = Vault.open(config=load_config(home, overrides={"git_enabled": False}), clock=clock)
    yield made
    made.close()


@pytest.fixture
def searcher(vault: Vault) -> Iterator[Searcher]:
    made = Searcher(vault, "main", embedder=HashedEmbedder(), background=False)
    yield made
    made.close()


class Web:
    """A server that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked = asked = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_error(404)

            do_POST = do_HEAD = do_GET  # noqa: N815

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    Thread(target=made.server.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def ontology(vault: Vault, searcher: Searcher) -> Ontology:
    return Ontology(vault, searcher, "main")
