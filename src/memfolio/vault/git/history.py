"""The history of a home: commits made from given bytes, past the index, never touching what a person is doing.

Whoever writes here (`prepare`, `commit`, `refresh_index`, `pack`) holds the home's commit lock; reading needs no lock.
Everything that goes wrong below is a `HistoryError`, and then nothing was committed.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from memfolio.errors import HistoryError, NotFoundError, PathError
from memfolio.vault.disk import Disk
from memfolio.vault.git import gitdir, gitindex, pack
from memfolio.vault.git.message import (
    COMMITTER,
    Anchor,
    CommitDraft,
    anchor_of,
    author_of,
    message_of,
    reflog_line,
    seconds_of,
)
from memfolio.vault.git.names import Parts, parts_of

if TYPE_CHECKING:  # pygit2 takes 60 ms to import: it is loaded when a history is first used
    import pygit2

P = ParamSpec("P")
T = TypeVar("T")

_NO_PAST: tuple[str, frozenset[str]] = ("", frozenset())


def _guard(method: Callable[Concatenate[History, P], T]) -> Callable[Concatenate[History, P], T]:
    @wraps(method)
    def guarded(self: History, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with gitdir.guarded(self.home):
                return method(self, *args, **kwargs)
        except HistoryError:
            self.close()  # what libgit2 remembers may be what is wrong
            raise

    return guarded


class History:
    """The git repository of one home, on one branch; one object serves many threads."""

    def __init__(self, home: Path, *, branch: str, disk: Disk | None = None) -> None:
        self.home = home
        self.branch = branch
        self.disk = disk or Disk()
        self._ref = f"refs/heads/{branch}"
        self._local = threading.local()
        self._seq_lock = threading.Lock()
        self._seqs: dict[int, str] = {}
        self._seq_tip: str | None = None
        self._origins: list[tuple[str, str]] = []
        self._past = _NO_PAST

    @_guard
    def prepare(self) -> None:
        """Make sure that the home has a repository of its own, set up for plain bytes and power loss."""
        if not os.path.lexists(self.home / ".git"):
            gitdir.create(self.disk, self.home, self.branch)
        gitdir.configure(self._repo())

    def close(self) -> None:
        """Let go of this thread's open files; the next call opens them again."""
        self._local.__dict__.pop("repo", None)

    @_guard
    def obstacle(self) -> str | None:
        """Why a commit has to wait (a person is in the middle of something); None when the way is free."""
        import pygit2

        repo = self._repo()
        head = repo.lookup_reference("HEAD").target
        if not isinstance(head, str):
            return "detached HEAD"
        if head != self._ref:
            return f"on branch {head.removeprefix('refs/heads/')}"
        if (state := repo.state()) != pygit2.enums.RepositoryState.NONE:
            return f"{state.name.lower().replace('_', ' ')} in progress"
        if gitdir.has_foreign_lock(*gitindex.index_files(repo)):
            return "index.lock present"
        return "staged changes" if self._is_staged(repo) else None

    @_guard
    def commit(self, drafts: Sequence[CommitDraft]) -> list[str]:
        """Commit the drafts in order on top of the branch and return their ids; all become visible at once."""
        if (obstacle := self.obstacle()) is not None:
            raise HistoryError(f"cannot commit: {obstacle}", hint="commits wait until git is free again")
        repo, base = self._repo(), self.tip()
        ids: list[str] = []
        for draft in drafts:
            ids.append(_create_commit(repo, draft, ids[-1] if ids else base))
        if ids:
            # libgit2 syncs every object and the folder it lies in, but not the folder of that folder.
            self.disk.sync_dir(gitdir.common_dir(repo) / "objects")
            self._move_branch(repo, base, ids[-1], drafts[-1])
        return ids

    @_guard
    def refresh_index(self) -> None:
        """Bring the index up to the branch, with real file times, unless a person is in the middle of something."""
        tip = self.tip()
        if tip is None or self.obstacle() is not None:
            return
        repo, disk = self._repo(), self.disk
        index, scratch = gitindex.index_files(repo)
        marker = Path(repo.path, gitindex.MARKER)
        known, before = gitindex.marks(disk, marker), gitindex.checksum(disk, index)
        if (tip, before) in known:
            return
        content = gitindex.build_index(disk, repo, index, gitdir.commit_at(repo, tip).tree)
        if content is None:
            return
        gitdir.stage(disk, index, scratch, content)
        mark = (tip, gitindex.checksum(disk, scratch) or "")
        # Both states are named before one replaces the other: dying in between never looks like staged work.
        gitindex.put_marks(disk, marker, [*known, mark])
        with gitdir.locked(disk, index, scratch):
            if gitindex.checksum(disk, index) != before:
                raise HistoryError("somebody else changed the index", hint="try again")
        gitindex.put_marks(disk, marker, [mark])
        self._origins, self._past = [], _NO_PAST

    @_guard
    def tip(self) -> str | None:
        """The newest commit of the branch, None before the first one."""
        repo = self._repo()
        reference = repo.references.get(self._ref)
        if reference is not None:
            return str(reference.resolve().target)
        if (lost := gitdir.lost_tip(self.disk, repo, self._ref)) is not None:
            raise HistoryError(
                f"branch {self.branch} of {self.home} is gone although it has a past",
                hint=f"bring it back with `git update-ref {self._ref} {lost}`",
            )
        return None

    @_guard
    def read(self, path: str, *, commit: str | None = None) -> bytes | None:
        """The content of a file at a commit (default: the tip), None when it is not there."""
        import pygit2

        parts, tree = parts_of(path), self._tree(commit)
        entry = None if tree is None else _entry(tree, parts)
        return entry.data if isinstance(entry, pygit2.Blob) else None

    @_guard
    def files(self, commit: str | None = None) -> dict[str, str]:
        """Every file at a commit (default: the tip), with its blob's id."""
        found: dict[str, str] = {}
        tree = self._tree(commit)
        if tree is not None:
            _collect(tree, "", found)
        return found

    @_guard
    def seqs(self) -> dict[int, str]:
        """Which commit carries which change, by what they vouch for; where several claim one, the oldest has it."""
        with self._seq_lock:
            tip = self.tip()
            if tip != self._seq_tip:
                self._read_seqs(tip)
                self._seq_tip = tip
            return dict(self._seqs)

    def commits_of(self, seqs: Collection[int]) -> dict[int, str]:
        """Which commit carries each of these changes; the branch is read back only as far as they lie."""
        if seqs and self._seq_tip is None:
            oldest, newest, found = min(seqs), 0, dict[int, str]()
            for anchor in self.anchors():
                last = max(anchor.seqs, default=oldest)
                newest = max(newest, last)
                found |= {seq: anchor.commit for seq in anchor.seqs if seq in seqs}
                if last < oldest:
                    break
            if all(seq in found or seq > newest for seq in seqs):
                return found
        every = self.seqs()
        return {seq: every[seq] for seq in seqs if seq in every}

    def anchors(self, *, merged: bool = False) -> Iterator[Anchor]:
        """What the branch's commits vouch for, newest first; with `merged`, also those that merges brought in."""
        with gitdir.guarded(self.home):
            import pygit2

            if (tip := self.tip()) is None:
                return
            walker = self._repo().walk(tip, pygit2.enums.SortMode.NONE)
            if not merged:
                walker.simplify_first_parent()
            yield from filter(None, map(anchor_of, walker))

    @_guard
    def at_time(self, moment: datetime) -> str | None:
        """The branch's newest commit made at or before `moment`; commits know whole seconds."""
        import pygit2

        second = seconds_of(moment)
        if (tip := self.tip()) is None:
            return None
        walker = self._repo().walk(tip, pygit2.enums.SortMode.NONE)
        walker.simplify_first_parent()
        return next((str(commit.id) for commit in walker if commit.commit_time <= second), None)

    @_guard
    def resolve(self, rev: str) -> str:
        """The full id of a commit given as id, unique beginning of one, branch, tag or expression like `HEAD~2`."""
        import pygit2

        try:
            if not rev.isprintable():
                raise ValueError("unprintable")
            return str(self._repo().revparse_single(rev).peel(pygit2.Commit).id)
        except (KeyError, ValueError) as error:
            raise NotFoundError(f"there is no commit {rev[:80]!r}", hint="`git log --oneline` lists them") from error

    @_guard
    def pack(self) -> None:
        """Bring loose objects into packs; nothing is dropped that only somebody else may know of."""
        pack.pack(self.disk, self.home, self._repo())
        self.close()

    @_guard
    def is_crowded(self, limit: int) -> bool:
        """Whether more than `limit` objects lie in files of their own, judged by one folder of 256 as git does."""
        sample = self.disk.names(gitdir.common_dir(self._repo()) / "objects" / "17")
        return len(sample) * 256 > limit

    def check(self) -> list[str]:
        """What is wrong with the repository; empty when everything can be read."""
        self.close()  # what libgit2 still remembers would hide what the disk has lost
        try:
            with gitdir.guarded(self.home):
                return pack.check(self.home, self._repo(), self.tip())
        except HistoryError as error:
            return [error.message]

    def _repo(self) -> pygit2.Repository:
        repo: pygit2.Repository | None = getattr(self._local, "repo", None)
        if repo is None:
            repo = self._local.repo = gitdir.open_repo(self.home, self._ref)
        return repo

    def _tree(self, commit: str | None) -> pygit2.Tree | None:
        rev = self.tip() if commit is None else self.resolve(commit)
        return None if rev is None else gitdir.commit_at(self._repo(), rev).tree

    def _is_staged(self, repo: pygit2.Repository) -> bool:
        index, _ = gitindex.index_files(repo)
        state = gitindex.checksum(self.disk, index)
        if state is None:
            return False
        tip = self.tip()
        known = [*gitindex.marks(self.disk, Path(repo.path, gitindex.MARKER)), *self._origins]
        # A mark counts while its commit is in the branch: `git reset --soft` makes the same index staged work.
        known = [mark for mark in known if tip and self._includes(tip, mark[0])]
        if any(mark[1] == state for mark in known) or (not known and gitindex.is_empty_index(self.disk, index)):
            return False
        origin = gitindex.index_origin(repo, filter(None, [tip, *(mark[0] for mark in known)]))
        if origin is not None:
            self._origins = [(origin, state)]
        return origin is None

    def _includes(self, tip: str, commit: str) -> bool:
        """Whether the commit is the tip or before it; an answer is carried along when the branch grows."""
        before, known = self._past
        if tip == commit or (tip == before and commit in known):
            return True
        repo = self._repo()
        if not (commit in repo and repo.descendant_of(tip, commit)):
            return False
        self._past = (tip, frozenset({commit}) | (known if tip == before else frozenset()))
        return True

    def _move_branch(self, repo: pygit2.Repository, base: str | None, new: str, draft: CommitDraft) -> None:
        common = gitdir.common_dir(repo)
        target, scratch = common / self._ref, common / gitdir.NEW_REF
        gitdir.stage(self.disk, target, scratch, f"{new}\n".encode())
        self.disk.make_dirs(target.parent)
        line = reflog_line(base, new, draft)
        with gitdir.locked(self.disk, target, scratch):
            if self.tip() != base:
                raise HistoryError(f"branch {self.branch} moved meanwhile", hint="try again")
            for log in (common / "logs" / self._ref, Path(repo.path, "logs", "HEAD")):
                gitdir.append_line(self.disk, log, line)
        if self._past[0] == base:
            self._past = (new, self._past[1])

    def _read_seqs(self, tip: str | None) -> None:
        """Read the commits since the last look; all of them after a merge, or when the branch was rewritten."""
        import pygit2

        found: list[tuple[int, str]] = []
        is_straight = True
        for commit in self._repo().walk(tip, pygit2.enums.SortMode.NONE) if tip else ():
            if is_straight and str(commit.id) == self._seq_tip:
                break
            is_straight = is_straight and len(commit.parent_ids) < 2
            if anchor := anchor_of(commit):
                found += [(number, anchor.commit) for number in anchor.seqs]
        else:
            self._seqs = {}
        for number, commit_id in reversed(found):
            self._seqs.setdefault(number, commit_id)


def _create_commit(repo: pygit2.Repository, draft: CommitDraft, parent: str | None) -> str:
    import pygit2

    message = message_of(draft)
    old = None if parent is None else gitdir.commit_at(repo, parent).tree
    tree = _graft(repo, old, {parts_of(path): data for path, data in draft.writes.items()})
    second, offset = seconds_of(draft.at), int((draft.at.utcoffset() or timedelta()).total_seconds() // 60)
    author = pygit2.Signature(*author_of(draft.author), second, offset)
    committer = pygit2.Signature(*COMMITTER, second, offset)
    parents = [] if parent is None else [parent]
    return str(repo.create_commit(None, author, committer, message, tree or repo.TreeBuilder().write(), parents))


def _graft(
    repo: pygit2.Repository, tree: pygit2.Tree | None, writes: Mapping[Parts, bytes | None]
) -> pygit2.Oid | None:
    """The id of `tree` after the writes, None when nothing is left in it."""
    groups: dict[str, dict[Parts, bytes | None]] = defaultdict(dict)
    for parts, data in writes.items():
        groups[parts[0]][parts[1:]] = data
    builder = repo.TreeBuilder() if tree is None else repo.TreeBuilder(tree)
    for name, below in groups.items():
        _put_entry(repo, builder, None if tree is None else _entry(tree, (name,)), name, below)
    return builder.write() if len(builder) else None


def _put_entry(
    repo: pygit2.Repository,
    builder: pygit2.TreeBuilder,
    old: pygit2.Object | None,
    name: str,
    below: dict[Parts, bytes | None],
) -> None:
    import pygit2

    modes = pygit2.enums.FileMode
    is_folder = isinstance(old, pygit2.Tree)
    is_said, data = () in below, below.pop((), None)
    if data is not None:
        if any(content is not None for content in below.values()):
            raise PathError(f"{name!r} cannot be a file and a folder at once", hint="write one of them")
        is_executable = old is not None and old.filemode == modes.BLOB_EXECUTABLE
        builder.insert(name, repo.create_blob(data), modes.BLOB_EXECUTABLE if is_executable else modes.BLOB)
        return
    folder = _graft(repo, old if isinstance(old, pygit2.Tree) else None, below) if below else None
    if folder is not None:
        builder.insert(name, folder, modes.TREE)
    elif old is not None and (below if is_folder else is_said):
        builder.remove(name)


def _entry(tree: pygit2.Tree, parts: Parts) -> pygit2.Object | None:
    try:
        return tree["/".join(parts)]
    except KeyError:
        return None


def _collect(tree: pygit2.Tree, prefix: str, found: dict[str, str]) -> None:
    import pygit2

    for entry in tree:
        raw = entry.raw_name or b""
        path = prefix + raw.decode("utf-8", "surrogateescape")
        if isinstance(entry, pygit2.Tree):
            _collect(entry, f"{path}/", found)
        elif isinstance(entry, pygit2.Blob):
            found[path] = str(entry.id)
