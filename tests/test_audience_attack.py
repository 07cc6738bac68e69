"""Attacks on audiences: somebody else tries every verb with all that can be known of a private memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memfolio.errors import MemfolioError, RefusedError
from memfolio.memory import Memory
from memfolio.serve.http.gate import AUDIENCE
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.server import compose, listed, read
from memfolio.serve.tokens import Tokens
from memfolio.verbs.documents import as_json
from memfolio.verbs.verb import Verb, table, tools_of, verbs_at
from tests.serve.http.conftest import serving

SECRET = "fnordix77"
"""A word of every private text that the attacker never says, so that no echo of a question has it."""
SAYS = f"My locker at Zorblatt holds the ring and its code is {SECRET}"
TEXTS = [
    SAYS,
    f"I work at Zorblatt with Mildred Quux and we call the project {SECRET}",
    f"Remind me to tell Mildred about {SECRET} on 2031-05-04",
    f"I prefer the {SECRET} cake for my birthday",
    f"My sister Mildred Quux lives in Oslo and her dog is called {SECRET}",
    f"We decided to open the {SECRET} box on Monday",
]
WORDS = ["Zorblatt", "alice", "Where is the locker at Zorblatt?"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A home in which Alice told secrets, of which everything is made that memfolio makes of memories."""
    home = tmp_path_factory.mktemp("audience") / "home"
    with Memory.open(home, background=False) as memory:
        for text in TEXTS:
            memory.observe("user", text, user="alice", session="a")
            memory.observe("assistant", f"Noted: {text}", user="alice", session="a")
        memory.observe("user", "I like long walks in the morning", user="bob", session="b")
        memory.remember("The office opens at eight in the morning", type="fact")
        memory.act_on(f"Remember that my safe word is {SECRET}", user="alice", session="a")
        memory.act_on(f"Remember this: call me {SECRET}", user="alice", session="a")
        memory.end_session("a")
        memory.tend()
        memory.digest(current=True)
        turn = memory.recall("locker Zorblatt")[0].memory
        memory.mind.intend(f"Buy {SECRET}", when="2020-01-01 09:00", from_=[turn.id])
        memory.checkpoint(context=f"Alice asked about {SECRET}", decisions=[f"Keep {SECRET}"], session="a")
        memory.facts.assert_("alice", "code", SECRET)
        memory.facts.assert_("Zorblatt", "has_locker", SECRET)
        memory.cases.store({"context": f"Zorblatt {SECRET}"}, {"actions": [SECRET]}, {"success": True})
        memory.propose(f"Alice has the code {SECRET}", audience="alice")
        memory.reflect()
        forgotten = memory.observe("user", f"Forget the {SECRET} I told you", user="alice", session="a")
        memory.forget(forgotten.id)
        memory.sync(embed=True)
        yield memory


def ids_of(memory: Memory) -> list[str]:
    """Everything that has an id and says the secret: it may become known, as an id in a log or a link."""
    found = [each.memory.id for each in memory.recall(SECRET, limit=50, include=("archived", "superseded"))]
    return [*dict.fromkeys(found), *(each.id for each in memory.mind.items(live=False) if SECRET in each.title)]


def names_of(memory: Memory) -> list[str]:
    entities = [name for node in memory.graph.entities() for name in (node.id, node.name, *node.aliases)]
    files = [path for path in memory.vault.states() if SECRET.encode() in (memory.vault.content(path) or b"")]
    proposals = [each.id for each in memory.proposals.pending()]
    return [*dict.fromkeys([*entities, *files, *proposals])]


def value_for(shape: dict[str, Any], text: str) -> Any:
    """A value of a shape that says a text wherever it can."""
    if "anyOf" in shape:
        return value_for(shape["anyOf"][0], text)
    if "enum" in shape:
        return text if text in shape["enum"] else shape["enum"][0]
    match shape.get("type"):
        case "array":
            return [value_for(shape.get("items", {}), text)]
        case "object":
            needed = shape.get("required", [])
            return {name: value_for(shape["properties"][name], text) for name in needed} if needed else {"text": text}
        case "integer":
            return int(text) if text.isdigit() else 40
        case "number":
            return 0
        case "boolean":
            return True
    return text


NAMES = {"user": "alice", "audience": "alice", "session": "a", "since": "2020-01-01", "agents": ["main"]}
"""Arguments that say whose memory is meant: the attacker names their victim."""
LEFT_OUT = {"until", "valid_at", "as_of", "before", "after", "at", "valid_from", "valid_until", "level", "dry_run"}


def attacks(verb: Verb, texts: list[str], head: int) -> Iterator[dict[str, Any]]:
    """Calls of a verb: with what it needs, and with all that it takes, once for each thing that can be known."""
    shapes = {name: each for name, each in verb.schema["properties"].items() if name != "agent_id"}
    numbers = [name for name in verb.required if shapes[name].get("type") == "integer"]
    for text in [*texts, *map(str, range(1, head + 1) if numbers else ())]:
        needed = {name: value_for(shapes[name], text) for name in verb.required}
        yield needed
        yield needed | {name: NAMES[name] for name in shapes if name in NAMES}
        taken = {name: value_for(each, text) for name, each in shapes.items() if name not in LEFT_OUT}
        yield taken | {name: NAMES[name] for name in shapes if name in NAMES}
        if "include" in shapes:
            include = ["archived", "superseded", "dormant", "quarantined"] if verb.name == "recall" else ["core"]
            yield needed | {"include": include}
        if "kind" in shapes and "enum" not in shapes["kind"]:
            yield from (needed | {"kind": kind} for kind in ("intention", "belief", "goal"))


MAY_TELL: dict[str, str] = {}
"""Verbs that may tell somebody what is not for them, each with the reason. There is none."""
TELLING = "recall context compose get find explain load_context core_read why fact_query graph_entity mind_list".split()
"""Some of the verbs that tell the owner: without them, that nothing is told would say nothing."""


def known(whole: Memory) -> list[str]:
    """What an attacker may know: words, a few ids of each sort, names of entities and of files."""
    ids, names = ids_of(whole), names_of(whole)
    sorts = {(each[0], each.count("/")): each for each in (*ids, *names)}
    return [*WORDS, ids[0], *sorts.values()]


def calls_of(verb: Verb, texts: list[str], head: int = 0) -> list[dict[str, Any]]:
    """The attacks on a verb, each once."""
    return list({as_json(arguments): arguments for arguments in attacks(verb, texts, head)}.values())


def told(verb: Verb, memory: Memory, arguments: dict[str, Any]) -> str:
    try:
        return as_json(verb(memory, arguments))
    except MemfolioError as error:
        return f"{error.message} {error.hint}"


@pytest.mark.parametrize("name", sorted(table("all").keys() - MAY_TELL.keys()))
def test_no_verb_tells_somebody_else_a_byte_of_it(whole: Memory, name: str) -> None:
    verb, bob = table("all")[name], whole.heard_by("bob")
    for arguments in calls_of(verb, known(whole), whole.vault.head):
        answer = told(verb, bob, arguments)
        assert SECRET not in answer, (arguments, answer[:2000])


@pytest.mark.parametrize("name", TELLING)
def test_the_owner_is_told_by_the_same_calls(whole: Memory, name: str) -> None:
    verb = table("all")[name]
    calls = calls_of(verb, known(whole), whole.vault.head)
    assert any(SECRET in told(verb, whole, arguments) for arguments in calls)


def test_no_tool_tells_it_over_mcp(whole: Memory) -> None:
    caller, texts = Caller(tools_of("all"), lambda: whole), known(whole)[-2:]
    for name, verb in caller.tools.items():
        for arguments in calls_of(verb, texts)[:4]:
            answer = caller.call(name, arguments, audience="bob")
            assert SECRET not in as_json(answer.document), (name, arguments)
    addresses = [str(each.uri) for each in listed(whole)] + ["memfolio://mind/Intentions", "memfolio://checkpoint"]
    assert any(SECRET in caller.asked(read, each) for each in addresses[:-1])
    for address in addresses:
        with suppress(MemfolioError):
            assert SECRET not in caller.asked(read, address, audience="bob")
    assert SECRET not in caller.asked(compose, "recall-before-answering", {"question": WORDS[2]}, audience="bob")


def test_no_verb_tells_it_over_http(whole: Memory) -> None:
    now, tokens = whole.vault.home.now(), Tokens(whole.vault.home)
    _, bobs = tokens.create("bob", "main", "admin", now=now, audience="bob")
    _, anybodys = tokens.create("any", "main", "admin", now=now)
    texts = known(whole)[2:4]
    with serving(whole.vault.config.home) as served, httpx2.Client(base_url=served.address, timeout=60) as client:
        for head in ({"Authorization": f"Bearer {bobs}"}, {"Authorization": f"Bearer {anybodys}", AUDIENCE: "bob"}):
            for verb in verbs_at("http").values():
                for arguments in calls_of(verb, texts)[-2:]:
                    answer = client.post(verb.route, headers=head, json=arguments)
                    assert SECRET not in answer.text, (verb.name, arguments)
                    assert answer.status_code != 500, (verb.name, arguments, answer.text)
            assert client.get("/v1/events", headers=head).status_code == 403
        other = {"Authorization": f"Bearer {bobs}", AUDIENCE: "alice"}
        answer = client.post("/v1/recall", headers=other, json={"query": "Zorblatt"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign-audience")
        own = {"Authorization": f"Bearer {anybodys}", AUDIENCE: "alice"}
        answer = client.post("/v1/recall", headers=own, json={"query": WORDS[2]})
        assert SECRET in answer.text


def test_nobody_hears_a_session_or_a_room_by_naming_it(whole: Memory) -> None:
    bob = whole.heard_by("bob")
    whole.observe("user", f"The party is about {SECRET}", user="alice", session="r", audience="room:kitchen")
    joins: list[dict[str, Any]] = [{"session": "a"}, {"session": "r"}, {"audience": "room:kitchen"}, {"user": "alice"}]
    for given in joins:
        with pytest.raises(RefusedError):
            bob.observe("user", "Hello there", **given)
        with pytest.raises(RefusedError):
            bob.remember("Hello there", **given)
    for end in (partial(bob.end_session, "a"), partial(bob.flush, f"user: {SECRET}", session="a"), bob.tend):
        with pytest.raises(RefusedError):
            end()
    assert not any(SECRET in each.memory.content for each in bob.recall("party ring", audience="alice"))


def test_what_somebody_adds_is_for_them_and_theirs_to_change(whole: Memory) -> None:
    bob = whole.heard_by("bob")
    item = bob.remember("My bicycle is green")
    assert item.audience == "bob"
    assert whole.heard_by("alice").get(item.id) is None
    assert bob.correct(item.id, "My bicycle is blue").audience == "bob"
    assert bob.forget(item.id).memories
    key = whole.heard_by("alice").remember(f"The key says {SECRET}", key="k")
    assert bob.remember("Something else", key="k").id != key.id


def test_who_hears_everything_there_is_hears_pages_and_knowledge_too(home: Path) -> None:
    with Memory.open(home, background=False, audience="alice") as alice:
        alice.observe("user", "My sister Mildred lives in Oslo", session="a")
        alice.end_session("a")
        alice.facts.assert_("Mildred", "lives_in", "Oslo")
        assert alice.facts.query(subject="Mildred")
        assert [each.audience for each in (hit.memory for hit in alice.recall("Mildred Oslo", types=["fact"]))]
        assert alice.whole.heard_by("alice") is alice


def test_nothing_of_it_is_lost_by_all_that(whole: Memory) -> None:
    alice = whole.heard_by("alice")
    found = [each.memory.content for each in alice.recall("What is in the locker at Zorblatt?")]
    assert any(SECRET in each for each in found)
    page = whole.vault.page("agents/main/mind/Intentions.md")
    assert page is not None
    assert SECRET in page.text
    assert whole.facts.query(subject="alice", predicate="code")
    assert [each for each in whole.vault.verify() if each.level == "error"] == []
