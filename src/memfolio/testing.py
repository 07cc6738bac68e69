"""Doubles for tests: a clock that is set by hand, and a scripted language model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, is_dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from memfolio.clock import SettableClock
from memfolio.types import frozen

__all__ = ["Reply", "ScriptedModel", "SettableClock"]


@frozen
class Reply:
    """What a ScriptedModel sends as it is, after `delay` seconds; a body in parts may come slowly, or never end."""

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0

    @classmethod
    def refusal(cls, words: str) -> Reply:
        """A model that will not answer."""
        return cls(body=_completion({"content": None, "refusal": words}))


class ScriptedModel:
    """A language model that says what a script tells it to: a real server on this machine in OpenAI's dialect.

    The script is a list of answers, used one after another, or a function from a request to its answer. A dataclass or
    a mapping is answered in the form that the request asks for; a text stands for itself, however little it fits; a
    Reply is for what goes wrong. After the last answer everything is 404.

        with ScriptedModel([{"text": "Alex drinks tea."}]) as model:
            Memory.open(**model.settings)
    """

    def __init__(self, script: Sequence[Any] | Callable[[dict[str, Any]], Any]) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []
        """What was asked, as it came."""
        self.headers: list[dict[str, str]] = []
        """The headers of each request, by their names in small letters."""
        self.closing = threading.Event()
        self._server = _ModelServer(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which a home uses it, as often as there is something to ask."""
        return {"model_provider": "openai", "model_name": "scripted", "model_url": self.url, "model_turns": 1}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def reply(self, request: dict[str, Any], headers: dict[str, str]) -> Reply:
        """What the script has for a request."""
        place = len(self.requests)
        self.requests.append(request)
        self.headers.append(headers)
        if not callable(self._script) and place >= len(self._script):
            return Reply(status=404, body=b'{"error": {"message": "the script is over"}}')
        answer = self._script(request) if callable(self._script) else self._script[place]
        return answer if isinstance(answer, Reply) else Reply(body=_completion(_message(answer, request)))


class _ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _ModelHandler)
        self.model = model


class _ModelHandler(BaseHTTPRequestHandler):
    server: _ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.model.reply(request, {name.lower(): value for name, value in self.headers.items()})
        if self.server.model.closing.wait(reply.delay):
            return
        with suppress(ConnectionError):
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        parts = [reply.body] if isinstance(reply.body, bytes) else reply.body
        length = {"Content-Length": str(len(reply.body))} if isinstance(reply.body, bytes) else {}
        for name, value in {"Content-Type": "application/json", **length, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _message(answer: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """A chat message with an answer: the argument of the tool that the request names, or else a text."""
    is_value = is_dataclass(answer) and not isinstance(answer, type)
    text = answer if isinstance(answer, str) else json.dumps(asdict(answer) if is_value else answer)
    if isinstance(answer, str) or not request.get("tools"):
        return {"content": text}
    called = {"name": request["tools"][0]["function"]["name"], "arguments": text}
    return {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": called}]}


def _completion(message: dict[str, Any]) -> bytes:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage}
    return json.dumps({**whole, "choices": [choice]}).encode()
