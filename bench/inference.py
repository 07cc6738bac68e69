"""What drawing conclusions costs: `python -m bench.inference`, or a part: `python -m bench.inference closure`.

Exits with 1 when a limit is not kept. `closure` compares with clingo where it is installed, and with the plainest loop:
every rule tried on every fact until nothing is added. `maintain` compares one changed fact with drawing all anew.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from bench.board import Board, a_folder, run, timed
from memfolio.knowledge.engine import Refreshed, count, derive, mark_current, refresh
from memfolio.knowledge.join import Atom, Triple
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, RuleType
from memfolio.memory import Memory

if TYPE_CHECKING:
    import apsw

    from memfolio.index.index import Index

MOST = 10**6
SMALL, CHAIN, NODES, EDGES = 40, 447, 330, 1300
PEOPLE, TEAM, REGIONS = 26_000, 10, 40
TRIES = 60


def rule(name: str, conclusion: Condition, *conditions: Part, factor: float = 0.9) -> Rule:
    return Rule(
        id=f"R-{name}",
        name=name,
        type=RuleType.INFERENCE,
        conditions=conditions,
        conclusion=conclusion,
        factor=factor,
        kept=True,
    )


REACH = [
    rule("direct", Condition("?x", "reaches", "?y"), Condition("?x", "leadsTo", "?y"), factor=1.0),
    rule(
        "further", Condition("?x", "reaches", "?z"), Condition("?x", "leadsTo", "?y"), Condition("?y", "reaches", "?z")
    ),
]
FIRM = [
    rule(
        "region", Condition("?p", "worksIn", "?r"), Condition("?p", "memberOf", "?t"), Condition("?t", "partOf", "?r")
    ),
    rule("boss", Condition("?p", "reportsTo", "?m"), Condition("?p", "memberOf", "?t"), Condition("?t", "ledBy", "?m")),
    rule(
        "chain of command",
        Condition("?p", "reportsTo", "?n"),
        Condition("?p", "reportsTo", "?m"),
        Condition("?m", "reportsTo", "?n"),
    ),
    rule(
        "senior",
        Condition("?p", "is", "senior"),
        Condition("?p", "earns", "?s"),
        Comparison("?s", Operator.GT, "$90,000"),
    ),
    rule(
        "available",
        Condition("?p", "availableIn", "?r"),
        Condition("?p", "worksIn", "?r"),
        Condition("?p", "awaySince", "?d", negated=True),
    ),
    rule(
        "translator",
        Condition("?p", "translatesTo", "?l"),
        Condition("?p", "speaks", "?l"),
        Condition("?p", "is", "senior"),
    ),
]


def chain(length: int) -> list[Triple]:
    return [(f"n{each}", "leadsTo", f"n{each + 1}") for each in range(length)]


def graph() -> list[Triple]:
    chosen = random.Random(3)
    pairs = {(chosen.randrange(NODES), chosen.randrange(NODES)): None for _ in range(EDGES)}
    return [(f"n{source}", "leadsTo", f"n{target}") for source, target in pairs]


def firm() -> list[Triple]:
    """About 10^5 facts about people, their teams, and who leads those: somebody of the team above."""
    chosen = random.Random(5)
    facts: list[Triple] = []
    for team in range(PEOPLE // TEAM):
        facts.append((f"team{team}", "partOf", f"region{chosen.randrange(REGIONS)}"))
        if team:
            facts.append((f"team{team}", "ledBy", f"person{(team - 1) // 8 * TEAM + team % TEAM}"))
    for person in range(PEOPLE):
        name = f"person{person}"
        facts.append((name, "memberOf", f"team{person // TEAM}"))
        facts.append((name, "earns", f"${chosen.randrange(40, 120) * 1000:,}"))
        facts.append((name, "speaks", f"language{chosen.randrange(30)}"))
        if person % 3:
            facts.append((name, "awaySince", "2026-11-01"))
    return facts


def atoms_of(triples: Iterable[Triple]) -> list[Atom]:
    return [Atom(key, *triple) for key, triple in enumerate(triples, 1)]


def naive(facts: Sequence[Atom], rules: Sequence[Rule], until: float = float("inf")) -> list[Atom] | None:
    """The plain loop: no index, everything tried in each round; None when time runs out."""
    new: list[Atom] = []
    existing = {atom.triple for atom in facts}
    is_derived = True
    while is_derived:
        is_derived = False
        everything = [*facts, *new]
        for each in rules:
            head = each.conclusion
            assert head is not None
            for values, supports in matched(each.conditions, everything):
                if time.perf_counter() > until:
                    return None
                triple = values[head.subject], head.predicate, values[head.object]
                if triple not in existing:
                    sure = min(atom.confidence for atom in supports) * each.factor
                    new.append(Atom(-len(new) - 1, *triple, sure))
                    existing.add(triple)
                    is_derived = True
    return new


def bind(condition: Condition, atom: Atom, values: dict[str, str]) -> dict[str, str] | None:
    found = dict(values)
    for term, value in zip(condition.terms, (atom.subject, atom.object), strict=True):
        if (found.setdefault(term, value) if term.startswith("?") else term) != value:
            return None
    return found


def matched(conditions: Sequence[Part], facts: Sequence[Atom]) -> Iterator[tuple[dict[str, str], list[Atom]]]:
    found: list[tuple[dict[str, str], list[Atom]]] = [({}, [])]
    for condition in conditions:
        assert isinstance(condition, Condition)
        found = [
            (met, [*supports, atom])
            for values, supports in found
            for atom in facts
            if atom.predicate == condition.predicate and (met := bind(condition, atom, values)) is not None
        ]
    yield from found


def clingo_closure(triples: Sequence[Triple]) -> set[tuple[str, str]] | None:
    """The same by clingo, from text to a set of pairs; None when it is not installed."""
    try:
        import clingo  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    control = clingo.Control(["--warn=none"])
    edges = " ".join(f"e({source},{target})." for source, _, target in triples)
    control.add("base", [], edges + " r(X,Y) :- e(X,Y). r(X,Z) :- e(X,Y), r(Y,Z). #show r/2.")
    control.ground([("base", [])])
    found: set[tuple[str, str]] = set()
    control.solve(
        on_model=lambda model: found.update(
            (str(each.arguments[0]), str(each.arguments[1])) for each in model.symbols(shown=True)
        )
    )
    return found


def closure(board: Board) -> None:
    loop(board)
    for name, triples in ((f"a chain of {CHAIN}", chain(CHAIN)), (f"{EDGES} edges between {NODES} nodes", graph())):
        against_clingo(board, name, triples)


def loop(board: Board) -> None:
    small = atoms_of(chain(SMALL))
    plain: list[Atom] = []
    took = timed(lambda: plain.extend(naive(small, REACH) or []))
    ours = min(timed(lambda: derive(small, REACH, most=MOST)) for _ in range(5))
    assert {atom.triple for atom in plain} == {atom.triple for atom in derive(small, REACH, most=MOST).derived}
    note = f"{took:.2f} s against {ours * 1000:.1f} ms; {len(plain)} conclusions"
    board.show(f"faster than the plain loop, chain of {SMALL}", took / ours, 20, most=False, note=note)
    large = atoms_of(chain(CHAIN))
    ours = timed(lambda: derive(large, REACH, most=MOST))
    began = time.perf_counter()
    done = naive(large, REACH, until=began + 22 * ours)
    took = time.perf_counter() - began
    note = "it ended" if done is not None else "stopped before its end, so this is the least"
    board.show(f"faster than the plain loop, chain of {CHAIN}", took / ours, 20, most=False, note=note)


def against_clingo(board: Board, name: str, triples: Sequence[Triple]) -> None:
    atoms = atoms_of(triples)
    ours = statistics.median(timed(lambda: derive(atoms, REACH, most=MOST)) for _ in range(3))
    began = time.perf_counter()
    expected = clingo_closure(triples)
    took = time.perf_counter() - began
    found = {(atom.subject, atom.object) for atom in derive(atoms, REACH, most=MOST).derived}
    if expected is None:
        print(f"     {name}: {ours:.2f} s for {len(found):,} conclusions; clingo is not installed, nothing to compare")
        return
    assert found == expected
    note = f"{ours:.2f} s against {took:.2f} s, the same {len(found):,} conclusions"
    board.show(f"clingo's time, {name}", ours / took, 10, note=note)


@contextmanager
def an_index(triples: Sequence[Triple]) -> Iterator[Index]:
    """The index of an empty home, with these facts put into it."""
    with a_folder() as folder, Memory.open(folder / "home", background=False) as memory:
        index = memory.searcher.index
        index.catch_up()
        index.write(lambda connection: put(connection, triples))
        yield index


def put(connection: apsw.Connection, triples: Iterable[Triple], *, is_noted: bool = False) -> None:
    columns = "id, subject, predicate, object, confidence, source, origin, created_at, updated_at, file, ordinal"
    for triple in triples:
        connection.execute(
            f"INSERT INTO facts ({columns}) VALUES ('F', ?, ?, ?, 1.0, 'user', 'user', 0, 0, 0, 0)", triple
        )
        if is_noted:
            note = "INSERT INTO fact_changes VALUES (?, ?, ?, ?)"
            connection.execute(note, (connection.last_insert_rowid(), *triple))


def drop(connection: apsw.Connection, triple: Triple) -> None:
    where = "FROM facts WHERE subject = ? AND predicate = ? AND object = ?"
    connection.execute(f"INSERT INTO fact_changes SELECT row, subject, predicate, object {where}", triple)
    connection.execute(f"DELETE {where}", triple)


def anew(index: Index, rules: Sequence[Rule]) -> float:
    """How long it takes to draw everything."""
    index.write(lambda connection: mark_current(connection, None))
    return timed(lambda: refresh(index, rules, most=MOST))


def maintained(
    index: Index, rules: Sequence[Rule], triples: Sequence[Triple]
) -> tuple[list[float], list[float], list[Refreshed]]:
    """How long it takes to follow the retraction of each of these facts, and its return; and what was done."""
    retracted, asserted, done = [], [], []
    for each in triples:
        index.write(partial(drop, triple=each))
        retracted.append(timed(lambda: done.append(refresh(index, rules, most=MOST))))
        index.write(partial(put, triples=[each], is_noted=True))
        asserted.append(timed(lambda: done.append(refresh(index, rules, most=MOST))))
    return retracted, asserted, done


def p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def maintain(board: Board) -> None:
    triples = firm()
    with an_index(triples) as index:
        full = statistics.median(anew(index, FIRM) for _ in range(3))
        held = index.read(lambda connection: count(connection))
        print(
            f"     {len(triples):,} facts about a firm, {held:,} conclusions by {len(FIRM)} rules: {full:.2f} s in all"
        )
        retracted, asserted, _ = maintained(index, FIRM, random.Random(1).sample(triples, TRIES))
        for name, times in (("retraction", retracted), ("assertion", asserted)):
            for part, spent in (("median", statistics.median(times)), ("p95", p95(times))):
                note = f"{spent * 1000:.2f} ms"
                board.show(f"one {name}, {part}, of drawing all", spent / full * 100, 1, unit=" %", note=note)
        assert held == index.read(lambda connection: count(connection))
    for name, edges in (("the chain", chain(CHAIN)), ("the random graph", graph())):
        closures(name, edges)


def closures(name: str, edges: Sequence[Triple]) -> None:
    """Where one fact may carry half of all conclusions, there is no limit to keep, only to know."""
    with an_index(edges) as index:
        full = anew(index, REACH)
        retracted, asserted, done = maintained(index, REACH, random.Random(1).sample(edges, 8))
        anew_share = sum(each.is_full for each in done) / len(done)
        for what, times in (("retraction", retracted), ("assertion", asserted)):
            low, high = statistics.median(times) / full * 100, max(times) / full * 100
            print(f"     one {what} in {name}: median {low:.0f} %, worst {high:.0f} % of drawing all ({full:.2f} s)")
        print(f"     {anew_share:.0%} of these were drawn anew")


BENCHES = {"closure": closure, "maintain": maintain}

if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
