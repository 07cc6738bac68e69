"""The trail as people read it: changes joined with their commits and with what they were about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from memfolio.types import Action
from memfolio.vault.audit import FileMark, TrailLine
from memfolio.vault.format.lines import split_lines
from memfolio.vault.past.rollback import is_state, record_of
from memfolio.vault.past.walk import Blocks, Walk
from memfolio.vault.paths import Form, form_of
from memfolio.vault.recent import to_bytes, to_text

SUMMARY_LENGTH = 100
FEW = 5
PROPOSALS = "/memory/meta/proposals/"
DEEDS = {"tombstone": "forget", "supersede": "correct"}
"""What people call the operations of state lines, where they call them otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which changes to show; patterns may use `*`, and a path also stands for everything below it."""

    path: str | None = None
    actor: str | None = None
    action: Action | None = None
    session: str | None = None
    source: str | None = None
    about: str | None = None

    def accepts(self, line: TrailLine) -> bool:
        return (
            (self.action is None or line.action is self.action)
            and _fits(self.actor, [line.by.actor])
            and _fits(self.session, [line.by.session or ""])
            and _fits(self.source, [line.by.source or ""])
            and (self.path is None or any(_is_below(path, self.path) for path in line.paths))
        )


def _fits(pattern: str | None, values: Iterable[str]) -> bool:
    return pattern is None or any(fnmatchcase(value, pattern) for value in values)


def _is_below(path: str, wanted: str) -> bool:
    folder = wanted.rstrip("/")
    return fnmatchcase(path, wanted) or path.startswith(f"{folder}/") or path.endswith(f"/{folder}")


KNOWLEDGE = "/knowledge/"


class View:
    """Shows the trail."""

    def __init__(
        self, walk: Walk, read: Callable[[str], bytes | None], commits: Callable[[Collection[int]], Mapping[int, str]]
    ) -> None:
        self._texts = _Texts(walk, read)
        self._commits = commits

    def entries(self, lines: Iterable[TrailLine], wanted: Filter, *, limit: int) -> list[LogEntry]:
        """The newest of these changes that the filter accepts; the lines come from the walk, newest first."""
        found = [self._entry(line) for line in islice(self._accepted(lines, wanted), limit)]
        commits = self._commits([each.seq for each in found])
        return [replace(each, commit=commits.get(each.seq)) for each in found]

    def _accepted(self, lines: Iterable[TrailLine], wanted: Filter) -> Iterator[TrailLine]:
        needle = None if wanted.about is None else wanted.about.casefold()
        for line in lines:
            if wanted.accepts(line) and (needle is None or self._tells(line, needle)):
                yield line

    def _tells(self, line: TrailLine, needle: str) -> bool:
        return any(needle in text.casefold() for text in self._texts.of(line))

    def _entry(self, line: TrailLine) -> LogEntry:
        return LogEntry(
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
            summary=_summary(line, self._texts),
            commit=None,
        )


class _Texts:
    """The words of changes, as each of them wrote or took them away."""

    def __init__(self, walk: Walk, read: Callable[[str], bytes | None]) -> None:
        self._walk = walk
        self._read = read

    def of(self, line: TrailLine) -> Iterator[str]:
        """What the change was about, as far as it can still be read."""
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
            if added := self._walk.added(line, mark):
                yield to_text(added[added.find(b"## ") :])  # without the title of a new log
        else:
            taken, put = self._walk.differing(line, mark)
            texts = [text for _, text in (*put, *taken)]
            yield from (_known(path, text) for text in texts) if KNOWLEDGE in path else texts

    def words(self, line: TrailLine) -> str:
        """The first words that the change wrote."""
        for mark in line.files:
            if form_of(mark.path) is Form.LOG and mark.start is None:
                taken, put = self._walk.differing(line, mark)
                if words := _new_words(taken, put):
                    return words
            elif words := next((first_words(text) for text in self._in_file(line, mark)), ""):
                return words
        return next(iter(line.paths), "")

    def _title(self, path: str) -> str:
        """The title of a proposal; its id where its page is gone."""
        title = first_words((self._read(path) or b"").decode(errors="replace"))
        return title.removeprefix("# ") or f"proposal {path.rpartition('/')[2].removesuffix('.md')}"

    def said(self, line: TrailLine) -> list[str]:
        """What the change says about memories: the deed, and the memory in its words, or by its id."""
        ledgers = [mark for mark in line.files if is_state(mark.path) and mark.start is not None]
        lines = [raw for mark in ledgers for raw in split_lines(self._walk.added(line, mark) or b"")]
        records = [record for record in map(record_of, lines) if "op" in record]
        if whole := next((words for record in records if (words := _whole(record))), None):
            return [whole]
        once = list({str(record.get("memory")): record for record in reversed(records)}.values())[::-1]
        if not once:
            return []
        logs = [mark for mark in line.files if form_of(mark.path) is Form.LOG]
        blocks = [block for mark in logs for side in self._walk.differing(line, mark) for block in side]
        return [_deed(record, {each: text for each, text in blocks if each}) for record in once]


def _new_words(taken: Blocks, put: Blocks) -> str:
    """The first line that a person or a merge changed in a log; where they only took away, what that was."""
    before = {line for _, text in taken for line in text.splitlines()}
    lines = [line.strip() for _, text in put for line in _body(text).splitlines() if line not in before]
    words = next((line for line in lines if line and not line.startswith("# ")), "")
    if words or put:
        return words or next((first_words(text) for each, text in put if each), "")
    return next((f"removed {first_words(text)}" for _, text in taken if text.strip()), "")


def _summary(line: TrailLine, texts: _Texts) -> str:
    if line.action in (Action.ALERT, Action.ACK):
        return f"about change {', '.join(map(str, line.about))}" if line.about else line.by.trigger
    if line.about:
        return _taken_back(line.about)
    if said := texts.said(line):
        return (said[0] if len(said) == 1 else f"{len(said)} memories: {said[0]}")[:SUMMARY_LENGTH]
    words = texts.words(line)
    if line.count > 1:
        return f"{line.count} entries: {words}"[:SUMMARY_LENGTH]
    return words[:SUMMARY_LENGTH]


def _known(path: str, text: str) -> str:
    """A line about a fact, a rule or a case, in words."""
    record = record_of(to_bytes(text))
    op, ledger = str(record.get("op", "")), path.partition(KNOWLEDGE)[2].partition("/")[0]
    if ledger == "facts":
        triple = " ".join(str(record.get(name, "")) for name in ("subject", "predicate", "object"))
        return f"{op or 'assert'} {triple}"
    situation = record.get("situation")
    meant = record.get("name") or record.get("rule") or record.get("case") or record.get("id", "")
    about = situation.get("context", "") if isinstance(situation, dict) else ""
    return f"{op} {ledger.removesuffix('s')} {about or meant}".strip()


def _taken_back(seqs: Sequence[int]) -> str:
    if len(seqs) <= FEW:
        return f"takes back change {', '.join(map(str, seqs))}"
    return f"takes back {len(seqs)} changes, {min(seqs)} to {max(seqs)}"


def _whole(record: Mapping[str, Any]) -> str | None:
    """What a state line says of the whole change that it belongs to."""
    match record["op"]:
        case "session":
            return f"learned from conversation {record.get('session')}"
        case "job":
            return f"job {record.get('job')}"
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
    """An entry's content; any other text is that itself."""
    return text.partition("\n\n")[2] or text if text.startswith("## ") else text
