"""Commands that change what is remembered: forget, restore, correct, confirm, pin, archive; and weak, what fades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, cast

from memfolio.errors import ConflictError, InputError
from memfolio.index.notes import NOTE
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.output import (
    DIFF,
    Line,
    as_document,
    beginning,
    changed_lines,
    diff,
    fields_of,
    for_people,
    happened,
    picked,
    yellow,
)
from memfolio.text import counted
from memfolio.vault.lines import record_of
from memfolio.vault.log import read_log_at
from memfolio.vault.paths import SHARED, Form, form_of
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.govern.update import Updated
    from memfolio.memory import Memory
    from memfolio.stores.edit import EditResult
    from memfolio.tend.retention import Below
    from memfolio.types import MemoryItem

REASONS = {
    "age": "unused for longer than their kind is kept",
    "low importance": "of low importance, and unused for longer than that is kept",
    "high": "of high importance, and unused for longer than that is kept",
    "faded": "faded",
    "relevance": "of lower relevance",
    "importance": "of lower importance, as far as it has not faded",
    "access": "used too long ago or too rarely",
}


WIDTH = 200
"""How much of a memory one line shows."""
LISTED = 90
"""How much of it stands in a list, beside its id."""
MOST_LINES = 40
"""How many lines of a change are shown; `memfolio diff` shows all."""


def in_words(diff: str, memory: Memory, *, pages_only: bool = False) -> list[Line]:
    """A difference for people: each memory that goes or comes on a line, and the lines of pages below their names.

    State lines go along with what is shown, and are told of where there is nothing else.
    """
    entries, pages, records = list[str](), list[str](), dict[str, None]()
    for path, lines in changed_lines(for_people(diff)):
        match form_of(path):
            case Form.LOG:
                entries += [f"{sign}{each}" for sign in "-+" for each in _memories(path, lines, sign)]
            case Form.LINES:
                records |= {f"{sign}{_record(path, text, memory)}": None for sign, text in lines}
            case Form.PAGE:
                pages += [path, *(f"{sign}{text}" for sign, text in lines if text.strip())]
    said = pages if pages_only else [*entries, *pages] or list(records)
    more: list[Line] = [(f"and {counted(len(said) - MOST_LINES, 'more line')}", "dim")] if said[MOST_LINES:] else []
    return [*((each, DIFF.get(each[:1], "bold")) for each in said[:MOST_LINES]), *more]


def _memories(path: str, lines: Sequence[tuple[str, str]], sign: str) -> Iterator[str]:
    """Yield the memories of a log in those of its lines that have this sign."""
    for each in read_log_at(path, "\n".join(text for other, text in lines if other == sign)).entries:
        yield beginning(each.entry.item.content, WIDTH)


def _record(path: str, line: str, memory: Memory) -> str:
    from memfolio.vault.past.past import record_in_words

    named = record_of(line.encode()).get("memory")
    found = memory.get(str(named)) if named else None
    return beginning(record_in_words(path, line, found.content if found else ""), WIDTH)


def forget(
    options: Options,
    what: str = "",
    /,
    about: str | None = None,
    every: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> Answer:
    if bool(what) == bool(about):
        raise InputError("name a memory, or with --about a person or thing", hint="an id, or words that it has")
    with options.memory() as memory:
        if about:
            return _forget_about(options, memory, about, dry_run=dry_run, yes=yes)
        asked = False
        # Where a person is shown all that fit, that is what they agree to; without a look, one description means one.
        is_shown = dry_run or (not yes and options.can_ask)
        edit_result = memory.forget(what, every=every or is_shown, dry_run=True, by=PERSON)
        if not dry_run and not edit_result.hint:
            asked = _asked(options, memory, edit_result, yes=yes)
            edit_result = _forget_seen(memory, what, edit_result.memories)
        return _changed(memory, edit_result, "forgotten", quiet=asked)


def _forget_about(options: Options, memory: Memory, name: str, *, dry_run: bool, yes: bool) -> Answer:
    """Show everything that is remembered about a person or thing, and forget it if the person agrees."""
    found = memory.account.forget_about(name, dry_run=True, by=PERSON)
    counts = [counted(len(found.memories), "memory", "memories")] * bool(found.memories)
    counts += [counted(len(found.facts), "fact")] * bool(found.facts)
    what = " and ".join(counts)
    whole: list[Line] = [listed(found.memories, memory.vault.home.zone)] if found.memories else []
    whole += [f"{each} (fact)" for each in found.facts]
    if not counts:
        whole.append(f"Nothing about {name}.")
    elif not dry_run:
        asked = options.confirm(f"forget {what} about {name}", whole, yes=yes)
        found = memory.account.forget_about(name, by=PERSON)
        whole = [] if asked else whole
        back = " ".join(map(str, found.seqs))
        whole.append((f"{what} forgotten; `memfolio undo {back}` undoes it", "bold"))
    else:
        whole.append(f"This would forget {what}.")
    whole += _kept_notes(memory, found.memories)
    if found.kept:
        whole.append((f"Also names {name} (kept; `memfolio forget ID` forgets one of them):", "yellow"))
        whole.append(listed(found.kept, memory.vault.home.zone))
    whole += yellow(f"{page} names it too, and stays as it is: edit it if you want" for page in found.pages)
    return Answer({**fields_of(found), "dry_run": dry_run}, whole)


def _kept_notes(memory: Memory, memories: Sequence[MemoryItem]) -> list[Line]:
    """Say which files of notes have the text of what is forgotten, and keep it."""
    places = [memory.find(each.id) for each in memories if each.source == NOTE]
    files = dict.fromkeys(each.path for each in places if each)
    return yellow(f"{file} keeps the text: notes are only hidden here" for file in files)


def _asked(options: Options, memory: Memory, edit_result: EditResult, *, yes: bool) -> bool:
    """Show what would be forgotten and ask for confirmation; returns whether the person was asked."""
    count, whose = len(edit_result.memories), ", which all agents share" if _is_shared(memory, edit_result) else ""
    deed = f"forget {f'these {count} memories' if count > 1 else 'this memory'}{whose}"
    return options.confirm(deed, _preview(memory, edit_result), yes=yes)


def _preview(memory: Memory, edit_result: EditResult) -> list[Line]:
    """The memories with their ids, and what changes on pages."""
    listing = listed(edit_result.memories, memory.vault.home.zone)
    return [listing, *in_words(edit_result.diff, memory, pages_only=True)]


def _forget_seen(memory: Memory, what: str, seen: Sequence[MemoryItem]) -> EditResult:
    """Forget what the person has seen, and nothing that matched later."""
    # By its id: words that fitted one memory may fit another one by now.
    if len(seen) == 1:
        return memory.forget(seen[0].id, by=PERSON)
    fits = memory.forget(what, every=True, dry_run=True).memories
    if {each.id for each in fits} != {each.id for each in seen}:
        raise ConflictError(f"the memories that match {what[:60]!r} have changed", hint="look at them again")
    return memory.forget(what, every=True, by=PERSON)


def restore(edit_result: EditResult, memory: Memory, dry_run: bool) -> Answer:
    if not dry_run:
        edit_result = replace(edit_result, memories=tuple(memory.get(each.id) or each for each in edit_result.memories))
    return _changed(memory, edit_result, "restored")


def correct(done: Updated, memory: Memory, id: str) -> Answer:
    found = memory.find(done.memory.id)
    old, path = done.superseded[0] if done.superseded else id, found.path if found else None
    notes = ["merged with changes since then"] if done.merged else []
    against = [f"contradicts {each.id}, which is still valid: {beginning(each.content)}" for each in done.conflicts]
    lines: list[Line] = [
        diff("".join(line for line in done.diff.splitlines(keepends=True)[2:] if line[0] in "+-")),
        (f"{done.memory.id} corrects {old}{'' if done.receipt else ' already'}", "bold"),
        *yellow(notes + against),
        f"{path}",
    ]
    further = {"supersedes": old, "merged": done.merged, "contradicts": [each.id for each in done.conflicts]}
    return Answer(as_document(done.memory, path=path, **further), lines)


def noted(item: MemoryItem, memory: Memory) -> Answer:
    found = memory.find(item.id)
    return Answer(as_document(item, path=found.path if found else None))


def _is_shared(memory: Memory, edit_result: EditResult) -> bool:
    """Whether the memories belong to all agents; those of one change belong together."""
    found = memory.find(edit_result.memories[0].id)
    return found is not None and found.agent == SHARED != memory.agent


def _changed(memory: Memory, edit_result: EditResult, deed: str, *, quiet: bool = False) -> Answer:
    """What forget, restore and archive did; `quiet` when the difference has been shown already."""
    count, document = len(edit_result.memories), dict(documents.edit_result(edit_result))
    lines: list[Line] = []
    if count > 1 and not edit_result.receipt:
        lines = _preview(memory, edit_result)
    elif not quiet:
        sign = "+" if deed == "restored" else "-"
        lines += [(f"{sign}{beginning(each.content, WIDTH)}", DIFF[sign]) for each in edit_result.memories]
        lines += in_words(edit_result.diff, memory, pages_only=True)
    subject = f"{count} memories" if count > 1 else edit_result.memories[0].id
    subject += ", shared by all agents," if _is_shared(memory, edit_result) else ""
    if seq := document["seq"]:
        lines.append((f"{subject} {deed} (change {seq}); `memfolio undo {seq}` undoes it", "bold"))
    else:
        lines.append((f"{subject} would be {deed}. Nothing was changed.", "bold"))
        lines += filter(None, [edit_result.hint])
    if deed == "forgotten":
        lines += _kept_notes(memory, edit_result.memories)
        document["forgotten"] = seq is not None
    return Answer(document, lines)


def listed(memories: Sequence[MemoryItem], zone: tzinfo) -> Line:
    """Memories, one a line."""
    rows = [(each.id, happened(each, zone), each.type, beginning(each.content, LISTED)) for each in memories]
    return lambda screen: screen.table(("id", "when", "type", "memory"), rows, wide="memory", headed=False)


def archive(
    options: Options, id: str | None = None, /, by: str | None = None, below: float | None = None, dry_run: bool = False
) -> Answer:
    chosen = _below(by, below)
    if id is not None and chosen:
        raise InputError("an id and a score are named", hint="name one of them")
    with options.memory() as memory:
        if id is None:
            return _archive_due(memory, chosen, dry_run)
        return _changed(memory, cast("EditResult", memory.archive(id, dry_run=dry_run, by=PERSON)), "archived")


def _below(by: str | None, below: float | None) -> Below | None:
    from memfolio.tend.retention import Below, By

    if (by is None) != (below is None):
        raise InputError("--by and --below belong together", hint="try --by relevance --below 0.2")
    if by is None or below is None:
        return None
    if by not in {each.value for each in By}:
        raise InputError(f"there is no score {by[:40]!r}", hint="it is relevance, age, importance or access")
    return Below(by=By(by), limit=below)


def _archive_due(memory: Memory, below: Below | None, dry_run: bool) -> Answer:
    from memfolio.tend.retention import retain
    from memfolio.tend.tend import job_changes

    changes = job_changes(memory.vault, memory.searcher, dry_run=dry_run)
    found = retain(changes, memory.searcher.index, below, PERSON)
    seqs, reasons = [receipt.seq for receipt in changes.receipts], sorted(found.reasons.items())
    done = (counted(found.memories, "memory", "memories"), counted(len(found.pages), "page"))
    last = f"{', '.join(done)} archived, {counted(len(found.compressed), 'archived log')} compressed"
    if not (found.memories or found.pages or found.compressed):
        last = "Nothing to archive."
    elif dry_run:
        last = f"{last.replace(' archived', ' would be archived')}. Nothing was changed."
    else:
        last += f" (change {', '.join(map(str, seqs))}); `memfolio undo` undoes a change"
    lines: list[Line] = [f"{count:>7,}  {kind:<10}  {REASONS.get(why, why)}" for (kind, why), count in reasons]
    document = {
        "archived": found.memories,
        "reasons": [{"kind": kind, "reason": why, "memories": count} for (kind, why), count in reasons],
        **picked(found, "pages compressed"),
        **picked(changes, "notes diff"),
        "seqs": seqs,
        "dry_run": dry_run,
    }
    return Answer(document, [*lines, *yellow(changes.notes), (last, "bold")])
