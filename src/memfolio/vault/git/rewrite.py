"""Rewriting the whole history of a home, so that what was taken out of its files is in no object that is left.

Everything that a person can reach stays reachable: branches, tags, stashes and what reflogs name are rewritten alike.
Messages, authors, dates and file modes stay byte for byte; signatures go, since they would be wrong. All that is still
needed is in one new, durable pack before the first reference moves; after a crash the same work leads to the same ids.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from memfolio.errors import HistoryError, RefusedError
from memfolio.types import frozen
from memfolio.vault.git import repository
from memfolio.vault.git.history import History, put_pack
from memfolio.vault.paths import AUDIT

Scrub = Callable[[str, bytes], bytes]
Report = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""


def untold(done: int, total: int) -> None:
    """For work of which nobody wants to know how far it is."""


_LINK, _MODULE = b"120000", b"160000"
_SIGNATURE = re.compile(rb"\n(?:gpgsig|gpgsig-sha256|mergetag) [^\n]*(?:\n [^\n]*)*")
_NAMED = re.compile(rb"^(tree|parent|object) ([0-9a-f]{40})$", re.MULTILINE)
_MOVED = "memfolio-moved.new"
_PACKED = "packed-refs"
_STALE = ("ORIG_HEAD", "FETCH_HEAD", "objects/info/commit-graph", "objects/pack/multi-pack-index")


@frozen
class Rewritten:
    """The outcome of rewriting a history: the number of commits, and how many have a new id."""

    commits: int
    changed: int
    files: dict[str, int]
    """How many versions of which files became others."""
    references: tuple[str, ...]
    """Branches, tags and the like that moved."""


def check_reach(history: History) -> None:
    """Raise RefusedError if the history, or a part of it, also exists outside of this repository."""
    with repository.guarded(history.home):
        repo = _open(history)
        gitpath, names = Path(repo.path), list(repo.references)
        remotes = [name for name in names if name.startswith("refs/remotes/")]
        if remotes:
            short = remotes[0].removeprefix("refs/remotes/")
            raise RefusedError(
                f"the home's git follows a remote ({short}), which would bring the text back",
                hint="`git remote remove` it, purge here and there, then add it again and push with --force",
            )
        places = {"objects/info/alternates": "borrows objects of another repository", "shallow": "is a shallow clone"}
        found = [what for name, what in places.items() if os.path.lexists(gitpath / name)]
        if repository.common_dir(repo) != gitpath or history.disk.names(gitpath / "worktrees"):
            found.append("is shared by several work trees")
        if any(name.startswith("refs/replace/") for name in names):
            found.append("has replaced objects")
        if found:
            raise RefusedError(
                f"the home's git {found[0]}: not all of it can be rewritten here", hint="undo that, then purge again"
            )


def versions(history: History) -> Iterator[tuple[str, bytes]]:
    """Every file that any commit has, with each content that it had there, once; the trail is left out."""
    with repository.guarded(history.home):
        yield from Rewriter(_open(history), history).contents()


def objects(history: History, report: Report = untold) -> Iterator[tuple[str, bytes]]:
    """Every object of the repository, reachable or not, loose or packed, by its id."""
    with repository.guarded(history.home):
        odb = _open(history).odb
        ids = list(odb)
        for done, oid in enumerate(ids):
            report(done, len(ids))
            yield str(oid), odb.read(oid)[1]


def rewrite(history: History, scrub: Scrub, report: Report = untold) -> Rewritten:
    """Make the history what it would be if every file had always been what `scrub` makes of it.

    The caller holds the commit lock, nothing is staged or waiting, and the newest commit is scrubbed already.
    """
    with repository.guarded(history.home):
        history.close()  # what it remembers is about to go
        return Rewriter(_open(history), history, scrub).run(report)


def _open(history: History) -> pygit2.Repository:
    """Open a fresh repository object without cached state."""
    return repository.open_repo(history.home, f"refs/heads/{history.branch}")


@dataclass(slots=True)
class Rewriter:
    """One pass over a repository; ids are bytes, and each object is looked at once for each path that it has."""

    repo: pygit2.Repository
    history: History
    scrub: Scrub = lambda _, data: data
    _commits: dict[bytes, bytes] = field(default_factory=dict)
    _trees: dict[tuple[bytes, str], bytes] = field(default_factory=dict)
    _blobs: dict[tuple[bytes, str], bytes] = field(default_factory=dict)
    _tags: dict[bytes, bytes] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)
    """The objects that were written here."""

    def contents(self) -> Iterator[tuple[str, bytes]]:
        found: dict[str, bytes] = {}
        self.scrub = found.setdefault
        for commit in self._walk():
            self._tree(commit.tree_id.raw, "")
            yield from found.items()
            found.clear()

    def run(self, report: Report) -> Rewritten:
        before, targets = set(self._object_files()), self._targets()
        commits = list(self._walk())
        for done, commit in enumerate(commits):
            report(done, len(commits))
            self._commits[commit.id.raw] = self._commit(commit)
        moves = {name: (old, self._new(old)) for name, old in targets.items()}
        new = self._pack(moves)
        if self._targets() != targets:
            raise HistoryError("somebody else committed or moved a branch", hint="leave git alone for a moment")
        moved = tuple(name for name, (old, new) in moves.items() if old != new)
        self._move({name: moves[name] for name in moved})
        self._follow_in_logs()
        self._throw_away(new, before)
        self.history.close()
        changed = sum(old != new for old, new in self._commits.items())
        files = Counter(path for (old, path), new in self._blobs.items() if old != new)
        return Rewritten(commits=len(self._commits), changed=changed, files=dict(files), references=moved)

    # What there is

    def _targets(self) -> dict[str, bytes]:
        """Return the target of each reference."""
        targets = {name: self.repo.references[name].target for name in self.repo.references}
        return {name: each.raw for name, each in targets.items() if isinstance(each, pygit2.Oid)}

    def _roots(self) -> set[bytes]:
        """Every commit that a reference or a reflog names."""
        ids = set(self._targets().values())
        for log in self._logs():
            for line in (self.history.disk.read(log) or b"").splitlines():
                ids |= {each for part in line[:81].split(b" ")[:2] if (each := _raw(part)) is not None}
        return {commit for each in ids if (commit := self._peeled(each)) is not None}

    def _peeled(self, oid: bytes) -> bytes | None:
        found = self.repo.get(pygit2.Oid(raw=oid))
        if found is None or found.type not in (pygit2.enums.ObjectType.COMMIT, pygit2.enums.ObjectType.TAG):
            return None
        try:
            return found.peel(pygit2.Commit).id.raw
        except (pygit2.GitError, pygit2.InvalidSpecError):  # a tag of something else
            return None

    def _walk(self) -> Iterator[pygit2.Commit]:
        """All commits, parents first."""
        mode = pygit2.enums.SortMode
        walker = self.repo.walk(None, mode.TOPOLOGICAL | mode.REVERSE)
        for oid in sorted(self._roots()):
            walker.push(pygit2.Oid(raw=oid))
        yield from walker

    def _logs(self) -> list[Path]:
        return repository.all_files(Path(self.repo.path, "logs"))

    # What it becomes

    def _read(self, oid: bytes) -> bytes:
        return bytes(self.repo.read(pygit2.Oid(raw=oid))[1])

    def _written(self, kind: int, data: bytes) -> bytes:
        oid = self.repo.write(kind, data)
        self._made.add(str(oid))
        return bytes(oid.raw)

    def _commit(self, commit: pygit2.Commit) -> bytes:
        tree, old = self._tree(commit.tree_id.raw, ""), commit.id.raw
        parents = [each.raw for each in commit.parent_ids]
        if tree == commit.tree_id.raw and all(self._commits[each] == each for each in parents):
            return old
        known = {commit.tree_id.raw: tree, **{each: self._commits[each] for each in parents}}
        return self._written(int(pygit2.enums.ObjectType.COMMIT), _renamed(self._read(old), known))

    def _tree(self, oid: bytes, prefix: str) -> bytes:
        if (oid, prefix) not in self._trees:
            data = self._read(oid)
            after = b"".join(
                mode + b" " + name + b"\0" + self._entry(mode, each, prefix + name.decode("utf-8", "surrogateescape"))
                for mode, name, each in repository.tree_entries(data)
            )
            kind = int(pygit2.enums.ObjectType.TREE)
            self._trees[oid, prefix] = oid if after == data else self._written(kind, after)
        return self._trees[oid, prefix]

    def _entry(self, mode: bytes, oid: bytes, path: str) -> bytes:
        if mode in (_LINK, _MODULE) or path == AUDIT:
            return oid
        return self._tree(oid, f"{path}/") if mode == repository.FOLDER else self._blob(oid, path)

    def _blob(self, oid: bytes, path: str) -> bytes:
        if (oid, path) not in self._blobs:
            data = self._read(oid)
            after = self.scrub(path, data)
            kind = int(pygit2.enums.ObjectType.BLOB)
            self._blobs[oid, path] = oid if after == data else self._written(kind, after)
        return self._blobs[oid, path]

    def _new(self, oid: bytes) -> bytes:
        if oid in self._commits or oid in self._tags:
            return self._commits.get(oid) or self._tags[oid]
        thing = self.repo[pygit2.Oid(raw=oid)]
        if isinstance(thing, pygit2.Tag):
            target = thing.target.raw
            new = self._new(target)
            kind = int(pygit2.enums.ObjectType.TAG)
            unsigned = _renamed(self._read(oid), {target: new}).partition(b"-----BEGIN ")[0]
            self._tags[oid] = oid if new == target else self._written(kind, unsigned)
            return self._tags[oid]
        return oid

    # What is kept, and what goes

    def _pack(self, moves: dict[str, tuple[bytes, bytes]]) -> str:
        """One durable pack of all that is still needed; returns its name."""
        builder = pygit2.PackBuilder(self.repo)
        builder.set_threads(0)
        for commit in dict.fromkeys(self._commits.values()):
            builder.add_recur(pygit2.Oid(raw=commit))
        for oid in {new for _, new in moves.values()} - set(self._commits.values()):
            builder.add_recur(pygit2.Oid(raw=oid))
        for entry in self.repo.index:
            if entry.id in self.repo:
                builder.add(entry.id)
        with suppress(pygit2.GitError):  # an index that conflicts has no tree
            builder.add_recur(self.repo.index.write_tree())  # it remembers the trees of its folders, too
        return put_pack(self.history.disk, self.repo, builder)

    def _move(self, moves: dict[str, tuple[bytes, bytes]]) -> None:
        """Let references point to other commits, each under git's own lock, which no death of ours leaves behind.

        Names that git has packed lie in files of their own then, and their old ids leave the packed ones.
        """
        disk = self.history.disk
        self._clear_locks()
        for name, (old, new) in moves.items():
            target, scratch = self._places(name)
            disk.make_dirs(target.parent)
            repository.stage(disk, target, scratch, f"{new.hex()}\n".encode())
            with repository.locked(disk, target, scratch):
                if self._targets().get(name) != old:
                    raise HistoryError(f"{name} moved meanwhile", hint="leave git alone for a moment")
        self._unpack()

    def _clear_locks(self) -> None:
        """Take away what a move left behind that was cut short, while the waiting file still tells that it was ours."""
        disk = self.history.disk
        places = [self._places(name) for name in (*self._targets(), _PACKED)]
        for target, scratch in places:
            repository.clear_lock(disk, target, scratch)
        for scratch in {scratch for _, scratch in places}:
            disk.discard(scratch)

    def _places(self, name: str) -> tuple[Path, Path]:
        """Return the file of a reference, and the path where its next content is staged."""
        common = repository.common_dir(self.repo)
        branch = self.history.branch
        scratches = {
            f"refs/heads/{branch}": repository.NEW_REF,
            f"{repository.OWN_REFS}{branch}": repository.NEW_OWN_REF,
        }
        scratch = scratches.get(name, _MOVED)
        return common / name, common / scratch

    def _unpack(self) -> None:
        """Take out of the packed references those that have a file of their own, which is the one that counts."""
        disk, (target, scratch) = self.history.disk, self._places(_PACKED)
        before = disk.read(target) or b""
        kept: list[bytes] = []
        is_kept = True
        for line in before.splitlines(keepends=True):
            if not line.startswith((b"#", b"^")):  # a line with ^ belongs to the one before it
                is_kept = disk.stamp(target.parent / os.fsdecode(line.rstrip()[41:])) is None
            kept += [line] if is_kept or line.startswith(b"#") else []
        if (after := b"".join(kept)) != before:
            repository.stage(disk, target, scratch, after)
            with repository.locked(disk, target, scratch):
                if disk.read(target) != before:
                    raise HistoryError("somebody else packed references", hint="leave git alone for a moment")

    def _follow_in_logs(self) -> None:
        for log in self._logs():
            lines = [self._log_line(line) for line in (self.history.disk.read(log) or b"").splitlines(keepends=True)]
            self.history.disk.put(log, b"".join(lines))

    def _log_line(self, line: bytes) -> bytes:
        """The line with the commits' ids as they are; nothing when it tells of a commit that nobody has any more."""
        old, new = _raw(line[:40]), _raw(line[41:81])
        if new is None or new not in self._commits:
            return b""
        before, after = self._commits.get(old or b"", bytes(repository.ID_BYTES)).hex(), self._commits[new].hex()
        return f"{before} {after}".encode() + line[81:]

    def _object_files(self) -> list[Path]:
        files = repository.all_files(repository.common_dir(self.repo) / "objects")
        return [path for path in files if path.parent.name != "info"]

    def _throw_away(self, new: str, before: set[Path]) -> None:
        """Delete the objects outside the new pack that were there before or are our own, and what names them.

        What a person has put there meanwhile stays.
        """
        disk, common = self.history.disk, repository.common_dir(self.repo)
        for name in _STALE:
            disk.discard(common / name)
        self.repo.free()
        gone = [
            path for path in self._object_files() if path in before or f"{path.parent.name}{path.name}" in self._made
        ]
        for path in gone:
            if path.name.partition(".")[0] != new:
                path.chmod(0o644)  # Windows deletes no read-only file
                disk.unlink(path)
        for folder in sorted({path.parent for path in gone}):
            disk.sync_dir(folder)


def _raw(name: bytes) -> bytes | None:
    try:
        return bytes.fromhex(name.decode("ascii")) if len(name) == 2 * repository.ID_BYTES else None
    except ValueError:
        return None


def _renamed(data: bytes, known: dict[bytes, bytes]) -> bytes:
    """A commit or tag that names other objects; a signature over the old ones goes."""
    head, blank, message = data.partition(b"\n\n")

    def name(match: re.Match[bytes]) -> bytes:
        oid = bytes.fromhex(match[2].decode("ascii"))
        return match[1] + b" " + known.get(oid, oid).hex().encode()

    return _NAMED.sub(name, _SIGNATURE.sub(b"", head)) + blank + message
