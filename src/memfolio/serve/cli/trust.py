"""Commands to look back, go back and check: log, diff, undo, rollback, verify, doctor, alerts, adopt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memfolio.arguments import ANY_ID, choose
from memfolio.errors import ConfigError, InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.mend import in_words, listed
from memfolio.serve.cli.output import Line, Screen, beginning, fields_of, local, page, picked, seq_of, yellow
from memfolio.serve.cli.output import diff as difference
from memfolio.serve.cli.typed import find_time, page_path
from memfolio.text import counted
from memfolio.types import Action
from memfolio.vault.paths import CONFIG, GITIGNORE, Form, form_of

if TYPE_CHECKING:
    from memfolio.govern.account import Changes
    from memfolio.govern.update import Undone
    from memfolio.memory import Memory
    from memfolio.vault.change import UndoResult
    from memfolio.vault.journal import TrailLine
    from memfolio.vault.past.past import TrailEntry
    from memfolio.vault.past.report import Finding

STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}
NARROW = 110
MOST = 20
"""How many memories of a source are listed one by one."""


def log(
    options: Options,
    path: str | None = None,
    /,
    actor: str | None = None,
    action: str | None = None,
    session: str | None = None,
    source: str | None = None,
    about: str | None = None,
    limit: int = 20,
    every: bool = False,
    digest: str | None = None,
) -> Answer:
    from memfolio.vault.past.past import TRIGGER, TrailFilter, write_digest

    with options.memory() as memory:
        if digest is not None:
            text = write_digest(memory.vault, digest, replace(PERSON, trigger=TRIGGER))
            return Answer({"month": digest, "text": text}, page(text))
        done = choose(Action, "action", action.upper()) if action else None
        given = {"path": path, "actor": actor, "action": done, "session": session, "source": source, "about": about}
        is_narrowed = any(each is not None for each in given.values())
        # A person who asks for nothing in particular does not want to read what was counted.
        wanted = TrailFilter(**given, is_whole=every or is_narrowed or options.as_json)  # type: ignore[arg-type]
        entries, zone, head = memory.audit.log(wanted, limit=limit), memory.vault.home.zone, memory.vault.head
        rows, waits = [], "pending" if memory.vault.config.git.enabled else ""
        for each in [] if options.as_json else entries:
            at, commit = local(datetime.fromisoformat(each.at), zone), (each.commit or waits)[:7]
            rows.append((each.seq, at, each.action, each.actor, _about(memory, each), commit))
        is_all_seen = memory.vault.scope is None
    lines: list[Line] = [lambda screen: _draw_entries(screen, rows)]
    if not wanted.is_whole and entries and is_all_seen:
        first = entries[-1].seq if len(entries) == limit else 1
        lines += _folded(head - first + 1 - len(entries), "--all shows them")
    return Answer({"entries": list(map(asdict, entries))}, lines)


def _about(memory: Memory, entry: TrailEntry) -> str:
    """What a change was about, where the trail alone has but the id of a memory: its words."""
    deed, _, named = entry.summary.rpartition(" ")
    found = memory.get(named) if ANY_ID.fullmatch(named) else None
    return f"{deed} {beginning(found.content, 90)}" if found else entry.summary


def _folded(count: int, how: str) -> list[Line]:
    """A line for changes that only count what was told and used, if there are any."""
    counts = counted(count, "count", "counts")
    return [(f"and {counts} of what was added to prompts and used; {how}", "dim")] if count else []


def changed(found: Changes, memory: Memory, every: bool = False) -> Answer:
    from memfolio.govern.account import COUNTED, ConversationChanges
    from memfolio.serve.cli.world import paused

    zone = memory.vault.home.zone
    span = f"{local(found.since, zone)} to {local(found.until, zone)}"
    is_none = "nothing changed" if not found.notes else "no change in the home"
    lines: list[Line] = [(f"{span}: {counted(found.count, 'change') if found.count else is_none}", "bold")]
    if found.notes:
        lines.append((f"notes added or edited: {found.notes}", "cyan"))
        lines += [f"  {local(each.at, zone)}  {each.path}" for each in found.newest_notes]
        lines += _and_more(found.notes - len(found.newest_notes), found.newest_notes)
    for group in found.groups:
        if group.deed == COUNTED and not every:
            lines += _folded(group.count, "--all lists them")
            continue
        lines.append((f"{group.words}: {group.count}", "cyan"))
        told = group.conversations or [ConversationChanges(session=None, count=1, last=each) for each in group.newest]
        for each in told:
            at, said = local(datetime.fromisoformat(each.last.at), zone), beginning(_about(memory, each.last), 90)
            talk = (
                f"{each.count} turns of conversation {each.session or 'without a name'}, the last: "
                if each.count > 1
                else ""
            )
            lines.append(f"  {at}  {talk}#{each.last.seq}  {said}")
        lines += _and_more(group.count - sum(each.count for each in told), told)
    if found.count:
        lines.append(("`memfolio diff NUMBER` shows a change, `memfolio undo NUMBER` undoes it", "dim"))
    if memory.vault.scope is None:  # then there is less of conversations than somebody may expect
        lines += yellow(paused(memory.vault.config))
    return Answer(fields_of(found), lines)


def _and_more(count: int, shown: Sequence[object]) -> list[Line]:
    return [(f"  and {count} more", "dim")] if count and shown else []


def _draw_entries(screen: Screen, rows: Sequence[Sequence[object]]) -> None:
    """The table of changes; a narrow terminal has no room for who did it and for the commit."""
    if screen.console.width < NARROW:
        screen.table(("#", "when", "about"), [(row[0], row[1], row[4]) for row in rows], wide="about")
    else:
        screen.table(("#", "when", "action", "actor", "about", "commit"), rows, wide="about")


def diff(memory: Memory, what: str | None = None, /, since: str | None = None) -> Answer:
    number = int(what) if what and what.isdecimal() else None
    if number is not None and since is not None:
        raise InputError("a change has no --since", hint="name a page, or leave one of them out")
    name = page_path(memory, what) if what and number is None else None
    document: dict[str, Any]
    if since is not None:
        document, text = {"since": since, "page": name}, memory.audit.diff_since(name, _point(memory, since))
    else:
        seq = _newest(memory, name) if number is None else number
        document, text = {"seq": seq}, memory.audit.diff(seq)
    return Answer(document | {"diff": text}, difference(text) if text else "No difference.")


def undo(
    options: Options,
    seqs: list[int] | None = None,
    /,
    actor: str | None = None,
    source: str | None = None,
    session: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Answer:
    if bool(seqs) == bool(actor or source or session):
        raise InputError("name changes, or else an actor, source or session", hint="`memfolio log` shows them all")
    with options.memory() as memory:
        if source and not (actor or session):
            return _undo_source(options, memory, source, dry_run=dry_run, yes=yes)
        asked = False
        outcome = memory.audit.undo(seqs or (), actor=actor, source=source, session=session, by=PERSON, dry_run=True)
        if not dry_run:
            deed = f"undo {counted(len(outcome.seqs), 'change')} of {_names(outcome)}"
            asked = options.confirm(deed, in_words(outcome.diff, memory), yes=yes or not _is_grave(outcome))
            # What was looked at is what is taken back, whatever is added meanwhile.
            outcome = memory.audit.undo(outcome.seqs, by=PERSON)
        seen = sorted(outcome.seqs)
        words = f"change{'s' if len(seen) > 1 else ''} {', '.join(map(str, seen))} undone"
        return _went_back({"undone": seen}, outcome, words, memory, quiet=asked)


def _undo_source(options: Options, memory: Memory, source: str, *, dry_run: bool, yes: bool) -> Answer:
    """Undo everything from a source, after a preview if it is more than one memory.

    The owner undoes it in the whole home; an agent only in its own memory.
    """
    undone = partial(memory.undo, source, every_agent=memory.vault.scope is None, by=PERSON)
    asked = False
    if not dry_run and not yes:
        seen = undone(dry_run=True)
        came = _came(seen, len(seen.memories), f" in {counted(len(seen.paths), 'file')}")
        deed = f"undo {came} of {source}"
        asked = options.confirm(deed, list(_undone(seen, memory)), yes=len(seen.memories) == 1)
    found = undone(dry_run=dry_run)
    ids, seqs = [each.id for each in found.memories], [each.seq for each in found.receipts]
    words = " ".join(map(str, seqs))
    done = f"{source} undone (change {words}); `memfolio undo {words}` restores it"
    lines = [] if asked else list(_undone(found, memory))
    document = {
        "source": source,
        "undone": ids[: found.roots],
        "derived": ids[found.roots :],
        "kept": [each.id for each in found.kept],
        **picked(found, "lifted facts paths diff"),
        "seqs": seqs,
        "seq": seqs[0] if seqs else None,
        "dry_run": dry_run,
    }
    return Answer(document, [*lines, (done if seqs else "Nothing was changed.", "bold")])


def _came(found: Undone, memories: int, files: str = "") -> str:
    """Count the memories to undo, or pages if there are no memories."""
    pages = sum(1 for path in found.paths if form_of(path) is Form.PAGE)
    return counted(pages, "page") if pages and not memories else counted(memories, "memory", "memories") + files


def _undone(found: Undone, memory: Memory) -> Iterator[Line]:
    """Yield the diff, what is undone together with the source's memories, and what stays."""
    yield from in_words(found.diff, memory)
    yield f"{_came(found, found.roots)} from this source", "bold"
    for words, memories in (
        ("derived from that, and removed too:", found.memories[found.roots :]),
        ("kept, because a person confirmed, pinned or wrote it:", found.kept),
    ):
        if memories:
            yield words, "bold"
            yield listed(memories[:MOST], memory.vault.home.zone)
            if len(memories) > MOST:
                yield f"and {len(memories) - MOST:,} more", "dim"
    if found.facts:
        yield f"retracted facts: {'; '.join(found.facts[:MOST])}", "bold"
    if found.lifted:
        yield f"valid again, because what replaced it is removed: {', '.join(found.lifted)}", "bold"


def rollback(
    options: Options, page: str | None = None, /, *, to: str, dry_run: bool = False, yes: bool = False
) -> Answer:
    with options.memory() as memory:
        path, target = page_path(memory, page) if page else None, _point(memory, to)
        asked, outcome = False, memory.audit.rollback(path, to=target, by=PERSON, dry_run=True)
        if outcome.paths and not dry_run:
            deed = f"bring {_names(outcome)} back to {to}"
            asked = options.confirm(deed, in_words(outcome.diff, memory), yes=yes)
            outcome = memory.audit.rollback(path, to=target, by=PERSON)
        return _went_back({"to": to}, outcome, f"{_names(outcome)} as at {to}", memory, quiet=asked)


def _point(memory: Memory, text: str) -> datetime | str:
    """Return the time that `text` names, or else the commit, resolved so that later commits do not change it."""
    home = memory.vault.home
    if moment := find_time(text, home.zone, home.now()):
        return moment
    memory.vault.commit()
    return memory.vault.snapshots.resolve(text)


def _newest(memory: Memory, page: str | None) -> int:
    """Return the newest change, of a page if one is given."""
    from memfolio.vault.past.past import TrailFilter

    entries = memory.audit.log(TrailFilter(path=page), limit=1)
    if not entries:
        raise NotFoundError(f"{page} has no changes", hint="`memfolio log` lists all changes")
    return entries[0].seq


def _went_back(document: dict[str, Any], outcome: UndoResult, words: str, memory: Memory, *, quiet: bool) -> Answer:
    """Describe an undo or rollback; `quiet` if the diff was shown already."""
    seq = seq_of(outcome)
    unchanged = "Nothing was changed." if outcome.paths else "No difference."
    done = f"{words} (change {seq})" if seq is not None else unchanged
    document |= {"paths": outcome.paths, "diff": outcome.diff, "seq": seq, "dry_run": seq is None}
    return Answer(document, [*([] if quiet else in_words(outcome.diff, memory)), (done, "bold")])


def _is_grave(outcome: UndoResult) -> bool:
    """Whether somebody should have a look first: several changes, or the settings of the whole home."""
    return len(outcome.seqs) > 1 or CONFIG in outcome.paths or GITIGNORE in outcome.paths


def _names(outcome: UndoResult) -> str:
    first, *rest = outcome.paths or ("nothing",)
    return f"{first} and {len(rest)} more" if rest else first


def verify(memory: Memory) -> Answer:
    return findings(memory.vault.verify())


def doctor(options: Options) -> Answer:
    from memfolio.serve.cli.world import doors
    from memfolio.vault.past.report import Finding

    try:
        options.config()
    except ConfigError as error:
        # Nothing else can be looked at without it.
        return findings([Finding("error", "configuration", error.message, error.hint)])
    with options.memory() as memory:
        return findings([*memory.vault.doctor(), *_search(memory), *doors(options, memory.vault.home.root)])


def findings(found: list[Finding]) -> Answer:
    failed = any(each.level == "error" for each in found)
    lines: list[Line] = []
    for each in found:
        lines.append((f"{each.level:8}{each.where}: {each.message}", STYLES[each.level]))
        lines += [f"{'':8}{each.hint}"] if each.hint else []
    return Answer({"ok": not failed, "findings": list(map(asdict, found))}, lines, status=int(failed))


def _search(memory: Memory) -> Iterator[Finding]:
    """Yield what search does not cover."""
    from memfolio.vault.past.report import Finding

    memory.recall("anything", limit=1)
    for index in memory.searcher.indexes():
        if index.trouble:
            yield Finding("warning", "index", index.trouble.message, index.trouble.hint)
        for root, why in index.notes.missing().items():
            yield Finding("warning", "notes", f"{root} {why}", "`memfolio watch DIR --stop` if it is gone for good")
    if trouble := memory.searcher.vectorizer.trouble:
        yield Finding("warning", "embedder", trouble.message, trouble.hint)


def alerts(memory: Memory, ack: list[int] | None = None, ack_all: bool = False) -> Answer:
    # Only what is open can be acknowledged: a number that was mistyped must not silence a later alert.
    found = {line.seq: line for line in memory.vault.alerts()}
    seen = list(found) if ack_all else ack or []
    if unknown := [seq for seq in seen if seq not in found]:
        raise NotFoundError(f"there is no open alert {unknown[0]}", hint="`memfolio alerts` lists them")
    if seen:
        memory.acknowledge(seen, PERSON)
    rows = [_alert(memory, line) for line in found.values() if line.seq not in seen]
    return Answer({"alerts": rows, "acknowledged": seen})


def _alert(memory: Memory, line: TrailLine) -> dict[str, Any]:
    """An alert in words, with the change or the memories that it is about."""
    from memfolio.recall.context import describe

    about = memory.vault.trail.line(line.about[0]) if line.about else None
    what = {"change": about.seq, "action": about.action, "actor": about.by.actor, "paths": about.paths} if about else {}
    text = describe(memory.vault, memory.searcher, line)
    return {"seq": line.seq, "at": line.at, "trigger": line.by.trigger, "ids": line.ids, "text": text} | what


def adopt(options: Options, accept_missing: bool = False) -> Answer:
    from memfolio.vault.vault import Vault

    config = options.config()
    with Vault.open(config=config, accept_missing=accept_missing) as vault:
        vault.adopt(accept_missing=accept_missing)
    return Answer({"home": config.home, "machine": config.machine_name})
