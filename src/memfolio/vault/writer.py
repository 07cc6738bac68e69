"""The one writer: compose, take the lock, check, write, enter into the trail.

A change of one ledger is a single append and fsync; the appended bytes are the commit point. Every other change
goes through an intent. What comes after the commit point (trail, recent bytes) can be made good later from the
files, so an acknowledged change never fails for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from memfolio.clock import to_ms
from memfolio.errors import DiskError, HomeBusyError, InputError, MemfolioError, PageChangedError
from memfolio.types import Action, Attribution
from memfolio.vault.alerts import WATCHMAN, needs_alert
from memfolio.vault.carry_out import DISPLACED, Finisher, Intent, Intents
from memfolio.vault.change import (
    AddBlocks,
    AddEntries,
    AddLines,
    Allowed,
    Change,
    Plan,
    Planned,
    PutPage,
    Receipt,
    Tail,
    fill_parts,
    with_new_ids,
)
from memfolio.vault.disk import Stamp, disk_errors
from memfolio.vault.entry import Mint
from memfolio.vault.fields import check_content
from memfolio.vault.file_states import Books, WrittenFile, catch_up
from memfolio.vault.lines import new_id, render_line, sign
from memfolio.vault.lock import FileLock
from memfolio.vault.log import title_line
from memfolio.vault.paths import AUDIT, Form, Ledger, check_path, day_log, day_of, days_beside
from memfolio.vault.reconcile import Settler
from memfolio.vault.survey import check_not_emptied, look_over
from memfolio.vault.trail import TrailLine, shorten_ids

ATTEMPTS = 100


class Writer:
    """Applies changes, one at a time, for all threads and processes of a home."""

    def __init__(self, books: Books, settler: Settler, lock: FileLock) -> None:
        self._books = books
        self._home = books.home
        self._settler = settler
        self._lock = lock
        self._intents = Intents(books.home.internal, books.home.disk)
        self._swept = False

    @contextmanager
    def ready(self, *, sweeps: bool = True, patience: float | None = None) -> Iterator[None]:
        """Hold the lock with everything earlier understood: other processes' changes, crashes, the home itself.

        Without `sweeps`, the caller sweeps, since it looks over the home anyway. Who can do without the lock says how
        many seconds to wait for it.
        """
        self._home.check_present()
        with disk_errors(self._home.root), self._lock(patience), self._home.disk.trusting():
            self._home.check_present()
            self._home.check_owner()
            catch_up(self._books)
            for intent in self._intents.waiting():
                self._roll_forward(intent)
            for path in sorted(self._books.unrecorded):
                self._settler.settle(path)
                self._books.unrecorded.discard(path)
            if sweeps and not self._swept:
                self.sweep(look_over(self._home.root, self._books.recent.known).leftovers)
            yield

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep everybody else from writing; what is earlier may be unfinished."""
        with disk_errors(self._home.root), self._lock():
            yield

    def sweep(self, leftovers: Iterable[tuple[str, str]]) -> None:
        """Clear away what killed processes left beside files; what may be a person's becomes a conflict copy."""
        for leftover, path in leftovers:
            content, there = self._books.read(leftover) or b"", self._books.read(path)
            if there is not None and not path.startswith(f"{AUDIT}/") and not self._is_ours(content, there):
                self._settler.set_aside(path, content, DISPLACED)
            self._home.disk.discard(self._home.path(leftover))
        self._swept = True

    def _is_ours(self, content: bytes, there: bytes) -> bool:
        """Whether a leftover is a state of the file that the trail has, or what a crash left of such a state."""
        if all(byte in (0, wanted) for byte, wanted in zip(content, there, strict=False)):
            return True
        return next(self._books.trail.lines(containing=[self._home.hash(content).encode()]), None) is not None

    def apply(self, allowed: Allowed) -> Receipt:
        """Make the change; when this returns, it is on disk."""
        change = allowed.change
        with self.ready():
            receipt = self._make(change)
            if needs_alert(receipt.paths, change.by) and not receipt.repeated:
                self._books.enter(Action.ALERT, WATCHMAN, about=[receipt.seq])
            return receipt

    def preview(self, change: Change) -> dict[str, tuple[bytes | None, bytes | None]]:
        """What the change would make of each file: before and after. Ids are not yet those that it would get."""
        with self.ready():
            return {file.path: self._outlook(file) for file in self._compose(change).files}

    def _outlook(self, file: Planned) -> tuple[bytes | None, bytes | None]:
        before = self._books.read(file.path)
        return before, file.data if file.start is None else (before or b"") + (file.data or b"")

    def _make(self, change: Change) -> Receipt:
        for _ in range(ATTEMPTS):
            plan = self._compose(change)
            # Asked only now: composing has settled the file, and with it what a process that died wrote there. One that
            # died at midnight wrote to the log of the day beside.
            for path in days_beside(plan.files[0].path) if change.key and plan.files else ():
                self._settler.settle(path)
            if change.key and (line := self._books.made_under(change.key)):
                return _receipt(line, Plan(ids=list(line.ids)), repeated=True)
            if not self._tells_itself(change, plan):
                return _receipt(self._carry_out(change, plan), plan)
            if stamp := self._append_file(plan.files[0]):
                done = [WrittenFile(plan.files[0], stamp)]
                return _receipt(self._books.enter(change.action, change.by, done, **_details(change, plan)), plan)
            # Somebody changed the file between our look and our write: look again. They may have taken our bytes along.
            if line := self._found_again(plan):
                return _receipt(line, plan)
        raise HomeBusyError(
            f"{plan.files[0].path} is being changed all the time", hint="close its editor and try again"
        )

    def _found_again(self, plan: Plan) -> TrailLine | None:
        self._settler.settle(plan.files[0].path)
        lines = self._books.trail.newest_first(containing=[plan.ids[0].encode()])
        return next(lines, None) if plan.ids[0] in self._books.recent.newest_ids else None

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

    def settle(self, paths: Sequence[str]) -> list[str]:
        """Record what others did to these files; returns the files that had changed."""
        with self.ready():
            changed = [path for path in paths if self._settler.settle(path)]
            self._settler.tell()
            return changed

    def note(self, action: Action, by: Attribution, about: Sequence[int] = (), *, ids: Sequence[str] = ()) -> TrailLine:
        """Enter a line that changes no file, such as an acknowledgement."""
        with self.ready():
            return self._books.enter(action, by, ids=ids, about=about, sync=True)

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
            if folder in paths or self._books.known(folder):
                raise InputError(f"{below} would stand below {folder}, which is a file", hint="rename one of them")

    def _compose_entries(self, plan: Plan, operation: AddEntries, by: Attribution) -> None:
        agent, ms, taken = operation.agent, to_ms(self._home.now()), self._books.recent.newest_ids
        mint = Mint(by, agent=agent, tz=self._home.zone, created_ms=ms, taken=taken)
        limit = self._home.config.max_content_bytes
        ids: defaultdict[date, list[str]] = defaultdict(list)
        blocks: defaultdict[date, list[bytes]] = defaultdict(list)
        for draft in operation.items:
            check_content(draft.content, limit)
            item, block, day = mint.make(draft)
            plan.items.append(item)
            plan.ids.append(item.id)
            ids[day].append(item.id)
            blocks[day].append(block)
        for day in blocks:
            plan.place(ids[day], self._lay(day_log(agent, day), blocks[day]))

    def _compose_lines(self, plan: Plan, operation: AddLines, by: Attribution) -> None:
        taken, now = Taken(self._books.recent.newest_ids), self._home.now()
        memories = [item.id for item in plan.items]
        lines = []
        for record in operation.records:
            fresh = new_id(operation.prefix, now, taken)
            taken.add(fresh)
            plan.ids.append(fresh)
            lines.append(render_line(sign(with_new_ids(record, memories), fresh, now, by)))
        plan.files += self._lay(operation.ledger, lines)

    def _lay(self, ledger: Ledger, blocks: Sequence[bytes]) -> list[Planned]:
        first = self._books.newest_part(ledger)
        return fill_parts(
            ledger,
            blocks,
            first=first,
            limit=self._home.config.max_ledger_bytes,
            tail_of=self._settled_tail,
            title=lambda number: _title(ledger, number),
        )

    def _settled_tail(self, path: str) -> Tail:
        self._settle(check_path(path))
        return self._settler.tail(path)

    def _settle(self, path: str) -> None:
        """Settle a file that is to be written; that it is missing may mean that everything is."""
        known = self._books.recent.known
        if path in known and self._books.stamp(path) is None and not self._settler.bring_back(known):
            check_not_emptied(self._home.root, set(known), {each for each in known if self._books.stamp(each)})
        self._settler.settle(path)
        self._settler.tell()

    def _compose_page(self, operation: PutPage) -> Planned:
        # A file that is there may have a name that we would not give it; it is known from looking, so it is inside.
        path = operation.path if self._books.known(operation.path) else check_path(operation.path)
        self._settle(path)
        known = self._books.known(path)
        if (known.hash if known else None) != operation.expects:
            raise PageChangedError(path, current=self._books.read(path), current_hash=known.hash if known else None)
        now = None if operation.content is None else self._home.hash(operation.content)
        return Planned(path, None, operation.content, operation.expects, now)

    def _append_file(self, planned: Planned) -> Stamp | None:
        """Append durably; None when the file is not what the change was composed against."""
        if self._books.is_loose:
            self._books.sync_trail()
        known = self._books.known(planned.path)
        if known is not None and known.stamp is None:
            return None
        return self._home.disk.append_if(
            self._home.path(planned.path), planned.data or b"", known.stamp if known else None
        )

    def _carry_out(self, change: Change, plan: Plan) -> TrailLine:
        """Make a change of several files, or of a page: completely, or not at all."""
        # Only a trail that cannot lose lines any more has numbers by which to find this change's own line again.
        self._books.sync_trail()
        for planned in plan.files:
            self._home.disk.sweep(self._home.path(planned.path))
        intent = self._intents.save(self._books.recent.head.seq + 1, change, plan)
        finisher = Finisher(self._books, self._settler)
        try:
            done = [finisher.finish(planned, gives_way=False) for planned in plan.files]
        except (OSError, MemfolioError) as error:
            if not finisher.take_back():
                raise DiskError(
                    f"the change could neither be finished nor taken back: {error}",
                    hint="do not repeat it: it is finished as soon as the home can be written again",
                ) from error
            self._intents.drop(intent)
            raise
        line = self._books.enter(change.action, change.by, done, **_details(change, plan), sync=True)
        finisher.keep_displaced(plan.files)
        self._intents.drop(intent)
        return line

    def _roll_forward(self, path: Path) -> None:
        """Finish what a crash interrupted."""
        intent = self._intents.load(path)
        if intent is not None:
            finisher = Finisher(self._books, self._settler)
            if not self._is_entered(intent):
                done = [finisher.finish(planned) for planned in intent.files]
                self._books.enter(
                    intent.action, intent.by, done, ids=intent.ids, about=intent.about, key=intent.key, sync=True
                )
            finisher.keep_displaced(intent.files)
        self._intents.drop(path)

    def _is_entered(self, intent: Intent) -> bool:
        """Whether the crash came after the trail knew of the change."""
        wanted = (intent.action, intent.by, shorten_ids(intent.ids), intent.about, intent.key)
        paths = [file.path for file in intent.files]
        for line in self._books.trail.newest_first():
            if line.seq < intent.seq:
                return False
            if (line.action, line.by, line.ids, line.about, line.key) == wanted and line.paths == paths:
                return True
        return False


class Taken:
    """Ids that are in use: those of the newest changes, and those of the change being composed."""

    def __init__(self, newest: Container[str]) -> None:
        self._newest = newest
        self._own: set[str] = set()

    def add(self, id: str) -> None:
        self._own.add(id)

    def __contains__(self, id: object) -> bool:
        return id in self._own or id in self._newest


def _details(change: Change, plan: Plan) -> dict[str, Any]:
    return {"ids": plan.ids, "about": change.about, "key": change.key, "items": plan.placed}


def _title(ledger: Ledger, number: int) -> bytes:
    day = day_of(ledger.part(number)) if ledger.form is Form.LOG else None
    return f"{title_line(day, number)}\n\n".encode() if day else b""


def _receipt(line: TrailLine, plan: Plan, *, repeated: bool = False) -> Receipt:
    return Receipt(
        seq=line.seq,
        at=line.at,
        action=line.action,
        paths=tuple(line.paths),
        items=tuple(plan.items),
        ids=tuple(plan.ids),
        repeated=repeated,
    )
