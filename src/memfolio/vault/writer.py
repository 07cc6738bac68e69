"""The one writer: take the lock, catch up, compose, check, write, record in the trail.

A change of one ledger is a single append and fsync; the appended bytes are the commit point. Every other change goes
through an intent. Trail and journal come after the commit point and can be restored from the files, so an acknowledged
change never fails because of them.
"""

from __future__ import annotations

import errno
import json
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from datetime import date
from itertools import chain, count, repeat, takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from memfolio.clock import to_ms
from memfolio.errors import DiskError, InputError, MemfolioError, PageChangedError
from memfolio.types import Action, Approval, Attribution, MemoryItem
from memfolio.vault.alerts import MONITOR
from memfolio.vault.change import (
    AddBlocks,
    AddEntries,
    AddLines,
    Allowed,
    Change,
    NewId,
    PutPage,
    Receipt,
)
from memfolio.vault.disk import Disk, FileLock, Stamp, disk_errors
from memfolio.vault.fields import Mint, Minted, check_content
from memfolio.vault.journal import Journal, Tail, TrailLine, Written, shorten_ids, to_bytes, to_text
from memfolio.vault.lines import attribution, new_id, render_line, sign
from memfolio.vault.paths import AUDIT, Form, Ledger, check_path, day_log, day_of, days_beside, title_line
from memfolio.vault.reconcile import QUIET_SECONDS, RETRIES, Reconciler, being_changed, blocks_of, needs_alert
from memfolio.vault.survey import check_not_emptied, look_over

ATTEMPTS = 100


class Writer:
    """Applies changes, one at a time, for all threads and processes of a home."""

    def __init__(self, journal: Journal, reconciler: Reconciler, lock: FileLock) -> None:
        self._journal = journal
        self._home = journal.home
        self._reconciler = reconciler
        self._lock = lock
        self._intents = Intents(journal.home.internal, journal.home.disk)
        self._swept = False

    @contextmanager
    def ready(self, *, sweeps: bool = True, patience: float | None = None) -> Iterator[None]:
        """Hold the lock with everything earlier understood: other processes' changes, crashes, the home itself.

        Without `sweeps`, the caller sweeps, since it looks over the home anyway. Who can do without the lock says how
        many seconds to wait for it. Inside another `ready`, nothing can have happened that is not understood.
        """
        self._home.check_present()
        with disk_errors(self._home.root), self._lock(patience), self._home.disk.trusting():
            is_outermost = not self._journal.is_current
            if is_outermost:
                self._catch_up(sweeps=sweeps)
            self._journal.is_current = True
            try:
                yield
            except BaseException:
                self._journal.is_current = False  # a change may have been left half done: look again
                raise
            if is_outermost:
                self._journal.is_current = False

    def _catch_up(self, *, sweeps: bool) -> None:
        self._home.check_present()
        self._home.check_owner()
        self._journal.catch_up()
        for intent in self._intents.waiting():
            self._roll_forward(intent)
        for path in sorted(self._journal.unrecorded):
            self._reconciler.reconcile(path)
            self._journal.unrecorded.discard(path)
        if sweeps and not self._swept:
            self.sweep(look_over(self._home.root, self._journal.files).leftovers)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Block all other writers without catching up; earlier changes may be unfinished."""
        with disk_errors(self._home.root), self._lock():
            yield

    def sweep(self, leftovers: Iterable[tuple[str, str]]) -> None:
        """Remove what killed processes left beside files; text that may be a person's becomes a conflict page."""
        for leftover, path in leftovers:
            content, there = self._journal.read(leftover) or b"", self._journal.read(path)
            if there is not None and not path.startswith(f"{AUDIT}/") and not self._is_ours(path, content, there):
                self._reconciler.set_aside(path, content, DISPLACED)
            self._home.disk.discard(self._home.path(leftover))
        self._swept = True

    def _is_ours(self, path: str, content: bytes, there: bytes) -> bool:
        """Whether a leftover is a state of the file that the trail knows, or the torn remains of one."""
        is_torn = all(byte in (0, wanted) for byte, wanted in zip(content, there, strict=False))
        return is_torn or self._reconciler.is_former(path, content)

    def apply(self, allowed: Allowed) -> Receipt:
        """Make the change; when this returns, it is on disk."""
        change = allowed.change
        with self.ready():
            receipt = self._make(change)
            if needs_alert(receipt.paths, change.by) and not receipt.repeated:
                self._journal.enter(Action.ALERT, MONITOR, about=[receipt.seq])
            return receipt

    def preview(self, change: Change) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return the content of each file before and after the change. Ids are not those that it would really get."""
        with self.ready():
            files = self._compose(change).files
            return {file.path: (before := self._journal.read(file.path), file.after(before or b"")) for file in files}

    def _make(self, change: Change) -> Receipt:
        for _ in range(ATTEMPTS):
            plan = self._compose(change)
            # Asked only now: composing has reconciled the file, and with it what a process that died wrote there. One
            # that died at midnight wrote to the log of the day beside.
            for path in days_beside(plan.files[0].path) if change.key and plan.files else ():
                self._reconciler.reconcile(path)
            if change.key and (line := self._journal.made_under(change.key)):
                return receipt_of(line, Plan(ids=list(line.ids)), repeated=True)
            if not self._tells_itself(change, plan):
                return receipt_of(self._carry_out(change, plan), plan)
            if stamp := self._append_file(plan.files[0]):
                done = [plan.files[0]._replace(stamp=stamp)]
                return receipt_of(self._journal.enter(change.action, change.by, done, **details(change, plan)), plan)
            # Somebody changed the file between our look and our write: look again. They may have taken our bytes along.
            if line := self._found_again(plan):
                return receipt_of(line, plan)
        raise being_changed(plan.files[0].path)

    def _found_again(self, plan: Plan) -> TrailLine | None:
        self._reconciler.reconcile(plan.files[0].path)
        lines = self._journal.trail.newest_first(containing=[plan.ids[0].encode()])
        return next(lines, None) if plan.ids[0] in self._journal.newest_ids else None

    def _tells_itself(self, change: Change, plan: Plan) -> bool:
        """Whether the change is one block in one ledger that says all that the trail must know, so needs no intent.

        Several blocks could be torn apart, and blocks that were there before say nothing about who brings them now.
        """
        if not plan.is_one_append or change.action is not Action.APPEND or change.about:
            return False
        match change.operations:
            case (AddEntries(agent, (item,)),):
                return change.key == (self._home.key_mark(agent, item.key) if item.key else None)
            case (AddLines(),):
                return len(plan.ids) == 1 and change.key is None
        return False

    def reconcile(self, paths: Sequence[str]) -> list[str]:
        """Record what others did to these files; returns the changed ones."""
        with self.ready():
            changed = [path for path in paths if self._reconciler.reconcile(path)]
            self._reconciler.alert_removed()
            return changed

    def note(self, action: Action, by: Attribution, about: Sequence[int] = (), *, ids: Sequence[str] = ()) -> TrailLine:
        """Record a line that changes no file, such as an acknowledgement."""
        with self.ready():
            return self._journal.enter(action, by, ids=ids, about=about, sync=True)

    def _compose(self, change: Change) -> Plan:
        plan = Plan()
        for operation in change.operations:
            match operation:
                case AddEntries():
                    self._compose_entries(plan, operation, change.by)
                case AddLines():
                    self._compose_lines(plan, operation, change.by)
                case AddBlocks():
                    plan.ids += operation.ids
                    plan.files += self._lay(operation.ledger, operation.blocks)
                case PutPage():
                    plan.files.append(self._compose_page(operation))
        paths = [file.path for file in plan.files]
        if not paths or len(set(paths)) < len(paths):
            raise InputError("a change must touch each of its files once", hint="join the operations on one file")
        self._check_folders(set(paths), [each.path for each in plan.files if each.start is None and each.was is None])
        return plan

    def _check_folders(self, paths: Container[str], new: Iterable[str]) -> None:
        """Refuse a page below a file: no disk can hold it, and the change could be neither finished nor taken back."""
        for folder, below in {str(folder): path for path in new for folder in PurePosixPath(path).parents}.items():
            if folder in paths or self._journal.files.get(folder):
                raise InputError(f"{below} would stand below {folder}, which is a file", hint="rename one of them")

    def _compose_entries(self, plan: Plan, operation: AddEntries, by: Attribution) -> None:
        agent, ms, taken = operation.agent, to_ms(self._home.now()), self._journal.newest_ids
        mint = Mint(by, agent=agent, tz=self._home.zone, created_ms=ms, taken=taken)
        limit = self._home.config.max_content_bytes
        days: defaultdict[date, list[Minted]] = defaultdict(list)
        paths: dict[str, str] = {}
        for draft in operation.items:
            check_content(draft.content, limit)
            minted = mint.make(draft)
            plan.items.append(minted.item)
            plan.ids.append(minted.item.id)
            days[minted.day].append(minted)
        for day, entries in days.items():
            files = self._lay(day_log(agent, day), [each.block for each in entries])
            plan.files += files
            laid = chain.from_iterable(repeat(file.path, file.blocks) for file in files)
            paths.update(zip((each.item.id for each in entries), laid, strict=True))
        plan.placed += [(paths[item.id], item) for item in plan.items if item.id in paths]

    def _compose_lines(self, plan: Plan, operation: AddLines, by: Attribution) -> None:
        now, memories = self._home.now(), [item.id for item in plan.items]
        lines, taken = list[bytes](), set[str]()
        for record in operation.records:
            fresh = new_id(operation.prefix, now, self._journal.newest_ids, taken)
            taken.add(fresh)
            plan.ids.append(fresh)
            lines.append(render_line(sign(with_new_ids(record, memories), fresh, now, by)))
        plan.files += self._lay(operation.ledger, lines)

    def _lay(self, ledger: Ledger, blocks: Sequence[bytes]) -> list[Written]:
        """Distribute blocks over the parts of their ledger, newest first; an oversized block gets its own part."""
        planned, rest = list[Written](), list(blocks)
        for number in count(self._journal.newest_part(ledger)):
            path = ledger.part(number)
            self._reconcile(check_path(path))
            before, waiting = self._tail(path), len(rest)
            title = b"" if before.size else _title(ledger, number)
            data, rest = _fill(before, rest, self._home.config.max_ledger_bytes, ledger.form, title)
            if data:
                after, laid = before.then(data), waiting - len(rest)
                planned.append(Written(path, before.size, data, before.hash, after.hash, tail=after, blocks=laid))
            if not rest:
                break
        return planned

    def _reconcile(self, path: str) -> None:
        """Settle a file that is to be written; that it is missing may mean that everything is."""
        known, stamp = self._journal.files, self._journal.stamp(path)
        if path in known and stamp is None and not self._reconciler.restore_moved(known):
            check_not_emptied(self._home.root, set(known), {each for each in known if self._journal.stamp(each)})
        if stamp is None or path not in known or known[path].stamp != stamp:
            self._reconciler.reconcile(path)
        self._reconciler.alert_removed()

    def _tail(self, path: str) -> Tail:
        """How a file ends that was just settled; it is only looked at again where that is not what is known of it."""
        tail = self._journal.tail_of(path)
        return tail if tail.hash == self._journal.hash_of(path) else self._reconciler.tail(path)

    def _compose_page(self, operation: PutPage) -> Written:
        # A file that is there may have a name that we would not give it; it is known from looking, so it is inside.
        path = operation.path if self._journal.files.get(operation.path) else check_path(operation.path)
        self._reconcile(path)
        if (found := self._journal.hash_of(path)) != operation.expects:
            raise PageChangedError(path, current=self._journal.read(path), current_hash=found)
        now = None if operation.content is None else self._home.hash(operation.content)
        return Written(path, None, operation.content, operation.expects, now)

    def _append_file(self, planned: Written) -> Stamp | None:
        """Append durably; None if the file differs from the one the change was composed against."""
        if self._journal.has_unsynced_lines:
            self._journal.sync_trail()
        known = self._journal.files.get(planned.path)
        if known is not None and known.stamp is None:
            return None
        return self._home.disk.append_if(
            self._home.path(planned.path), planned.data or b"", known.stamp if known else None
        )

    def _carry_out(self, change: Change, plan: Plan) -> TrailLine:
        """Make a change of several files, or of a page: completely, or not at all."""
        # Only a trail that cannot lose lines any more has numbers by which to find this change's own line again.
        self._journal.sync_trail()
        for planned in plan.files:
            self._home.disk.sweep(self._home.path(planned.path))
        intent = self._intents.save(self._journal.head.seq + 1, change, plan)
        file_writer = FileWriter(self._journal, self._reconciler)
        try:
            done = file_writer.finish_all(plan.files, gives_way=False)
        except (OSError, MemfolioError) as error:
            if not file_writer.take_back():
                raise DiskError(
                    f"the change could neither be finished nor taken back: {error}",
                    hint="do not repeat it: it is finished as soon as the home can be written again",
                ) from error
            self._intents.drop(intent)
            raise
        line = self._journal.enter(change.action, change.by, done, **details(change, plan), sync=True)
        file_writer.keep_displaced(plan.files)
        # Not durably: an intent that comes back after a power cut is found in the trail and dropped again.
        self._home.disk.unlink(intent)
        return line

    def _roll_forward(self, path: Path) -> None:
        """Finish a change that a crash interrupted."""
        if intent := self._intents.load(path):
            change, plan = intent
            file_writer = FileWriter(self._journal, self._reconciler)
            if not self._is_entered(int(path.stem), change, plan):
                done = file_writer.finish_all(plan.files)
                self._journal.enter(change.action, change.by, done, **details(change, plan), sync=True)
            file_writer.keep_displaced(plan.files)
        self._intents.drop(path)

    def _is_entered(self, seq: int, change: Change, plan: Plan) -> bool:
        """Whether the crash came after the trail knew of the change, which had this number or a later one."""
        wanted = (change.action, change.by, shorten_ids(plan.ids), change.about, change.key)
        paths = [file.path for file in plan.files]
        lines = takewhile(lambda line: line.seq >= seq, self._journal.trail.newest_first())
        return any(
            (line.action, line.by, line.ids, line.about, line.key) == wanted and line.paths == paths for line in lines
        )


def details(change: Change, plan: Plan) -> dict[str, Any]:
    """Return the details of a change for the trail and listeners, beside its files."""
    return {"ids": plan.ids, "about": change.about, "key": change.key, "items": tuple(plan.placed)}


def _title(ledger: Ledger, number: int) -> bytes:
    day = day_of(ledger.part(number)) if ledger.form is Form.LOG else None
    return f"{title_line(day, number)}\n\n".encode() if day else b""


def receipt_of(line: TrailLine, plan: Plan, *, repeated: bool = False) -> Receipt:
    return Receipt(
        seq=line.seq,
        at=line.at,
        action=line.action,
        paths=tuple(line.paths),
        items=tuple(plan.items),
        ids=tuple(plan.ids),
        repeated=repeated,
    )


# From operations to bytes: which file gets which bytes where. Pure, except that it asks how a file ends.


@dataclass(slots=True)
class Plan:
    """A composed change, ready to be written."""

    files: list[Written] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[MemoryItem] = field(default_factory=list)
    placed: list[tuple[str, MemoryItem]] = field(default_factory=list)
    """Every memory with the file it goes into."""

    @property
    def is_one_append(self) -> bool:
        return len(self.files) == 1 and self.files[0].start is not None


def _fill(tail: Tail, blocks: list[bytes], limit: int, form: Form, title: bytes) -> tuple[bytes, list[bytes]]:
    chunks: list[bytes] = []
    size, lead, between = tail.size, _lead(tail, form, title), b"\n" if form is Form.LOG else b""
    for index, block in enumerate(blocks):
        if size and size + len(lead) + len(block) > limit:
            return b"".join(chunks), blocks[index:]
        chunks += (lead, block)
        size += len(lead) + len(block)
        lead = between
    return b"".join(chunks), []


def _lead(tail: Tail, form: Form, title: bytes) -> bytes:
    """Return what must precede the first block so that it begins on a line of its own."""
    if tail.size == 0:
        return title
    missing = b"" if tail.last == b"\n" else b"\n"
    return missing + b"\n" if form is Form.LOG else missing


def with_new_ids(record: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """The record with the real id in place of every `NewId`."""
    return {name: _known(value, ids) for name, value in record.items()}


def _known(value: Any, ids: Sequence[str]) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(part, NewId) for part in value):
        return [_known(part, ids) for part in value]
    if not isinstance(value, NewId):
        return value
    if not 0 <= value.index < len(ids):
        raise InputError(
            f"no memory number {value.index} is added before this record", hint="add the memories first, then lines"
        )
    return ids[value.index]


# Intents: a change of several files, or of a page, is written down whole before the first file is touched.
#
# After a crash the intent is carried out to its end, so that such a change happens completely or not at all. A change
# of one ledger needs none: its own appended bytes say who wrote them and why.

FOLDER = "intents"


class Intents:
    """The folder of intents; empty whenever nothing is under way."""

    def __init__(self, internal: Path, disk: Disk) -> None:
        self._folder = internal / FOLDER
        self._disk = disk

    def save(self, seq: int, change: Change, plan: Plan) -> Path:
        """Write the intent durably; on failure, none is left behind."""
        path = self._folder / f"{seq:012d}.json"
        try:
            self._disk.put_in_place(path, json.dumps(_to_json(change, plan)).encode())  # `load` knows a part of one
        except OSError:
            # It may be whole, and the change would come true after a power cut.
            with suppress(OSError):
                self.drop(path)
            raise
        return path

    def waiting(self) -> list[Path]:
        """Intents that were not carried out to their end, oldest first."""
        return [self._folder / name for name in self._disk.names(self._folder) if name.endswith(".json")]

    def load(self, path: Path) -> tuple[Change, Plan] | None:
        """The intent in a file; None when it is not whole, which means that nothing was touched yet."""
        try:
            return _from_json(json.loads(self._disk.read(path) or b""))
        except (ValueError, KeyError, TypeError):
            return None

    def drop(self, path: Path) -> None:
        """Delete an intent durably, so that a reverted change does not come back after a power cut."""
        self._disk.remove(path)


def _to_json(change: Change, plan: Plan) -> dict[str, Any]:
    return {
        "action": change.action,
        "by": astuple(change.by),
        "ids": plan.ids,
        "about": change.about,
        "key": change.key,
        "files": [_file_json(file) for file in plan.files],
    }


def _file_json(file: Written) -> dict[str, Any]:
    text = None if file.data is None else to_text(file.data)
    return {"path": file.path, "from": file.start, "text": text, "was": file.was, "now": file.now}


def _from_json(data: dict[str, Any]) -> tuple[Change, Plan]:
    """The change without its operations, which are the files of the plan."""
    change = Change(
        operations=(),
        action=Action(data["action"]),
        by=attribution(*data["by"]),
        about=tuple(data["about"]),
        key=data["key"],
    )
    return change, Plan(files=list(map(_read_file, data["files"])), ids=data["ids"])


def _read_file(data: dict[str, Any]) -> Written:
    content = None if data["text"] is None else to_bytes(data["text"])
    return Written(data["path"], data["from"], content, data["was"], data["now"])


# Carrying out the files of an intent, from whatever point a crash or a person left them at.

DISPLACED = Attribution(actor="human", approval=Approval.NONE, trigger="conflict-copy")


class FileWriter:
    """Brings each file of one change to its planned content, and can take that back while nothing is entered."""

    def __init__(self, journal: Journal, reconciler: Reconciler) -> None:
        self._journal = journal
        self._home = journal.home
        self._reconciler = reconciler
        self._begun: list[Written] = []
        self._displaced: list[tuple[str, bytes]] = []

    def finish_all(self, files: Sequence[Written], *, gives_way: bool = True) -> list[Written]:
        """Bring every file to the state that the intent wants, durably."""
        done = [self.finish(planned, gives_way=gives_way) for planned in files]
        self._sync_folders(each for each in done if not each.start)
        return done

    def finish(self, planned: Written, *, gives_way: bool = True) -> Written:
        """Bring one file to the state that the intent wants; a person's edit in between is kept.

        A page that somebody else changed meanwhile stays, and ours is kept beside it; with `gives_way` false,
        PageChangedError is raised instead, because there is still a caller to tell.
        """
        if planned.start is not None:
            return self._finish_append(planned)
        content = self._journal.read(planned.path)
        found = None if content is None else self._home.hash(content)
        if found == planned.now:
            return planned._replace(stamp=self._journal.stamp(planned.path))
        if found != planned.was and not gives_way:
            raise PageChangedError(planned.path, current=content, current_hash=found)
        if found != planned.was:
            return self._stand_aside(planned)
        if planned.was is None and planned.data is not None:
            return self._create(planned, planned.data, gives_way=gives_way)
        return planned._replace(stamp=self._replace(planned), before=content)

    def _finish_append(self, planned: Written) -> Written:
        disk, path = self._home.disk, self._home.path(planned.path)
        for _ in range(RETRIES):
            stamp, content = self._journal.stamp(planned.path), self._journal.read(planned.path)
            found = None if content is None else self._home.hash(content)
            if found == planned.now:
                disk.sync_file(path)  # whoever wrote it may have died before it was durable
                disk.sync_dir(path.parent)
                return planned._replace(stamp=stamp)
            if found != planned.was:
                if self._is_begun(planned, content or b""):
                    disk.cut(path, planned.start or 0)
                else:
                    planned = self._moved(planned)
                continue
            self._begun.append(planned)
            if stamp := disk.append_if(path, planned.data or b"", stamp, sync=False):
                return planned._replace(stamp=stamp)
        raise being_changed(planned.path)

    def _is_begun(self, planned: Written, content: bytes) -> bool:
        """Whether the file ends in our own append, torn by the crash: then it is begun again."""
        head, rest = content[: planned.start], content[planned.start :]
        return self._home.hash(head) == (planned.was or self._home.hash(b"")) and self._is_ours(planned, rest)

    def _moved(self, planned: Written) -> Written:
        """Return the append moved to the end of a file that somebody changed, without what is already there."""
        self._journal.mark_stale([planned.path])
        tail = self._reconciler.tail(planned.path, takes_own=False)
        present = {each for each, _ in blocks_of(planned.path, self._journal.read(planned.path) or b"")}
        blocks = blocks_of(planned.path, planned.data or b"")
        text = "".join(text for each, text in blocks if each is None or each not in present)
        missing = any(each and each not in present for each, _ in blocks)
        data = text.encode("utf-8", "surrogateescape") if missing else b""
        after = tail.then(data)
        return Written(planned.path, tail.size, data, tail.hash, after.hash, tail=after)

    def _stand_aside(self, planned: Written) -> Written:
        """Leave a person's newer page in place and keep ours beside it."""
        self._reconciler.reconcile(planned.path)
        if planned.data is not None:
            self._displaced.append((planned.path, planned.data))
        known = self._journal.files.get(planned.path)
        content = self._journal.read(planned.path)
        now = known.hash if known else None
        return Written(planned.path, None, content, now, now, known.stamp if known else None)

    def _create(self, planned: Written, data: bytes, *, gives_way: bool) -> Written:
        """Put a page where there is none; one that somebody makes in this very moment is theirs, and is found there."""
        self._begun.append(planned)
        path = self._home.path(planned.path)
        if stamp := self._home.disk.create(path, data, sync=False):
            return planned._replace(stamp=stamp)
        if self._journal.stamp(planned.path) is None:
            raise FileExistsError(errno.EEXIST, "is in the way and is not a file", str(path))
        return self.finish(planned, gives_way=gives_way)

    def _replace(self, planned: Written) -> Stamp | None:
        """Put the new page in place; the displaced file stays beside it until the change is recorded."""
        disk, path = self._home.disk, self._home.path(planned.path)
        self._begun.append(planned)
        if planned.data is None:
            disk.take(path)
            return None
        return disk.swap(path, planned.data, sync=False)[1]

    def take_back(self) -> bool:
        """Restore the files touched so far, durably; False if that fails, too, and the intent must stay."""
        try:
            if not all(self._put_back(planned) for planned in reversed(self._begun)):
                return False
            # Else what is taken back would be found after a power cut, as somebody's edit.
            self._sync_folders(self._begun)
        except OSError:
            return False
        return True

    def _sync_folders(self, files: Iterable[Written]) -> None:
        # Side by side and at the end, since a file system then does most of it in one go.
        for folder in dict.fromkeys(self._home.path(each.path).parent for each in files):
            with suppress(FileNotFoundError):  # whatever a deleted page was in may be gone as well
                self._home.disk.sync_dir(folder)

    def _put_back(self, planned: Written) -> bool:
        if planned.start is None:
            self._put_back_page(planned)
            return True
        path, content = self._home.path(planned.path), self._journal.read(planned.path)
        if content is None or self._home.hash(content) == planned.was:
            return True
        if not self._is_begun(planned, content):
            return False
        if planned.was is None:
            self._home.disk.unlink(path)
        else:
            self._home.disk.cut(path, planned.start)
        return True

    def _put_back_page(self, planned: Written) -> None:
        disk, path = self._home.disk, self._home.path(planned.path)
        content = disk.read(path)
        ours = (None if content is None else self._home.hash(content)) == planned.now
        for aside in disk.leftovers(path):
            displaced = disk.read(aside) or b""
            if ours and (self._home.hash(displaced) == planned.was or not self._is_ours(planned, displaced)):
                disk.rename(aside, path)
                ours = False
            else:
                disk.discard(aside)
        if ours:
            disk.unlink(path)

    def _is_ours(self, planned: Written, content: bytes) -> bool:
        """Whether this is what the change wanted to write, or what a crash left of that: the beginning, or zeros."""
        wanted = planned.data or b""
        return len(content) <= len(wanted) and all(a in (0, b) for a, b in zip(content, wanted, strict=False))

    def keep_displaced(self, files: Sequence[Written]) -> None:
        """Write conflict copies of what two hands wanted in one place, then let go of what was displaced."""
        for planned in files:
            disk, path = self._home.disk, self._home.path(planned.path)
            asides = disk.leftovers(path) if planned.start is None else []
            strange = [aside for aside in asides if not self._is_recorded(aside, planned)]
            for aside in strange:
                if content := self._words_in(aside, planned):
                    self._displaced.append((planned.path, content))
            while self._displaced:
                self._reconciler.set_aside(*self._displaced.pop(), DISPLACED)
            for aside in asides:
                disk.discard(aside)
            if strange:
                # What comes back after a power cut would look like another person's work.
                with suppress(OSError):
                    disk.sync_dir(path.parent)

    def _is_recorded(self, aside: Path, planned: Written) -> bool:
        """Whether a leftover is a state of the page that the trail has; should it come back, `sweep` knows it too."""
        content = self._home.disk.read(aside) or b""
        is_expected = content == planned.data or self._home.hash(content) == planned.was
        return is_expected or self._reconciler.is_former(planned.path, content)

    def _words_in(self, aside: Path, planned: Written) -> bytes | None:
        """Somebody's words that were displaced, once they are all there: the editor may still be writing to them."""
        disk, stamp = self._home.disk, None
        for _ in range(RETRIES):
            if stamp == (stamp := disk.stamp(aside)):
                break
            time.sleep(QUIET_SECONDS)
        content = disk.read(aside) or b""
        return None if self._is_ours(planned, content) else content
