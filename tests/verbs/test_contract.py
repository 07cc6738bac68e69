"""The contract of the doors: every verb takes and answers the same in Python, over HTTP, as a tool and as a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import httpx
import pytest

from memfolio.config import load_config
from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.serve.cli.app import run
from memfolio.serve.http.app import build
from memfolio.serve.http.errors import document_of
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import listen, server_of
from memfolio.serve.mcp.caller import Caller, CallResult
from memfolio.serve.mcp.server import as_result
from memfolio.verbs.documents import as_json, inside, told_inside
from memfolio.verbs.verb import table, verbs_at
from tests.serve.http.conftest import QUICK, in_thread
from tests.serve.mcp_life import furnish, live

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
ALL = table()
DOORS = ("python", "http", "mcp", "cli")
VARYING = {"took_ms", "seconds", "bytes", "shown", "key", "at", "commit", "waiting"}
"""What differs from home to home and from moment to moment; a command is committed when it ends, others in time."""
MARKS = re.compile(
    r"\d{4}-\d\d-\d\d-\d{6}(?:-\d+)?(?=\.md)|\b[A-Z]{1,2}-\d+-[0-9a-f]{8}\b|\b[0-9a-f]{16,64}\b|\d{4}-\d\d-\d\d[T-][\d:.]+Z?|\d\d:\d\d:\d\d(?:\.\d+)?"
    r"|\b\d{4}-\d\d-\d\d\b|\b0\.\d\d\b|\bonce-[0-9a-f]+|memfolio-[0-9a-f]+"
)


class Near(float):
    """A number that equals those close to it."""

    __hash__ = float.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 0.02


def steady(value: Any) -> Any:
    """A value without the marks of its home and its moment; scores age with the clock, so they are nearly equal."""
    if isinstance(value, dict):
        return {steady(name): steady(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, float):
        return Near(value)
    return MARKS.sub("…", value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def doors() -> Iterator[dict[str, Ask]]:
    """Each door with a home of its own, all of them furnished alike."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="memfolio-")))
        patch.setenv("MEMFOLIO_EMBEDDER", "none")
        patch.setenv("MEMFOLIO_TIMEZONE", "UTC")
        patch.setenv("MEMFOLIO_CACHE", str(folder / "cache"))
        homes = {door: folder / door / "home" for door in DOORS}
        for home in homes.values():
            furnish(home)
        memory = stack.enter_context(Memory.open(homes["python"], background=False, speaker="agent"))
        caller = Caller(verbs_at("mcp"), lambda: Memory.open(homes["mcp"], background=False, speaker="agent"))
        stack.callback(caller.close)
        app = build(load_config(homes["http"]), QUICK, ServerNames())
        _, secret = app.state.hall.tokens.create("test", "main", "admin", now=datetime.now(UTC))
        socket = stack.enter_context(listen("127.0.0.1", 0))
        stack.enter_context(in_thread(server_of(app, QUICK, app.state.hall.end_streams), socket))
        address, headers = f"http://127.0.0.1:{socket.getsockname()[1]}", {"Authorization": f"Bearer {secret}"}
        client = stack.enter_context(httpx.Client(base_url=address, headers=headers, timeout=60))

        def python(name: str, given: dict[str, Any]) -> dict[str, Any]:
            try:
                with told_inside(homes["python"]):
                    return dict(json.loads(as_json({"result": ALL[name](memory, given)})))
            except MemfolioError as error:
                return document_of(error)

        def http(name: str, given: dict[str, Any]) -> dict[str, Any]:
            return dict(client.post(ALL[name].route, json=given).json())

        def mcp(name: str, given: dict[str, Any]) -> dict[str, Any]:
            return caller.call(name, given).document

        def cli(name: str, given: dict[str, Any]) -> dict[str, Any]:
            with patch.context() as agent, redirect_stdout(TextIOWrapper(BytesIO())) as printed:
                agent.setenv("MEMFOLIO_SPEAKER", "agent")
                run([f"--home={homes['cli']}", "--json", "tool", *command_line(name, given)])
                return dict(json.loads(inside(homes["cli"], printed.buffer.getvalue().decode())))

        yield {"python": python, "http": http, "mcp": mcp, "cli": cli}


def command_line(name: str, given: dict[str, Any]) -> list[str]:
    """A call as it is typed; what cannot be typed so, since it makes no sense, as one JSON object."""
    verb, words, arguments = ALL[name], [name], dict[str, list[str]]()
    for each, value in given.items():
        kind = verb.schema["properties"].get(each, {}).get("type", "object")
        if each not in verb.parameters or (isinstance(value, dict) and kind != "object"):
            return ["call", name, json.dumps(given)]
        flag = f"--{each.replace('_', '-')}"
        is_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        typed = [one if isinstance(one, str) else json.dumps(one) for one in (value if is_texts else [value])]
        if each in verb.required:
            arguments[each] = typed
        elif isinstance(value, bool):
            words += [flag] if value else [f"--no-{flag[2:]}"] * (verb.parameters[each].default is not False)
        else:
            words += [f"{flag}={one}" for one in typed]
    return [*words, "--", *(one for each in verb.required for one in arguments.get(each, ()))]


def lived(ask: Ask) -> tuple[list[tuple[str, Any]], set[str]]:
    """What a door answers in a life with every tool."""
    answers: list[tuple[str, Any]] = []

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        document = await anyio.to_thread.run_sync(ask, name, arguments)
        answers.append((name, steady(document)))
        return as_result(CallResult(document, is_error="error" in document))

    named = anyio.run(live, call)
    return answers, named


def test_every_tool_answers_the_same_at_every_door(doors: dict[str, Ask]) -> None:
    first, *others = (lived(doors[door]) for door in DOORS)
    assert first[1] == set(verbs_at("mcp"))
    for door, other in zip(DOORS[1:], others, strict=True):
        for mine, its in zip(first[0], other[0], strict=True):
            assert its == mine, door


def test_verbs_that_are_no_tools_answer_the_same_in_python_and_over_http(doors: dict[str, Ask]) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("should_flush", {"tokens": 10}),
        ("save_context", {"task": "Testing", "session": "s-1"}),
        ("load_context", {"session": "s-2"}),
        ("flush", {"transcript": "user: We decided to use files.", "session": "s-2"}),
        ("consolidate", {"dry_run": True}),
        ("tend", {"jobs": ["consolidate"], "dry_run": True}),
        ("sync", {}),
        ("audit_diff", {"seq": 1}),
        ("purge", {"what": ["Alex prefers tea"], "dry_run": True}),
    ]
    assert {name for name, _ in calls} == set(verbs_at("http")) - set(verbs_at("mcp"))
    for name, given in calls:
        answer = doors["python"](name, given)
        assert steady(doors["http"](name, given)) == steady(answer), name


def bad(name: str) -> Iterator[dict[str, Any]]:
    """Calls of a verb that make no sense."""
    verb = ALL[name]
    yield {"no such argument": 1}
    if verb.required:
        yield {}
    for each in [*verb.parameters][:2]:
        kind = verb.schema["properties"][each].get("type")
        if kind in ("string", "integer", "number", "boolean", "array"):
            yield {each: {"a": 1}}
        if kind == "string" and "enum" not in verb.schema["properties"][each]:
            yield {each: "a\0b"}


def test_bad_input_is_refused_in_the_same_words_at_every_door(doors: dict[str, Ask]) -> None:
    for name, verb in ALL.items():
        for given in bad(name):
            answers = {door: doors[door](name, given) for door in DOORS if door not in verb.lacks}
            for door, answer in answers.items():
                assert answer["error"]["hint"], (name, given, door)
                if door == "cli" and answer["error"]["code"] == "usage":
                    continue  # the parser of the command line knows that already
                assert answer["error"]["code"] == "input", (name, given, door, answer)
                assert answer["error"]["message"] == answers["python"]["error"]["message"], (name, given, door)


def test_no_door_acts_for_another_agent(doors: dict[str, Ask]) -> None:
    codes = {door: doors[door]("status", {"agent_id": "other"})["error"]["code"] for door in DOORS}
    assert codes == {"python": "policy", "http": "foreign-agent", "mcp": "policy", "cli": "policy"}


def test_older_spellings_of_arguments_are_taken_everywhere(doors: dict[str, Ask]) -> None:
    for ask in doors.values():
        kept = ask("remember", {"text": "Kim drinks tea", "type": "fact", "tier": "short_term"})["result"]
        assert kept["store"] == "short_term"
        for spelled in ({"type": "fact"}, {"types": "fact"}, {"types": ["fact"]}):
            hits = ask("recall", {"query": "Kim tea", **spelled})["result"]["hits"]
            assert [each["id"] for each in hits] == [kept["id"]]
        both = ask("recall", {"query": "tea", "type": "fact", "types": ["fact"]})
        assert "another name for types" in both["error"]["message"]


def test_what_was_known_and_what_was_true_can_be_asked_everywhere(doors: dict[str, Ask]) -> None:
    for ask in doors.values():
        ended = {"text": "Kim lives in Rome", "valid_until": "2026-01-01"}
        kept = ask("remember", ended)["result"]["id"]
        then = ask("recall", {"query": "Where does Kim live?", "valid_at": "2025-06-01"})["result"]["hits"]
        assert kept in [each["id"] for each in then]
        before = ask("recall", {"query": "Where does Kim live?", "as_of": "2026-01-01"})["result"]["hits"]
        assert kept not in [each["id"] for each in before]


def test_a_request_that_is_repeated_has_one_effect_everywhere(doors: dict[str, Ask]) -> None:
    for ask in doors.values():
        kept = [ask("remember", {"text": "Kim drinks tea"})["result"]["id"] for _ in range(2)]
        assert kept[0] == kept[1]
        assert steady([ask("confirm", {"id": kept[0]}) for _ in range(1)]) == steady([ask("confirm", {"id": kept[0]})])
        paths = {ask("checkpoint", {"context": "Half done"})["result"]["path"] for _ in range(2)}
        assert len(paths) == 1
        assert [ask("forget", {"what": kept[0]})["result"]["forgotten"] for _ in range(2)] == [True, True]
