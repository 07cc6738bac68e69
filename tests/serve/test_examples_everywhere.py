"""What README and docs show of recall and context holds at every door: the hook of each host, MCP and HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.serve.client import Client
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.door import ACTS, TOLD, text_of
from memfolio.serve.hooks.event import read_parcel
from memfolio.serve.http.app import build
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import Limits, listen, server_of
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.tokens import Tokens
from memfolio.verbs.verb import tools_of
from tests.pages import ROOT, Step, blocks, here, pages, run_step, steps, surroundings
from tests.serve.http.conftest import in_thread

ASKED = re.compile(r'memfolio (recall|context) "([^"]+)"(?: --limit \d+)?')
HIT = re.compile(r"1  (\S.*)")
BULLET = re.compile(r"- \[[^\]]*\] (?:… )?(?:\w+: )?(.*?)(?: \(.*\))?")
OWNERS = ROOT / "docs/alerts.md"
"""Alerts are for the owner, who asks for a context at the command line: what is shown there is told to no agent so."""


def answer(step: Step) -> tuple[str, str] | None:
    """The question that a step asks and what must be in every answer, if it asks one and shows an answer."""
    asked = ASKED.fullmatch(step.command)
    if asked is None:
        return None
    found = [found[1] for line in step.shown if (found := (HIT if asked[1] == "recall" else BULLET).fullmatch(line))]
    return (asked[2], found[0]) if found else None


def examples() -> list[Path]:
    asked = (page for page in pages() for block in blocks(page) if block.language == "console")
    return [page for page in dict.fromkeys(asked) if page != OWNERS and any(map(answer, all_steps(page)))]


def all_steps(page: Path) -> Iterator[Step]:
    for block in blocks(page):
        if block.language == "console":
            yield from steps(block.text)


def by_hook(home: Path, host: str, question: str) -> str:
    """What an agent of a host is told when a conversation begins, and with its first prompt."""
    said, desk, told = json.dumps({"session_id": "new", "conversation_id": "new", "prompt": question}), Desk(home), ""
    try:
        for event in (name for act in TOLD for name in ACTS[host] if ACTS[host][name] == act):
            read = read_parcel(f"0\t1\t{host}\t{event}\n{said}".encode())[2]
            assert read is not None
            told += text_of(json.loads(desk.answer(read)))
    finally:
        desk.close()
    return told


def by_mcp(home: Path, question: str) -> tuple[str, str]:
    """What the tools `recall` and `context` answer."""
    caller = Caller(tools_of("core"), lambda: Memory.open(home, speaker="agent", background=False))
    try:
        hits = caller.call("recall", {"query": question}).document["result"]["hits"]
        context = caller.call("context", {"prompt": question}).document["result"]
    finally:
        caller.close()
    return hits[0]["content"] if hits else "", json.dumps(context, ensure_ascii=False)


def by_http(home: Path, question: str) -> tuple[str, str]:
    """What the routes of a server on loopback answer."""
    with Memory.open(home, background=False, speaker="owner") as memory:
        secret = Tokens(memory.vault.home).create("doors", "main", "read", now=memory.vault.home.now())[1]
    limits = Limits()
    app = build(load_config(home), limits, ServerNames())
    server = server_of(app, limits, app.state.hall.end_streams)
    with listen("127.0.0.1", 0) as door, in_thread(server, door):
        client = Client(f"http://127.0.0.1:{door.getsockname()[1]}", secret)
        hits, context = client.recall(query=question)["hits"], client.context(prompt=question)
    return hits[0]["content"] if hits else "", json.dumps(context, ensure_ascii=False)


@pytest.mark.parametrize("page", examples(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_example_holds_at_every_door(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("MEMFOLIO_", "GIT_"))]:
        monkeypatch.delenv(name)
    for name, value in surroundings(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    wrong, names, last = list[str](), dict[str, object](), (Path(), ("", ""), False)
    for number, block in enumerate(blocks(page)):
        if block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)
        for place, step in enumerate(steps(block.text) if block.language == "console" else []):
            run_step(step, here)
            if found := answer(step):
                # In a copy: what is asked at the doors leaves traces that the page does not show.
                copy = shutil.copytree(tmp_path / "home", tmp_path / f"copy-{number}-{place}", symlinks=True)
                last = copy, found, " recall " in step.command
                wrong += failing(hooks_and_mcp(copy, found[0]), *found, is_recall=last[2])
    # Making the application of a server takes long: one for each page, at the last question.
    copy, found, is_recall = last
    wrong += failing({"HTTP": by_http(copy, found[0])}, *found, is_recall=is_recall)
    assert wrong == []


def hooks_and_mcp(home: Path, question: str) -> dict[str, tuple[str, str]]:
    """What is recalled and what is told at these doors; a hook only tells."""
    hooks = {host: ("", by_hook(home, host, question)) for host in ACTS}
    return hooks | {"MCP": by_mcp(home, question)}


def failing(told: dict[str, tuple[str, str]], question: str, expected: str, *, is_recall: bool) -> Iterator[str]:
    """The doors at which a question is not answered as the page shows it."""
    for door, (hit, context) in told.items():
        if expected not in context:
            yield f"{door} tells nothing of {expected!r} with {question!r}, but {context!r}"
        if is_recall and door not in ACTS and expected not in hit:
            yield f"{door} answers {question!r} with {hit!r}"
