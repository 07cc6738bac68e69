"""The past of a home: what happened, what it looked like, and how to go back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memfolio.errors import HistoryError, HomeError, InputError, NotFoundError, PageChangedError, RefusedError
from memfolio.types import Action, Attribution, check_attribution
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.disk import disk_errors
from memfolio.vault.guard import known_to
from memfolio.vault.past.events import Event, Life
from memfolio.vault.past.rollback import STATE, is_rolled_back, is_state, lasting_lines, restore
from memfolio.vault.past.undo import Reversal, Wanted, as_change, choose, difference
from memfolio.vault.past.versions import Versions
from memfolio.vault.past.view import Filter, LogEntry, View
from memfolio.vault.past.walk import Walk
from memfolio.vault.paths import SHARED, check_path

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

Files = dict[str, bytes | None]
ATTEMPTS = 3
"""How often an undo is composed without holding up other writers, before it is composed under the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What undo or rollback did, or would do: the difference, and the receipt when it was done."""

    diff: str
    paths: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    receipt: Receipt | None = None


class Past:
    """Looks back and goes back."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def log(self, wanted: Filter | None = None, *, limit: int = 50) -> list[LogEntry]:
        """The newest changes, newest first."""
        vault = self._vault
        with disk_errors(vault.home.root):
            walk = Walk(self._versions(), self._readable)
            lines = vault.told(walk.over(vault.trail.newest_first()))
            return View(walk, self._readable, vault.commits_of).entries(lines, wanted or Filter(), limit=limit)

    def events(
        self, id: str, days: Collection[str], states: Sequence[Mapping[str, Any]], shows: Callable[[str], bool]
    ) -> list[Event]:
        """Everything that was done to a memory that stood in the logs of these days, oldest first.

        `states` are the state lines about it, and `shows` tells which files may be spoken of.
        """
        vault, life = self._vault, Life(id, days, states)
        with disk_errors(vault.home.root):
            walk = Walk(self._versions(), self._readable)
            lines = vault.trail.newest_first(containing=life.needles())
            found = life.events(walk, known_to(shows, vault.trail, walk.over(lines)))
        return self.events(id, days, [*states, *life.learned], shows) if life.learned else found

    def diff(self, seq: int) -> str:
        """What a change did, as a unified diff."""
        with disk_errors(self._vault.home.root):
            found = self._vault.trail.line(seq)
            line = next(self._vault.told([found] if found else []), None)
            if line is None:
                raise NotFoundError(f"there is no change {seq}", hint="`memfolio log` lists the changes")
            versions = self._versions().of(line)
        return "".join(difference(version.path, version.before, version.after) for version in versions)

    def diff_since(self, path: str | None, to: datetime | str) -> str:
        """What changed in a page, or in everything, since a moment or commit."""
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
    ) -> Outcome:
        """Take back changes by number, or all of an actor, session or source, as one change."""
        check_attribution(by)
        wanted = Wanted(seqs=_numbers(seqs), actor=actor, session=session, source=source)
        if self._vault.config.git_enabled:
            self._vault.committer.commit_now(wait=False)  # spares a search; whoever is packing git is not waited for
        for _ in range(ATTEMPTS):
            with suppress(PageChangedError):
                return self._undo(wanted, by, dry_run=dry_run)
        with self._vault.writer.ready():
            return self._undo(wanted, by, dry_run=dry_run)

    def _undo(self, wanted: Wanted, by: Attribution, *, dry_run: bool) -> Outcome:
        """Compose an undo, then make it; PageChangedError when the files moved in between."""
        with disk_errors(self._vault.home.root):
            state = self._state()
            reversal = self._compose(wanted, state)
        paths = tuple(reversal.changed())
        if not paths:
            raise NotFoundError(
                f"{wanted.words()} left nothing that could be taken back",
                hint="nothing of it was recorded, or it is gone from the files; `memfolio log` shows what happened",
            )
        receipt = None
        if not dry_run:
            change = as_change(reversal, self._vault.home.hash, by)
            with self._vault.writer.ready():
                self._check_state(state)
                receipt = self._vault.apply(change)
        return Outcome(diff=reversal.diff(), paths=paths, seqs=tuple(reversal.seqs), receipt=receipt)

    def _compose(self, wanted: Wanted, state: Files) -> Reversal:
        with self._vault.writer.ready():
            versions, newest = self._versions(), self._vault.books.recent.head.seq
        reversal = Reversal(self._now)
        told = self._vault.told(self._vault.trail.lines())
        chosen = choose((line for line in told if line.seq <= newest), wanted)
        versions.look_at([choice.line for choice in chosen], reversal.load, self._vault.home.hasher)
        for choice in chosen:
            try:
                found = versions.of(choice.line)
            except RefusedError:
                if wanted.seqs or choice.line.count > len(choice.line.ids):
                    raise
                continue  # all of it was purged: the others are meant too
            if choice.is_whole:
                reversal.take_back(choice.line, found)
            else:
                reversal.take_back_entries(choice.line, found, wanted)
        reversal.finish(state)
        return reversal

    def _check_state(self, seen: Files) -> None:
        """Raise PageChangedError when something was forgotten that the state as it was seen does not know of."""
        known, now = lasting_lines(seen), self._state()
        for path, lines in lasting_lines(now).items():
            if lines != known.get(path):
                content = now[path] or b""
                raise PageChangedError(path, current=content, current_hash=self._vault.home.hash(content))

    def rollback(
        self, path: str | None = None, *, to: datetime | str, by: Attribution, dry_run: bool = False
    ) -> Outcome:
        """Bring a page, or the whole home, back to a moment or commit; forgotten things stay forgotten."""
        check_attribution(by)
        tip = self._tip()
        with self._vault.writer.ready():
            wanted, current = self._then_and_now(path, to, tip)
            paths = _different(wanted, current)
            diff = "".join(difference(each, current[each], wanted[each]) for each in paths)
            receipt = None
            if paths and not dry_run:
                hashes = self._hashes(paths)
                pages = tuple(PutPage(each, wanted[each], hashes[each]) for each in paths)
                receipt = self._vault.apply(Change(operations=pages, by=by, action=Action.REVERT))
        return Outcome(diff=diff, paths=tuple(paths), receipt=receipt)

    def _then_and_now(self, path: str | None, to: datetime | str, tip: str) -> tuple[Files, Files]:
        """Files as they should become and as they are, for everything that differs between the two moments."""
        commit = self._commit_at(to)
        before, after = self._vault.history.files(commit), self._vault.history.files(tip)
        newest = {write.path for record in self._vault.books.recent.pending for write in record.writes}
        touched = [each for each in {*before, *after, *newest} if before.get(each) != after.get(each) or each in newest]
        touched = [each for each in touched if is_rolled_back(each) and self._vault.shows(each)]
        if path is not None:
            path = check_path(path)
            if not self._vault.shows(path) or (path not in before and path not in after):
                raise NotFoundError(f"there is no page {path}", hint="paths are relative to the home")
            touched = [each for each in touched if each == path]
        then = {each: self._vault.history.read(each, commit=commit) for each in touched}
        now = {each: self._now(each) for each in touched}
        wanted = restore(then, now, self._state(), self._now, f"{self._vault.home.now():%Y-%m}")
        return wanted, {each: now[each] if each in now else self._now(each) for each in wanted}

    def _commit_at(self, to: datetime | str) -> str:
        if isinstance(to, str):
            return self._vault.history.resolve(to)
        commit = self._vault.history.at_time(to)
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
        tip = self._vault.history.ours()
        if tip is None:
            raise NotFoundError("the home has no history yet", hint="remember something first")
        return tip

    def _versions(self) -> Versions:
        vault = self._vault
        return Versions(vault.trail, vault.history, list(vault.books.recent.pending), vault.home.hash)

    def _state(self) -> Files:
        """Every state file of the home as it is."""
        names, root = self._vault.home.disk.names, self._vault.home.root
        owners = [SHARED, *(f"agents/{name}" for name in names(root / "agents"))]
        folders = [f"{owner}/{STATE}" for owner in owners if (root / owner / STATE).is_dir()]
        paths = [f"{folder}/{name}" for folder in folders for name in names(root / folder)]
        return {path: self._read(path) for path in paths if is_state(path)}

    def _now(self, path: str) -> bytes | None:
        """A file as it is, with what people did to it recorded first."""
        self._vault.writer.settle([path])
        return self._read(path)

    def _read(self, path: str) -> bytes | None:
        with disk_errors(self._vault.home.root):
            return self._vault.home.disk.read(self._vault.home.path(path))

    def _readable(self, path: str) -> bytes | None:
        """A file as far as it can be read: one that cannot has nothing to show."""
        with suppress(HomeError):
            return self._read(path)
        return None

    def _hashes(self, paths: Sequence[str]) -> dict[str, str | None]:
        known = {path: self._vault.books.known(path) for path in paths}
        return {path: state.hash if state else None for path, state in known.items()}


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
