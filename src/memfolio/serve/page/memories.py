"""Memories: the list by day or the answers to a question, one memory beside it, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from memfolio.arguments import draft_of
from memfolio.decay import days_until, phase, relevance
from memfolio.errors import EditConflictError, InputError
from memfolio.index.lookup import Located, by_ids, lines_about, memory_columns, turns_around
from memfolio.index.rows import to_us
from memfolio.index.search import ARCHIVED, DORMANT, QUARANTINED, SUPERSEDED, Filter
from memfolio.learn.learned import moment
from memfolio.memory import Memory
from memfolio.recall.hit import Hit
from memfolio.serve.page.app import BY, Visit, mark_of
from memfolio.serve.page.show import LONGEST, by_day
from memfolio.state import Op
from memfolio.stores.edit import note_all
from memfolio.text import counted
from memfolio.types import MemoryItem, Origin, Type, frozen
from memfolio.vault.past.merge import unified
from memfolio.verbs.verb import as_moment

PER_PAGE, ASKED = 50, 30
REACH, SOURCES = 3, 3
"""How many turns before and after are shown with what was said, and of how many sources."""
STATES = {"": "current", QUARANTINED: "quarantined", SUPERSEDED: "corrected", DORMANT: "dormant", ARCHIVED: "archived"}
FILTERS = ("q", "state", "type", "tag", "since", "until", "by", "after")
"""By which somebody came to a list, and its page: looks and decisions bring them back there."""
DONE = {"confirm": "Confirmed", "pin": "Pinned", "unpin": "Unpinned", "forget": "Forgotten", "restore": "Restored"}


@frozen
class Row:
    """A memory as it is listed and decided on."""

    item: MemoryItem
    path: str
    state: str = ""
    form: str = "memory"
    hit: Hit | None = None

    @property
    def mark(self) -> str:
        """Names the memory as it is: a decision holds for nothing else."""
        item = self.item
        return mark_of(item.id, item.content, item.pinned, item.decay_rate, item.superseded_by, item.forgotten_at)


def row_of(found: Located, *, is_strange: bool = True, hit: Hit | None = None) -> Row:
    """`is_strange` says that nobody has confirmed it, should its words be a stranger's."""
    item = found.item
    out = {"forgotten": item.forgotten_at, "archived": found.archived, "corrected": item.superseded_by}
    out["quarantined"] = item.origin is Origin.UNTRUSTED and is_strange
    state = next((name for name, holds in out.items() if holds), "")
    return Row(item=item, path=found.path, state=state, form=found.form, hit=hit)


def _by_time(visit: Visit, wanted: dict[str, str], span: Mapping[str, Any]) -> tuple[list[Row], str]:
    """A page of the list, and the address of the next one; empty where there is none."""
    state, (at, _, last) = wanted["state"], wanted["after"].partition(".")
    fitting = Filter(
        types=(Type(wanted["type"]),) if wanted["type"] else (),
        tags=(wanted["tag"],) if wanted["tag"] else (),
        forms=("memory",),
        only=state if state not in ("", DORMANT) else None,
        **span,
    )
    place, find = (int(at), last) if at.isdecimal() and len(at) < 19 else None, visit.memory.searcher.newest
    found, following = find(fitting, PER_PAGE, place, agent=wanted["by"], is_dormant=state == DORMANT)
    after = visit.url("memories", **wanted | {"after": "{}.{}".format(*following)}) if following else ""
    return [row_of(each, is_strange=state == QUARANTINED) for each in found], after


def _asked(memory: Memory, wanted: Mapping[str, str], span: Mapping[str, Any]) -> tuple[list[Row], Any]:
    """The answers to a question, each with why it was found."""
    names = {"types": "type", "tags": "tag", "agents": "by", "include": "state"}
    given = {**span, **{name: [wanted[one]] for name, one in names.items() if wanted[one]}}
    hits = memory.recall(wanted["q"], limit=ASKED, **given)
    rows = []
    for hit in hits:
        form = "memory" if hit.memory.id[:2] in ("M-", "H-") else "page"
        found = Located(row=0, path=hit.path, form=form, archived=hit.phase == "archived", item=hit.memory)
        row = row_of(found, is_strange=wanted["state"] == QUARANTINED, hit=hit)
        if not wanted["state"] or STATES[wanted["state"]] in (row.state, hit.phase):
            rows.append(row)
    return rows, hits


def _list(visit: Visit) -> dict[str, Any]:
    memory, home = visit.memory, visit.memory.vault.home
    wanted = _wanted(visit)
    if wanted["state"] not in STATES or wanted["type"] not in ("", *Type):
        raise InputError("that is no state or type of memories", hint="choose one of the list")
    span = {name: as_moment(memory, name, wanted[name]) for name in ("since", "until") if wanted[name]}
    hits, following = None, ""
    if wanted["q"]:
        rows, hits = _asked(memory, wanted, span)
        days = [("", rows)]
    else:
        rows, following = _by_time(visit, wanted, span)
        days = by_day(((moment(row.item), row) for row in rows), home.now(), home.zone)
    values = {"next": following, "states": STATES, "types": sorted(Type), "wanted": wanted, "days": days, "hits": hits}
    return {"owners": [index.agent for index in memory.searcher.indexes()], **values}


def _wanted(visit: Visit) -> dict[str, str]:
    return {name: visit.given(name).strip() for name in FILTERS}


def memories(visit: Visit) -> Response:
    """The list, and beside it the memory that the address names; a script that has the list asks for that alone."""
    told = _told(visit, visit.path["id"]) if "id" in visit.path else None
    if visit.request.headers.get("x-part") == "one":
        return visit.show("part.html", one=told, wanted=_wanted(visit))
    return visit.show("memories.html", one=told, **_list(visit))


def _told(visit: Visit, id: str) -> dict[str, Any]:
    memory = visit.memory
    index, found = memory.searcher.require(id)
    explained, item = memory.searcher.explain(index, found), found.item
    is_confirmed = any(line.get("op") == Op.CONFIRM for line in explained.history)
    made = [edge.source for edge in explained.edges if edge.type == "derived_from" and edge.target == item.id]
    said = [item.id] if item.session else [each.id for each in explained.sources[:SOURCES]]
    talks = [(each, index.read(partial(turns_around, id=each, reach=REACH))) for each in said]
    decay, now = memory.vault.config.decay, to_us(memory.vault.home.now())
    life = index.read(lambda db: memory_columns(db, [found.row]))[found.row].life
    share = relevance(life, now, decay)
    # The trail of a large home takes a while to look through, so that is done when somebody asks for it.
    changes = memory.searcher.events(item.id)[::-1] if visit.given("changes") else None
    return {
        "row": row_of(found, is_strange=not is_confirmed),
        "is_confirmed": is_confirmed,
        "heading": found.heading,
        "whole": bool(visit.given("whole")) or len(item.content) <= LONGEST,
        "explained": explained,
        "talks": [(each, talk) for each, talk in talks if len(talk) > 1 or each != item.id],
        "made": [each.item for each in index.read(partial(by_ids, ids=made))],
        "facts": memory.facts.about_memory(item.id),
        "left": {"share": share, "phase": phase(share, decay), "days": days_until(life, now, decay.dormant, decay)},
        "changes": changes,
    }


def decide(visit: Visit) -> Response:
    """Confirm, pin, unpin, forget or restore what is ticked, as one change."""
    ids, deed, memory = visit.form.get("id", []), visit.given("deed"), visit.memory
    if not ids or deed not in DONE:
        raise InputError("Nothing is selected", hint="select memories first")
    with memory.vault.exclusive():  # so that nobody changes them between the look and the deed
        rows = [_row(memory, each) for each in ids]
        if any(row.mark != visit.given(f"shown-{row.item.id}") for row in rows):
            # What was corrected meanwhile is shown as it was and as it is; to go on is meant for the latter.
            said = [visit.given(f"said-{row.item.id}") for row in rows]
            says = [_row(memory, row.item.superseded_by or row.item.id) for row in rows]
            sides = [*zip(said, says, strict=True)]
            return visit.show("conflict.html", 409, sides=sides, deed=deed, wanted=_wanted(visit))
        _do(memory, deed, ids)
        seq = memory.vault.head
    what = f": {counted(len(ids), 'memory', 'memories')}." if len(ids) > 1 else "."
    goal = "review" if visit.given("goal") == "review" else f"memories/{ids[0]}" if visit.given("goal") else "memories"
    return visit.go(goal, f"{DONE[deed]}{what}", seq, **({} if goal == "review" else _wanted(visit)))


def add(visit: Visit) -> Response:
    """Remember what the owner writes down."""
    draft = draft_of(
        content=visit.given("text").strip(), type=visit.given("type"), origin=Origin.OWNER, source="manual"
    )
    receipt = visit.memory.vault.add(visit.agent, [draft], BY)
    return visit.go(f"memories/{receipt.items[0].id}", "Remembered.", receipt.seq)


def _row(memory: Memory, id: str) -> Row:
    index, found = memory.searcher.require(id)
    lines = index.read(partial(lines_about, id=found.item.id))
    return row_of(found, is_strange=all(line.get("op") != Op.CONFIRM for line in lines))


def _do(memory: Memory, deed: str, ids: Sequence[str]) -> None:
    if deed == "forget":
        memory.forget(ids, by=BY)
    elif deed == "restore":
        memory.restore(ids[0], by=BY)
    else:
        line = {"op": Op.CONFIRM.value} if deed == "confirm" else {"op": Op.PIN.value, "pinned": deed == "pin"}
        note_all(memory.vault, memory.searcher, ids, line, BY)


def correct(visit: Visit) -> Response:
    """What a memory should say instead: first the text, then the difference, then the change."""
    memory = visit.memory
    _, found = memory.searcher.require(visit.path["id"])
    said = found.item.content
    base, text = (visit.given(name).replace("\r\n", "\n") if visit.form else said for name in ("base", "text"))
    values: dict[str, Any] = {"row": row_of(found), "base": base, "text": text, "theirs": None}
    values["diff"] = unified(found.item.id, f"{base}\n", f"{text}\n") if text != base else ""
    if visit.given("deed") != "correct":
        return visit.show("correct.html", **values)
    try:
        updated = memory.update(found.item.id, text, base=base, by=BY)
    except EditConflictError as error:  # both sides are shown, and what was written is not lost
        return visit.show("correct.html", 409, **values | {"theirs": error.current})
    kept = " Changes by others since then are kept." if updated.merged else ""
    done = f"Corrected.{kept}" if updated.receipt else "It said that already."
    return visit.go(f"memories/{updated.memory.id}", done, updated.receipt.seq if updated.receipt else "")


ROUTES = (
    *(("GET", "memories", memories), ("POST", "memories", decide), ("GET", "memories/{id}", memories)),
    ("POST", "memories/new", add),
    *(("GET", "memories/{id}/correct", correct), ("POST", "memories/{id}/correct", correct)),
)
