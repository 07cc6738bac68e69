"""The trail as people read it: changes joined with their commits and with what they were about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from memfolio.types import Action
from memfolio.vault.audit import TrailLine
from memfolio.vault.foreign import blocks_of
from memfolio.vault.past.rollback import is_state, record_of
from memfolio.vault.paths import Form, archive_log, form_of, ledger_of
from memfolio.vault.recent import to_bytes

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
        self,
        newest_first: Iterable[TrailLine],
        read: Callable[[str], bytes | None],
        commits: Callable[[], dict[int, str]],
    ) -> None:
        self._newest_first = newest_first
        self._read = read
        self._commits = commits

    def entries(self, wanted: Filter, *, limit: int) -> list[LogEntry]:
        """The newest changes that the filter accepts, newest first."""
        texts = _Texts(self._read)
        commits = self._commits()
        found: list[LogEntry] = []
        for line in self._candidates(wanted, texts):
            if len(found) >= limit:
                break
            found.append(self._entry(line, texts, commits))
        return found

    def _candidates(self, wanted: Filter, texts: _Texts) -> Iterator[TrailLine]:
        lines = (line for line in self._newest_first if wanted.accepts(line))
        if wanted.about is None:
            yield from lines
            return
        needle = wanted.about.casefold()
        yield from (line for line in lines if any(needle in text.casefold() for text in texts.of(line)))

    def _entry(self, line: TrailLine, texts: _Texts, commits: dict[int, str]) -> LogEntry:
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
            summary=_summary(line, texts),
            commit=commits.get(line.seq),
        )


class _Texts:
    """The words of memories, found where they lie now: in their log or in its archive."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._files: dict[str, dict[str, str]] = {}

    def of(self, line: TrailLine) -> list[str]:
        """What the change was about, as far as it can still be read."""
        texts = [text for path in line.paths for text in self._in_file(path, line)]
        return texts or list(line.paths)

    def _in_file(self, path: str, line: TrailLine) -> list[str]:
        if form_of(path) is Form.PAGE:
            return [self._title(path) if PROPOSALS in path else path]
        known = self._load(path)
        named = [each for each in line.ids if each in known]
        texts = [known[each] for each in named] if line.ids and line.count <= len(line.ids) else list(known.values())
        return [_known(path, text) for text in texts] if KNOWLEDGE in path else texts

    def _title(self, path: str) -> str:
        """The title of a proposal; its id where its page is gone."""
        title = first_words((self._read(path) or b"").decode(errors="replace"))
        return title.removeprefix("# ") or f"proposal {path.rpartition('/')[2].removesuffix('.md')}"

    def said(self, line: TrailLine) -> list[str]:
        """What the change says about memories: the deed, and the memory in its words, or by its id."""
        ledgers = [path for path in line.paths if is_state(path)]
        known = {each: text for path in line.paths if path not in ledgers for each, text in self._load(path).items()}
        records = [record_of(to_bytes(self._load(path).get(each, ""))) for path in ledgers for each in line.ids]
        records = [record for record in records if "op" in record]
        if whole := next((words for record in records if (words := _whole(record))), None):
            return [whole]
        once = {str(record.get("memory")): record for record in reversed(records)}
        return [_deed(record, known) for record in reversed(once.values())]

    def _load(self, path: str) -> dict[str, str]:
        if path not in self._files:
            places = [path, archive_log(path)] if form_of(path) is Form.LOG and ledger_of(path) else [path]
            blocks = [block for place in places for block in blocks_of(place, self._read(place) or b"")]
            self._files[path] = {each: text for each, text in blocks if each}
        return self._files[path]


def _summary(line: TrailLine, texts: _Texts) -> str:
    if line.action in (Action.ALERT, Action.ACK):
        return f"about change {', '.join(map(str, line.about))}" if line.about else line.by.trigger
    if line.about:
        return _taken_back(line.about)
    if said := texts.said(line):
        return (said[0] if len(said) == 1 else f"{len(said)} memories: {said[0]}")[:SUMMARY_LENGTH]
    words = next((first_words(text) for text in texts.of(line)), "")
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
    if not text.startswith("## "):
        return text.strip().partition("\n")[0]
    _, _, body = text.partition("\n\n")
    return (body or text).strip().partition("\n")[0]
