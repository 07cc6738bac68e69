"""An agent's `remember`, `forget` and `purge` are as safe at every door: Python, async, shell, HTTP, tools, MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from memfolio import AsyncMemory, Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError
from memfolio.serve.cli.output import as_json, fields_of
from memfolio.serve.mcp.caller import Caller
from memfolio.types import Attribution
from memfolio.verbs.verb import tools_of
from tests.serve.calls import Json, RunJson
from tests.serve.http.conftest import Served, serving

Ask = Callable[..., Json]
DOORS = ("python", "async", "shell", "http", "http tools", "mcp")


def plain(answer: Any) -> Json:
    return cast(Json, json.loads(as_json(fields_of(answer))))


def in_python(home: Path, verb: str, **given: Any) -> Json:
    with Memory.open(home, background=False, speaker="agent") as memory:
        return plain(getattr(memory, verb)(*given.values()))


def awaited(home: Path, verb: str, **given: Any) -> Json:
    async def ask() -> Json:
        async with await AsyncMemory.open(home, background=False, speaker="agent") as memory:
            return plain(await getattr(memory, verb)(*given.values()))

    return asyncio.run(ask())


def listed(verb: str, given: dict[str, Any]) -> dict[str, Any]:
    """`purge` takes several, which HTTP names as a list."""
    return {"what": [given["what"]]} if verb == "purge" else given


def over_mcp(home: Path, verb: str, **given: Any) -> Json:
    caller = Caller(tools_of("all"), lambda: Memory.open(home, background=False, speaker="agent"))
    try:
        answered = caller.call(verb, given)
        assert not answered.is_error, answered.document
        return cast(Json, answered.document["result"])
    finally:
        caller.close()


@pytest.fixture
def shell(cli_json: RunJson, monkeypatch: pytest.MonkeyPatch) -> Ask:
    def ask(verb: str, **given: Any) -> Json:
        monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
        try:
            return cli_json(verb, *given.values(), *(("--yes",) if verb in ("forget", "purge") else ()))
        finally:
            monkeypatch.delenv("MEMFOLIO_SPEAKER")

    return ask


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with serving(home) as served:
        yield served


@pytest.fixture(params=DOORS)
def ask(request: pytest.FixtureRequest, home: Path, served: Served) -> Ask:
    """Asks as the agent `main`, through one of the doors."""
    client = served.client("admin")
    doors: dict[str, Ask] = {
        "python": lambda verb, **given: in_python(home, verb, **given),
        "async": lambda verb, **given: awaited(home, verb, **given),
        "shell": request.getfixturevalue("shell") if request.param == "shell" else in_python,
        "http": lambda verb, **given: getattr(client, verb)(**listed(verb, given)),
        "http tools": lambda verb, **given: client.tool(verb, **given),
        "mcp": lambda verb, **given: over_mcp(home, verb, **given),
    }
    return doors[request.param]


def contents(home: Path) -> list[str]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        return [each.content for each in memory.vault.entries("main")]


def test_an_agent_that_forgets_by_words_is_shown_what_fits_and_forgets_by_its_id(
    ask: Ask, home: Path, served: Served
) -> None:
    shown = ask("forget", what="Alex tea")
    assert contents(home) == ["Alex prefers tea", "The launch is on Friday"]
    assert [each["id"] for each in shown["memories"]] == served.ids[:1]
    assert "id" in shown["hint"]
    assert "Alex prefers tea" in str(shown["memories"])
    ask("forget", what=served.ids[0])
    assert contents(home) == ["The launch is on Friday"]


def test_an_agent_that_remembers_a_text_twice_has_one_memory(ask: Ask, home: Path) -> None:
    first, again = (ask("remember", text="Kim drinks coffee") for _ in range(2))
    assert first["id"] == again["id"]
    assert contents(home).count("Kim drinks coffee") == 1


@pytest.mark.parametrize("ask", ["python", "async", "shell", "http"], indirect=True)
def test_an_agent_that_purges_by_words_destroys_nothing(ask: Ask, home: Path, served: Served) -> None:
    ask("purge", what="Alex tea")
    assert "Alex prefers tea" in contents(home)


@pytest.fixture
def agent(home: Path) -> Iterator[Memory]:
    clock = SettableClock(datetime(2026, 11, 15, 12, tzinfo=UTC))
    with Memory.open(home, background=False, speaker="agent", clock=clock) as memory:
        yield memory


def test_what_was_shown_to_an_agent_is_all_that_fits(agent: Memory) -> None:
    for text in ("Tea at four", "Tea at five"):
        agent.remember(text)
    shown = agent.forget("tea")
    assert (len(shown.memories), shown.receipt, bool(shown.diff)) == (2, None, True)
    assert agent.forget(shown.memories[0].id).receipt
    assert agent.forget("tea", every=True).receipt is None


def test_an_agents_memories_that_differ_in_more_than_their_words_are_several(agent: Memory) -> None:
    day = datetime(2026, 11, 3, tzinfo=UTC)
    fields: list[dict[str, Any]] = [
        {},
        {"type": "fact"},
        {"store": "short_term"},
        {"user": "alex"},
        {"user": "kim"},
        {"at": day},
        {"at": day + timedelta(days=1)},
        {"valid_until": day},
        {"attributes": {"ref": "a"}},
    ]
    ids = [[agent.remember("Went for a run", **each).id for each in fields] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(fields)
    assert agent.remember("Went for a run", tags=["sport"], importance=0.9, session="s-2").id == ids[0][0]


def test_an_agents_memory_that_is_repeated_is_one_and_a_day_later_another(agent: Memory) -> None:
    clock, counts = agent.vault.home.clock, []
    assert isinstance(clock, SettableClock)
    for seconds in (0, 5, 20, 86_400):
        clock.advance(seconds=seconds)
        agent.remember("Tea")
        counts.append(len(agent.vault.entries("main")))
    assert counts == [1, 1, 1, 2]


def test_an_agents_memory_that_was_corrected_does_not_come_back_and_the_error_names_what_holds(agent: Memory) -> None:
    right = agent.correct(agent.remember("Tea at four").id, "Tea at five")
    with pytest.raises(ConflictError, match="was corrected") as caught:
        agent.remember("Tea at four")
    assert right.id in caught.value.hint


def test_a_person_forgets_by_words_and_may_say_the_same_twice(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        assert memory.remember("Tea at four").id != memory.remember("Tea at four").id
        memory.remember("Alex prefers coffee")
        assert memory.forget("Alex coffee").receipt


def test_a_proposal_of_what_an_agent_remembered_today_is_settled_all_the_same(agent: Memory) -> None:
    agent.remember("Tea at four")
    proposed = agent.propose("Tea at four")
    agent.proposals.commit(proposed.id, shown=proposed.shown, by=Attribution(actor="bot:main"))
    assert agent.proposals.pending() == []
