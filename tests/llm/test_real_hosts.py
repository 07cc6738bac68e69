"""Where a host's own program is on the path, it answers through the door, from a model server on loopback."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memfolio.config import load_config
from memfolio.llm.model import open_model
from memfolio.memory import Memory
from tests.llm.answers import TEA, Order

ANSWER = json.dumps({"who": "Alex", "drinks": [{"name": "tea", "cups": 2}]})
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}


class Provider(BaseHTTPRequestHandler):
    """Speaks as the servers of all three providers stream."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        self.asked.append(request)
        events = self._gemini() if "GenerateContent" in self.path else self._openai()
        events = self._anthropic() if "/messages" in self.path else events
        data = "".join(f"event: {each.get('type', '')}\ndata: {json.dumps(each)}\n\n" for each in events)
        data = data.replace("event: \n", "")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data.encode())

    def _anthropic(self) -> Iterator[dict[str, Any]]:
        usage = {"input_tokens": 700, "cache_creation_input_tokens": 300, "output_tokens": 25}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        yield {"type": "message_start", "message": message}
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
        yield {"type": "message_stop"}

    def _openai(self) -> Iterator[dict[str, Any]]:
        content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        usage = {"input_tokens": 1000, "output_tokens": 25, "total_tokens": 1025}
        yield {"type": "response.created", "response": {"id": "r"}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": usage}}

    def _gemini(self) -> Iterator[dict[str, Any]]:
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 25, "totalTokenCount": 1025}
        candidate = {"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP", "index": 0}
        yield {"candidates": [candidate], "usageMetadata": usage}

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def provider() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Kept", (Provider,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("host", PROGRAMS)
def test_program_of_a_host_answers_without_tools_servers_and_hooks(
    host: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which(PROGRAMS[host])
    if program is None:
        pytest.skip(f"{PROGRAMS[host]} is not installed")
    person, ran = tmp_path / "person", tmp_path / "ran"
    hook = {"hooks": [{"type": "command", "command": f"test -n \"$MEMFOLIO_ASKED\" || touch '{ran}'"}]}
    server = {"memfolio": {"command": "touch", "args": [str(ran)]}}
    settings = {"hooks": {"UserPromptSubmit": [hook], "BeforeAgent": [hook]}, "mcpServers": server}
    gemini = settings | {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    for name, text in {
        ".claude/settings.json": json.dumps(settings),
        ".gemini/settings.json": json.dumps(gemini),
        ".codex/config.toml": f'[mcp_servers.memfolio]\ncommand = "touch"\nargs = ["{ran}"]\n',
    }.items():
        (person / name).parent.mkdir(parents=True, exist_ok=True)
        (person / name).write_text(text, encoding="utf-8")
    with provider() as (url, asked), Memory.open(home) as memory:
        if host == "codex":  # it takes the address of a server from an argument alone
            own = f'{{name="own",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
            script = f"#!/bin/sh\nexec '{program}' \"$@\" -c model_provider=own -c 'model_providers.own={own}'\n"
            (tmp_path / "codex").write_text(script, encoding="utf-8")
            (tmp_path / "codex").chmod(0o755)
            monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, "none")
        for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.setenv(name, url)
        monkeypatch.setenv("HOME", str(person))
        monkeypatch.setenv("CODEX_HOME", str(person / ".codex"))
        (home / ".memfolio/hooks/new").mkdir(parents=True)
        model = open_model(
            load_config(home, overrides={"model_provider": "host", "model_name": host}), memory.vault.usage
        )
        assert model is not None
        assert model.ask("Say who ordered what.", "Alex had two teas.", Order) == TEA
        spent = memory.vault.usage.spent(memory.vault.usage.today)
    assert (len(asked), spent.calls, spent.tokens_in, spent.tokens_out, spent.reserved) == (1, 1, 1000, 25, 0)
    assert 0 < spent.overhead < 1000
    assert "Bash" not in json.dumps(asked[0].get("tools", ""))
    assert not ran.exists()
