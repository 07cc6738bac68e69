"""The history of a home: commits made from given bytes, past the index, never touching what a person is doing.

People move branches: `refs/memfolio/…` names our newest commit wherever the branch is, so that none of ours is lost by
a reset, a rebase or `git gc`. The next commit leads the branch back to it.

Whoever writes here (`prepare`, `commit`, `refresh_index`, `pack`) holds the home's commit lock; reading needs no lock.
Everything that goes wrong below is a `HistoryError`, and then nothing was committed.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

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
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED

if TYPE_CHECKING:  # pygit2 takes 60 ms to import: it is loaded when a history is first used
    import pygit2

P = ParamSpec("P")
T = TypeVar("T")

_NO_PAST: tuple[str, frozenset[str]] = ("", frozenset())
_TRACKED = frozenset(name.encode() for name in ("agents", SHARED, AUDIT, CONFIG, GITIGNORE))
"""What of a home's root is recorded change by change; the rest is the person's alone."""
ATTEMPTS = 5
"""How often objects are written that `git prune` deletes before they are safe."""


class Standing(NamedTuple):
    """What git has of a file: blobs by their ids, None where it is not."""

    head: str | None
    """In the commit that is checked out."""
    staged: str | None
    """In the index."""
    ours: str | None
    """In our newest commit."""
    sides: tuple[bytes, ...]
    """The contents that the index has of it while they conflict."""
    indexed: str | None
    """In the index as we last left that, which may have been some commits ago."""
    is_built_on: bool
    """Whether a person has committed on top of our newest commit, and that is checked out."""


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
        self._own_ref = f"{gitdir.OWN_REFS}{branch}"
        self._local = threading.local()
        self._seq_lock = threading.Lock()
        self._seqs: dict[int, str] = {}
        self._seq_ends: tuple[str, ...] = ()
        self._origins: list[tuple[str, str]] = []
        self._past = _NO_PAST
        self._newest: tuple[tuple[str | None, str | None], str | None] | None = None

    @_guard
    def prepare(self) -> None:
        """Make sure that the home has a repository of its own, set up for plain bytes and power loss."""
        if not os.path.lexists(self.home / ".git"):
            gitdir.create(self.disk, self.home, self.branch)
        gitdir.configure(self.disk, self._repo())

    def close(self) -> None:
        """Let go of the open files, in every thread; the next call opens them again."""
        self._local = threading.local()

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
        return gitindex.STAGED if self._is_staged(repo) else None

    @_guard
    def commit(self, drafts: Sequence[CommitDraft]) -> list[str]:
        """Commit the drafts in order on top of the branch and return their ids; all become visible at once."""
        import pygit2

        if (obstacle := self.obstacle()) is not None:
            raise HistoryError(f"cannot commit: {obstacle}", hint="commits wait until git is free again")
        repo, base = self._repo(), self.tip()
        if not drafts:
            return []
        for attempt in count(1):
            made: list[pygit2.Oid] = []
            try:
                ids = self._create_commits(repo, drafts, base, made)
                with pack.kept(self.disk, repo, made):
                    self._move_branch(repo, base, ids[-1], drafts[-1])
            except (pygit2.GitError, KeyError):
                # Somebody's `git prune` may have deleted what nothing refers to yet: it is written again.
                if attempt == ATTEMPTS:
                    raise
                self.close()
                repo = self._repo()
            else:
                break
        pack.drop_loose(self.disk, repo, made)
        return ids

    def _create_commits(
        self, repo: pygit2.Repository, drafts: Sequence[CommitDraft], base: str | None, made: list[pygit2.Oid]
    ) -> list[str]:
        """The commits on top of the branch and of our newest commit, whichever of the two is behind the other."""
        parents, tree = self._foundation(repo, base, self.ours(), made)
        ids: list[str] = []
        for draft in drafts:
            ids.append(str(_create_commit(repo, draft, parents, tree, made)))
            parents, tree = ids[-1:], gitdir.commit_at(repo, ids[-1]).tree
        return ids

    def _foundation(
        self, repo: pygit2.Repository, base: str | None, ours: str | None, made: list[pygit2.Oid]
    ) -> tuple[list[str], pygit2.Tree | None]:
        """The parents of the next commit, and the tree that it changes."""
        import pygit2

        if base is None or ours is None:
            return [base] if base else [], gitdir.commit_at(repo, base).tree if base else None
        theirs, tree = gitdir.commit_at(repo, base).tree, gitdir.commit_at(repo, ours).tree
        if base == ours:
            return [base], theirs
        if repo.descendant_of(ours, base):
            return [ours], tree  # the branch was set back
        # What is recorded comes from the record, in which a person's commits are edits; the rest is theirs.
        if not repo.descendant_of(base, ours):
            return [ours, base], _with_entries(repo, tree, theirs, lambda name: name not in _TRACKED)
        kept = {parts_of(path): content for path in self.built_on() if (content := self.read(path)) is not None}
        grafted = _graft(repo, theirs, kept, made) if kept else None
        return [base], repo[grafted].peel(pygit2.Tree) if grafted else theirs

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
        """The newest commit of the branch, where a person may have put it; None before the first one."""
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
    def ours(self) -> str | None:
        """Our newest commit, wherever the branch is; None before the first one."""
        import pygit2

        repo, tip = self._repo(), self.tip()
        reference = repo.references.get(self._own_ref)
        own = str(reference.resolve().target) if reference is not None else None
        if own is None or own == tip or tip is None:
            return own or tip
        if self._newest is None or self._newest[0] != (tip, own):
            found = own
            if repo.descendant_of(tip, own):  # another machine's commits are ours too, once they are pulled
                walker = repo.walk(tip, pygit2.enums.SortMode.NONE)
                walker.simplify_first_parent()
                walker.hide(own)
                found = next((str(commit.id) for commit in walker if anchor_of(commit)), own)
            self._newest = (tip, own), found
        return self._newest[1]

    @_guard
    def is_set_back(self) -> bool:
        """Whether somebody has moved the branch away from our newest commit."""
        tip, ours = self.tip(), self.ours()
        return tip is not None and ours is not None and tip != ours and not self._repo().descendant_of(tip, ours)

    @_guard
    def built_on(self) -> list[str]:
        """The files that people's commits on top of our newest one have changed."""
        tip, ours = self.tip(), self.ours()
        if tip is None or ours is None or tip == ours or self.is_set_back():
            return []
        before, after = self.files(ours), self.files(tip)
        paths = (path for path in {*before, *after} if before.get(path) != after.get(path))
        return sorted(path for path in paths if os.fsencode(path.partition("/")[0]) in _TRACKED)

    @_guard
    def standing(self, path: str) -> Standing | None:
        """What git has of a file right now; None where there is no history yet."""
        import pygit2

        repo, parts, ours = self._repo(), parts_of(path), self.ours()
        if ours is None:
            return None
        tip, head = self.tip(), repo.references.get("HEAD")
        checked_out = str(head.resolve().target) if head is not None and not repo.head_is_unborn else None
        is_on_branch = head is not None and head.target == self._ref
        index = repo.index
        index.read(False)
        conflict = _conflict(index, path)
        marked = [each for each, _ in gitindex.marks(self.disk, Path(repo.path, gitindex.MARKER)) if each in repo]
        return Standing(
            head=_blob_at(repo, checked_out, parts),
            staged=str(index[path].id) if conflict is None and path in index else None,
            ours=_blob_at(repo, ours, parts),
            sides=tuple(repo[each.id].peel(pygit2.Blob).data for each in conflict[1:] if each) if conflict else (),
            indexed=_blob_at(repo, marked[-1], parts) if marked else None,
            is_built_on=bool(is_on_branch and tip and tip != ours and repo.descendant_of(tip, ours)),
        )

    @_guard
    def unstage(self, paths: Iterable[str]) -> None:
        """Let the index have these files as the commit that is checked out has them."""
        import pygit2

        repo = self._repo()
        if repo.head_is_unborn:
            return
        tree, index = repo.head.peel(pygit2.Commit).tree, repo.index
        index.read()
        for path in paths:
            if _conflict(index, path) is not None:
                del index.conflicts[path]
            entry = _entry(tree, parts_of(path))
            if isinstance(entry, pygit2.Blob):
                index.add(pygit2.IndexEntry(path, entry.id, pygit2.enums.FileMode(entry.filemode)))
            elif path in index:
                index.remove(path)
        index.write()

    @property
    def is_at_work(self) -> bool:
        """Whether a git command of somebody else is under way, or died and left its lock."""
        return gitdir.has_foreign_lock(self.home / ".git" / "index", self.home / ".git" / f"{gitindex.MARKER}.new")

    @_guard
    def read(self, path: str, *, commit: str | None = None) -> bytes | None:
        """The content of a file at a commit (default: our newest), None when it is not there."""
        import pygit2

        parts, tree = parts_of(path), self._tree(commit)
        entry = None if tree is None else _entry(tree, parts)
        return entry.data if isinstance(entry, pygit2.Blob) else None

    @_guard
    def files(self, commit: str | None = None) -> dict[str, str]:
        """Every file at a commit (default: our newest), with its blob's id."""
        found: dict[str, str] = {}
        tree = self._tree(commit)
        if tree is not None:
            _collect(tree, "", found)
        return found

    @_guard
    def seqs(self) -> dict[int, str]:
        """Which commit carries which change, by what they vouch for; where several claim one, the oldest has it."""
        with self._seq_lock:
            ends = self._ends()
            if ends != self._seq_ends:
                self._read_seqs(ends)
                self._seq_ends = ends
            return dict(self._seqs)

    def commits_of(self, seqs: Collection[int]) -> dict[int, str]:
        """Which commit carries each of these changes; the branch is read back only as far as they lie."""
        if seqs and not self._seq_ends:
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
        """What our commits vouch for, newest first; with `merged`, also those that people have built on them."""
        with gitdir.guarded(self.home):
            import pygit2

            if (ours := self.ours()) is None:
                return
            walker = self._repo().walk(ours, pygit2.enums.SortMode.NONE)
            if merged:
                for end in self._ends():
                    walker.push(end)
            else:
                walker.simplify_first_parent()
            yield from filter(None, map(anchor_of, walker))

    def _ends(self) -> tuple[str, ...]:
        """The commits that lead to all others: the branch, and our newest one if the branch was moved away from it."""
        tip, ours = self.tip(), self.ours()
        return tuple(filter(None, (tip, ours if self.is_set_back() else None)))

    @_guard
    def at_time(self, moment: datetime) -> str | None:
        """The newest commit made at or before `moment`; commits know whole seconds."""
        import pygit2

        second = seconds_of(moment)
        if (tip := self.ours()) is None:
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
        """Whether there are many packs, or more than `limit` objects in files of their own, judged by 1/256 of them."""
        objects = gitdir.common_dir(self._repo()) / "objects"
        packs = sum(name.endswith(".pack") for name in self.disk.names(objects / "pack"))
        return packs > pack.MANY_PACKS or len(self.disk.names(objects / "17")) * 256 > limit

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
        rev = self.ours() if commit is None else self.resolve(commit)
        return None if rev is None else gitdir.commit_at(self._repo(), rev).tree

    def _is_staged(self, repo: pygit2.Repository) -> bool:
        index, _ = gitindex.index_files(repo)
        state = gitindex.checksum(self.disk, index)
        if state is None:
            return False
        tip, ours = self.tip(), self.ours()
        known = [*gitindex.marks(self.disk, Path(repo.path, gitindex.MARKER)), *self._origins]
        # A mark counts while its commit is in the branch, or in what the branch was set back from.
        known = [mark for mark in known if any(each and self._includes(each, mark[0]) for each in (tip, ours))]
        if any(mark[1] == state for mark in known) or (not known and gitindex.is_empty_index(self.disk, index)):
            return False
        origin = gitindex.index_origin(repo, filter(None, dict.fromkeys([tip, ours, *(mark[0] for mark in known)])))
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
        self._note_ours(common, new)
        if self._past[0] == base:
            self._past = (new, self._past[1])

    def _note_ours(self, common: Path, new: str) -> None:
        """Let our own reference name the newest commit; if we die before, the branch has it, which says whose it is."""
        target, scratch = common / self._own_ref, common / gitdir.NEW_OWN_REF
        self.disk.make_dirs(target.parent)
        gitdir.stage(self.disk, target, scratch, f"{new}\n".encode())
        with gitdir.locked(self.disk, target, scratch):
            pass

    def _read_seqs(self, ends: tuple[str, ...]) -> None:
        """Read the commits since the last look; all of them after a merge, or when the branch was rewritten."""
        import pygit2

        found: list[tuple[int, str]] = []
        walker = self._repo().walk(ends[0] if ends else None, pygit2.enums.SortMode.NONE)
        for end in ends[1:]:
            walker.push(end)
        is_straight = len(ends) == len(self._seq_ends) == 1
        for commit in walker if ends else ():
            if is_straight and str(commit.id) == self._seq_ends[0]:
                break
            is_straight = is_straight and len(commit.parent_ids) < 2
            if anchor := anchor_of(commit):
                found += [(number, anchor.commit) for number in anchor.seqs]
        else:
            self._seqs = {}
        for number, commit_id in reversed(found):
            self._seqs.setdefault(number, commit_id)


def _create_commit(
    repo: pygit2.Repository,
    draft: CommitDraft,
    parents: Sequence[str],
    old: pygit2.Tree | None,
    made: list[pygit2.Oid],
) -> pygit2.Oid:
    """A commit that changes the tree `old`; every object that it is made of is noted in `made`."""
    import pygit2

    message = message_of(draft)
    tree = _graft(repo, old, {parts_of(path): data for path, data in draft.writes.items()}, made)
    if tree is None:
        tree = repo.TreeBuilder().write()
        made.append(tree)
    second, offset = seconds_of(draft.at), int((draft.at.utcoffset() or timedelta()).total_seconds() // 60)
    author = pygit2.Signature(*author_of(draft.author), second, offset)
    committer = pygit2.Signature(*COMMITTER, second, offset)
    made.append(repo.create_commit(None, author, committer, message, tree, list(parents)))
    return made[-1]


def _with_entries(
    repo: pygit2.Repository, tree: pygit2.Tree, other: pygit2.Tree, is_others: Callable[[bytes], bool]
) -> pygit2.Tree:
    """The tree with those entries as another tree has them."""
    import pygit2

    kept = [each for each in gitdir.tree_entries(tree.read_raw()) if not is_others(each[1])]
    kept += [each for each in gitdir.tree_entries(other.read_raw()) if is_others(each[1])]
    kept.sort(key=lambda each: each[1] + b"/" * (each[0] == gitdir.FOLDER))
    data = b"".join(mode + b" " + name + b"\0" + oid for mode, name, oid in kept)
    return repo[repo.write(pygit2.enums.ObjectType.TREE, data)].peel(pygit2.Tree)


def _blob_at(repo: pygit2.Repository, commit: str | None, parts: Parts) -> str | None:
    import pygit2

    entry = None if commit is None else _entry(gitdir.commit_at(repo, commit).tree, parts)
    return str(entry.id) if isinstance(entry, pygit2.Blob) else None


def _conflict(index: pygit2.Index, path: str) -> tuple[pygit2.IndexEntry | None, ...] | None:
    """The versions of a file that the index has while they conflict: before, ours and theirs."""
    conflicts = index.conflicts
    if conflicts is None:
        return None
    try:
        return tuple(conflicts[path])
    except KeyError:
        return None


def _graft(
    repo: pygit2.Repository,
    tree: pygit2.Tree | None,
    writes: Mapping[Parts, bytes | None],
    made: list[pygit2.Oid],
) -> pygit2.Oid | None:
    """The id of `tree` after the writes, None when nothing is left in it."""
    groups: dict[str, dict[Parts, bytes | None]] = defaultdict(dict)
    for parts, data in writes.items():
        groups[parts[0]][parts[1:]] = data
    builder = repo.TreeBuilder() if tree is None else repo.TreeBuilder(tree)
    for name, below in groups.items():
        _put_entry(repo, builder, None if tree is None else _entry(tree, (name,)), name, below, made)
    if not len(builder):
        return None
    made.append(builder.write())
    return made[-1]


def _put_entry(
    repo: pygit2.Repository,
    builder: pygit2.TreeBuilder,
    old: pygit2.Object | None,
    name: str,
    below: dict[Parts, bytes | None],
    made: list[pygit2.Oid],
) -> None:
    import pygit2

    modes = pygit2.enums.FileMode
    is_folder = isinstance(old, pygit2.Tree)
    is_said, data = () in below, below.pop((), None)
    if data is not None:
        if any(content is not None for content in below.values()):
            raise PathError(f"{name!r} cannot be a file and a folder at once", hint="write one of them")
        is_executable = old is not None and old.filemode == modes.BLOB_EXECUTABLE
        made.append(repo.create_blob(data))
        builder.insert(name, made[-1], modes.BLOB_EXECUTABLE if is_executable else modes.BLOB)
        return
    folder = _graft(repo, old if isinstance(old, pygit2.Tree) else None, below, made) if below else None
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
