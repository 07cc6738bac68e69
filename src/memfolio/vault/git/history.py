"""Pack and check a repository, with the git program if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import pygit2

from memfolio.errors import HistoryError, NotFoundError, PathError
from memfolio.vault.disk import Disk
from memfolio.vault.git import repository
from memfolio.vault.git.repository import (
    COMMITTER,
    Anchor,
    CommitDraft,
    Parts,
    anchor_of,
    author_of,
    common_dir,
    message_of,
    parts_of,
    reflog_line,
    seconds_of,
)
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED

MANY_PACKS = 50
KEPT = b"memfolio\n"
"""The content of our `.keep` files: git leaves a pack alone that has such a file beside it."""
_WORKSHOP = "memfolio-pack"
_GIT_SECONDS = 900


def pack(disk: Disk, home: Path, repo: pygit2.Repository) -> None:
    """Bring loose objects into a pack with the git program, or without it when it is missing or unwilling.

    Packs are made along the history and not from a list of objects: only then does git see which files are versions of
    one another (measured: 30 times smaller). Small packs become larger ones; what nobody refers to is kept.
    """
    folder = common_dir(repo) / "objects" / "pack"
    for name in disk.names(folder):  # of a process that died while it committed
        if name.endswith(".keep") and disk.read(folder / name) == KEPT:
            disk.unlink(folder / name)
    for how in (["--geometric=2"], ["-a", "-k"]):  # the first needs git 2.32
        done = run_git(home, repo, "repack", "-d", "-q", *how)
        if done is None or done.returncode == 0:
            break
    if done is None or done.returncode != 0:
        _pack_all(disk, repo)
        return
    run_git(home, repo, "commit-graph", "write", "--reachable", "--changed-paths", "--no-progress")


def check(home: Path, repo: pygit2.Repository, tip: str | None) -> list[str]:
    """Return what git, or a walk through everything the tip needs, finds wrong."""
    done = run_git(home, repo, "fsck", "--no-dangling", "--no-progress")
    if done is None:
        return [] if tip is None else list(_unreadable(repo, tip))
    if done.returncode == 0:
        return []
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("notice:")]
    return lines or [f"git fsck ended with {done.returncode}"]


def run_git(home: Path, repo: pygit2.Repository, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run the git program on this very repository; None when there is none or it distrusts the folder's owner."""
    program = shutil.which("git")
    if program is None:
        return None
    options = ["-c", "core.fsync=all", "-c", "core.fsmonitor=false", f"--git-dir={repo.path}", f"--work-tree={home}"]
    done = subprocess.run(
        [program, *options, *arguments],
        cwd=home,
        env={"LC_ALL": "C"},  # neither GIT_DIR and the like nor a person's own settings play a part
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_GIT_SECONDS,
    )
    return None if done.returncode == 128 and "safe.directory" in done.stderr else done


def _pack_all(disk: Disk, repo: pygit2.Repository) -> None:
    """Bring all objects into one pack, in place of the files and packs in which they lay."""
    folder = common_dir(repo) / "objects" / "pack"
    before, objects = disk.names(folder), list(repo.odb)
    if not objects:
        return
    builder = pygit2.PackBuilder(repo)
    for oid in objects:
        builder.add(oid)
    new = put_pack(disk, repo, builder)
    kept = {new, *(name.partition(".")[0] for name in before if name.endswith(".keep"))}
    # What names the pack first, so that a reader finds all of it or nothing.
    for name in sorted(before, key=lambda name: name.endswith(".pack")):
        if name.startswith("pack-") and name.partition(".")[0] not in kept:
            _delete(disk, folder / name)
    drop_loose(disk, repo, objects)


def put_pack(disk: Disk, repo: pygit2.Repository, builder: pygit2.PackBuilder, *, keep: bool = False) -> str:
    """Write a pack where nobody looks for one, make it durable, then give it its name among the others.

    With `keep`, git leaves it alone until its `.keep` is deleted.
    """
    common = common_dir(repo)
    workshop, folder = common / _WORKSHOP, common / "objects" / "pack"
    for name in disk.names(workshop):  # of an attempt that was cut short
        disk.unlink(workshop / name)
    disk.make_dirs(workshop)
    disk.make_dirs(folder)
    builder.write(str(workshop))
    names = sorted(disk.names(workshop), key=lambda name: name.endswith(".idx"))  # a pack counts once it has one
    new = names[0].partition(".")[0]
    if keep:
        disk.put(folder / f"{new}.keep", KEPT)
    for name in names:
        (workshop / name).chmod(0o644)  # what is read-only can neither be synced nor, on Windows, deleted
        disk.sync_file(workshop / name)
        disk.rename(workshop / name, folder / name)
    disk.sync_dir(folder)
    return new


@contextmanager
def kept(disk: Disk, repo: pygit2.Repository, objects: Iterable[pygit2.Oid]) -> Iterator[None]:
    """Have objects in a pack that no `git gc --prune=now` drops, until the caller has made them reachable.

    Git deletes an object in a file of its own if nothing referred to it when it began to look, even though something
    does by now; it does not delete from packs that it did not see, or that have a `.keep`.
    """
    assert repo.config_snapshot  # what is wrong with it is said here: half a builder cannot be thrown away
    builder = pygit2.PackBuilder(repo)
    for oid in dict.fromkeys(objects):
        builder.add(oid)
    name = put_pack(disk, repo, builder, keep=True)
    try:
        yield
    finally:
        disk.discard(common_dir(repo) / "objects" / "pack" / f"{name}.keep")


def drop_loose(disk: Disk, repo: pygit2.Repository, objects: Iterable[pygit2.Oid]) -> None:
    """Delete the files of objects that are in a pack."""
    folder = common_dir(repo) / "objects"
    for name in map(str, objects):
        path = folder / name[:2] / name[2:]
        if path.exists():
            _delete(disk, path)


def _delete(disk: Disk, path: Path) -> None:
    path.chmod(0o644)  # Windows deletes no read-only file
    disk.unlink(path)


def _unreadable(repo: pygit2.Repository, tip: str) -> Iterator[str]:
    seen: set[pygit2.Oid] = set()
    waiting = [pygit2.Oid(hex=tip)]
    while waiting:
        oid = waiting.pop()
        if oid in seen:
            continue
        seen.add(oid)
        try:
            waiting.extend(_needed_by(repo[oid]))
        except (KeyError, ValueError, pygit2.GitError) as error:
            yield f"object {oid} cannot be read: {error}"


def _needed_by(thing: pygit2.Object) -> list[pygit2.Oid]:
    if thing.type == pygit2.enums.ObjectType.COMMIT:
        commit = thing.peel(pygit2.Commit)
        return [commit.tree_id, *commit.parent_ids]
    if isinstance(thing, pygit2.Tree):
        return [entry.id for entry in thing if entry.type_str != "commit"]
    thing.read_raw()
    return []


# The history of a home: commits made from given bytes, past the index, never touching what a person is doing.
#
# People move branches: `refs/memfolio/…` names our newest commit wherever the branch is, so that none of ours is lost
# by a reset, a rebase or `git gc`. The next commit leads the branch back to it.
#
# Whoever writes here (`prepare`, `commit`, `refresh_index`, `pack`) holds the home's commit lock; reading needs no
# lock. Everything that goes wrong below is a `HistoryError`, and then nothing was committed.

P = ParamSpec("P")
T = TypeVar("T")

_TRACKED = frozenset({"agents", SHARED, AUDIT, CONFIG, GITIGNORE})
"""The entries of a home's root that are recorded change by change; the rest is the person's alone."""
NO_TREE = pygit2.Oid(hex="4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The tree that has nothing in it; git keeps no such folder."""
ATTEMPTS = 5
"""How often objects are written that `git prune` deletes before they are safe."""


class GitFileState(NamedTuple):
    """Git's versions of a file as blob ids, None if it has none."""

    head: str | None
    """In the commit that is checked out."""
    staged: str | None
    """In the index."""
    ours: str | None
    """In our newest commit."""
    sides: tuple[bytes, ...]
    """Its conflicting contents in the index."""
    indexed: str | None
    """In the index as we last left that, which may have been some commits ago."""
    is_built_on: bool
    """Whether a person has committed on top of our newest commit, and that is checked out."""


def _guard(method: Callable[Concatenate[History, P], T]) -> Callable[Concatenate[History, P], T]:
    @wraps(method)
    def guarded(self: History, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with repository.guarded(self.home):
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
        self._own_ref = f"{repository.OWN_REFS}{branch}"
        self._local = threading.local()
        self._seqs: tuple[tuple[str, ...], dict[int, str]] | None = None
        """The commit of each change, as of the commits that led to all others then."""
        self._newest: tuple[tuple[str | None, str | None], str | None] | None = None

    @_guard
    def prepare(self) -> None:
        """Make sure that the home has a repository of its own, set up for plain bytes and power loss."""
        if not os.path.lexists(self.home / ".git"):
            repository.create(self.disk, self.home, self.branch)
        repository.configure(self.disk, self._repo())

    def close(self) -> None:
        """Let go of the open files, in every thread; the next call opens them again."""
        self._local = threading.local()

    @_guard
    def obstacle(self) -> str | None:
        """Why a commit has to wait (a person is in the middle of something); None when the way is free."""
        repo = self._repo()
        head = repo.lookup_reference("HEAD").target
        if not isinstance(head, str):
            return "detached HEAD"
        if head != self._ref:
            return f"on branch {head.removeprefix('refs/heads/')}"
        if (state := repo.state()) != pygit2.enums.RepositoryState.NONE:
            return f"{state.name.lower().replace('_', ' ')} in progress"
        if repository.has_foreign_lock(*repository.index_files(repo)):
            return "index.lock present"
        return repository.STAGED if self._is_staged(repo) else None

    @_guard
    def commit(self, drafts: Sequence[CommitDraft]) -> list[str]:
        """Commit the drafts in order on top of the branch and return their ids; all become visible at once."""
        if (obstacle := self.obstacle()) is not None:
            raise HistoryError(f"cannot commit: {obstacle}", hint="commits wait until git is free again")
        repo, base = self._repo(), self.tip()
        if not drafts:
            return []
        for attempt in count(1):
            made: list[pygit2.Oid] = []
            try:
                ids = self._create_commits(repo, drafts, base, made)
                with kept(self.disk, repo, made):
                    self._move_branch(repo, base, ids[-1], drafts[-1])
            except (pygit2.GitError, KeyError):
                # Somebody's `git prune` may have deleted what nothing refers to yet: it is written again.
                if attempt == ATTEMPTS:
                    raise
                self.close()
                repo = self._repo()
            else:
                break
        drop_loose(self.disk, repo, made)
        return ids

    def _create_commits(
        self, repo: pygit2.Repository, drafts: Sequence[CommitDraft], base: str | None, made: list[pygit2.Oid]
    ) -> list[str]:
        """The commits on top of the branch and of our newest commit, whichever of the two is behind the other."""
        parents, tree = self._foundation(repo, base, self.ours(), made)
        ids: list[str] = []
        for draft in drafts:
            message = message_of(draft)
            changed = _graft(repo, tree, {parts_of(path): data for path, data in draft.writes.items()}, made)
            second, offset = seconds_of(draft.at), int((draft.at.utcoffset() or timedelta()).total_seconds() // 60)
            author = pygit2.Signature(*author_of(draft.author), second, offset)
            committer = pygit2.Signature(*COMMITTER, second, offset)
            made.append(repo.create_commit(None, author, committer, message, changed, parents))
            ids.append(str(made[-1]))
            parents, tree = ids[-1:], repository.commit_at(repo, ids[-1]).tree
        return ids

    def _foundation(
        self, repo: pygit2.Repository, base: str | None, ours: str | None, made: list[pygit2.Oid]
    ) -> tuple[list[str], pygit2.Tree | None]:
        """The parents of the next commit, and the tree that it changes."""
        if base is None or ours is None:
            return [base] if base else [], repository.commit_at(repo, base).tree if base else None
        theirs, tree = repository.commit_at(repo, base).tree, repository.commit_at(repo, ours).tree
        if base == ours:
            return [base], theirs
        if repo.descendant_of(ours, base):
            return [ours], tree  # the branch was set back
        # What is recorded comes from the record, in which a person's commits are edits; the rest is theirs.
        if not repo.descendant_of(base, ours):
            return [ours, base], _with_tracked(repo, theirs, tree)
        kept = {parts_of(path): content for path in self.built_on() if (content := self.read(path)) is not None}
        return [base], repo[_graft(repo, theirs, kept, made)].peel(pygit2.Tree) if kept else theirs

    @_guard
    def refresh_index(self) -> None:
        """Bring the index up to the branch, unless a person is in the middle of something."""
        tip = self.tip()
        if tip is None or self.obstacle() is not None:
            return
        repo, disk = self._repo(), self.disk
        index, scratch = repository.index_files(repo)
        before = repository.checksum(disk, index)
        if (tip, before) == repository.read_mark(disk, Path(repo.path)):
            return
        if not repository.build_index(disk, index, scratch, repository.commit_at(repo, tip).tree):
            return
        state = repository.checksum(disk, scratch)
        with repository.locked(disk, index, scratch):
            if repository.checksum(disk, index) != before:
                raise HistoryError("somebody else changed the index", hint="try again")
        # Who dies before this leaves an index of the newest commit, which whoever looks next can tell.
        repository.put_mark(disk, Path(repo.path), tip, state)

    @_guard
    def tip(self) -> str | None:
        """The newest commit of the branch, where a person may have put it; None before the first one."""
        repo = self._repo()
        reference = repo.references.get(self._ref)
        if reference is not None:
            return str(reference.resolve().target)
        if (lost := repository.lost_tip(self.disk, repo, self._ref)) is not None:
            raise HistoryError(
                f"branch {self.branch} of {self.home} is gone although it has a past",
                hint=f"bring it back with `git update-ref {self._ref} {lost}`",
            )
        return None

    @_guard
    def ours(self) -> str | None:
        """Our newest commit, wherever the branch is; None before the first one."""
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
        return sorted(path for path in paths if path.partition("/")[0] in _TRACKED)

    @_guard
    def standing(self, path: str) -> GitFileState | None:
        """Return git's versions of a file; None if there is no history yet."""
        repo, parts, ours = self._repo(), parts_of(path), self.ours()
        if ours is None:
            return None
        tip, head = self.tip(), repo.references.get("HEAD")
        checked_out = str(head.resolve().target) if head is not None and not repo.head_is_unborn else None
        is_on_branch = head is not None and head.target == self._ref
        index = repo.index
        index.read(False)
        conflict = _conflict(index, path)
        mark = repository.read_mark(self.disk, Path(repo.path))
        return GitFileState(
            head=_blob_at(repo, checked_out, parts),
            staged=str(index[path].id) if conflict is None and path in index else None,
            ours=_blob_at(repo, ours, parts),
            sides=tuple(repo[each.id].peel(pygit2.Blob).data for each in conflict[1:] if each) if conflict else (),
            indexed=_blob_at(repo, mark[0], parts) if mark and mark[0] in repo else None,
            is_built_on=bool(is_on_branch and tip and tip != ours and repo.descendant_of(tip, ours)),
        )

    @_guard
    def unstage(self, paths: Iterable[str]) -> None:
        """Let the index have these files as the commit that is checked out has them."""
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

    @_guard
    def read(self, path: str, *, commit: str | None = None) -> bytes | None:
        """The content of a file at a commit (default: our newest), None when it is not there."""
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
    def seqs(self) -> Mapping[int, str]:
        """Return the commit of each change; if several claim one, the oldest counts."""
        ends = self._ends()
        if self._seqs is None or self._seqs[0] != ends:
            # The newest come first, so that what the oldest say stays.
            self._seqs = ends, {seq: anchor.commit for anchor in self.anchors(merged=True) for seq in anchor.seqs}
        return self._seqs[1]

    def commits_of(self, seqs: Collection[int]) -> dict[int, str]:
        """Return the commit of each of these changes; the branch is read only as far back as needed."""
        if seqs:
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
        with repository.guarded(self.home):
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
        second = seconds_of(moment)
        if (tip := self.ours()) is None:
            return None
        walker = self._repo().walk(tip, pygit2.enums.SortMode.NONE)
        walker.simplify_first_parent()
        return next((str(commit.id) for commit in walker if commit.commit_time <= second), None)

    @_guard
    def resolve(self, rev: str) -> str:
        """The full id of a commit given as id, unique beginning of one, branch, tag or expression like `HEAD~2`."""
        try:
            if not rev.isprintable():
                raise ValueError("unprintable")
            return str(self._repo().revparse_single(rev).peel(pygit2.Commit).id)
        except (KeyError, ValueError) as error:
            raise NotFoundError(f"there is no commit {rev[:80]!r}", hint="`git log --oneline` lists them") from error

    @_guard
    def pack(self) -> None:
        """Pack loose objects; nothing is dropped that somebody else may refer to."""
        pack(self.disk, self.home, self._repo())
        self.close()

    @_guard
    def is_crowded(self, limit: int) -> bool:
        """Whether there are many packs, or more than `limit` objects in files of their own, judged by 1/256 of them."""
        objects = repository.common_dir(self._repo()) / "objects"
        packs = sum(name.endswith(".pack") for name in self.disk.names(objects / "pack"))
        return packs > MANY_PACKS or len(self.disk.names(objects / "17")) * 256 > limit

    def check(self) -> list[str]:
        """Return what is wrong with the repository; empty if everything is readable."""
        self.close()  # what libgit2 still remembers would hide what the disk has lost
        try:
            with repository.guarded(self.home):
                return check(self.home, self._repo(), self.tip())
        except HistoryError as error:
            return [error.message]

    def _repo(self) -> pygit2.Repository:
        repo: pygit2.Repository | None = getattr(self._local, "repo", None)
        if repo is None:
            repo = self._local.repo = repository.open_repo(self.home, self._ref)
        return repo

    def _tree(self, commit: str | None) -> pygit2.Tree | None:
        rev = self.ours() if commit is None else self.resolve(commit)
        return None if rev is None else repository.commit_at(self._repo(), rev).tree

    def _is_staged(self, repo: pygit2.Repository) -> bool:
        index, _ = repository.index_files(repo)
        state = repository.checksum(self.disk, index)
        if state is None:
            return False
        mark = repository.read_mark(self.disk, Path(repo.path))
        if (mark and mark[1] == state) or (not mark and repository.is_empty_index(self.disk, index)):
            return False
        # Some program wrote it anew, or one of ours died before it said of which commit it is: its files tell.
        commits = dict.fromkeys([self.tip(), self.ours(), mark[0] if mark and mark[0] in repo else None])
        origin = repository.index_origin(repo, filter(None, commits))
        if origin is not None:
            repository.put_mark(self.disk, Path(repo.path), origin, state)
        return origin is None

    def _move_branch(self, repo: pygit2.Repository, base: str | None, new: str, draft: CommitDraft) -> None:
        common = repository.common_dir(repo)
        target, scratch = common / self._ref, common / repository.NEW_REF
        repository.stage(self.disk, target, scratch, f"{new}\n".encode())
        self.disk.make_dirs(target.parent)
        line = reflog_line(base, new, draft)
        with repository.locked(self.disk, target, scratch):
            if self.tip() != base:
                raise HistoryError(f"branch {self.branch} moved meanwhile", hint="try again")
            for log in (common / "logs" / self._ref, Path(repo.path, "logs", "HEAD")):
                repository.append_line(self.disk, log, line)
        self._note_ours(common, new)

    def _note_ours(self, common: Path, new: str) -> None:
        """Let our own reference name the newest commit; if we die before, the branch has it, which says whose it is."""
        target, scratch = common / self._own_ref, common / repository.NEW_OWN_REF
        self.disk.make_dirs(target.parent)
        repository.stage(self.disk, target, scratch, f"{new}\n".encode())
        with repository.locked(self.disk, target, scratch):
            pass


def _with_tracked(repo: pygit2.Repository, theirs: pygit2.Tree, ours: pygit2.Tree) -> pygit2.Tree:
    """A person's tree with everything that is recorded change by change as our own tree has it."""
    builder = repo.TreeBuilder(theirs)
    for name in _TRACKED:
        if name in ours:
            builder.insert(name, ours[name].id, ours[name].filemode)
        elif name in theirs:
            builder.remove(name)
    return repo[builder.write()].peel(pygit2.Tree)


def _blob_at(repo: pygit2.Repository, commit: str | None, parts: Parts) -> str | None:
    entry = None if commit is None else _entry(repository.commit_at(repo, commit).tree, parts)
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
) -> pygit2.Oid:
    """The id of `tree` after the writes; every object that was made is noted in `made`."""
    groups: dict[str, dict[Parts, bytes | None]] = defaultdict(dict)
    for parts, data in writes.items():
        groups[parts[0]][parts[1:]] = data
    builder = repo.TreeBuilder() if tree is None else repo.TreeBuilder(tree)
    for name, below in groups.items():
        _put_entry(repo, builder, None if tree is None else _entry(tree, (name,)), name, below, made)
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
    folder = _graft(repo, old if isinstance(old, pygit2.Tree) else None, below, made) if below else NO_TREE
    if folder != NO_TREE:
        builder.insert(name, folder, modes.TREE)
    elif old is not None and (below if is_folder else is_said):
        builder.remove(name)


def _entry(tree: pygit2.Tree, parts: Parts) -> pygit2.Object | None:
    try:
        return tree["/".join(parts)]
    except KeyError:
        return None


def _collect(tree: pygit2.Tree, prefix: str, found: dict[str, str]) -> None:
    for entry in tree:
        raw = entry.raw_name or b""
        path = prefix + raw.decode("utf-8", "surrogateescape")
        if isinstance(entry, pygit2.Tree):
            _collect(entry, f"{path}/", found)
        elif isinstance(entry, pygit2.Blob):
            found[path] = str(entry.id)
