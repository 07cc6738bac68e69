"""Moving memories out of the daily logs into their archives, and back.

What is cut is kept byte for byte. The files of a move, the state lines that tell of it and whatever else goes with it
are one change. A memory that returns stands in its log in the order of time, or below the title if it is a note; text
without an id of its own is known by its words alone, so all places of it leave and return together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.types import EMPTY, Action, Attribution, frozen
from memfolio.vault.change import AddLines, Change, Operation, PutPage, UndoResult
from memfolio.vault.fields import MARK
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, pack, plain_name, record_of, split_lines, text_of
from memfolio.vault.log import Block, LogEntry, read_entry_at, read_log_at, split_log
from memfolio.vault.past.merge import difference
from memfolio.vault.paths import (
    Form,
    agent_of,
    archive_log,
    day_of,
    form_of,
    is_daily_log,
    is_state,
    ledger_of,
    page_from_archive,
    place_of,
    state_ledger,
    title_line,
)
from memfolio.vault.reconcile import blocks_of

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

# Single memories of a log: where their exact text lies, how it is cut out, and how it is put in. Pure.

RULE = "\n---\n"
"""Keeps an indented note apart from a bullet above it, which it would otherwise continue."""


@frozen
class Excerpt:
    """One place of a memory in a log: its own text, and all that goes with it; a note has no entry heading."""

    id: str
    start: int
    raw: str
    body: str
    is_note: bool

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


def lead(path: str) -> str:
    """Return the beginning of a new ledger; archived logs have no part numbers."""
    named, day = ledger_of(path), day_of(path)
    return f"{title_line(day, named[1] if named else 1)}\n" if day else ""


def is_bare(path: str, content: bytes) -> bool:
    """Whether nothing but our own title is left of a ledger."""
    return content.strip() in (b"", lead(path).strip().encode())


def by_hand(path: str, text: str) -> list[LogEntry]:
    """The memories of a log that are hand-written text."""
    written = [block for block in _blocks(path, text) if block.kind != "preamble"]
    marks = [block.id for block in written if block.kind == "entry" or block.text.strip()]
    if None not in marks and len(set(marks)) == len(marks):
        return []
    # The zone only tells when something was, never what its id is.
    return list(read_log_at(path, text, marked=False).entries)


def _blocks(path: str, text: str) -> tuple[Block, ...]:
    return split_log(text, agent_of(path) or "")


@lru_cache(maxsize=8)
def memories_in(path: str, content: bytes | None) -> frozenset[str]:
    """The ids of a log's memories, of hand-written text too."""
    text = to_text(content or b"")
    marked = frozenset(block.id for block in _blocks(path, text) if block.id)
    return marked | {found.entry.item.id for found in by_hand(path, text)}


def excerpts(path: str, text: str, ids: Container[str]) -> list[Excerpt]:
    """Every place of these memories, in order. All entries with the same mark go together."""
    hands = [memory for memory in by_hand(path, text) if memory.entry.item.id in ids]
    places = {start: (end, memory.entry.item.id) for memory in hands for start, end in memory.places}
    blocks, found = _blocks(path, text), list[Excerpt]()
    for number, block in enumerate(blocks):
        if block.kind != "entry" or (block.id not in ids and block.start not in places):
            continue
        _, named = places.pop(block.start, (0, None))
        named = block.id if block.id and block.id in ids else named
        if named:
            start, end = _extent(blocks, number)
            raw = text[start:end]
            found.append(Excerpt(id=named, start=start, raw=raw, body=raw.strip("\n"), is_note=False))
    found += [_note(path, text, named, start, end) for start, (end, named) in places.items()]
    return sorted(found, key=lambda each: each.start)


def without_copied_marks(
    path: str, text: str, ids: Collection[str], first_words: MutableMapping[str, str]
) -> tuple[str, set[str]]:
    """The log with no mark on copied entries that are memories of their own, and the marks that were taken off.

    Such are entries with the mark of one of `ids` that say something else than its first place, which `first_words`
    has by the id of its words; and those that are themselves among `ids`, by the id of their words.
    """
    asked = {each for each in ids if each.startswith("H-")}
    unmarked = {found.entry.item.id for found in by_hand(path, text)} if asked else set()
    seen, copies = set[str](), list[Block]()
    for block in (block for block in _blocks(path, text) if block.id and (asked or block.id in ids)):
        mark, words = str(block.id), _id_of_words(path, block.text)
        is_other = mark in ids and first_words.setdefault(mark, words) != words
        if is_other or (words in asked and (mark in seen or words not in unmarked)):
            copies.append(block)
        seen.add(mark)
    for block in reversed(copies):
        rest = text[block.start + len(block.text) :]
        text = text[: block.start] + re.sub(f"(?m){MARK}", "", block.text, count=1) + rest
    return text, {block.id for block in copies if block.id}


def _id_of_words(path: str, block: str) -> str:
    """The id of an entry that has no mark, or whose mark is another's."""
    entry = read_entry_at(path, block, marked=False)
    return entry.item.id if entry else ""


def cut(text: str, taken: Iterable[Excerpt]) -> str:
    """The text without these excerpts, the rest character for character; notes do not run into those before them."""
    for each in sorted(taken, key=lambda each: -each.start):
        rest = text[each.end :]
        text = text[: each.start] + (RULE if each.is_note and _is_indented(rest) else "") + rest
    return text


def _is_indented(text: str) -> bool:
    return text.lstrip("\r\n").startswith((" ", "\t"))


def _extent(blocks: Sequence[Block], number: int) -> tuple[int, int]:
    """Where an entry of a log begins and ends with what goes with it.

    That is what `ledger_blocks` counts as its own: the blank lines before it, and its own line end. Text right below
    it needs a blank line once the entry is gone, so that one stays.
    """
    block, following = blocks[number], blocks[number + 1 : number + 2]
    start, end = (_own_end(blocks, each) if each >= 0 else 0 for each in (number - 1, number))
    is_followed = any(each.kind == "text" and each.start == end and each.text[0] != "\n" for each in following)
    return start + 1 if is_followed and start < block.start else start, end


def _own_end(blocks: Sequence[Block], number: int) -> int:
    """Where a block ends without the blank lines behind it, which belong to the next one."""
    block = blocks[number]
    is_last = number + 1 == len(blocks)
    return block.start + (len(block.text) if is_last else min(len(block.text.rstrip("\n")) + 1, len(block.text)))


def _note(path: str, text: str, id: str, start: int, end: int) -> Excerpt:
    """The note in `text[start:end]`, with the blank line before it if one follows, and the rule that an archive has."""
    body, before = text[start:end].strip("\n"), text[:start]
    if before.endswith("\n\n") and text[end : end + 1] in ("", "\n"):
        start -= 1
        if ledger_of(path) is None and before.endswith(f"\n{RULE}\n"):
            start -= len(RULE)
    return Excerpt(id=id, start=start, raw=text[start:end], body=body, is_note=True)


def with_excerpts(path: str, text: str, taken: Iterable[Excerpt]) -> str:
    """The log with these memories too: marked entries by the time in their ids, others at its end, notes at its top."""
    taken = list(taken)
    blocks = _blocks(path, text)
    places = [(n, _time_of(block.id)) for n, block in enumerate(blocks) if block.kind == "entry"]
    end = len(text)
    # The latest first: the places in front of what is put in stay what they are.
    entries = sorted((each for each in taken if not each.is_note), key=lambda each: _time_of(each.id))
    for each in reversed(entries):
        own = _time_of(each.id)
        later = next((number for number, time in places if time > own), None) if own else None
        at = (end if own else len(text)) if later is None else _extent(blocks, later)[0]
        text = joined(text, at, each.body)
    return with_notes(path, text, [each.body for each in taken if each.is_note])


def _time_of(mark: str | None) -> int:
    """The milliseconds in an id; 0 where it has none."""
    digits = (mark or "").split("-")[1] if (mark or "").startswith("M-") else ""
    return int(digits) if digits.isdecimal() else 0


def with_notes(path: str, text: str, notes: Sequence[str]) -> str:
    """The log with notes below its title, where they are in no section of others."""
    first = next(iter(_blocks(path, text)), None)
    top = first.text.rstrip("\n") if first and first.kind == "preamble" else ""
    at = min(len(top) + 1, len(first.text)) if first and top else 0
    for body in reversed(notes):
        text = joined(text, at, body + (RULE if _is_indented(text[at:]) else ""))
    return text


def joined(text: str, at: int, body: str) -> str:
    """The text with `body` at `at`, between blank lines."""
    before, after = text[:at], text[at:]
    blank = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{blank}{body}\n" + ("" if after[:1] in ("", "\n") else "\n") + after


def into_archive(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> bytes:
    """An archived log with these excerpts too, in place of equal ones that it has and before older states of them."""
    text, taken = to_text(content) if content else lead(path), list(taken)
    there = excerpts(path, text, {each.id for each in taken})
    bodies = {(each.id, each.body) for each in taken}
    kept = [*taken, *(each for each in there if (each.id, each.body) not in bodies)]
    text = with_notes(path, cut(text, there), [each.body for each in kept if each.is_note])
    text += "" if text.endswith("\n") or not text else "\n"
    return to_bytes(text + "".join(f"\n{each.body}\n" for each in kept if not each.is_note))


# Moving memories between the logs and their archives, as one change.

Files = Mapping[str, bytes | None]
Places = Mapping[str, Collection[str]]
"""Which memories of which files, by path and id."""

Records = Sequence[Mapping[str, Any]]
Beside = Callable[[], Iterable[PutPage]]
Composed = tuple[Files, Files]
"""Files as they are, and as they will be."""


def cut_out(
    vault: Vault,
    places: Places,
    *,
    agent: str | None = None,
    by: Attribution,
    action: Action = Action.DELETE,
    records: Records = (),
    beside: Beside = tuple,
    dry_run: bool = False,
) -> UndoResult:
    """Move these memories from the daily logs to the archive and append `records` to the agent's state, as one change.

    `agent` says whose state, where no log is named. The pages that `beside` composes are put by the same change. Raises
    NotFoundError when a memory is not in its file.
    """
    agent = agent if agent and not places else _agent_of(places)
    compose = partial(_cut, vault, places)
    return _make(vault, compose, agent=agent, by=by, action=action, records=records, beside=beside, dry_run=dry_run)


def departure(vault: Vault, agent: str, places: Places, records: Records) -> tuple[list[Operation], str]:
    """What `cut_out` would do as a part of a larger change, and the difference that it makes to the files."""
    operations, _, diff = _steps(vault, agent, _cut(vault, places), records)
    return operations, diff


def put_back(
    vault: Vault, places: Places, *, by: Attribution, records: Records = (), dry_run: bool = False
) -> UndoResult:
    """Move these memories from the archive to their logs and append `records` to the state, as one change.

    Paths are those of daily logs, of their archives, compressed or not, or of archived pages, which return as a whole.
    A memory that is in its log already stays as it is. Raises NotFoundError when one is neither there nor in the
    archive, ConflictError when something else has the name of a page.
    """

    def compose() -> Composed:
        before = {each: vault.read(each) for path in places for each in _all_of(path)}
        return before, compose_return(before, places)

    agent = _agent_of(places)
    return _make(vault, compose, agent=agent, by=by, action=Action.RESTORE, records=records, dry_run=dry_run)


def compose_cut(files: Files, places: Places) -> dict[str, bytes | None]:
    """The logs without these memories, and their archives with them.

    Of an entry that stands in several places the first one counts: copies of it that say something else stay, as
    memories of their own.
    """
    after, first_words = dict[str, bytes | None](), dict[str, str]()
    for path, ids in places.items():
        target = archive_log(_checked(path))
        text, copied = without_copied_marks(path, to_text(files.get(path) or b""), ids, first_words)
        taken = excerpts(path, text, frozenset(ids))
        _check_found(set(ids) - copied, taken, path)
        after[path] = to_bytes(cut(text, taken))
        if taken:
            after[target] = into_archive(target, files.get(target), taken)
    return after


def compose_return(files: Files, places: Places) -> dict[str, bytes | None]:
    """The logs with these memories again, and their archives without them."""
    after: dict[str, bytes | None] = {}
    for path, ids in places.items():
        if page := page_from_archive(path):
            after |= _return_page(files, path, page)
            continue
        log, source = _log_and_archive(path, files)
        content = after.get(log, files.get(log))
        named, archive = plain_name(source), to_text(text_of(source, files.get(source) or pack(source, b"")))
        wanted = frozenset(ids) - memories_in(log, content)
        found = excerpts(named, archive, wanted)
        _check_found(wanted, found, source)
        if returning := [each for each in found if _is_newest(each, found)]:
            text = lead(log) if content is None else to_text(content)
            rest = to_bytes(cut(archive, returning))
            after[log] = to_bytes(with_excerpts(log, text, returning))
            after[source] = None if is_bare(named, rest) else pack(source, rest)
    return after


def _is_newest(taken: Excerpt, found: Iterable[Excerpt]) -> bool:
    """Whether an excerpt says what the first one of its memory does; those that say otherwise are older states."""
    first = next(each for each in found if each.id == taken.id)
    return taken.id.startswith("H-") or taken.body == first.body


def _return_page(files: Files, path: str, page: str) -> Files:
    content = files.get(path)
    if content is None:
        raise NotFoundError(f"{path} is not there", hint="somebody may have moved it; look for it again by its words")
    if files.get(page) not in (None, content):
        raise ConflictError(f"{page} is there already", hint="rename that page first")
    return {page: content, path: None}


def _make(
    vault: Vault,
    compose: Callable[[], Composed],
    *,
    agent: str,
    by: Attribution,
    action: Action,
    records: Records,
    beside: Beside = tuple,
    dry_run: bool,
) -> UndoResult:
    """Compose a move and make it."""

    def attempt() -> UndoResult:
        operations, changed, diff = _steps(vault, agent, compose(), records)
        pages = list(beside())
        operations += pages
        changed += tuple(page.path for page in pages)
        diff += "".join(difference(page.path, vault.content(page.path), page.content) for page in pages)
        if dry_run or not operations:
            return UndoResult(diff=diff, paths=changed)
        receipt = vault.apply(Change(operations=tuple(operations), by=by, action=action))
        return UndoResult(diff=diff, paths=receipt.paths, receipt=receipt)

    return vault.compose(attempt)


def _cut(vault: Vault, places: Places) -> Composed:
    before = {path: vault.read(path) for path in (*places, *map(archive_log, places))}
    return before, compose_cut(before, places)


def _steps(
    vault: Vault, agent: str, composed: Composed, records: Records
) -> tuple[list[Operation], tuple[str, ...], str]:
    """The operations of a move, the files that they change, and the difference that this makes."""
    pages, diff = replacing(vault, *composed)
    lines = [AddLines(state_ledger(agent), tuple(records))] if records else []
    return [*pages, *lines], tuple(page.path for page in pages), diff


def replacing(vault: Vault, before: Files, after: Files) -> tuple[list[PutPage], str]:
    """Files that become others, each composed against what was read of it, and the difference that this makes."""
    changed = {path: before.get(path) for path, content in after.items() if content != before.get(path)}
    hashes = {path: None if content is None else vault.home.hash(content) for path, content in changed.items()}
    pages = [PutPage(path, after[path], hashes[path]) for path in changed]
    return pages, "".join(difference(path, content, after[path]) for path, content in changed.items())


def _agent_of(places: Places) -> str:
    agents = {agent_of(path) for path in places}
    agent = agents.pop() if len(agents) == 1 else None
    if agent is None:
        raise InputError("the memories to move are not of one agent", hint="move those of each agent on their own")
    return agent


def _checked(path: str) -> str:
    if not is_daily_log(path):
        raise InputError(f"{path} is not a daily log", hint="name the log in which the memory stands")
    return path


def _all_of(path: str) -> list[str]:
    """The files that the return of a memory may touch, whichever of them is named."""
    if page := page_from_archive(path):
        return [path, page]
    log = _log_of(path)
    return [log, archive_log(log), f"{archive_log(log)}{SUFFIX}"]


def _log_and_archive(path: str, files: Files) -> tuple[str, str]:
    """A daily log and its archive, whichever of the two is named; a compressed one where there is no other."""
    log = _log_of(path)
    if path != log:
        return log, path
    archive = archive_log(log)
    packed = f"{archive}{SUFFIX}"
    return log, packed if files.get(archive) is None and files.get(packed) is not None else archive


def _log_of(path: str) -> str:
    if is_daily_log(path):
        return path
    named = PurePosixPath(plain_name(path))
    return _checked(str(named.parents[min(2, len(named.parents) - 1)] / named.name))


def _check_found(ids: Iterable[str], found: Iterable[Excerpt], path: str) -> None:
    if missing := sorted(set(ids) - {each.id for each in found}):
        raise NotFoundError(
            f"{missing[0]} is not in {path}",
            hint="somebody may have moved or edited it; look for it again by its words",
        )


# What was forgotten, and is never brought back: state lines say it, and outlive every rollback.

TOMBSTONE = "tombstone"
PURGE = "purge"
LIFT = "restore"
LASTING = frozenset({TOMBSTONE, PURGE})
"""Operations of state lines that outlive a rollback; a tombstone only as long as no later line lifts it."""

_TELLING = (TOMBSTONE.encode(), PURGE.encode(), LIFT.encode())


def lasting_lines(files: Files) -> dict[str, list[bytes]]:
    """Each state file's lines that outlive a rollback."""
    lasting: dict[str, list[bytes]] = {}
    lifted: set[tuple[str, Any]] = set()
    for path, raw in _newest_first(files):
        record = record_of(raw)
        about = (place_of(path)[0], record.get("memory"))
        if record.get("op") == LIFT:
            lifted.add(about)
        elif record.get("op") == PURGE or (record.get("op") == TOMBSTONE and about not in lifted):
            lasting.setdefault(path, []).append(raw)
    return {path: lasting[path][::-1] for path in sorted(lasting, key=place_of)}


def _newest_first(files: Files) -> Iterator[tuple[str, bytes]]:
    """The lines of state files that may forget something or lift that, each ledger from its end to its beginning."""
    for path in sorted(filter(is_state, files), key=place_of, reverse=True):
        for raw in reversed(split_lines(files[path] or b"")):
            # Nearly all lines are about something else: they need not be read.
            if any(each in raw for each in _TELLING):
                yield path, raw


def forgotten_by(lasting: Mapping[str, list[bytes]], operations: Container[str] = LASTING) -> frozenset[str]:
    """The memories that these state lines forget or purge."""
    records = [record_of(raw) for lines in lasting.values() for raw in lines]
    memories = (record.get("memory") for record in records if record.get("op") in operations)
    return frozenset(memory for memory in memories if isinstance(memory, str))


def without(path: str, content: bytes, ids: Container[str]) -> bytes:
    """Return a ledger without the lines, entries and hand-written text of these ids, the rest byte for byte."""
    if form_of(path) is not Form.LOG:
        return to_bytes("".join(text for each, text in blocks_of(path, content) if each not in ids))
    text = to_text(content)
    return to_bytes(cut(text, excerpts(path, text, ids)))


def without_forgotten(
    path: str, content: bytes, paths: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[bytes, list[Excerpt]]:
    """Return a log's content without what the state files among `paths` forget, and what its archive may keep of it.

    Other files are returned unchanged.
    """
    if form_of(path) is not Form.LOG:
        return content, []
    lasting = lasting_lines({each: read(each) for each in paths if is_state(each)})
    forgotten, purged = forgotten_by(lasting), forgotten_by(lasting, {PURGE})
    if not forgotten:
        return content, []
    text = to_text(content)
    taken = excerpts(path, text, forgotten)
    return to_bytes(cut(text, taken)), [each for each in taken if each.id not in purged]


def archive_of(path: str) -> str:
    """The archive of a log; an archived log is its own."""
    return archive_log(path) if ledger_of(path) else path


def missing_from(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> list[Excerpt]:
    """Return the excerpts whose memory is in no form in an archive: two with one id could not be told apart."""
    there = memories_in(path, content)
    return list({each.id: each for each in taken if each.id not in there}.values())


def archived_memories(
    wanted: Files,
    now: Files,
    purged: frozenset[str],
    read: Callable[[str], bytes | None],
    more: Mapping[str, Sequence[Excerpt]] = EMPTY,
) -> dict[str, bytes | None]:
    """The archives of the logs that memories leave, with them in it; `more` is what else was cut out of each log."""
    archives: dict[str, bytes | None] = {}
    logs = [path for path in wanted if is_daily_log(path)]
    kept = purged.union(*(memories_in(path, wanted[path]) for path in logs))
    for path in logs:
        before = now.get(path)
        leaving = memories_in(path, before) - kept
        left = excerpts(path, to_text(before or b""), leaving) if leaving else []
        known = kept | {each.id for each in left}
        if left := [*left, *(each for each in more.get(path, ()) if each.id not in known)]:
            target = archive_log(path)
            archives[target] = into_archive(target, read(target), left)
    return archives
