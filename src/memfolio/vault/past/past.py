"""The past of a home: what each change wrote, the life of a memory, earlier states, undo and rollback, the digest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from memfolio.errors import HistoryError, HomeError, InputError, NotFoundError, RefusedError
from memfolio.text import counted
from memfolio.types import Action, Attribution, check_attribution, frozen
from memfolio.vault.alerts import visible_to
from memfolio.vault.change import Change, UndoResult
from memfolio.vault.disk import disk_errors
from memfolio.vault.journal import FileMark, TrailLine, to_bytes, to_text
from memfolio.vault.lines import record_of, split_lines
from memfolio.vault.log import read_entry_at
from memfolio.vault.move import by_hand, replacing
from memfolio.vault.past.merge import difference
from memfolio.vault.past.undo import (
    Blocks,
    Reversal,
    UndoTarget,
    Versions,
    choose,
    is_rolled_back,
    restore,
)
from memfolio.vault.paths import (
    AUDIT,
    SHARED,
    Form,
    Sensitivity,
    agent_root,
    check_path,
    day_of,
    form_of,
    is_packed_log,
    is_state,
    ledger_of,
    sensitivity,
)

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

# The life of one memory as the trail and the state lines tell it: who wrote it, changed it, took it away.

PURGED = "purged"
Record = Mapping[str, Any]
WORDS = {
    "confirm": "confirmed",
    "tombstone": "forgotten",
    "purge": PURGED,
    "restore": "restored",
    "archive": "archived",
    "access": "recalled",
    "validity": "given its time",
    "edge": "tied",
}
LEFT = {Action.REVERT: "undone", Action.ARCHIVE: "archived", Action.DELETE: "forgotten", Action.PURGE: PURGED}
OUT = frozenset({*LEFT.values(), "deleted"})
"""Deeds that hide a memory."""
MOVES = frozenset({"tombstone", "purge", "restore", "archive"})
"""Operations of state lines that say why a memory left its log or came back."""


@frozen
class Event:
    """One thing that was done to a memory, by whom, and in which change; `text` is what it said from then on."""

    seq: int | None
    at: str
    deed: str
    actor: str
    trigger: str
    text: str | None = None
    by: str | None = None
    """The memory that took its place."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A file's version of the memory before or after a change."""

    path: str
    raw: str
    content: str

    @property
    def is_archived(self) -> bool:
        return ledger_of(self.path) is None


class MemoryHistory:
    """Finds the events of one memory on a walk over the trail."""

    def __init__(self, id: str, days: Iterable[str], states: Iterable[Record]) -> None:
        self.id = id
        self._days = frozenset(days)
        """The days in whose logs it may be or have been."""
        self._states = {str(record.get("id")): record for record in states}
        self._unplaced = dict(self._states)
        self.learned: list[Record] = []
        """State lines about it that an undo removed: they are needed to find their changes."""

    def needles(self) -> list[bytes]:
        """What every line of the trail has that may tell of the memory; large changes do not name all their ids."""
        named = [self.id, *(f"/{day}" for day in self._days), *self._states, '"count":', f'"{Action.REVERT}"']
        return [each.encode() for each in named]

    def events(self, versions: Versions, lines: Iterable[TrailLine]) -> list[Event]:
        """Return the events, oldest first; the lines come newest first."""
        found = [event for line in lines for event in self._in_line(versions, line)]
        rest = [_state_event(record, None) for record in self._unplaced.values()]
        return sorted(chain(reversed(found), rest), key=lambda event: event.at)

    def _in_line(self, versions: Versions, line: TrailLine) -> Iterator[Event]:
        """The events of one change, the last first."""
        records = [record for each, record in self._states.items() if each in self._unplaced and _names(line, each)]
        for record in records:
            del self._unplaced[str(record["id"])]
        moved = self._moved(versions, line)
        is_taken_back = line.action is Action.REVERT and self._take_back(versions, line)
        yield from (_state_event(record, line) for record in reversed(records))
        if moved and not any(record.get("op") in MOVES for record in records):
            yield _event(line, *moved)
        elif is_taken_back and not moved:
            yield _event(line, "undone", None)

    def _take_back(self, versions: Versions, line: TrailLine) -> bool:
        """Whether an undo removed or restored state lines about the memory."""
        sides = [versions.differing(line, mark) for mark in line.files if is_state(mark.path)]
        records = [record_of(to_bytes(text)) for side in sides for blocks in side for _, text in blocks]
        mine = {str(record.get("id")): record for record in records if record.get("memory") == self.id}
        self.learned += [record for each, record in mine.items() if each not in self._states]
        return bool(mine)

    def _moved(self, versions: Versions, line: TrailLine) -> tuple[str, str | None] | None:
        """Return what the change did to the memory in its files, and its text afterwards."""
        if any(map(is_packed_log, line.paths)):
            return None  # the archive is kept in less room
        before, after = list[_Place](), list[_Place]()
        for mark in line.files:
            if form_of(mark.path) is not Form.LOG or str(day_of(mark.path)) not in self._days:
                continue
            if mark.start is not None and self.id not in line.ids and line.count <= len(line.ids):
                continue
            taken, put = versions.differing(line, mark)
            before += self._places(mark.path, taken)
            after += self._places(mark.path, put)
        return _compared(line, before, after)

    def _places(self, path: str, blocks: Blocks) -> Iterator[_Place]:
        for each, text in blocks:
            if each == self.id and (entry := read_entry_at(path, text.lstrip("\n"))):
                yield _Place(path, text.strip("\n"), entry.item.content)
            elif each is None and self.id.startswith("H-"):
                items = [found.entry.item for found in by_hand(path, text)]
                yield from (_Place(path, item.content, item.content) for item in items if item.id == self.id)


def _compared(line: TrailLine, before: Sequence[_Place], after: Sequence[_Place]) -> tuple[str, str | None] | None:
    was, here = ([each for each in places if not each.is_archived] for places in (before, after))
    if was and here:
        is_same = was[0].raw == here[0].raw
        return ("moved", None) if is_same else ("edited", here[0].content)
    if here:
        is_back = bool(before) or line.action in (Action.RESTORE, Action.REVERT)
        return "restored" if is_back else "written", here[0].content
    if was:
        return LEFT.get(line.action, "archived") if after or line.action in LEFT else "deleted", None
    if before and not after:  # out of the archive
        is_meant = line.action in (Action.EDIT, Action.DELETE, Action.PURGE)
        return (PURGED if line.action is Action.PURGE else "deleted", None) if is_meant else None
    return None


def _names(line: TrailLine, id: str) -> bool:
    """Whether a change wrote the state line with this id; of a large one, the times of its ids tell."""
    if line.count <= len(line.ids):
        return id in line.ids
    first, last = sorted((line.ids[0], line.ids[-1]))
    return any(map(is_state, line.paths)) and (id in line.ids or _time(first) <= _time(id) <= _time(last))


def _time(id: str) -> str:
    return id.rpartition("-")[0]


def _event(line: TrailLine, deed: str, text: str | None) -> Event:
    return Event(seq=line.seq, at=line.at, deed=deed, actor=line.by.actor, trigger=line.by.trigger, text=text)


def _state_event(record: Record, line: TrailLine | None) -> Event:
    """Return the event for a state line."""
    by = record.get("by")
    return Event(
        seq=line.seq if line else None,
        at=line.at if line else str(record.get("at", "")),
        deed=_deed_of_event(record),
        actor=str(record.get("actor", line.by.actor if line else "somebody")),
        trigger=str(record.get("trigger", line.by.trigger if line else "")),
        by=by if isinstance(by, str) else None,
    )


def _deed_of_event(record: Record) -> str:
    match record.get("op"):
        case "pin":
            return "pinned" if record.get("pinned", True) is True else "unpinned"
        case "supersede":
            return "corrected" if record.get("by") else "restored"
        case "store":
            return f"moved to {record.get('store')}"
    return WORDS.get(str(record.get("op")), str(record.get("op")))


def last_out(events: Sequence[Event]) -> Event | None:
    """Return the event that hid a memory which is not where it was."""
    return next((event for event in reversed(events) if event.deed in OUT), None)


# The trail as people read it: changes joined with their commits and with what they were about.

SUMMARY_LENGTH = 100
FEW = 5
PROPOSALS = "/memory/meta/proposals/"
BOOKKEEPING = frozenset({"told", "used"})
"""Triggers of changes that only count: what conversations were told, and which memories were used."""
DEEDS = {"tombstone": "forget", "supersede": "correct"}
"""Names of state operations for people, if they differ."""


@frozen
class TrailEntry:
    """One change, ready to be shown. The summary is made when shown; the trail itself holds no content."""

    seq: int
    at: str
    action: Action
    actor: str
    approval: str
    trigger: str
    session: str | None
    paths: tuple[str, ...]
    ids: tuple[str, ...]
    about: tuple[int, ...]
    summary: str
    commit: str | None


@frozen
class TrailFilter:
    """Which changes to show; patterns may use `*`, and a path also stands for everything below it."""

    path: str | None = None
    actor: str | None = None
    action: Action | None = None
    session: str | None = None
    source: str | None = None
    about: str | None = None
    is_whole: bool = True
    """Whether bookkeeping is shown, too: counts of what agents were told and used."""

    def accepts(self, line: TrailLine) -> bool:
        return (
            (self.is_whole or line.by.trigger not in BOOKKEEPING)
            and (self.action is None or line.action is self.action)
            and _fits(self.actor, [line.by.actor])
            and _fits(self.session, [line.by.session or ""])
            and _fits(self.source, [line.by.source or ""])
            and (self.path is None or any(_is_below(path, self.path) for path in line.paths))
        )

    def needles(self) -> list[bytes]:
        """What every line has that the filter may accept, where its rarest condition is no pattern."""
        for name in ("session", "source", "actor", "action"):
            value = getattr(self, name)
            if value and not set("*?[") & set(value):
                return [json.dumps({name: value}, ensure_ascii=False, separators=(",", ":"))[1:-1].encode()]
        return []


def _fits(pattern: str | None, values: Iterable[str]) -> bool:
    return pattern is None or any(fnmatchcase(value, pattern) for value in values)


def _is_below(path: str, wanted: str) -> bool:
    folder = wanted.rstrip("/")
    return fnmatchcase(path, wanted) or path.startswith(f"{folder}/") or path.endswith(f"/{folder}")


Texts = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the texts of memories by id, as far as they exist."""


class View:
    """Shows changes by the text that each of them wrote or removed."""

    def __init__(self, versions: Versions, read: Callable[[str], bytes | None], texts: Texts | None = None) -> None:
        self._versions = versions
        self._read = read
        self._texts = texts

    def entries(
        self,
        lines: Iterable[TrailLine],
        wanted: TrailFilter,
        *,
        limit: int,
        commits: Callable[[Collection[int]], Mapping[int, str]],
    ) -> list[TrailEntry]:
        """The newest of these changes that the filter accepts; the lines come newest first."""
        needle = None if wanted.about is None else wanted.about.casefold()
        accepted = (
            line
            for line in lines
            if wanted.accepts(line) and (needle is None or any(needle in text.casefold() for text in self.of(line)))
        )
        found = [(line, self._summary(line)) for line in islice(accepted, limit)]
        known = commits([line.seq for line, _ in found])
        return [_entry(line, summary, known.get(line.seq)) for line, summary in found]

    def of(self, line: TrailLine) -> Iterator[str]:
        """Yield what the change was about, as far as it is still readable."""
        found = False
        for mark in line.files:
            for text in self._in_file(line, mark):
                found = True
                yield text
        if not found:
            yield from line.paths

    def _in_file(self, line: TrailLine, mark: FileMark) -> Iterator[str]:
        path, form = mark.path, form_of(mark.path)
        if form is Form.PAGE:
            yield self._title(path) if PROPOSALS in path else path
        elif form is Form.LOG and mark.start is not None:
            if added := self._versions.added(line, mark):
                yield to_text(added[added.find(b"## ") :])  # without the title of a new log
        else:
            taken, put = self._versions.differing(line, mark)
            texts = [text for _, text in (*put, *taken)]
            yield from (_known(path, text) for text in texts) if form is Form.LINES and not is_state(path) else texts

    def _summary(self, line: TrailLine) -> str:
        if line.action in (Action.ALERT, Action.ACK):
            return f"about change {', '.join(map(str, line.about))}" if line.about else line.by.trigger
        if line.about:
            return _taken_back(line.about)
        if line.by.trigger == "watch":
            return f"which folders of notes are searched, in {' '.join(line.paths)}"
        if line.by.trigger == "import" and line.action is Action.RESTORE:
            return f"brought back {counted(len(line.paths), 'file')} of an export"
        if line.by.trigger == "import" and line.action is not Action.APPEND and (words := _imported(line)):
            return words
        if deeds := self.deeds(line):
            return deeds[0] if len(deeds) == 1 else f"{len(deeds)} memories: {deeds[0]}"
        words = self.words(line)
        return f"{line.count} entries: {words}" if line.count > 1 else words

    def words(self, line: TrailLine) -> str:
        """The first words that the change wrote."""
        if self._texts and line.action is Action.APPEND and (known := self._texts(line.ids[:1])):
            return first_words(next(iter(known.values())))
        for mark in line.files:
            if form_of(mark.path) is Form.LOG and mark.start is None:
                taken, put = self._versions.differing(line, mark)
                if words := _new_words(taken, put):
                    return words
            elif words := next((first_words(text) for text in self._in_file(line, mark)), ""):
                return words
        return next(iter(line.paths), "")

    def _title(self, path: str) -> str:
        """Return the title of a proposal, or its id if its page is gone."""
        title = first_words((self._read(path) or b"").decode(errors="replace"))
        return title.removeprefix("# ") or f"proposal {path.rpartition('/')[2].removesuffix('.md')}"

    def deeds(self, line: TrailLine) -> list[str]:
        """Return what the change says about memories: the deed, and the memory by its text or its id."""
        ledgers = [mark for mark in line.files if is_state(mark.path) and mark.start is not None]
        lines = [raw for mark in ledgers for raw in split_lines(self._versions.added(line, mark) or b"")]
        records = [record for record in map(record_of, lines) if "op" in record]
        if whole := next((words for record in records if (words := _whole(record))), None):
            return [whole]
        once = list({str(record.get("memory")): record for record in reversed(records)}.values())[::-1]
        if not once:
            return []
        if len(once) > 1 and all(record["op"] == "tombstone" for record in once):
            return [f"forgot {len(once)} memories"]
        logs = [mark for mark in line.files if form_of(mark.path) is Form.LOG]
        blocks = [block for mark in logs for side in self._versions.differing(line, mark) for block in side]
        return [_deed(record, {each: text for each, text in blocks if each}) for record in once]


def _imported(line: TrailLine) -> str:
    """Describe an import of pages; empty if it corrected a memory."""
    pages = sum(1 for path in line.paths if form_of(path) is Form.PAGE)
    if not pages or not any("/meta/imports/" in path for path in line.paths):
        return ""
    more = " and memories" if any(each.startswith("M-") for each in line.ids) else ""
    return f"imported {counted(pages, 'page')}{more} from {(line.by.source or '').removeprefix('import:')}"


def _new_words(taken: Blocks, put: Blocks) -> str:
    """The first line that a person or a merge changed in a log; where they only took away, what that was."""
    before = {line for _, text in taken for line in text.splitlines()}
    lines = [line.strip() for _, text in put for line in _body(text).splitlines() if line not in before]
    words = next((line for line in lines if line and not line.startswith("# ")), "")
    if words or put:
        return words or next((first_words(text) for each, text in put if each), "")
    return next((f"removed {first_words(text)}" for _, text in taken if text.strip()), "")


def _entry(line: TrailLine, summary: str, commit: str | None) -> TrailEntry:
    return TrailEntry(
        seq=line.seq,
        at=line.at,
        action=line.action,
        actor=line.by.actor,
        approval=line.by.approval.value,
        trigger=line.by.trigger,
        session=line.by.session,
        paths=tuple(line.paths),
        ids=line.ids,
        about=line.about,
        summary=summary[:SUMMARY_LENGTH],
        commit=commit,
    )


def _known(path: str, text: str) -> str:
    """A line about a fact, a rule, a case or a run, in words."""
    record = record_of(to_bytes(text))
    op, ledger = str(record.get("op", "")), path.split("/")[-2]
    if ledger == "facts":
        triple = " ".join(str(record.get(name, "")) for name in ("subject", "predicate", "object"))
        return f"{op or 'assert'} {triple}"
    situation = record.get("situation")
    named = ("name", "rule", "case", "procedure", "run", "id")
    name = next((str(record[each]) for each in named if record.get(each)), "")
    about = situation.get("context", "") if isinstance(situation, dict) else ""
    return f"{op} {ledger.removesuffix('s')} {about or name}".strip()


def record_in_words(path: str, line: str, memory: str) -> str:
    """A line of a ledger: of a state ledger what it does to a memory, of which `memory` is the text."""
    if not is_state(path):
        return _known(path, line)
    record = {"op": "", **record_of(to_bytes(line))}
    return _whole(record) or f"{_word(record)} {first_words(memory) or record.get('memory', '')}".strip()


def _taken_back(seqs: Sequence[int]) -> str:
    if len(seqs) <= FEW:
        return f"undoes change {', '.join(map(str, seqs))}"
    return f"undoes {len(seqs)} changes, {min(seqs)} to {max(seqs)}"


def _whole(record: Mapping[str, Any]) -> str | None:
    """Describe a state line that stands for its whole change."""
    match record["op"]:
        case "session":
            return f"learned from conversation {record.get('session')}"
        case "job":
            return f"job {record.get('job')}"
        case "told":
            return "counted what a conversation was told"
        case "review" if "proposal" in record:
            return f"proposal {record['proposal']} {record.get('verdict')}, from {record.get('from')}"
        case "review" if record.get("verdict") == "nothing":
            return "a reflection found nothing to change"
        case "review":
            return f"reflection {record.get('number')} {record.get('verdict', 'proposed')}"
    return None


def _deed(record: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """A state line in words: what it does to which memory, or by which other one it replaces it."""
    named = [str(record[name]) for name in ("by", "memory") if name in record]
    words = next((first_words(known[each]) for each in named if each in known), named[-1] if named else "")
    return f"{_word(record)} {words}".strip()


def _word(record: Mapping[str, Any]) -> str:
    if record["op"] == "pin" and record.get("pinned", True) is not True:
        return "unpin"
    return DEEDS.get(str(record["op"]), str(record["op"]))


def first_words(text: str) -> str:
    """The first line of an entry's content, without its heading and meta lines."""
    return _body(text).strip().partition("\n")[0]


def _body(text: str) -> str:
    """Return the content of an entry; any other text is returned as is."""
    return text.partition("\n\n")[2] or text if text.startswith("## ") else text


# The month's digest: what the trail tells about a month, on one page, without a word of content.

MOST = 10
TRIGGER = "digest"
"""Writing a digest is a change too; left out, so that a digest made twice is the same."""
AUDITOR = Attribution(actor="system:audit", trigger=TRIGGER)
_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])")


def digest_path(month: str) -> str:
    return f"{AUDIT}/{month}/digest.md"


def write_digest(vault: Vault, month: str, by: Attribution = AUDITOR) -> str:
    """Return the page about one month of the trail (`2026-11`), written to `audit/<month>/digest.md` when it changed.

    For a speaker with a limited scope, it covers the visible changes and is not written.
    """
    path = digest_path(check_month(month))
    with disk_errors(vault.home.root):
        text = render_digest(month, vault.told(vault.trail.lines(containing=[month.encode()])))
    page = vault.page(path)
    if vault.can_write and vault.shows(path) and (page is None or page.content != text.encode()):
        vault.put_page(path, text, expects=page.hash if page else None, by=by)
    return text


def check_month(month: str) -> str:
    if not _MONTH.fullmatch(month):
        raise InputError(f"{month[:20]!r} is not a month", hint="write it like 2026-11")
    return month


def render_digest(month: str, lines: Iterable[TrailLine]) -> str:
    """The page for `2026-11`, from the lines of the trail that fall into it."""
    own = [line for line in lines if line.at.startswith(month) and line.by.trigger != TRIGGER]
    first = date.fromisoformat(f"{month}-01")
    sections = [
        f"# Audit digest · {first.strftime('%B %Y')}",
        "## Summary\n\n" + _bullets(_summary(own)),
        "## By action\n\n" + _table("action", Counter(line.action.value for line in own)),
        "## By actor\n\n" + _table("actor", Counter(line.by.actor for line in own)),
        "## Most changed files\n\n" + _table("file", Counter(path for line in own for path in line.paths)),
        "## To look at\n\n" + _bullets(_notable(own) or ["nothing out of the ordinary"]),
    ]
    return "\n\n".join(sections) + "\n"


def _summary(lines: Sequence[TrailLine]) -> list[str]:
    files = {path for line in lines for path in line.paths}
    sessions = {line.by.session for line in lines if line.by.session}
    reflections = {line.by.actor for line in lines if line.by.actor.startswith("reflection:")}
    actions = Counter(line.action for line in lines)
    return [
        f"{counted(len(lines), 'change')} of {counted(len(files), 'file')}, in {counted(len(sessions), 'session')}",
        f"{counted(sum(line.count for line in lines if line.action is Action.APPEND), 'entry', 'entries')} appended",
        f"{counted(len(reflections), 'reflection')}",
        f"{counted(actions[Action.DECAY], 'decay transition')}",
        f"{counted(actions[Action.ARCHIVE], 'archival')}",
        f"{counted(sum(map(_is_critical, lines)), 'change')} of critical files",
    ]


def _notable(lines: Sequence[TrailLine]) -> list[str]:
    kinds = (Action.ALERT, Action.REVERT, Action.PURGE, Action.DELETE)
    chosen = [line for line in lines if line.action in kinds or _is_critical(line)]
    return [
        f"{line.at[:10]}: change {line.seq}, {line.action.value} by {line.by.actor}{_where(line)}" for line in chosen
    ]


def _where(line: TrailLine) -> str:
    if line.paths:
        return f", {line.paths[0]}" + (f" and {len(line.paths) - 1} more" if len(line.paths) > 1 else "")
    return f", about change {', '.join(map(str, line.about))}" if line.about else ""


def _is_critical(line: TrailLine) -> bool:
    return any(sensitivity(path) is Sensitivity.CRITICAL for path in line.paths)


def _table(name: str, counts: Counter[str]) -> str:
    rows = [
        f"| {label} | {number} |"
        for label, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST]
    ]
    return "\n".join([f"| {name} | changes |", "|---|---:|", *rows])


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


# The past of a home: what happened, what it looked like, and how to go back.

Files = dict[str, bytes | None]
_REVERTS = f'"{Action.REVERT.value}"'.encode()


class Past:
    """Looks back and goes back."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def log(self, wanted: TrailFilter | None = None, *, limit: int = 50, before: int | None = None) -> list[TrailEntry]:
        """The newest changes, newest first; with `before`, those with a smaller number."""
        return self.entries(wanted or TrailFilter(), limit=limit, before=before)

    def entries(
        self, wanted: TrailFilter, *, limit: int, before: int | None = None, texts: Texts | None = None
    ) -> list[TrailEntry]:
        """`log`, where `texts` tells what memories say, which spares opening the logs that they stand in."""
        vault = self._vault
        with disk_errors(vault.home.root):
            lines = vault.trail.newest_first(containing=wanted.needles(), before=before)
            view = View(self._versions(self._readable), self._readable, texts)
            return view.entries(vault.told(lines), wanted, limit=limit, commits=vault.commits_of)

    def events(
        self, id: str, days: Collection[str], states: Sequence[Mapping[str, Any]], shows: Callable[[str], bool]
    ) -> list[Event]:
        """Return everything that was done to a memory in the logs of these days, oldest first.

        `states` are the state lines about it, and `shows` decides which files may be mentioned.
        """
        vault, life = self._vault, MemoryHistory(id, days, states)
        with disk_errors(vault.home.root):
            lines = vault.trail.newest_first(containing=life.needles())
            found = life.events(self._versions(self._readable), visible_to(shows, vault.trail, lines))
        return self.events(id, days, [*states, *life.learned], shows) if life.learned else found

    def diff(self, seq: int) -> str:
        """Return the effect of a change as a unified diff."""
        with disk_errors(self._vault.home.root):
            found = self._vault.trail.line(seq)
            line = next(self._vault.told([found] if found else []), None)
            if line is None:
                raise NotFoundError(f"there is no change {seq}", hint="`memfolio log` lists the changes")
            versions = self._versions(self._readable).of(line)
        return "".join(difference(version.path, version.before, version.after) for version in versions)

    def diff_since(self, path: str | None, to: datetime | str) -> str:
        """Return what changed in a page, or in everything, since a moment or commit, as a diff."""
        tip = self._tip()
        with self._vault.writer.ready():
            wanted, current = self._then_and_now(path, to, tip)
        there = {each: current[each] for each in sorted(current) if is_rolled_back(each)}
        return replacing(self._vault, wanted, there)[1]

    def undo(
        self,
        seqs: Sequence[int] | int = (),
        *,
        actor: str | None = None,
        session: str | None = None,
        source: str | None = None,
        by: Attribution,
        dry_run: bool = False,
    ) -> UndoResult:
        """Take back changes by number, or all of an actor, session or source, as one change."""
        check_attribution(by)
        wanted = UndoTarget(seqs=_numbers(seqs), actor=actor, session=session, source=source)
        if self._vault.config.git.enabled and not wanted.seqs:
            self._vault.committer.commit_now(wait=False)  # spares a search; whoever is packing git is not waited for
        return self._vault.compose(partial(self._undo, wanted, by, dry_run=dry_run))

    def _undo(self, wanted: UndoTarget, by: Attribution, *, dry_run: bool) -> UndoResult:
        """Compose an undo, then make it; PageChangedError when a person saved one of the files in between."""
        reversal = self._compose(wanted)
        done = self._revert(reversal.current, reversal.wanted, by, tuple(reversal.seqs), dry_run=dry_run)
        if not done.paths:
            raise NotFoundError(
                f"{wanted.words()} left nothing to undo",
                hint="nothing of it was recorded, or it is gone from the files; `memfolio log` shows what happened",
            )
        return done

    def _revert(
        self, current: Files, wanted: Files, by: Attribution, seqs: tuple[int, ...] = (), *, dry_run: bool
    ) -> UndoResult:
        """Let files become what they were, as one change; none where nothing differs."""
        pages, diff = replacing(self._vault, current, wanted)
        change = Change(operations=tuple(pages), by=by, action=Action.REVERT, about=seqs)
        receipt = self._vault.apply(change) if pages and not dry_run else None
        return UndoResult(diff=diff, paths=tuple(page.path for page in pages), seqs=seqs, receipt=receipt)

    def _compose(self, wanted: UndoTarget) -> Reversal:
        reversal = Reversal(self._now)
        versions = self._versions(reversal.load)
        # Beside the changes that are named, only reverts matter: they say what is undone already.
        named = [f'"seq":{seq},'.encode() for seq in wanted.seqs]
        lines = self._vault.told(self._vault.trail.lines(containing=[*named, _REVERTS] if named else ()))
        for line, is_whole in choose(lines, wanted):
            try:
                found = versions.of(line)
            except RefusedError:
                if wanted.seqs or line.count > len(line.ids):
                    raise
                continue  # all of it was purged: the others are meant too
            if is_whole:
                reversal.take_back(line, found)
            else:
                reversal.take_back_entries(line, found, wanted)
        reversal.finish(self._state())
        return reversal

    def rollback(
        self, path: str | None = None, *, to: datetime | str, by: Attribution, dry_run: bool = False
    ) -> UndoResult:
        """Bring a page, or the whole home, back to a moment or commit; forgotten things stay forgotten."""
        check_attribution(by)
        tip = self._tip()
        with self._vault.writer.ready():
            wanted, current = self._then_and_now(path, to, tip)
            return self._revert(current, {each: wanted[each] for each in sorted(wanted)}, by, dry_run=dry_run)

    def _then_and_now(self, path: str | None, to: datetime | str, tip: str) -> tuple[Files, Files]:
        """Files as they should become and as they are, for everything that differs between the two moments."""
        commit = self._commit_at(to)
        before, after = self._vault.snapshots.files(commit), self._vault.snapshots.files(tip)
        newest = {write.path for record in self._vault.journal.pending for write in record.writes}
        touched = [each for each in {*before, *after, *newest} if before.get(each) != after.get(each) or each in newest]
        touched = [each for each in touched if is_rolled_back(each) and self._vault.shows(each)]
        if path is not None:
            path = check_path(path)
            if not self._vault.shows(path) or (path not in before and path not in after):
                raise NotFoundError(f"there is no page {path}", hint="paths are relative to the home")
            touched = [each for each in touched if each == path]
        then = {each: self._vault.snapshots.read(each, commit=commit) for each in touched}
        now = {each: self._now(each) for each in touched}
        wanted = restore(then, now, self._state(), self._now, f"{self._vault.home.now():%Y-%m}")
        return wanted, {each: now[each] if each in now else self._now(each) for each in wanted}

    def _commit_at(self, to: datetime | str) -> str:
        if isinstance(to, str):
            return self._vault.snapshots.resolve(to)
        commit = self._vault.snapshots.at_time(to)
        if commit is None:
            raise NotFoundError(
                f"the home has no history before {to.isoformat()}", hint="`memfolio log` shows its beginning"
            )
        return commit

    def _tip(self) -> str:
        """The newest commit, with everything in it."""
        if self._vault.commit():
            self._vault.committer.check_room()
            raise HistoryError(
                f"git cannot take the newest changes: {self._vault.committer.obstacle}", hint="free git, then try again"
            )
        tip = self._vault.snapshots.ours()
        if tip is None:
            raise NotFoundError("the home has no history yet", hint="remember something first")
        return tip

    def _versions(self, read: Callable[[str], bytes | None]) -> Versions:
        vault = self._vault
        return Versions(vault.trail, vault.snapshots, list(vault.journal.pending), vault.home.hash, read)

    def _state(self) -> Files:
        """Every state file of the home as it is."""
        owners = [agent_root(agent) for agent in dict.fromkeys((SHARED, *self._vault.agents()))]
        folders = [f"{owner}/memory/meta/state" for owner in owners]
        paths = [f"{folder}/{name}" for folder in folders for name in self._vault.names(folder)]
        return {path: self._vault.read(path) for path in paths if is_state(path)}

    def _now(self, path: str) -> bytes | None:
        """Return a file's content, after recording edits by people."""
        self._vault.writer.reconcile([path])
        return self._vault.read(path)

    def _readable(self, path: str) -> bytes | None:
        """Return a file's content, or None if it cannot be read."""
        with suppress(HomeError):
            return self._vault.read(path)
        return None


def _numbers(seqs: object) -> frozenset[int]:
    """The numbers of changes that a caller names, one or several."""
    numbers = (seqs,) if isinstance(seqs, int) else seqs
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise InputError(f"the changes are a {type(seqs).__name__}", hint="pass their numbers, as in the log")
    found = list(numbers)
    if odd := [each for each in found if isinstance(each, bool) or not isinstance(each, int)]:
        raise InputError(f"a change is a {type(odd[0]).__name__}", hint="pass its number, as in the log")
    return frozenset(found)
