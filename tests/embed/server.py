"""A real embeddings server on this machine that speaks as OpenAI, Voyage and Google do, unless told otherwise."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memfolio.embed.embedder import HashedEmbedder

Vectors = list[dict[str, Any]]

OPTIONS = {"openai": {"dimensions"}, "voyage": {"input_type", "output_dimension"}}
GEMINI = re.compile(r"/v1beta/models/([\w.-]+):batchEmbedContents")


class EmbeddingServer(ThreadingHTTPServer):
    """Answers with hashed vectors under the path of each API; `before` and `change` are where it goes wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.embedder = HashedEmbedder(48)
        self.questions: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.before: Callable[[Handler], bool] = lambda _: False
        """Answers in place of the server where it returns True."""
        self.change: Callable[[Vectors], Any] | None = None
        """Makes the document that is sent from the right vectors."""

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def address(self, provider: str) -> str:
        """The `embedding.url` under which it speaks as that provider."""
        return f"{self.root}/{ {'voyage': 'voyage/v1', 'gemini': 'v1beta'}.get(provider, 'v1') }"

    @property
    def texts(self) -> list[list[str]]:
        return [texts_of(question) for question in self.questions]


def texts_of(question: dict[str, Any]) -> list[str]:
    if "requests" in question:
        return [each["content"]["parts"][0]["text"] for each in question["requests"]]
    texts: list[str] = question["input"]
    return texts


class Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.questions.append(body)
        self.server.keys.append(self.headers["Authorization"] or self.headers["x-goog-api-key"])
        self.server.paths.append(self.path)
        with suppress(ConnectionError):
            if not self.server.before(self):
                self.answer(body)

    def answer(self, body: dict[str, Any]) -> None:
        if gemini := GEMINI.fullmatch(self.path):
            self.answer_as_google(body, gemini[1])
        else:
            self.answer_as_openai(body, OPTIONS["voyage" if "voyage" in self.path else "openai"])

    def answer_as_openai(self, body: dict[str, Any], options: set[str]) -> None:
        if not set(body) <= {"input", "model", *options} or not all(body["input"]):
            self.send_json(400, {"error": {"message": f"unknown or empty: {sorted(body)}"}})
            return
        rows = self.rows(body["input"], body.get("dimensions") or body.get("output_dimension"))
        vectors = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        self.send_json(200, self.server.change(vectors) if self.server.change else {"object": "list", "data": vectors})

    def answer_as_google(self, body: dict[str, Any], model: str) -> None:
        requests = body["requests"]
        known = {"model", "content", "taskType", "outputDimensionality"}
        if len(requests) > 100 or not all(
            set(each) <= known and each["model"] == f"models/{model}" for each in requests
        ):
            self.send_json(400, {"error": {"code": 400, "message": "no such request", "status": "INVALID_ARGUMENT"}})
            return
        rows = self.rows(texts_of(body), requests[0].get("outputDimensionality"))
        vectors = [{"values": row} for row in rows]
        self.send_json(200, self.server.change(vectors) if self.server.change else {"embeddings": vectors})

    def rows(self, texts: list[str], dimensions: int | None) -> list[list[float]]:
        rows: list[list[float]] = self.server.embedder.embed(texts)[:, :dimensions].tolist()
        return rows

    def send_json(self, status: int, document: Any) -> bool:
        return self.send_bytes(status, json.dumps(document).encode())

    def send_bytes(self, status: int, body: bytes, **headers: str) -> bool:
        """Send an answer; True, so that it can be all of `before`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
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
