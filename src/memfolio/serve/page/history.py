"""History: every change by day with its difference, and the way back, which is looked at before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from starlette.responses import Response

from memfolio.arguments import choose
from memfolio.errors import InputError, MemfolioError, NotFoundError
from memfolio.index.lookup import by_ids
from memfolio.memory import Memory
from memfolio.serve.cli.output import for_people
from memfolio.serve.page.app import BY, Visit, mark_of
from memfolio.serve.page.show import by_day
from memfolio.text import counted
from memfolio.types import Action
from memfolio.vault.past.past import TrailEntry, TrailFilter
from memfolio.vault.purge.purge import OUT_OF_REACH

PER_PAGE = 50
FILTERS = ("actor", "action", "session", "source")
FINAL = (Action.PURGE, Action.ALERT, Action.ACK)
"""Actions that cannot be undone."""


def _texts(memory: Memory, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of memories, as far as this agent can read them."""
    read = partial(by_ids, ids=ids)
    return {each.item.id: each.item.content for index in memory.searcher.indexes() for each in index.read(read)}


def listed(visit: Visit) -> Response:
    """The trail of the whole home, newest first."""
    memory, before = visit.memory, visit.given("before")
    wanted = {name: visit.given(name).strip() for name in FILTERS}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value}
    if "action" in given:
        given["action"] = choose(Action, "action", wanted["action"])
    start, texts = int(before) if before.isdecimal() and len(before) < 16 else None, partial(_texts, memory)
    is_whole = bool(given) or visit.given("all") == "yes"
    entries = memory.audit.entries(
        TrailFilter(**given, is_whole=is_whole), limit=PER_PAGE + 1, before=start, texts=texts
    )
    shown, home = entries[:PER_PAGE], memory.vault.home
    days = by_day(((datetime.fromisoformat(each.at), each) for each in shown), home.now(), home.zone)
    more = {"all": "yes"} if is_whole and not given else {}
    following = visit.url("history", **wanted, **more, before=shown[-1].seq) if len(entries) > PER_PAGE else ""
    values = {
        "is_whole": is_whole,
        "next": following,
        "is_first": not before,
        "actions": sorted(Action),
        "final": FINAL,
    }
    return visit.show("history.html", days=days, wanted=wanted, **values)


def _entry(memory: Memory, seq: int) -> TrailEntry:
    """Return one change of the trail, with what it is about."""
    found = memory.audit.entries(TrailFilter(), limit=1, before=seq + 1, texts=partial(_texts, memory))
    if not found or found[0].seq != seq:
        raise NotFoundError(f"There is no change {seq}", hint="the history lists all of them")
    return found[0]


def one(visit: Visit) -> Response:
    """One change with its difference."""
    entry = _entry(visit.memory, visit.path["seq"])
    return visit.show("change.html", entry=entry, diff=for_people(visit.memory.audit.diff(entry.seq)), final=FINAL)


# The way back, in every form: what would be done, what is said when it is done, and the act that does it.


def _changes(memory: Memory, **wanted: Any) -> dict[str, Any]:
    """Changes by their numbers, or all of a session."""
    seen = memory.audit.undo(**wanted, by=BY, dry_run=True)
    seqs, count = sorted(seen.seqs), counted(len(seen.seqs), "change")
    numbers = f"change{'s' * (len(seqs) > 1)} {', '.join(map(str, seqs[:20]))}{' …' * (len(seqs) > 20)}"
    title = f"Undo session {wanted['session']}, {count}?" if "session" in wanted else f"Undo {numbers}?"
    act = partial(memory.audit.undo, seqs, by=BY)
    return {"title": title, "told": f"{count} undone.", "act": act, "diff": for_people(seen.diff)}


def _source(memory: Memory, source: str) -> dict[str, Any]:
    """All that came from a source, in the memories of all agents."""
    act, title = partial(memory.undo, source, every_agent=True, by=BY), f"Undo all that came from {source}?"
    seen, told = act(dry_run=True), f"All that came from {source} is undone."
    shown = {"goes": seen.memories, "stays": seen.kept, "diff": for_people(seen.diff)}
    return {"title": title, "told": told, "act": act, **shown}


def _rollback(memory: Memory, seq: int) -> dict[str, Any]:
    """The whole home as it was after a change."""
    memory.vault.commit()
    if (commit := _entry(memory, seq).commit) is None:
        raise InputError(f"git does not have change {seq} yet", hint="Health shows why")
    act, told = partial(memory.audit.rollback, to=commit, by=BY), f"The home is as it was after change {seq}."
    title, diff = f"Set the whole home back to how it was after change {seq}?", for_people(act(dry_run=True).diff)
    return {"title": title, "told": told, "act": act, "diff": diff, "word": "rollback"}


def _purge(memory: Memory, id: str) -> dict[str, Any]:
    """Preview a purge: a memory, what it corrected and what was derived from it alone, gone for good."""
    plan = memory.purge(id, dry_run=True, by=BY).plan
    count = counted(len(plan.memories), "memory", "memories")

    def act() -> None:
        proof = memory.purge(*(each.id for each in plan.memories), by=BY).proof
        if proof and not proof.is_clean:
            left = "; ".join([*proof.left, *proof.unsought])
            raise MemfolioError(f"It is destroyed, but not everywhere: {left}", hint="`memfolio doctor` shows more")

    told = f"{count} destroyed. Nothing of it was found in files, history and index."
    shown = {"plan": plan, "beyond": OUT_OF_REACH, "word": "purge"}
    return {
        "title": f"Destroy {'this memory' if len(plan.memories) == 1 else count} for good?",
        "told": told,
        "act": act,
        **shown,
    }


LOOKS: Mapping[str, Callable[[Memory, str], dict[str, Any]]] = {
    "seq": lambda memory, text: _changes(memory, seqs=[*map(_number, text.split())]),
    "session": lambda memory, text: _changes(memory, session=text),
    "source": _source,
    "to": lambda memory, text: _rollback(memory, _number(text)),
    "purge": _purge,
}


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise InputError("that is not the number of a change", hint="choose a change of the history")
    return int(text)


def _look(visit: Visit) -> dict[str, Any]:
    """Preview an action, with its hash; nothing is done yet."""
    target = {name: value for name in LOOKS if (value := visit.given(name).strip())}
    if len(target) != 1:
        raise InputError("nothing was named to undo", hint="choose a change, a session or a source")
    usual: dict[str, Any] = {"goes": (), "stays": (), "plan": None, "diff": "", "word": "", "trouble": ""}
    found = usual | LOOKS[next(iter(target))](visit.memory, *target.values())
    plan = found["plan"].memories if found["plan"] else ()
    return found | {"target": target, "mark": mark_of(found["title"], found["diff"], plan)}


def undo(visit: Visit) -> Response:
    """Do what was previewed, and nothing else; destructive actions ask for a typed word."""
    vault = visit.memory.vault
    with vault.exclusive():
        seen, before = _look(visit), vault.head
        if visit.given("shown") != seen["mark"]:
            seen["trouble"] = "Something was changed since you looked, and nothing was done. This is how it is now."
        elif seen["word"] and visit.given("word").strip().casefold() != seen["word"]:
            seen["trouble"] = f"Nothing was done: type {seen['word']} to continue."
        else:
            seen["act"]()
            seqs = () if seen["plan"] else range(before + 1, vault.head + 1)
            return visit.go("history", seen["told"], " ".join(map(str, seqs)))
        return visit.show("undo.html", 409, **seen)


ROUTES = (
    *(("GET", "history", listed), ("GET", "history/{seq:int}", one)),
    *(("GET", "undo", lambda visit: visit.show("undo.html", **_look(visit))), ("POST", "undo", undo)),
)
