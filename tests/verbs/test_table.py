"""One row is enough: a verb of the table is a route, a tool, a command and an awaited method, and can be found."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memfolio import memory as memory_module
from memfolio.aio import AsyncMemory
from memfolio.arguments import draft_of
from memfolio.clock import SettableClock
from memfolio.errors import ContentError, InputError, ProposedError
from memfolio.govern import rooms as govern_rooms
from memfolio.govern.gate import proposable
from memfolio.govern.proposals import ProposableVerbs
from memfolio.memory import Memory
from memfolio.rooms import Rooms, method_named
from memfolio.serve.cli.app import run
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.server import described
from memfolio.signature import verb_rows
from memfolio.types import Attribution, MemoryItem
from memfolio.verbs.verb import SETS, Verb, rows, table, tools_of
from tests.serve.http.conftest import serving

ALL = table()
BY = Attribution(actor="human", trigger="test")
ANNOUNCER = Attribution(actor="bot:announce", trigger="announce")


def shout(memory: Memory, text: str, times: int = 1) -> dict[str, str]:
    """Say something loudly."""
    return {"said": text.upper() * times, "by": memory.agent}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows("memory"), "shout", Verb(does=shout, effect="read", renamed={"words": "text"}))


@pytest.fixture
def caller(home: Path) -> Iterator[Caller]:
    caller = Caller(tools_of("core"), lambda: Memory.open(home, background=False, speaker="agent"))
    yield caller
    caller.close()


@pytest.mark.usefixtures("toy")
def test_a_verb_of_one_row_is_at_every_door(home: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    given, said = {"text": "tea", "times": 2}, {"said": "TEATEA", "by": "main"}
    with serving(home) as served:
        assert served.client("read").shout(**given) == served.client("read").tool("shout", words="tea", times=2) == said
        with Memory.open(home, background=False) as memory:
            tool = tools_of("memory")["shout"]
            assert tool(memory, given) == said
            assert asyncio.run(AsyncMemory(memory).shout(**given)) == said  # type: ignore[attr-defined]
    for command in (["shout"], ["tool", "shout"]):
        assert run(["--home", str(home), "--json", *command, "tea", "--times", "2"]) == 0
        assert json.loads(capsysbinary.readouterr().out) == {"result": said}
    assert run(["shout", "--help"]) == 0
    assert b"Say something loudly." in capsysbinary.readouterr().out
    assert "shout" not in tools_of("core")
    told = described(tool)
    assert told.input_schema["required"] == ["text"]
    assert told.input_schema["properties"]["times"]["default"] == 1
    assert told.annotations is not None
    assert told.annotations.read_only_hint


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("remind me to call Bob on Friday", "mind_add"),
        ("what is due today", "mind_due"),
        ("how did we solve a similar problem before", "cbr_retrieve"),
        ("is there a checklist with steps for this task", "procedure_match"),
        ("store a fact as a triple", "fact_assert"),
        ("what depends on this and breaks if it is wrong", "fact_impact"),
        ("how are these two connected in the graph of facts", "fact_traverse"),
        ("count how many goals are behind", "fact_count"),
        ("weigh options and decide under uncertainty", "reason"),
        ("what am I allowed to do by policy", "policy_eval"),
        ("who changed this, history of changes", "audit_log"),
        ("bring back a forgotten memory", "restore"),
        ("what changed this week?", "changed"),
        ("why did you say that?", "why"),
        ("forget everything about Alex", "forget_about"),
    ],
)
def test_a_tool_is_found_by_what_one_wants_to_do(caller: Caller, wanted: str, name: str) -> None:
    found = caller.call("find_tool", {"wanted": wanted}).document["result"]
    assert name in [each["name"] for each in found]
    assert all({"description", "effect", "arguments"} < set(each) for each in found)


def test_a_tool_that_is_not_listed_is_used_through_another(caller: Caller) -> None:
    fact = {"subject": "Acme", "predicate": "locatedIn", "object": "Lisbon"}
    made = caller.call("use_tool", {"name": "fact_assert", "arguments": fact}).document["result"]
    retract = {"name": "fact_retract", "arguments": {"fact_id": made["id"]}}
    shown = caller.call("use_tool", retract).document["result"]
    assert (shown["done"], shown["would"]) == (False, "fact_retract")
    query = {"name": "fact_query", "arguments": {"subject": "Acme"}}
    assert len(caller.call("use_tool", query).document["result"]["facts"]) == 1
    assert caller.call("use_tool", retract | {"confirmed": True}).document["result"][0]["id"] == made["id"]
    assert caller.call("use_tool", query).document["result"]["facts"] == []


def test_an_agent_sees_what_would_be_forgotten_and_is_believed_once_that_the_person_agreed(caller: Caller) -> None:
    caller.call("remember", {"text": "Robin plays the cello"})
    forget = {"name": "forget_about", "arguments": {"name": "Robin"}}
    shown = caller.call("use_tool", forget).document["result"]
    assert [each["content"] for each in shown["memories"]] == ["Robin plays the cello"]
    assert "confirmed set to true" in shown["hint"]
    assert caller.call("recall", {"query": "Who plays the cello?"}).document["result"]["hits"]
    assert caller.call("use_tool", forget | {"confirmed": True}).document["result"]["seqs"]
    assert caller.call("recall", {"query": "Who plays the cello?"}).document["result"]["hits"] == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "purge", "arguments": {"what": ["M-1-00000000"]}}, "not-found"),
        ({"name": "nothing"}, "not-found"),
        ({"name": "use_tool", "arguments": {"name": "status"}}, "input"),
        ({"name": "fact_query", "arguments": {"limits": 1}}, "input"),
        ({"name": "fact_query", "arguments": {"agent_id": "other"}}, "policy"),
    ],
)
def test_a_tool_is_not_used_through_another_in_a_way_that_it_refuses(
    caller: Caller, given: dict[str, Any], code: str
) -> None:
    assert caller.call("use_tool", given).document["error"]["code"] == code


def test_who_may_only_read_writes_through_no_other_tool(home: Path, caller: Caller) -> None:
    given = {"name": "fact_assert", "arguments": {"subject": "a", "predicate": "b", "object": "c"}}
    assert caller.call("use_tool", given, may_write=False).document["error"]["code"] == "policy"
    assert not caller.call("use_tool", {"name": "fact_query"}, may_write=False).is_error
    with serving(home) as served:
        answer = served.client("read")
        with pytest.raises(Exception, match="needs a token that may write"):
            answer.use_tool(**given)
        assert answer.use_tool(name="fact_query")["facts"] == []


def announce(
    self: Memory,
    words: str,
    *,
    times: int = 1,
    to: Iterable[str] = (),
    at: datetime | None = None,
    by: Attribution = ANNOUNCER,
) -> MemoryItem:
    """Say something again and again."""
    return self._add([draft_of(content=" ".join([words] * times), tags=tuple(to), at=at)], by)[0]


@pytest.fixture
def proposable_toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A method under the policy, and its row."""
    monkeypatch.setattr(Memory, "announce", proposable("announce")(announce), raising=False)
    row = {"effect": "add", "renamed": {"count": "times"}, "proposal": {"says": "Announce", "body": "words"}}
    monkeypatch.setitem(verb_rows()["memory"], "announce", row)
    rows.cache_clear()
    yield
    rows.cache_clear()


@pytest.mark.usefixtures("proposable_toy")
def test_a_verb_of_one_row_is_proposed_edited_and_carried_out(home: Path, clock: SettableClock) -> None:
    (home / "agents/helper").mkdir(parents=True)
    (home / "agents/helper/agent.toml").write_text('policy = "proposes"\nproposes_to = "main"\n')
    at = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
    with Memory.open(home, clock=clock, background=False) as main:
        with Memory.open(home, "helper", clock=clock, background=False) as helper:
            call = {"words": "tea is ready", "to": ["kitchen"], "at": at.isoformat()}
            with pytest.raises(ProposedError):
                tools_of("memory")["announce"](helper, call | {"times": 2})
            for wrong in ({"times": "often"}, {"loud": True}, {"at": "tea time"}, {"words": ""}, {"to": [1]}):
                with pytest.raises((InputError, ContentError)):
                    helper.proposals.call("announce", call | wrong)
            assert helper.proposals.call("announce", {"words": "tea", "count": 2}).arguments["times"] == 2
        [found] = main.proposals.pending()
        assert found.title == "Announce: tea is ready"
        page = home / found.path
        fields = ["- **Do**: announce", "- **Times**: 2", '- **To**: ["kitchen"]', f"- **At**: {at.isoformat()}"]
        assert page.read_text().splitlines()[2:6] == fields
        page.write_text(page.read_text().replace("**Times**: 2", "**Times**: many"))
        assert "line 4: times is 'many' (pass a value of type integer)" in main.proposals.broken()[0].message
        page.write_text(page.read_text().replace("**Times**: many", "**Times**: 3"))
        made = main.proposals.commit(found.id, shown=main.proposals.get(found.id).shown, by=BY)
        assert isinstance(made, MemoryItem)
        assert (made.content, made.tags, made.event_time) == (" ".join(["tea is ready"] * 3), ("kitchen",), at)


def test_each_method_under_the_policy_has_a_row_that_says_how_it_is_proposed() -> None:
    code = (Path(inspect.getfile(module)).read_text("utf-8") for module in (memory_module, govern_rooms))
    under_policy = set(re.findall(r'proposable\("([\w.]+)"\)', "".join(code)))
    assert under_policy <= set(ProposableVerbs(partial(method_named, Memory)))


def test_type_checkers_see_the_verbs_and_rooms_that_an_async_memory_has() -> None:
    tree = ast.parse(inspect.getsource(AsyncMemory))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    rooms = {name for name, each in vars(Rooms).items() if isinstance(each, cached_property) and name[0] != "_"}
    typed = {
        target.id
        for block in blocks
        for each in block.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    verbs = {verb.method for verb in ALL.values() if inspect.isfunction(getattr(Memory, verb.method, None))}
    assert typed == verbs | rooms


def test_every_function_for_a_row_is_in_a_row() -> None:
    used = {verb.does for verb in ALL.values()}
    for module in set(SETS.values()):
        own = vars(import_module(f"memfolio.verbs.{module}")).values()
        functions = [each for each in own if inspect.isfunction(each) and each.__module__.endswith(f".{module}")]
        assert {each.__name__ for each in functions if each not in used and each.__name__[0] != "_"} == set()


@pytest.mark.parametrize("name", ALL)
def test_a_verb_that_a_door_lacks_says_why(name: str) -> None:
    assert set(ALL[name].lacks) <= {"http", "mcp", "cli"}
    assert all(ALL[name].lacks.values())
