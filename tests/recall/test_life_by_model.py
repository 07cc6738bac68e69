"""What a model in the background brings that says what an agent said in `test_life_by_agent`.

It sees the turns of one conversation and, beside them, what is known. It is asked once and cannot look further: what no
longer holds it can only name where it is shown. The bounds are what is reached: raise them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.testing import ScriptedModel
from memfolio.vault.vault import Vault
from tests.recall.test_life import END, cases, has

pytestmark = pytest.mark.long
LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
Reader = Callable[[Mapping[int, str], Mapping[int, str]], Iterable[dict[str, Any]]]
"""What a model says of the first lines of these turns and of what is known, both by their numbers."""


def script(read: Reader) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A model's script that takes a request apart."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        turns, known = dict[int, str](), dict[int, str]()
        for number, line in LINE.findall(
            next(each["content"] for each in request["messages"] if each["role"] == "user")
        ):
            who, _, said = line.partition(": ")
            (known if who == "known before" else turns)[int(number)] = said
        return {"statements": list(read(turns, known)), "mentions": [], "relations": [], "causes": []}

    return answer


def opened(home: Path, clock: SettableClock, model: ScriptedModel) -> Memory:
    vault = Vault.open(config=load_config(home, overrides={**model.settings, "model_budget": 0}), clock=clock)
    return Memory(vault, "main", background=False)


def first_line(text: str) -> str:
    return " ".join(text.strip().splitlines()[0].split())


def test_change_that_a_model_read_is_told_first_and_what_holds_beside_it_stays(
    home: Path, clock: SettableClock
) -> None:
    pairs, answers = cases("changes"), cases("changes_by_agent")
    by_turn = {
        first_line(case[name]): (answer, name, case)
        for case, answer in zip(pairs, answers, strict=True)
        for name in ("old", "new")
    }

    def read(turns: Mapping[int, str], known: Mapping[int, str]) -> Iterable[dict[str, Any]]:
        for number, said in turns.items():
            answer, name, case = by_turn[said]
            old = (answer["old"]["text"], first_line(case["old"]))
            ends = name == "new" and answer["corrects"]
            corrects = [each for each, text in known.items() if ends and text.rstrip("…").startswith(old)]
            yield answer[name] | {"turns": [number], "corrects": corrects}

    start, found = datetime(2026, 7, 1, tzinfo=UTC), Counter[str]()
    clock.set(start + timedelta(days=140))
    with ScriptedModel(script(read)) as model, opened(home, clock, model) as memory:

        def observe(name: str, first: datetime) -> list[str]:
            rows = [
                {"role": "user", "content": case[name], "session": f"{name}-{nth}", "at": first + timedelta(hours=nth)}
                for nth, case in enumerate(pairs)
            ]
            ids = [each.id for each in memory.observe_many(rows)]
            memory.sync(embed=True)
            memory.tend(jobs=["sessions"])
            clock.advance(days=1)
            return ids

        old, new = observe("old", start), observe("new", start + timedelta(days=30))
        memory.sync(embed=True)
        for case, before, after in zip(pairs, old, new, strict=True):
            best = memory.recall(case["question"], limit=1)[0].memory
            wanted, other = (after, before) if case["kind"] == "change" else (before, after)
            sources = {best.id, *best.derived_from}
            found[case["kind"]] += wanted in sources and other not in sources
    assert (found["change"] >= 45, found["both"] >= 19) == (True, True), found


def test_life_is_answered_from_what_a_model_learned(home: Path) -> None:
    turns, answers = cases("life"), cases("life_by_agent")
    said_in: dict[str, list[int]] = {}
    for nth, turn in enumerate(turns):
        said_in.setdefault(first_line(turn["text"]), []).append(nth)

    def read(shown: Mapping[int, str], known: Mapping[int, str]) -> Iterable[dict[str, Any]]:
        numbers = {nth: number for number, said in shown.items() for nth in said_in[" ".join(said.split())]}
        for answer in (each for each in answers if max(each["turns"]) in numbers):
            ends = tuple(answer.get("corrects", ()))
            yield {
                "text": answer["text"],
                "type": answer["type"],
                "turns": [numbers[nth] for nth in answer["turns"] if nth in numbers],
                "corrects": [number for number, text in known.items() if ends and text.startswith(ends)],
            }

    clock, found = SettableClock(datetime.fromisoformat(turns[0]["at"])), Counter[str]()
    with ScriptedModel(script(read)) as model, opened(home, clock, model) as memory:
        session, tended = turns[0]["session"], clock.now()
        for turn in turns:
            at = datetime.fromisoformat(turn["at"])
            if turn["session"] != session:
                memory.end_session(session)
                session = turn["session"]
            if at - tended > timedelta(days=7):
                clock.set(at - timedelta(hours=1))
                memory.tend()
                tended = at
            clock.set(at + timedelta(seconds=1))
            memory.observe(turn["role"], turn["text"], session=session, at=at)
        memory.end_session(session)
        clock.set(END)
        memory.tend()
        for case in cases("questions"):
            context = memory.context(case["q"]) or ""
            if case["kind"] == "silent":
                found["silent"] += not context or has(context, ["Due now"])
                continue
            best = memory.recall(case["q"], limit=1)[0].memory.content
            is_first = has(best, case["right"])
            found["told"] += has(context, case["right"])
            found["outdated"] += not is_first and has(best, case["wrong"])
    figures = (found["told"] >= 35, found["outdated"] <= 5, found["silent"] >= 8)
    assert figures == (True, True, True), found
