"""The mirror: the same as what is known, whatever happened on the way, and never a source of anything."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from memfolio.errors import MirrorError, RefusedError
from memfolio.knowledge.typedb import mirror as module
from memfolio.knowledge.typedb.mirror import TypeDB, catch_up
from memfolio.memory import Memory
from tests.knowledge.typedb.server import PASSWORD, Handler, TypeDBServer, configure, serving
from tests.knowledge.typedb.test_rows import INJECTION

GOALS = (
    ("goal-1", "isA", "Goal"),
    ("goal-1", "name", INJECTION),
    ("goal-1", "progress", "40%"),
    ("goal-1", "deadline", "some day"),
    ("plan-1", "isA", "Plan"),
    ("goal-1", "requires", "plan-1"),
    ("goal-1", "requires", "plan-9"),
    ("ada", "isA", "Customer"),
    ("ada", "isA", "business:BusinessPartner"),
    ("o-1", "isA", "SalesOrder"),
    ("ada", "placesOrder", "o-1"),
)
SYNC = "from memfolio import Memory; Memory.open(background=False).typedb.sync_data()"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TypeDBServer]:
    """A server whose address is configured with the credentials."""
    with serving() as server:
        configure(server, monkeypatch)
        yield server


@pytest.fixture
def memory(home: Path, server: TypeDBServer) -> Iterator[Memory]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        yield memory


@pytest.fixture
def known(memory: Memory) -> Memory:
    """A memory that knows something of each sort beside memories."""
    memory.ontology.load_business()
    memory.rules.create("?x supports ?y => ?x isA Belief")
    memory.cases.store({"context": "shop is slow"}, {"actions": ["cache", "measure"]}, {"success": True})
    tell(memory, GOALS)
    return memory


def tell(memory: Memory, triples: Iterable[tuple[str, str, str]], **more: str) -> None:
    parts = ("subject", "predicate", "object")
    memory.facts.assert_many([dict(zip(parts, each, strict=True)) | more for each in triples])


def mirror_of(memory: Memory, *, background: bool = False) -> TypeDB:
    return TypeDB(memory.vault, memory.searcher, memory.agent, background=background)


def types(server: TypeDBServer) -> dict[str, int]:
    return dict(Counter(label for label, _, _ in server.things()))


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def anew(memory: Memory, server: TypeDBServer) -> list[object]:
    """What a first sync into an empty server makes."""
    server.before = lambda _: False
    server.databases.clear()
    mirror_of(memory).sync_data()
    return server.things()


def test_everything_known_is_on_the_server_and_a_second_sync_sends_nothing(known: Memory, server: TypeDBServer) -> None:
    known.remember(f"The shop opens at nine {INJECTION}", tags=["shop", "hours"])
    mirror = mirror_of(known)
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
    assert {("name", INJECTION), ("progress", 0.4)} <= set(goal["has"])
    again = mirror.sync_data()
    assert {*again.added.values(), *again.removed.values()} == {0}
    assert mirror.trouble() is None


def test_what_changed_is_replaced_with_its_relations_and_what_is_gone_is_removed(
    known: Memory, server: TypeDBServer
) -> None:
    mirror = mirror_of(known)
    kept, gone = known.remember("stays"), known.remember("goes")
    mirror.sync_data()
    known.forget(gone.id)
    known.facts.retract(subject="goal-1", predicate="progress")
    tell(known, [("goal-1", "progress", "0.8")])
    known.cases.delete(known.cases.list()[0].id)
    assert mirror.sync_data().removed["graph"] == 2
    held = server.things()
    assert not any("goes" in str(each) for each in held)
    assert any(kept.id in str(each) for each in held)
    assert [players for label, _, players in held if label == "goal-requires-plan"] == [
        [("required", "main/graph/node/plan-1"), ("requirer", "main/graph/node/goal-1")]
    ]
    assert anew(known, server) == held


def test_an_id_only_on_the_server_changes_nothing_here_and_goes_there(memory: Memory, server: TypeDBServer) -> None:
    memory.remember("known here")
    mirror = mirror_of(memory)
    mirror.sync_data()
    expected, files = server.things(), memory.vault.states()
    for whose in ("main", "other"):
        uid = f'has uid "{whose}/memory/M-1-00000000", has agent-id "{whose}", has digest "x"'
        server.databases["memfolio"].run(f'insert $x isa memory-item, {uid}, has content "planted";', "write")
    mirror.sync_data()
    assert memory.vault.states() == files
    assert memory.get("M-1-00000000") is None
    left = [each for each in server.things() if each not in expected]
    assert ["other/memory" in str(each) for each in left] == [True]  # which is not this agent's to remove


def test_what_strangers_told_is_not_sent(known: Memory) -> None:
    assert mirror_of(known).sync_data().added["fact"] == len(GOALS)
    tell(known, [("eve", "isA", "Goal")], origin="untrusted")
    known.remember("planted", origin="untrusted")
    assert set(mirror_of(known).sync_data().added.values()) == {0}


def test_long_texts_are_sent_in_requests_that_the_server_takes(memory: Memory, server: TypeDBServer) -> None:
    for number in range(40):
        memory.remember(f"{number} {'🙂' * 16_000}")
    mirror_of(memory).sync_data()
    assert types(server) == {"memory-item": 40}


@pytest.mark.parametrize("after", [4, 20])
def test_a_sync_that_breaks_off_is_made_good_by_the_next(
    known: Memory, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "PAGE", 3)
    mirror_of(known).sync_data()
    tell(known, [("goal-1", "status", "active")])
    known.facts.retract(subject="o-1")
    last = len(server.paths) + after
    server.before = lambda handler: len(server.paths) > last and handler.send_json(500, {})
    with pytest.raises(MirrorError, match="500"):
        mirror_of(known).sync_data()
    server.before = lambda _: False
    mirror_of(known).sync_data()
    assert server.things() == anew(known, server)


def test_a_process_that_is_killed_in_a_sync_leaves_nothing_that_the_next_cannot_mend(
    known: Memory, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMFOLIO_HOME", str(known.vault.config.home))
    child = subprocess.Popen([sys.executable, "-c", SYNC])

    def kill(handler: Handler) -> bool:
        is_late = sum(path.endswith("/commit") for path in server.paths) == 2
        if is_late:
            child.send_signal(signal.SIGKILL)
        return is_late

    server.before = kill
    assert child.wait(60) == -signal.SIGKILL
    server.before = lambda _: False
    assert types(server) == {"spo-fact": 11}
    mirror_of(known).sync_data()
    assert server.things() == anew(known, server)


def test_a_database_that_was_deleted_there_is_made_again(memory: Memory, server: TypeDBServer) -> None:
    memory.remember("sent twice")
    mirror = mirror_of(memory)
    mirror.sync_data()
    before = server.things()
    server.databases.clear()
    with pytest.raises(MirrorError, match="404"):
        mirror.sync_data()
    mirror.sync_data()
    assert server.things() == before


def test_an_answer_is_cut_by_rows(memory: Memory) -> None:
    mirror = mirror_of(memory)
    tell(memory, [(f"s{n}", "p", "o" * 100) for n in range(100)])
    tell(memory, [("huge", "p", "o" * 4096)])
    mirror.sync_data()
    found = mirror.query('match $f isa spo-fact, has object-val $o; fetch { "o": $o };')
    assert len(found.rows) + found.cut == 101
    assert 0 < len(json.dumps(found.rows, ensure_ascii=False).encode()) <= 4096
    alone = mirror.query('match $f isa spo-fact, has subject-val "huge", has object-val $o; fetch { "o": $o };')
    assert (alone.rows, alone.cut) == ((), 1)


def test_a_question_cannot_write(memory: Memory, server: TypeDBServer) -> None:
    memory.remember("stays there")
    mirror_of(memory).sync_data()
    before = server.things()
    with pytest.raises(MirrorError, match="write transaction"):
        mirror_of(memory).query("match $x isa node, has uid $u; delete $x;")
    assert server.things() == before


def test_who_may_not_read_every_agent_may_not_ask_the_server(home: Path, server: TypeDBServer) -> None:
    with Memory.open(home, "other", background=False) as other:
        other.remember("a secret of the other")
    with Memory.open(home, background=False, speaker="agent") as memory:
        memory.remember("mine")
        with pytest.raises(RefusedError, match="main may not ask it"):
            mirror_of(memory).query("match $x isa node;")


def test_a_list_of_keys_that_makes_no_sense_is_told(memory: Memory, server: TypeDBServer) -> None:
    mirror = mirror_of(memory)
    mirror.sync_data()
    answers: list[list[object]] = [[7], [{"uid": 7}], [{"uid": "b", "digest": "x"}, {"uid": "a", "digest": "x"}]]
    server.before = lambda handler: handler.path == "/v1/query" and handler.send_json(200, {"answers": answers[0]})
    while answers:
        with pytest.raises(MirrorError, match="in order"):
            mirror.sync_data(dry_run=True)
        answers.pop(0)


def test_status_tells_how_the_copy_stands_and_catching_up_sends_what_is_missing(
    memory: Memory, server: TypeDBServer
) -> None:
    place = (memory.vault, memory.searcher, memory.agent)
    mirror = mirror_of(memory)
    memory.remember("first")
    assert mirror.status().trouble == "nothing was sent yet; `memfolio typedb sync` sends it"
    assert catch_up(*place) == "1 row sent to TypeDB, 0 removed there"
    status = mirror.status()
    assert (status.is_reachable, status.version, status.databases) == (True, "TypeDB 3.2.0", ("memfolio",))
    assert (status.synced, status.trouble, catch_up(*place)) == (memory.vault.head, None, "")
    memory.remember("later")
    assert mirror.trouble() == "changes that were not sent yet: 1; `memfolio typedb sync` sends them"
    server.before = lambda handler: handler.send_json(500, {"code": "X", "message": f"full of {PASSWORD}"})
    status = mirror.status()
    assert (status.is_reachable, status.trouble) == (False, f"{server.url} answered 500: X: full of …")
    assert PASSWORD not in f"{status}{memory.vault.config!r}"
    with pytest.raises(MirrorError, match="500"):
        catch_up(*place)


def test_changes_are_written_through_and_caught_up_after_downtime(
    memory: Memory, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "memfolio")
    monkeypatch.setattr(module, "CALM", 0.02)
    monkeypatch.setattr(module, "SHARE", 0)
    mirror = mirror_of(memory, background=True)
    memory.remember("first")
    until(lambda: types(server).get("memory-item") == 1)
    server.before = lambda handler: handler.send_json(503, {"code": "X", "message": PASSWORD})
    for number in range(5):
        memory.remember(f"while it was down {number}")
    until(lambda: "503" in str(mirror.trouble()))
    server.before = lambda _: False
    until(lambda: types(server).get("memory-item") == 6)
    until(lambda: mirror.trouble() is None)
    mirror.close()
    assert "the mirror stays behind" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_server_that_hangs_holds_up_neither_writing_nor_a_fork_nor_closing(
    home: Path, server: TypeDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALM", 0.02)
    monkeypatch.setenv("MEMFOLIO_TYPEDB_TIMEOUT", "60")
    answering = threading.Event()
    server.before = lambda _: answering.wait(60)
    started = time.monotonic()
    memory = Memory.open(home)
    memory.remember("written")
    until(lambda: bool(server.paths))
    memory.remember("written while a request is under way")
    server.before = lambda _: False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is what is tested
        child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(mirror_of(memory).sync_data().added["memory"] + memory.typedb.sync_data().added["memory"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    memory.close()
    assert time.monotonic() - started < 20
    answering.set()


def test_without_an_address_no_thread_is_started(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        before = threading.active_count()
        mirror = mirror_of(memory, background=True)
        memory.remember("something")
        assert threading.active_count() == before
        assert (mirror.trouble(), catch_up(memory.vault, memory.searcher, "main")) == (None, "")
        assert mirror.status().trouble == "there is no TypeDB server"
