"""What a million facts cost, as ratios within one run: `python -m bench.facts`, or with fewer: `… --facts 100000`.

Each measurement stands beside its floor: JSON lines loaded into a bare table with the same three indexes, and one
look-up there that gives the same rows. Exits with 1 when a limit is not kept.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import apsw

from bench.board import Board, a_folder, timed
from memfolio.config import load_config
from memfolio.index.index import Index
from memfolio.memory import Memory
from memfolio.vault.vault import Vault

FACTS = 1_000_000
PART = 128 * 1024
ROUNDS = 2000
LIMIT = 50
GIGABYTE = 1 << 30
PREDICATES = ("hasRevenue", "locatedIn", "isCompetitorOf", "employs", "sells")
TABLE = """
CREATE TABLE facts (id TEXT, subject TEXT, predicate TEXT, object TEXT, confidence REAL, source TEXT);
CREATE INDEX by_subject ON facts (subject, predicate, object);
CREATE INDEX by_predicate ON facts (predicate, object, subject);
CREATE INDEX by_object ON facts (object, subject, predicate);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A home with facts that another program wrote, and the same facts in a bare table."""

    home: Path
    bare: apsw.Connection
    count: int


def lines(count: int) -> Iterator[str]:
    """Facts as another program would write them: a subject has five of them, an object three."""
    chosen = Random(1)
    for number in range(count):
        fact = {
            "id": f"F-{1_794_753_005_123 + number}-{chosen.getrandbits(32):08x}",
            "at": "2026-11-15T14:30:05.123456Z",
            "subject": f"company-{chosen.randrange(count // 5)}",
            "predicate": chosen.choice(PREDICATES),
            "object": f"thing-{chosen.randrange(count // 3)}",
            "confidence": 0.9,
            "source": "cfo-report",
        }
        yield json.dumps(fact) + "\n"


def write_parts(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    part, held, size = 1, list[str](), 0
    for line in lines(count):
        if size + len(line) > PART:
            (folder / f"{part:04d}.jsonl").write_text("".join(held))
            part, held, size = part + 1, [], 0
        held.append(line)
        size += len(line)
    (folder / f"{part:04d}.jsonl").write_text("".join(held))


def load_bare(connection: apsw.Connection, folder: Path) -> None:
    """The least that brings the lines into a table."""

    def rows() -> Iterator[tuple[object, ...]]:
        for path in sorted(folder.iterdir()):
            for line in path.open():
                fact = json.loads(line)
                yield tuple(fact[name] for name in ("id", "subject", "predicate", "object", "confidence", "source"))

    with connection:
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)", rows())


def load(board: Board, folder: Path, count: int) -> World:
    """Loading, against the bare loop over the same files."""
    home = folder / "home"
    Memory.open(home, background=False).close()
    ledger = home / "agents/main/knowledge/facts"
    write_parts(ledger, count)
    bare = apsw.Connection(str(folder / "bare.db"))
    bare.pragma("journal_mode", "wal")
    bare.pragma("synchronous", "off")
    bare.execute(TABLE)
    floor = timed(lambda: load_bare(bare, ledger))
    with Vault.open(config=load_config(home)) as vault:
        index = Index(vault, "main")
        took = timed(index.rebuild)
        index.close()
    note = f"{count / took:,.0f} a second, {count / floor:,.0f} bare, {count:,} facts"
    board.show("loading facts", floor / took * 100, 25, unit=" %", most=False, note=note)
    return World(home=home, bare=bare, count=count)


def p95(times: Sequence[float]) -> float:
    return sorted(times)[len(times) * 95 // 100]


def ask(board: Board, world: World) -> None:
    """Questions by each position, against one bare look-up of the same rows."""
    with Memory.open(world.home, background=False) as memory:
        chosen = known_facts(world, Random(2))  # all before any is asked for, so that nobody has read it just before
        for names in (("subject",), ("predicate",), ("object",), ("predicate", "object")):
            bare, ours = list[float](), list[float]()
            sql = f"SELECT * FROM facts WHERE {' AND '.join(f'{name} = ?' for name in names)} LIMIT {LIMIT}"
            for known in chosen:
                given: dict[str, Any] = {name: known[name] for name in names}
                bare.append(timed(partial(look_up, world.bare, sql, tuple(given.values()))))
                ours.append(timed(partial(memory.facts.query, **given, limit=LIMIT)))
            note = f"{p95(ours) * 1e6:.0f} µs over {p95(bare) * 1e6:.0f} µs bare, p95 of {ROUNDS:,}"
            board.show(f"facts by {' and '.join(names)}", p95(ours) / p95(bare), 5, note=note)


def look_up(connection: apsw.Connection, sql: str, values: tuple[str, ...]) -> list[tuple[object, ...]]:
    return connection.execute(sql, values).fetchall()


def known_facts(world: World, chosen: Random) -> list[dict[str, str]]:
    """Facts to ask for, in no order."""
    sql = "SELECT subject, predicate, object FROM facts WHERE rowid = ?"
    rows = [world.bare.execute(sql, (chosen.randrange(world.count) + 1,)).fetchone() for _ in range(ROUNDS)]
    return [dict(zip(("subject", "predicate", "object"), map(str, row or ()), strict=True)) for row in rows]


def measure(board: Board, count: int) -> None:
    with a_folder() as folder:
        world = load(board, folder, count)
        ask(board, world)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        board.show("memory in use", used / GIGABYTE, 1, unit=" GB", note="the most at any moment")
        world.bare.close()


def main(arguments: Sequence[str]) -> int:
    board = Board()
    measure(board, int(arguments[1]) if arguments[:1] == ["--facts"] else FACTS)
    return int(board.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
