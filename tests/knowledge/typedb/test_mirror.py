"""The mirror: the same as what is known, whatever happened on the way, and never a source of anything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from memfolio.errors import MirrorError, RefusedError
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.knowledge.rules import Rules
from memfolio.knowledge.typedb import mirror as module
from memfolio.knowledge.typedb.mirror import TypeDB
from memfolio.memory import Memory
from tests.knowledge.typedb.server import PASSWORD, USER, Handler, TypeDBServer, serving
from tests.knowledge.typedb.test_rows import INJECTION


class Known:
    """What is known beside memories, as it is written."""

    def __init__(self, memory: Memory) -> None:
        self.facts = Facts(memory.vault, memory.library, memory.agent)
        self.cases = Cases(memory.vault, memory.library, memory.agent)
        Ontology(memory.vault, memory.library, memory.agent).load_business()
        Rules(memory.vault, memory.library, memory.agent).create("?x supports ?y => ?x isA Belief")
        self.tell(GOALS)
        self.case = self.cases.store({"context": "shop is slow"}, {"actions": ["cache", "measure"]}, {"success": True})

    def tell(self, triples: Iterable[tuple[str, str, str]], **more: str) -> None:
        self.facts.assert_many(
            [dict(zip(("subject", "predicate", "object"), each, strict=True)) | more for each in triples]
        )


GOALS = (
    ("goal-1", "isA", "Goal"),
    ("goal-1", "name", INJECTION),
    ("goal-1", "progress", "0.4"),
    ("goal-1", "deadline", "some day"),
    ("plan-1", "isA", "Plan"),
    ("goal-1", "requires", "plan-1"),
    ("goal-1", "requires", "plan-9"),
    ("ada", "isA", "Customer"),
    ("ada", "isA", "business:BusinessPartner"),
    ("o-1", "isA", "SalesOrder"),
    ("ada", "placesOrder", "o-1"),
)


@pytest.fixture
def server() -> Iterator[TypeDBServer]:
    with serving() as server:
        yield server


@pytest.fixture
def address(server: TypeDBServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's address, put into the configuration with the credentials."""
    monkeypatch.setenv("MEMFOLIO_TYPEDB_URL", server.url)
    monkeypatch.setenv("MEMFOLIO_TYPEDB_USERNAME", USER)
    monkeypatch.setenv("MEMFOLIO_TYPEDB_PASSWORD", PASSWORD)
    monkeypatch.setenv("MEMFOLIO_TYPEDB_TIMEOUT", "2")
    return server.url


@pytest.fixture
def memory(home: Path, address: str) -> Iterator[Memory]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        yield memory


@pytest.fixture
def known(memory: Memory) -> Known:
    return Known(memory)


def mirror_of(memory: Memory, *, background: bool = False) -> TypeDB:
    return TypeDB(memory.vault, memory.library, memory.agent, background=background)


def types(server: TypeDBServer) -> dict[str, int]:
    found: dict[str, int] = {}
    for label, _, _ in server.things():
        found[label] = found.get(label, 0) + 1
    return found


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_everything_known_is_on_the_server_and_a_second_sync_sends_nothing(
    memory: Memory, known: Known, server: TypeDBServer
) -> None:
    memory.remember(f"The shop opens at nine {INJECTION}", tags=["shop", "hours"])
    mirror = mirror_of(memory)
    planned = mirror.sync_data(dry_run=True)
    assert not server.databases
    synced = mirror.sync_data()
    assert (synced.added, synced.removed) == (planned.added, dict.fromkeys(planned.added, 0))
    assert types(server) == {
        "spo-fact": 11,
        "knowledge-rule": 1,
        "cbr-case": 1,
        "memory-item": 1,
        "goal": 1,
        "plan": 1,
        "goal-requires-plan": 1,
        "customer": 1,
        "sales-order": 1,
        "places-order": 1,
    }
    goal = next(each for each in server.databases["memfolio"].things if each["type"] == "goal")
    assert ("name", INJECTION) in goal["has"]
    assert ("progress", 0.4) in goal["has"]
    again = mirror.sync_data()
    assert {*again.added.values(), *again.removed.values()} == {0}
    assert mirror.trouble() is None


def test_what_changed_is_replaced_with_its_relations_and_what_is_gone_is_removed(
    memory: Memory, known: Known, server: TypeDBServer
) -> None:
    mirror = mirror_of(memory)
    kept, gone = memory.remember("stays"), memory.remember("goes")
    mirror.sync_data()
    memory.forget(gone.id)
    known.facts.retract(subject="goal-1", predicate="progress")
    known.tell([("goal-1", "progress", "0.8")])
    known.cases.delete(known.case.id)
    assert mirror.sync_data().removed["graph"] == 2
    held = server.things()
    assert not any("goes" in str(each) for each in held)
    assert any(kept.id in str(each) for each in held)
    assert [players for label, _, players in held if label == "goal-requires-plan"] == [
        [("required", "main/graph/node/plan-1"), ("requirer", "main/graph/node/goal-1")]
    ]
    server.databases.clear()
    mirror_of(memory).sync_data()
    assert server.things() == held


def test_an_id_only_on_the_server_changes_nothing_here(memory: Memory, known: Known, server: TypeDBServer) -> None:
    memory.remember("known here")
    mirror = mirror_of(memory)
    mirror.sync_data()
    expected, files = server.things(), memory.vault.states()
    for whose in ("main", "other"):
        uid = f'has uid "{whose}/memory/M-1-00000000", has agent-id "{whose}", has digest "x"'
        mirror.query(f'insert $x isa memory-item, {uid}, has content "planted";', write=True)
    mirror.sync_data()
    assert memory.vault.states() == files
    assert memory.get("M-1-00000000") is None
    left = [each for each in server.things() if each not in expected]
    assert [each for each in left if "planted" not in str(each)] == []
    assert len(left) == 1  # the other agent's, which is not this one's to remove


def test_what_strangers_told_is_not_sent(memory: Memory, known: Known, server: TypeDBServer) -> None:
    before = mirror_of(memory).sync_data().added
    known.tell([("eve", "isA", "Goal")], origin="untrusted")
    memory.remember("planted", origin="untrusted")
    assert before["fact"] == len(GOALS)
    assert set(mirror_of(memory).sync_data().added.values()) == {0}


@pytest.mark.parametrize("after", range(0, 40, 8))
def test_a_sync_that_breaks_off_is_made_good_by_the_next(
    memory: Memory, known: Known, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "PAGE", 3)
    mirror_of(memory).sync_data()
    known.tell([("goal-1", "status", "active")])
    known.facts.retract(subject="o-1")
    last = len(server.paths) + after
    server.before = lambda handler: len(server.paths) > last and handler.send_json(500, {})
    try:
        mirror_of(memory).sync_data()
    except MirrorError:
        server.before = lambda _: False
        mirror_of(memory).sync_data()
    found = server.things()
    server.before = lambda _: False
    server.databases.clear()
    mirror_of(memory).sync_data()
    assert found == server.things()


def test_an_answer_is_cut_by_rows(memory: Memory, known: Known) -> None:
    mirror = mirror_of(memory)
    known.tell([(f"s{n}", "p", "o" * 100) for n in range(100)])
    mirror.sync_data()
    found = mirror.query('match $f isa spo-fact, has object-val $o; fetch { "o": $o };')
    assert len(found.rows) + found.cut == 111
    assert 3900 < len(json.dumps(found.rows, ensure_ascii=False).encode()) <= 4096


def test_a_question_cannot_write(memory: Memory, known: Known, server: TypeDBServer) -> None:
    mirror = mirror_of(memory)
    mirror.sync_data()
    before = server.things()
    with pytest.raises(MirrorError, match="write transaction"):
        mirror.query("match $x isa node, has uid $u; delete $x;")
    assert server.things() == before


def test_who_may_not_read_every_agent_may_not_ask_the_server(home: Path, address: str) -> None:
    with Memory.open(home, "other", background=False) as other:
        other.remember("a secret of the other")
    with Memory.open(home, background=False, speaker="agent") as memory:
        memory.remember("mine")
        with pytest.raises(RefusedError, match="main may not ask it"):
            mirror_of(memory).query("match $x isa node;")


@pytest.mark.parametrize("rows", [[7], [{"uid": 7}], [{"uid": "b", "digest": "x"}, {"uid": "a", "digest": "x"}]])
def test_a_list_of_keys_that_makes_no_sense_is_told(
    memory: Memory, known: Known, server: TypeDBServer, rows: list[object]
) -> None:
    mirror = mirror_of(memory)
    mirror.sync_data()
    server.before = lambda handler: handler.path == "/v1/query" and handler.send_json(200, {"answers": rows})
    with pytest.raises(MirrorError, match="in order"):
        mirror.sync_data()


def test_status_tells_of_a_server_that_fails(memory: Memory, known: Known, server: TypeDBServer) -> None:
    mirror = mirror_of(memory)
    assert mirror.status().trouble == "nothing was sent yet; `memfolio typedb sync` sends it"
    mirror.sync_data()
    status = mirror.status()
    assert (status.is_reachable, status.version, status.databases) == (True, "TypeDB 3.2.0", ("memfolio",))
    assert (status.synced, status.trouble) == (memory.vault.head, None)
    memory.remember("later")
    assert mirror.trouble() == "changes that were not sent yet: 1; `memfolio typedb sync` sends them"
    server.before = lambda handler: handler.send_json(500, {"code": "X", "message": "full"})
    assert (mirror.status().is_reachable, mirror.status().trouble) == (False, f"{server.url} answered 500: X: full")


def test_changes_are_written_through_and_caught_up_after_downtime(
    memory: Memory, known: Known, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALM", 0.02)
    monkeypatch.setattr(module, "SHARE", 0)
    mirror = mirror_of(memory, background=True)
    memory.remember("first")
    until(lambda: types(server).get("memory-item") == 1)

    def silent(_: Handler) -> bool:
        time.sleep(0.5)
        return True

    server.before = silent
    started = time.monotonic()
    for number in range(20):
        memory.remember(f"while it was down {number}")
    assert time.monotonic() - started < 8.0  # each request takes half a second
    server.before = lambda handler: handler.send_json(503, {"code": "X", "message": "down"})
    until(lambda: mirror.trouble() is not None and "503" in str(mirror.trouble()))
    server.before = lambda _: False
    until(lambda: types(server).get("memory-item") == 21)
    until(lambda: mirror.trouble() is None)
    mirror.close()


def test_without_an_address_no_thread_is_started(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        mirror = mirror_of(memory, background=True)
        memory.remember("something")
        assert mirror._thread is None
        assert mirror.trouble() is None
        assert mirror.status().trouble == "there is no TypeDB server"
