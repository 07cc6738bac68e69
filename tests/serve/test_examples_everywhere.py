"""What README and docs ask of a memory is answered alike at every door: the hook of each host, MCP and HTTP."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.recall.hit import Hits
from memfolio.serve.client import Client
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.door import ACTS, PROMPT, text_of
from memfolio.serve.hooks.event import read_parcel
from memfolio.serve.http.app import build
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import Limits, listen, server_of
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.tokens import Tokens
from memfolio.verbs.verb import tools_of
from tests.pages import ROOT, Block, blocks, here, pages, run_step, steps, surroundings
from tests.serve.http.conftest import in_thread

ASKED = re.compile(r"memfolio (?:--home (?P<home>\S+) )?(?P<verb>recall|context|why|changed)\b(?P<words>[^|]*)")
QUESTIONS = {"recall": "query", "context": "prompt", "why": "text", "changed": "when"}
SHOWN = {"query", "prompt", "limit", "explain"}
"""What is asked, and options that have no say in what is found: a hook knows no others."""
IN_PYTHON = re.compile(r"\.recall\(\"(?:[^\"]+)\"(?:, limit=\d+)?\)")
CURSOR = "cursor"
"""Whose agent is told nothing with a prompt, and asks by the tools of MCP."""
BULLET = re.compile(r"^- \[[^\]]*\] (?:[-\d: ]+ )?(?:\w+: )?(.*?)(?: \(.*\))?$", re.MULTILINE)

Copy = Callable[[Path], Path]


class Asked(NamedTuple):
    """What a command asks, as the call of a tool."""

    command: str
    home: str
    verb: str
    arguments: dict[str, Any]

    @property
    def question(self) -> str:
        return str(self.arguments.get(QUESTIONS.get(self.verb, ""), ""))


def asked_by(command: str) -> Asked | None:
    """What a command asks of a memory, if anything; an option of the command is an argument of the tool."""
    found = ASKED.match(command)
    if found is None:
        return None
    words, given, verb = shlex.split(found["words"]), dict[str, Any](), found["verb"]
    shapes = tools_of("all")[verb].schema["properties"]
    while words:
        word = words.pop(0)
        name = word.removeprefix("--")
        kind = shapes.get(name, {}).get("type")
        if name == word:
            given[QUESTIONS[verb]] = " ".join(filter(None, (given.get(QUESTIONS[verb]), word)))
        elif name != "json":  # the only one that is the command's alone
            given[name] = True if kind == "boolean" else int(words.pop(0)) if kind == "integer" else words.pop(0)
    command = f"memfolio {verb}{found['words']}".replace(" --json", "").strip()
    return Asked(command, found["home"] or "home", verb, given)


def asking() -> list[Path]:
    """The pages on which anything is asked."""
    return [page for page in pages() if any(map(asks, blocks(page)))]


def asks(block: Block) -> bool:
    if block.language == "console":
        return any(asked_by(step.command) for step in steps(block.text))
    return block.language == "python" and IN_PYTHON.search(block.text) is not None


def texts(verb: str, document: Any) -> list[str]:
    """What an answer tells, without ids and times."""
    match verb:
        case "recall":
            return [hit["content"] for hit in document["hits"]]
        case "why":
            return [each["memory"]["content"] for each in document["memories"]]
        case "changed":
            return [change["summary"] for group in document["groups"] for change in group["newest"]]
    return BULLET.findall((document["text"] if isinstance(document, dict) else document) or "")


def by_command(asked: Asked, home: Path) -> list[str]:
    return texts(asked.verb, json.loads(here(f"{asked.command} --home {home} --json")[1]))


def by_mcp(verb: str, arguments: dict[str, Any], home: Path, agent: str = "main") -> list[str]:
    caller = Caller(tools_of("all"), lambda: Memory.open(home, agent, speaker="agent", background=False))
    try:
        return texts(verb, caller.call(verb, arguments).document["result"])
    finally:
        caller.close()


def by_http(verb: str, arguments: dict[str, Any], home: Path) -> list[str]:
    """What the route of a server on loopback answers."""
    with Memory.open(home, background=False, speaker="owner") as memory:
        secret = Tokens(memory.vault.home).create("doors", "main", "read", now=memory.vault.home.now())[1]
    limits = Limits()
    app = build(load_config(home), limits, ServerNames())
    server = server_of(app, limits, app.state.hall.end_streams)
    with listen("127.0.0.1", 0) as door, in_thread(server, door):
        client = Client(f"http://127.0.0.1:{door.getsockname()[1]}", secret)
        return texts(verb, getattr(client, verb)(**arguments))


def by_hook(host: str, question: str, home: Path, agent: str = "main") -> list[str]:
    """What an agent is told with a prompt, even if nothing was told when the conversation began."""
    said, desk = json.dumps({"session_id": "new", "conversation_id": "new", "prompt": question}), Desk(home)
    try:
        (name,) = (name for name in ACTS[host] if ACTS[host][name] == PROMPT)
        event = read_parcel(f"0\t1\t{host}\t{name}\t{agent}\n{said}".encode())[2]
        assert event is not None
        return texts("context", text_of(json.loads(desk.answer(event))))
    finally:
        desk.close()


def differing(asked: Asked, copy: Copy) -> Iterator[str]:
    """The doors that tell something else than the command; each has a home of its own, for asking leaves traces."""
    expected = by_command(asked, copy(Path(asked.home)))
    for door in (by_mcp, by_http):
        if (told := door(asked.verb, asked.arguments, copy(Path(asked.home)))) != expected:
            yield f"{door.__name__}: {asked.command!r} tells {told}, not {expected}"
    if asked.verb not in ("recall", "context") or not asked.arguments.keys() <= SHOWN:
        return
    doors = {host: by_hook(host, asked.question, copy(Path(asked.home))) for host in ACTS if host != CURSOR}
    if asked.verb == "recall":
        doors["context"] = by_mcp("context", {"prompt": asked.question}, copy(Path(asked.home)))
    for name, told in doors.items():
        if expected and not any(expected[0] in each for each in told):
            yield f"{name}: {asked.question!r} tells {told}, without {expected[0]!r}"
        elif told and not expected and asked.verb == "context":
            yield f"{name}: {asked.question!r} tells {told}, not nothing"


def asked_in_python(page: Path, recall: Callable[..., Hits], copy: Copy, wrong: list[str]) -> Callable[..., Hits]:
    """A `Memory.recall` that also asks at the doors what a page itself asks in plain words, and notes what differs."""

    def recalled(memory: Memory, query: str = "", **more: Any) -> Hits:
        hits = recall(memory, query, **more)
        is_plain = query and memory.audience is None and more.keys() <= SHOWN
        if is_plain and sys._getframe(1).f_code.co_filename == str(page):
            home, agent, first = memory.vault.config.home, memory.agent, [hit.memory.content for hit in hits[:1]]
            if (told := by_mcp("recall", {"query": query, **more}, copy(home), agent)[:1]) != first:
                wrong.append(f"by_mcp: {query!r} tells {told}, not {first}")
            context = by_hook("codex", query, copy(home), agent) if hits.fits else first
            if first and not any(text and (text in first[0] or first[0] in text) for text in context):
                wrong.append(f"by_hook: {query!r} tells {context}, without {first[0]!r}")
        return hits

    return recalled


@pytest.mark.parametrize("page", asking(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_asks_is_answered_alike_at_every_door(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("MEMFOLIO_", "GIT_"))]:
        monkeypatch.delenv(name)
    for name, value in surroundings(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    wrong, names, numbers = list[str](), dict[str, object](), count()

    def copy(home: Path) -> Path:
        return shutil.copytree(home, tmp_path / "copies" / str(next(numbers)), symlinks=True)

    monkeypatch.setattr(Memory, "recall", asked_in_python(page, Memory.recall, copy, wrong))
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)
        for step in steps(block.text) if block.language == "console" else []:
            if asked := asked_by(step.command):
                wrong += differing(asked, copy)
            run_step(step, here)
    assert next(numbers) > 0, "nothing was asked"
    assert wrong == []
