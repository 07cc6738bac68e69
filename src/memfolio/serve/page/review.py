"""Review: what waits for the owner, each with its evidence; decided one by one or for all that is ticked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from memfolio.errors import ConflictError, ContentError, InputError, MemfolioError
from memfolio.govern.proposals import Proposal
from memfolio.govern.reflection.page import SECTIONS
from memfolio.index.lookup import count_quarantined
from memfolio.index.search import QUARANTINED, Filter
from memfolio.memory import Memory
from memfolio.recall.context import describe
from memfolio.serve.cli.output import for_people
from memfolio.serve.page.app import BY, Visit
from memfolio.serve.page.memories import row_of
from memfolio.text import counted
from memfolio.vault.journal import TrailLine
from memfolio.vault.past.merge import unified

MOST, DIFFS = 50, 5
"""How many of each kind are shown at once, and how many alerts with what changed."""
STRANGERS = Filter(forms=("memory",), only=QUARANTINED)


def count_waiting(memory: Memory) -> int:
    """How much waits for a decision."""
    reflections, strange = memory.reflections.pending() is not None, memory.searcher.index.read(count_quarantined)
    return len(memory.vault.alerts()) + len(_proposals(memory)) + reflections + strange


def _proposals(memory: Memory, *, all: bool = False) -> list[Proposal]:
    """What is proposed to this agent; with `all`, also what was put off."""
    return [each for each in memory.proposals.pending(all=all) if each.to == memory.agent]


def review(visit: Visit) -> Response:
    memory, alerts, proposals = visit.memory, visit.memory.vault.alerts(), _proposals(visit.memory)
    deferred = [each for each in _proposals(memory, all=True) if each not in proposals]
    strangers, _ = memory.searcher.newest(STRANGERS, MOST, agent=visit.agent)
    visit.page.count(memory)
    return visit.show(
        "review.html",
        alerts=[_alert(memory, line, has_diff=at < DIFFS) for at, line in enumerate(reversed(alerts[-MOST:]))],
        lists=[("Proposals", [*map(_proposed, proposals[:MOST])]), ("Deferred", [*map(_proposed, deferred[:MOST])])],
        broken=[error.message for error in memory.proposals.broken()],
        reflection=_reflection(memory),
        strangers=[row_of(each) for each in strangers],
        more=max(0, len(alerts) - MOST) + max(0, len(proposals) - MOST),
        strange=memory.searcher.index.read(count_quarantined),
    )


def _alert(memory: Memory, line: TrailLine, *, has_diff: bool) -> dict[str, Any]:
    title, *rest = describe(memory.vault, memory.searcher, line).split("\n")
    rest = [each for each in rest if "`memfolio" not in each]  # the page has links for that
    diff = for_people(memory.audit.diff(line.about[0])) if has_diff and line.about else ""
    return {"line": line, "title": title, "rest": rest, "diff": diff}


def acknowledge(visit: Visit) -> Response:
    """The owner has seen these alerts."""
    waiting = {str(line.seq): line.seq for line in visit.memory.vault.alerts()}
    seqs = [waiting[each] for each in visit.form.get("id", []) if each in waiting]
    if not seqs:
        raise InputError("No open alert is selected", hint="select the alerts that you have seen")
    visit.memory.acknowledge(seqs, BY)
    return visit.go("review", f"{counted(len(seqs), 'alert')} acknowledged.")


def _proposed(each: Proposal) -> dict[str, Any]:
    verb, given = each.intent.how, each.intent.arguments
    text = each.intent.text if verb.body else each.intent.named
    diff = unified(each.intent.verb, f"{each.about}\n", f"{text}\n") if each.about and text else ""
    fields = {name: value for name, value in given.items() if name not in (verb.body, "id", "what")}
    return {"proposal": each, "says": verb.says, "text": text or each.about, "diff": diff, "fields": fields}


def decide_proposals(visit: Visit) -> Response:
    """Approve, reject or put off what is ticked; what cannot be decided says why and does not keep the others."""
    proposals, reason, memory = visit.memory.proposals, visit.given("reason").strip(), visit.memory
    acts: Mapping[str, tuple[str, Callable[[str], object]]] = {
        "approve": ("approved", lambda each: proposals.commit(each, shown=visit.given(f"shown-{each}"), by=BY)),
        "reject": ("rejected", lambda each: proposals.reject(each, reason, by=BY)),
        "defer": ("put off", lambda each: proposals.defer(each, by=BY)),
    }
    ids, (word, act) = visit.form.get("id", []), acts.get(visit.given("deed"), ("", None))
    if act is None or not ids:
        raise InputError("Nothing is selected", hint="select proposals, then approve, reject or defer them")
    seqs, left = list[int](), list[str]()
    for each in ids:
        try:
            if proposals.get(each).shown != visit.given(f"shown-{each}"):
                raise ConflictError("it was changed since it was shown")
            act(each)
        except MemfolioError as error:  # each is decided by itself
            left.append(f"{each} was skipped: {error.message}.")
            continue
        memory.vault.refresh()  # another agent's memory may have made the change
        seqs.append(next(memory.vault.changes(containing=[each.encode()], newest_first=True)).seq)
    told = [f"{counted(len(seqs), 'proposal')} {word}."] if seqs else []
    return visit.go("review", " ".join([*told, *left]), " ".join(map(str, seqs)))


def _reflection(memory: Memory) -> dict[str, Any] | None:
    pending = memory.reflections.pending()
    if pending is None:
        return None
    found: dict[str, Any] = {"pending": pending, "sections": [], "questions": (), "edits": {}, "trouble": ""}
    try:
        items = memory.reflections.evidence(pending)
    except ContentError as error:  # a person's edit makes no sense: the page can be mended or rejected
        return found | {"trouble": f"{error.message}; {error.hint}"}
    titled = [(title, [each for each in items if each.item.verb is verb]) for verb, title in SECTIONS.items()]
    sections = [(title.encode("ascii", "ignore").decode().strip(), mine) for title, mine in titled if mine]
    edits = memory.reflections.edits(pending)
    return found | {"sections": sections, "questions": pending.written.questions, "edits": edits}


def decide_reflection(visit: Visit) -> Response:
    """Approve the ticked items of the reflection as it was shown, as one change, or reject all of it."""
    reflections, shown = visit.memory.reflections, visit.given("shown")
    pending = reflections.wanted(shown, edited=True)
    if visit.given("deed") == "reject":
        decided = reflections.reject(visit.given("reason").strip(), by=BY)
    elif ticked := visit.form.get("item", []):
        without = [each for each in pending.items if str(each) not in ticked]
        decided = reflections.approve(shown=shown, without=without, by=BY)
    else:
        raise InputError("No item is selected", hint="select what is right, or reject the reflection")
    done = f" {counted(len(decided.applied), 'item')} applied." if decided.applied else ""
    skipped = "".join(f" {each} was skipped: {why}." for each, why in decided.skipped.items())
    told = f"Reflection {decided.number} {decided.outcome}.{done}{skipped}"
    return visit.go("review", told, decided.receipt.seq if decided.receipt else "")


ROUTES = (
    ("GET", "review", review),
    ("POST", "review/alerts", acknowledge),
    ("POST", "review/proposals", decide_proposals),
    ("POST", "review/reflection", decide_reflection),
)
