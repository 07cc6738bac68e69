"""A real embeddings server on this machine that can be told to misbehave."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memfolio.embed.hashed import HashedEmbedder

Vectors = list[dict[str, Any]]


class EmbeddingServer(ThreadingHTTPServer):
    """Answers `POST /v1/embeddings` with hashed vectors; `before` and `change` are where it goes wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.embedder = HashedEmbedder(48)
        self.questions: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.before: Callable[[Handler], bool] = lambda _: False
        """Answers in place of the server where it returns True."""
        self.change: Callable[[Vectors], Any] = lambda vectors: {"object": "list", "data": vectors}
        """Makes the document that is sent from the right vectors."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def texts(self) -> list[list[str]]:
        return [question["input"] for question in self.questions]


class Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.questions.append(body)
        self.server.keys.append(self.headers["Authorization"])
        self.server.paths.append(self.path)
        with suppress(ConnectionError):
            if not self.server.before(self):
                self.send_json(200, self.server.change(self.vectors(body["input"])))

    def vectors(self, texts: list[str]) -> Vectors:
        rows = self.server.embedder.embed(texts).tolist()
        return [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]

    def send_json(self, status: int, document: Any) -> bool:
        return self.send_bytes(status, json.dumps(document).encode())

    def send_bytes(self, status: int, body: bytes, **headers: str) -> bool:
        """Send an answer; True, so that it can be all of `before`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def drip(self, data: bytes, pause: float) -> bool:
        """Send a letter now and then, so that no single wait is long."""
        for byte in data:
            self.wfile.write(bytes([byte]))
            time.sleep(pause)
        return True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def running() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
