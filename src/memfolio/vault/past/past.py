"""The past of a home: its changes, its earlier states, undo and rollback, and the monthly digest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memfolio.errors import HistoryError, HomeError, InputError, NotFoundError, RefusedError
from memfolio.text import counted
from memfolio.types import Action, Attribution, check_attribution
from memfolio.vault.alerts import visible_to
from memfolio.vault.change import Change, PutPage, UndoResult
from memfolio.vault.disk import disk_errors
from memfolio.vault.journal import TrailLine
from memfolio.vault.past.merge import difference
from memfolio.vault.past.rollback import is_rolled_back, restore
from memfolio.vault.past.undo import Reversal, UndoTarget, Versions, as_change, choose
from memfolio.vault.past.view import Event, MemoryHistory, Texts, TrailEntry, TrailFilter, View
from memfolio.vault.paths import AUDIT, SHARED, Sensitivity, agent_root, check_path, is_state, sensitivity

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault


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
        paths = filter(is_rolled_back, _different(wanted, current))
        return "".join(difference(each, wanted[each], current[each]) for each in paths)

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
        paths = tuple(reversal.changed())
        if not paths:
            raise NotFoundError(
                f"{wanted.words()} left nothing that could be taken back",
                hint="nothing of it was recorded, or it is gone from the files; `memfolio log` shows what happened",
            )
        receipt = None
        if not dry_run:
            receipt = self._vault.apply(as_change(reversal, self._vault.home.hash, by))
        return UndoResult(diff=reversal.diff(), paths=paths, seqs=tuple(reversal.seqs), receipt=receipt)

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
            paths = _different(wanted, current)
            diff = "".join(difference(each, current[each], wanted[each]) for each in paths)
            receipt = None
            if paths and not dry_run:
                pages = tuple(PutPage(each, wanted[each], self._vault.journal.hash_of(each)) for each in paths)
                receipt = self._vault.apply(Change(operations=pages, by=by, action=Action.REVERT))
        return UndoResult(diff=diff, paths=tuple(paths), receipt=receipt)

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


def _different(wanted: Files, current: Files) -> list[str]:
    return sorted(path for path in wanted if wanted[path] != current[path])
