"""History: every change by day with its difference, and the way back, which is looked at before it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from starlette.responses import Response

from memfolio.arguments import choose
from memfolio.errors import InputError, NotFoundError
from memfolio.index.lookup import by_ids
from memfolio.memory import Memory
from memfolio.serve.cli.output import for_people
from memfolio.serve.page.app import BY, Visit, mark_of
from memfolio.serve.page.show import by_day
from memfolio.text import counted
from memfolio.types import Action
from memfolio.vault.past.view import TrailFilter

PER_PAGE = 50
FILTERS = ("actor", "action", "session", "source")
FINAL = (Action.PURGE, Action.ALERT, Action.ACK)
"""What nothing takes back."""


def _texts(memory: Memory, ids: Sequence[str]) -> dict[str, str]:
    """What memories say, by the indexes that this agent reads."""
    read = partial(by_ids, ids=ids)
    return {each.item.id: each.item.content for index in memory.searcher.indexes() for each in index.read(read)}


def listed(visit: Visit) -> Response:
    """The trail of the whole home, newest first."""
    memory, before = visit.memory, visit.given("before")
    wanted = {name: visit.given(name).strip() for name in FILTERS}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value}
    if "action" in given:
        given["action"] = choose(Action, "action", wanted["action"])
    start = int(before) if before.isdecimal() and len(before) < 16 else None
    texts = partial(_texts, memory)
    entries = memory.audit.entries(TrailFilter(**given), limit=PER_PAGE + 1, before=start, texts=texts)
    shown, home = entries[:PER_PAGE], memory.vault.home
    days = by_day(((datetime.fromisoformat(each.at), each) for each in shown), home.now(), home.zone)
    following = visit.url("history", **wanted, before=shown[-1].seq) if len(entries) > PER_PAGE else ""
    values = {"next": following, "is_first": not before, "actions": sorted(Action), "final": FINAL}
    return visit.show("history.html", days=days, wanted=wanted, **values)


def one(visit: Visit) -> Response:
    """One change with its difference."""
    memory, seq = visit.memory, visit.path["seq"]
    found = memory.audit.entries(TrailFilter(), limit=1, before=seq + 1, texts=partial(_texts, memory))
    if not found or found[0].seq != seq:
        raise NotFoundError(f"There is no change {seq}", hint="the history lists all of them")
    return visit.show("change.html", entry=found[0], diff=for_people(memory.audit.diff(seq)), final=FINAL)


# The way back: of changes, of a whole session, or of all that came from a source.


def _preview(visit: Visit) -> dict[str, Any]:
    """What would be taken back; nothing is done yet."""
    target = {name: value for name in ("seq", "session", "source") if (value := visit.given(name).strip())}
    if len(target) != 1:
        raise InputError("nothing was named to be taken back", hint="choose a change, a session or a source")
    found: dict[str, Any] = {"target": target, "seqs": (), "goes": (), "stays": ()}
    if "source" in target:
        undone = visit.memory.undo(target["source"], every_agent=True, dry_run=True, by=BY)
        found |= {"diff": for_people(undone.diff), "goes": undone.memories, "stays": undone.kept}
    else:
        words = target.get("seq", "").split()
        if not all(word.isdecimal() and len(word) < 16 for word in words):
            raise InputError("that is no number of a change", hint="choose a change of the history")
        outcome = visit.memory.audit.undo([*map(int, words)], session=target.get("session"), by=BY, dry_run=True)
        found |= {"diff": for_people(outcome.diff), "seqs": tuple(sorted(outcome.seqs))}
    return found | {"mark": mark_of(found["diff"], found["seqs"], [each.id for each in found["goes"]])}


def look_back(visit: Visit) -> Response:
    return visit.show("undo.html", is_changed=False, **_preview(visit))


def undo(visit: Visit) -> Response:
    """Take back what was looked at, and nothing else."""
    memory = visit.memory
    with memory.vault.exclusive():
        seen = _preview(visit)
        if visit.given("shown") != seen["mark"]:
            return visit.show("undo.html", 409, is_changed=True, **seen)
        if source := seen["target"].get("source"):
            receipts = memory.undo(source, every_agent=True, by=BY).receipts
            what = f"All that came from {source} is taken back."
        else:
            receipt = memory.audit.undo(seen["seqs"], by=BY).receipt
            receipts = (receipt,) if receipt else ()
            what = f"{counted(len(seen['seqs']), 'change')} taken back."
    return visit.go("history", what, " ".join(str(each.seq) for each in receipts))


ROUTES = (
    *(("GET", "history", listed), ("GET", "history/{seq:int}", one)),
    *(("GET", "undo", look_back), ("POST", "undo", undo)),
)
