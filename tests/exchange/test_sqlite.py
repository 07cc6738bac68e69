"""A graph memory in a SQLite file: nodes, their validity and entities come over; a broken file changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from memfolio.errors import InputError
from memfolio.exchange.reading import ImportProblem
from memfolio.exchange.sources.graph_sqlite import GraphSqlite
from memfolio.exchange.take_in import take_in
from memfolio.memory import Memory

SCHEMA = """
CREATE TABLE nodes (id TEXT PRIMARY KEY, type TEXT, content TEXT, embedding BLOB, event_time INTEGER,
    created_at INTEGER, valid_from INTEGER, valid_until INTEGER, confidence REAL, access_count INTEGER,
    last_accessed INTEGER, decay_rate REAL, source_type TEXT, source_role TEXT, session_id TEXT, attributes TEXT);
CREATE TABLE edges (id TEXT PRIMARY KEY, source_id TEXT, target_id TEXT, relation_type TEXT, predicate TEXT,
    weight REAL, confidence REAL, valid_from INTEGER, valid_until INTEGER, evidence TEXT, created_at INTEGER);
CREATE TABLE entities (id TEXT PRIMARY KEY, canonical_name TEXT, type TEXT, aliases TEXT, summary TEXT,
    embedding BLOB, first_seen INTEGER, last_updated INTEGER, mention_count INTEGER, attributes TEXT);
CREATE TABLE node_entities (node_id TEXT, entity_id TEXT, PRIMARY KEY (node_id, entity_id));
"""
T = 1_714_564_800
NODES = (
    ("n1", "episodic", "I moved to Berlin", T, None, 1.0, "user", "s-7", "{}"),
    ("n2", "semantic", "Lives in Paris", T + 1, T + 9, 0.7, "memory_agent", None, '{"k": "v"}'),
    ("n3", "opinion", "Prefers trains", (T + 2) * 1000, None, 2.5, None, None, "not json"),
    ("n4", "dream", "Never", T, None, 1.0, None, None, "{}"),
    ("n5", "semantic", "", T, None, 1.0, None, None, "{}"),
    ("n6", "episodic", "What was deleted", T, T + 9, 1.0, "orchestrator", "s-7", "{}"),
    ("n7", "semantic", "Said by a page", T, None, 1.0, "memory_agent", None, "{}"),
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute(SCHEMA)
    for node, kind, content, at, until, confidence, role, session, attributes in NODES:
        row = (node, kind, content, b"\0", at, at, at, until, confidence, 3, None, 0.1, "conversation", role, session)
        connection.execute(f"INSERT INTO nodes VALUES ({', '.join('?' * 16)})", (*row, attributes))
    connection.execute("UPDATE nodes SET source_type = 'tool_result' WHERE id = 'n7'")
    edge = ("e1", "n3", "n1", "derived_from", None, 1, 0.7, T, None, '["n2"]', T)
    connection.execute(f"INSERT INTO edges VALUES ({', '.join('?' * 11)})", edge)
    for entity, name, aliases in (("x1", 'Berlin "Mitte"', '["Spree-Athen"]'), ("x2", "", "[]")):
        named = (entity, name, "place", aliases, "A city.", None, T, T, 4, '{"country": "DE"}')
        connection.execute(f"INSERT INTO entities VALUES ({', '.join('?' * 10)})", named)
    connection.execute("INSERT INTO node_entities VALUES ('n1', 'x1')")
    connection.close()
    return path


def test_nodes_become_memories_and_entities_pages(home: Path, database: Path) -> None:
    before = database.read_bytes()
    assert GraphSqlite().fits(database)
    with Memory.open(home, background=False, speaker="owner") as memory:
        report = take_in(memory, GraphSqlite(), database)
        assert (report.taken, report.pages, len(report.flaws)) == (5, 1, 3)
        items = {item.attributes["ref"]: item for item in memory.vault.entries("main")}
        assert take_in(memory, GraphSqlite(), database).known == 6
        assert memory.graph.entity("Spree-Athen").summary == "A city."
        assert b'id: "x1"' in (memory.vault.content("agents/main/memory/graph/entities/place--berlin-mitte.md") or b"")
    turn, was, opinion, gone, page = (items[name] for name in ("n1", "n2", "n3", "n6", "n7"))
    assert (turn.role, turn.session, turn.attributes["entities"]) == ("user", "s-7", ["place--berlin-mitte"])
    assert (was.kind, was.type, was.confidence, was.role) == ("semantic", "fact", 0.7, None)
    assert was.valid_until == datetime.fromtimestamp(T + 9, UTC)
    assert was.attributes["k"] == "v"
    assert (opinion.kind, opinion.confidence) == ("opinion", 1.0)
    assert opinion.event_time == datetime.fromtimestamp(T + 2, UTC)
    tie = {"type": "derived_from", "to": "n1", "weight": 1, "confidence": 0.7, "valid_from": T, "evidence": '["n2"]'}
    assert opinion.attributes["ties"] == [tie]
    assert gone.valid_until == datetime.fromtimestamp(T + 9, UTC)
    assert (page.role, page.origin, page.kind) == ("tool", "untrusted", "semantic")
    assert database.read_bytes() == before


def test_what_is_no_such_database_is_refused(home: Path, tmp_path: Path, database: Path) -> None:
    other = tmp_path / "other.db"
    with apsw.Connection(str(other)) as connection:
        connection.execute("CREATE TABLE nodes (id TEXT)")
    (tmp_path / "text.db").write_text("no database at all" * 100)
    (tmp_path / "cut.db").write_bytes(database.read_bytes()[:5000])
    with Memory.open(home, background=False, speaker="owner") as memory:
        for name in ("other.db", "text.db", "cut.db", "nowhere.db"):
            assert name == "cut.db" or not GraphSqlite().fits(tmp_path / name)
            with pytest.raises(InputError):
                take_in(memory, GraphSqlite(), tmp_path / name)
        assert memory.vault.entries("main") == []
    assert not (tmp_path / "nowhere.db").exists()


def test_node_without_tables_beside_it_is_read(tmp_path: Path, database: Path) -> None:
    with apsw.Connection(str(database)) as connection:
        connection.execute("DROP TABLE edges; DROP TABLE entities; DROP TABLE node_entities")
    found = list(GraphSqlite().read(database))
    assert len(found) == GraphSqlite().count(database) == 7
    assert sum(isinstance(each, ImportProblem) for each in found) == 2
