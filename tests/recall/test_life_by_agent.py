"""What an agent brings that learns from the cases of `test_life`: its answers are recorded, and are said again here.

An agent read the turns as `learn` hands them out, with what is known about them, and wrote down statements before it
had seen any question. What it corrects is looked up as it would: among what is known, else by its own question. The
bounds are what is reached: raise them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.types import MemoryItem
from tests.recall.test_life import END, cases, has

ENOUGH = 20
"""After how many turns the agent learns, at the end of a conversation."""


def said(answer: Mapping[str, Any], turns: Sequence[str], known: Sequence[MemoryItem]) -> dict[str, Any]:
    """A recorded answer as a statement: what it corrects is named by how it begins, and left out if it is not known."""
    learned = [item for item in known if not item.role]
    wanted = (next((item.id for item in learned if item.content.startswith(each)), "") for each in answer["corrects"])
    return {"text": answer["text"], "type": answer["type"], "turns": turns, "corrects": list(filter(None, wanted))}


def learn(memory: Memory, ids: Sequence[str]) -> int:
    """Learn as an agent from all turns that wait; returns how many statements were refused."""
    answers, refused = cases("life_by_agent"), 0
    while (lesson := memory.learn()).turns:
        handed = {turn.id for turn in lesson.turns}
        mine = [each for each in answers if max(each["turns"]) < len(ids) and ids[max(each["turns"])] in handed]
        statements = [
            said({"corrects": [], **each}, [ids[nth] for nth in each["turns"]], lesson.known)
            | ({"due": each["due"]} if "due" in each else {})
            for each in mine
        ]
        refused += len(memory.learn(statements, through=lesson.turns[-1].id).refused)
    return refused


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, int]]:
    """A home that heard the life as it went on, in which an agent learned, with how many statements were refused."""
    turns, ids, unread, refused = cases("life"), list[str](), 0, 0
    clock = SettableClock(datetime.fromisoformat(turns[0]["at"]))
    with Memory.open(tmp_path_factory.mktemp("life") / "home", clock=clock, background=False) as memory:
        tended, session = clock.now(), turns[0]["session"]
        for turn in turns:
            at = datetime.fromisoformat(turn["at"])
            if turn["session"] != session and unread >= ENOUGH:
                refused, unread = refused + learn(memory, ids), 0
            if at - tended > timedelta(days=7):
                clock.set(at - timedelta(hours=1))
                memory.tend()
                tended = at
            clock.set(at + timedelta(seconds=1))
            ids.append(memory.observe(turn["role"], turn["text"], session=turn["session"], at=at).id)
            session, unread = turn["session"], unread + 1
        refused += learn(memory, ids)
        clock.set(END)
        memory.tend()
        yield memory, refused


def test_life_is_answered_from_what_an_agent_learned(lived: tuple[Memory, int]) -> None:
    memory, refused = lived
    found = Counter[str]()
    for case in cases("questions"):
        context = memory.context(case["q"]) or ""
        if case["kind"] == "silent":
            found["silent"] += not context or has(context, ["Due now"])  # what is due is told with anything
            continue
        best = memory.recall(case["q"], limit=1)[0].memory.content
        is_first = has(best, case["right"])
        found["told"] += has(context, case["right"])
        found["first"] += is_first
        found["outdated"] += not is_first and has(best, case["wrong"])
    figures = (found["told"] >= 33, found["first"] >= 22, found["silent"] >= 8, found["outdated"] <= 6, refused <= 4)
    assert figures == (True, True, True, True, True), (found, refused)


def test_change_that_an_agent_read_is_told_first_and_what_holds_beside_it_stays(home: Path) -> None:
    pairs, answers = cases("changes"), cases("changes_by_agent")
    start = datetime(2026, 7, 1, tzinfo=UTC)
    with Memory.open(home, background=False) as memory:

        def observe(name: str, first: datetime) -> list[str]:
            rows = [
                {"role": "user", "content": case[name], "session": f"{name}-{nth}", "at": first + timedelta(hours=nth)}
                for nth, case in enumerate(pairs)
            ]
            return [each.id for each in memory.observe_many(rows)]

        old = observe("old", start)
        memory.learn([each["old"] | {"turns": [id_]} for each, id_ in zip(answers, old, strict=True)])
        new, found = observe("new", start + timedelta(days=30)), Counter[str]()
        numbers = {id_: nth for nth, id_ in enumerate(new)}
        memory.sync(embed=True)
        while lesson := [turn for turn in memory.learn().turns if turn.id in numbers]:
            known, statements = memory.learn().known, list[dict[str, Any]]()
            for turn in lesson:
                each = answers[numbers[turn.id]]
                asked = [hit.memory for hit in memory.recall(each["asks"], limit=5)] if "asks" in each else []
                corrects = [answers[numbers[turn.id]]["old"]["text"]] if each["corrects"] else []
                statements.append(said(each["new"] | {"corrects": corrects}, [turn.id], [*known, *asked]))
            found["refused"] += len(memory.learn(statements, through=lesson[-1].id).refused)
        memory.sync(embed=True)
        for case, before, after in zip(pairs, old, new, strict=True):
            best = memory.recall(case["question"], limit=1)[0].memory
            wanted, other = (after, before) if case["kind"] == "change" else (before, after)
            sources = {best.id, *best.derived_from}
            found[case["kind"]] += wanted in sources and other not in sources
    assert (found["change"] >= 50, found["both"] >= 17, found["refused"] <= 2) == (True, True, True), found
