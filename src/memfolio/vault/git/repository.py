"""A git directory and its index: opened or made in one step, its files replaced under git's own locks."""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import HistoryError, InputError, MemfolioError, NaiveTimeError, PathError
from memfolio.types import frozen
from memfolio.vault.disk import Disk, full_error

if TYPE_CHECKING:
    import pygit2


# Which names git can hold: not those that some system would take for git's own folder or for another path.

Parts = tuple[str, ...]

_IGNORED_ON_MACS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT_FOLDER = re.compile(r"(?i)(\.git|git~\d+)[ .]*(:.*)?")


def can_hold(path: str) -> bool:
    """Whether a file of this name can be in the history."""
    try:
        parts_of(path)
    except PathError:
        return False
    return True


def parts_of(path: str) -> Parts:
    """The path's folders and name; raises PathError when git cannot hold it."""
    parts = tuple(path.split("/"))
    for part in parts:
        plain = _IGNORED_ON_MACS.sub("", part)
        if plain in ("", ".", "..") or _GIT_FOLDER.fullmatch(plain) or "\\" in part or "\0" in part:
            raise PathError(
                f"{path[:120]!r} cannot be in the history", hint="use a relative path with / and plain names"
            )
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise PathError(f"{path[:120]!r} is not a name in UTF-8", hint="rename the file") from error
    return parts


# What differs between two texts, as git finds it.

_HUNK = re.compile(rb"(?m)^@@ -(\d+)([^ \n]*) \+(\d+)([^ \n]*) @@.*")
AROUND = 3
"""How many lines a difference shows around what changed."""


def hunks_between(before: bytes, after: bytes) -> bytes:
    """The hunks of a difference as `diff -u` shows them; empty when the texts are equal."""
    from pygit2 import Patch
    from pygit2.enums import DiffOption

    # Git hashes what it compares, which takes longest with a long log: it gets what differs and the lines around.
    start, end = _apart(before, after)
    skipped, rest = before.count(b"\n", 0, start), len(before) - end
    sides = before[start:end], after[start : len(after) - rest]
    head, _, hunks = (Patch.create_from(*sides, flag=DiffOption.FORCE_TEXT).data or b"").partition(b"\n@@")

    def placed(found: re.Match[bytes]) -> bytes:
        # Behind the places of a hunk git repeats a line that stands above it.
        return b"@@ -%d%s +%d%s @@" % (int(found[1]) + skipped, found[2], int(found[3]) + skipped, found[4])

    return _HUNK.sub(placed, b"@@" + hunks) if head else b""


def _apart(before: bytes, after: bytes) -> tuple[int, int]:
    """Where in the one text the lines begin and end that differ from the other, with those around them."""
    start = _common(before, after)
    most = min(len(before), len(after)) - start
    end = len(before) - min(most, _common(before[start:][::-1], after[start:][::-1]))
    for _ in range(AROUND + 1):
        start = before.rfind(b"\n", 0, max(start, 0))
        end = before.find(b"\n", end) + 1 or len(before)
    return start + 1, end


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their beginning."""
    return bisect(range(1, min(len(one), len(other)) + 1), False, key=lambda length: one[:length] != other[:length])


def spans_between(one: bytes, other: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Where two texts differ: from which line to which in the one, and in the other, counted from 0."""
    from pygit2 import Patch
    from pygit2.enums import DiffOption

    # Patience finds lines that both have once first, so that changes of different blocks stay apart.
    for hunk in Patch.create_from(one, other, context_lines=0, flag=DiffOption.PATIENCE).hunks:
        # An empty span is counted from the line before it.
        lo, start = hunk.old_start - bool(hunk.old_lines), hunk.new_start - bool(hunk.new_lines)
        yield lo, lo + hunk.old_lines, start, start + hunk.new_lines


# A git directory: opened or made in one step, its files replaced under git's own locks.

SETTINGS = {"core.autocrlf": "false", "core.fsync": "all"}
"""For people's own git: bytes stay as they are, commits survive power loss. libgit2 reads neither."""
NEW_REF, NEW_OWN_REF = "memfolio-ref.new", "memfolio-own.new"
OWN_REFS = "refs/memfolio/"
"""References to our newest commit of each branch; no command that moves branches moves these."""
EXCLUDED = ".*.tmp"
"""Files being written: excluded files survive `git stash -u` and `git clean -fd`."""
NO_COMMIT = "0" * 40
FOLDER = b"40000"
"""The mode of a folder in a tree."""
ID_BYTES = 20
_BROKEN = "run `git fsck` in the home; the files themselves are not affected"
_opening = threading.Lock()


@contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Translate errors of libgit2, git and the system to `HistoryError` or `DiskFullError`, keeping the cause."""
    try:
        yield
    except MemfolioError:
        raise
    except _failures() as error:
        if full := full_error(home, error):
            raise full from error
        what = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise HistoryError(f"the git history of {home} cannot be used: {what}", hint=_BROKEN) from error


def open_repo(home: Path, ref: str) -> pygit2.Repository:
    """Open the home's own repository, never one that merely contains the home."""
    import pygit2

    if not pygit2.reference_is_valid_name(ref):
        raise InputError(
            f"{ref.removeprefix('refs/heads/')!r} cannot be a branch name", hint="use a plain name like main"
        )
    settings = pygit2.settings
    # Ownership is checked to protect people from repositories they happen to stand in. A home is named by its caller,
    # is searched for nowhere, and libgit2 runs nothing it finds there; containers often see it owned by another user.
    with _opening:
        validated = settings.owner_validation
        settings.owner_validation = False
        try:
            repo = pygit2.Repository(str(home / ".git"), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        finally:
            settings.owner_validation = validated
    workdir: str | None = repo.workdir  # None for a bare one, whatever the stubs say
    if workdir is None or not os.path.samefile(workdir, home):
        raise HistoryError(
            f"the repository in {home} keeps its files elsewhere", hint="unset core.bare and core.worktree"
        )
    return repo


def create(disk: Disk, home: Path, branch: str) -> None:
    """Make `.git` appear whole or not at all."""
    import pygit2

    workshop = home / ".git-new"
    for file in all_files(workshop):  # of an attempt that was cut short
        disk.unlink(file)
    repo = pygit2.init_repository(str(workshop), bare=True, initial_head=branch)
    repo.config["core.bare"] = False
    repo.config["core.logAllRefUpdates"] = True
    configure(disk, repo)
    for file in all_files(workshop):
        disk.sync_file(file)
    for folder, _, _ in os.walk(workshop):
        disk.sync_dir(Path(folder))
    disk.rename(workshop, home / ".git")
    disk.sync_dir(home)


def configure(disk: Disk, repo: pygit2.Repository) -> None:
    """Add missing settings; those that a person has set for this repository stay."""
    import pygit2

    config = pygit2.Config(str(common_dir(repo) / "config"))
    for name, value in SETTINGS.items():
        if name not in config:
            config[name] = value
    exclude = common_dir(repo) / "info" / "exclude"
    excluded = exclude.read_text().splitlines() if exclude.exists() else []
    if EXCLUDED not in excluded:
        disk.put(exclude, "".join(f"{line}\n" for line in [*excluded, EXCLUDED]).encode())


def common_dir(repo: pygit2.Repository) -> Path:
    """Return the folder of objects and branches; a linked work tree shares those of its main repository."""
    gitdir = Path(repo.path)
    try:
        return gitdir / (gitdir / "commondir").read_text().strip()
    except FileNotFoundError:
        return gitdir


def commit_at(repo: pygit2.Repository, commit: str) -> pygit2.Commit:
    """The commit with this id."""
    import pygit2

    return repo[commit].peel(pygit2.Commit)


def tree_entries(tree: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Mode, name and id of all that is in a tree, as its bytes have them."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + ID_BYTES
        yield mode, name, tree[end + 1 : at]


def lost_tip(disk: Disk, repo: pygit2.Repository, ref: str) -> str | None:
    """The last commit of a branch that is missing although it had one; None when it never had."""
    common = common_dir(repo)
    lines = (disk.read(common / "logs" / ref) or b"").decode("utf-8", "replace").splitlines()
    # A first commit that was cut short has left its line and its scratch file.
    is_unborn = not lines or (lines[-1].startswith(NO_COMMIT) and disk.stamp(common / NEW_REF) is not None)
    return None if is_unborn else lines[-1][41:81]


def has_foreign_lock(target: Path, scratch: Path) -> bool:
    """Whether somebody other than a dead process of ours holds git's lock on `target`."""
    lock = _lock_of(target)
    return os.path.lexists(lock) and not _is_same(lock, scratch)


def stage(disk: Disk, target: Path, scratch: Path, data: bytes) -> None:
    """Put durable `data` into `scratch`, for `locked` to make it `target`; it is there until then, without a gap."""
    clear_lock(disk, target, scratch)
    for leftover in disk.leftovers(scratch):
        disk.discard(leftover)
    disk.put(scratch, data)


def clear_lock(disk: Disk, target: Path, scratch: Path) -> None:
    """Take away a lock that a process of ours left which died: no other program links it to our scratch file."""
    if _is_same(lock := _lock_of(target), scratch):
        disk.unlink(lock)


@contextmanager
def locked(disk: Disk, target: Path, scratch: Path) -> Iterator[None]:
    """Hold git's lock on `target`, then replace it by the durable file `scratch`; an exception leaves it unchanged."""
    lock = _lock_of(target)
    try:
        _link(disk, scratch, lock)
    except FileExistsError as error:
        hint = f"wait for git to finish; if no git is running, delete {lock}"
        raise HistoryError(f"{lock} is held by another program", hint=hint) from error
    try:
        yield
        disk.rename(lock, target)
    except BaseException:
        disk.discard(lock)
        raise
    disk.sync_dir(target.parent)
    disk.discard(scratch)


def append_line(disk: Disk, path: Path, line: bytes) -> None:
    """Append to a log, on a line of its own even after a torn one."""
    is_torn = tail(disk, path, 1) not in (None, b"", b"\n")
    disk.append(path, b"\n" + line if is_torn else line, sync=False)


def _failures() -> tuple[type[Exception], ...]:
    import subprocess

    import pygit2

    return pygit2.GitError, KeyError, ValueError, OSError, subprocess.SubprocessError


def all_files(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]


def _lock_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.lock")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except FileNotFoundError:
        return False


def _link(disk: Disk, source: Path, target: Path) -> None:
    try:
        disk.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        handle = disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            disk.write_all(handle, source.read_bytes())
            disk.fsync(handle)
        finally:
            disk.close(handle)


def tail(disk: Disk, path: Path, size: int) -> bytes | None:
    """Return the last bytes of a file; None if it does not exist."""
    stamp = disk.stamp(path)
    return None if stamp is None else disk.read(path, max(stamp.size - size, 0))


# Git's index, brought up to a commit without touching what a person has staged.

MARKER = "memfolio-index"
STAGED = "staged changes"
"""Why commits wait while the index has a person's work."""
_HASH = 20


def checksum(disk: Disk, index: Path) -> str | None:
    """Return a checksum that identifies the state of an index file; None if it does not exist."""
    last, stamp = tail(disk, index, _HASH), disk.stamp(index)
    if last is None or stamp is None:
        return None
    # git writes zeros under index.skipHash.
    return last.hex() if any(last) else f"{stamp.size}-{stamp.inode}-{stamp.mtime_ns}"


def read_mark(disk: Disk, gitdir: Path) -> tuple[str, str] | None:
    """The commit that the index was last known to be of, and the checksum that it then had."""
    lines = (disk.read(gitdir / MARKER) or b"").decode("ascii", "replace").splitlines()
    commit, _, state = lines[-1].partition(" ") if lines else ("", "", "")
    return (commit, state) if len(commit) == 2 * _HASH else None


def put_mark(disk: Disk, gitdir: Path, commit: str, state: str | None) -> None:
    disk.put(gitdir / MARKER, f"{commit} {state}\n".encode("ascii"))


def is_current(disk: Disk, gitdir: Path, branch: str) -> bool:
    """Whether the index is up to date with the branch according to git's files; False if only libgit2 can tell."""
    tip = _target(disk, gitdir, f"refs/heads/{branch}")
    return (tip, checksum(disk, gitdir / "index")) == read_mark(disk, gitdir)


def is_led_by_us(disk: Disk, gitdir: Path, branch: str) -> bool:
    """Whether the branch is at our newest commit according to git's files, or has none of ours yet."""
    own = _target(disk, gitdir, f"{OWN_REFS}{branch}")
    return not own or own == _target(disk, gitdir, f"refs/heads/{branch}")


def _target(disk: Disk, gitdir: Path, ref: str) -> str:
    """Return the commit that a reference names; empty if it does not exist."""
    if found := disk.read(gitdir / ref):
        return found.decode("ascii", "replace").strip()
    lines = (disk.read(gitdir / "packed-refs") or b"").decode("utf-8", "replace").splitlines()
    return next((line[: 2 * _HASH] for line in lines if line.endswith(f" {ref}")), "")


def index_files(repo: pygit2.Repository) -> tuple[Path, Path]:
    """Return the paths of the index and of its prepared successor."""
    return Path(repo.path, "index"), Path(repo.path, f"{MARKER}.new")


def index_origin(repo: pygit2.Repository, commits: Iterable[str]) -> str | None:
    """Return the first of the commits with exactly the files of the index; None if there is none."""
    entries = repo.index
    entries.read()
    if entries.conflicts is not None:
        return None
    return next((one for one in commits if not len(commit_at(repo, one).tree.diff_to_index(entries))), None)


def is_empty_index(disk: Disk, index: Path) -> bool:
    """Whether the index lists nothing, as that of a repository nobody has used."""
    return (disk.read(index) or b"")[8:12] == bytes(4)


def build_index(disk: Disk, index: Path, scratch: Path, tree: pygit2.Tree) -> bool:
    """Put an index of `tree` into `scratch`, for `locked`; what git noted about files that are the same is kept.

    False where the present index holds more than names (a sparse checkout's does) and must be left alone.
    """
    import pygit2

    present = disk.read(index)
    version = int.from_bytes((present or b"")[4:8], "big")
    if version == 3:  # it has flags that only their owner understands
        return False
    disk.discard(_lock_of(scratch))  # of a process that died in the midst of this
    if present and version != 4:  # which is the same, written shorter: it is begun afresh
        stage(disk, index, scratch, present)
    else:
        clear_lock(disk, index, scratch)
        disk.discard(scratch)
    built = pygit2.Index(str(scratch))
    built.read_tree(tree)
    built.write()
    disk.sync_file(scratch)
    return True


# What a commit says: its subject and trailers, and the numbers of the changes in it.

COMMITTER = ("memfolio", "memfolio@memfolio.invalid")
MAX_SEQ_SPAN = 100_000
_SEQ = re.compile(rb"^Seq: ?([\d, -]+)$", re.MULTILINE)
_CHAIN = re.compile(rb"^Chain: ?([0-9a-f]{32})$", re.MULTILINE)


@frozen
class CommitDraft:
    """A commit to be: `writes` maps paths to their whole new content, None deletes; `author` is an actor tag."""

    writes: Mapping[str, bytes | None]
    subject: str
    author: str
    at: datetime
    trailers: Sequence[tuple[str, str]] = ()


class Anchor(NamedTuple):
    """A commit's word on the trail: the changes in it, and the hash of the last one's line. Anybody can give it."""

    seqs: list[int]
    chain: str
    commit: str

    @property
    def seq(self) -> int:
        return max(self.seqs)


def format_seqs(numbers: Iterable[int]) -> str:
    """`41-43,47`: the value of a `Seq:` trailer."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def parse_seqs(value: str) -> list[int]:
    """The numbers in a `Seq:` trailer; parts that make no sense are left out, since people write commits too."""
    numbers: list[int] = []
    for part in value.split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if low.isdecimal() and high.isdecimal() and len(low + high) < 40:
            first, last = int(low), int(high)
            if last - first < MAX_SEQ_SPAN:
                numbers.extend(range(first, last + 1))
    return numbers


def anchor_of(commit: pygit2.Commit) -> Anchor | None:
    """Return the changes that a commit vouches for, if it has both trailers, `Seq:` and `Chain:`."""
    trailers = commit.raw_message.rstrip().rpartition(b"\n\n")[2]
    seqs = [number for value in _SEQ.findall(trailers) for number in parse_seqs(value.decode("ascii"))]
    chain = _CHAIN.search(trailers)
    return Anchor(seqs, chain[1].decode("ascii"), str(commit.id)) if seqs and chain else None


def message_of(draft: CommitDraft) -> str:
    lines = [draft.subject, *(value for _, value in draft.trailers)]
    is_named = all(key.isascii() and key.replace("-", "").isalnum() for key, _ in draft.trailers)
    if not is_named or not draft.subject.strip() or any(len(f"{line}.".splitlines()) > 1 for line in lines):
        raise InputError("a commit's subject and trailers have one line each", hint="content has no place in them")
    block = "".join(f"\n{key}: {value}" for key, value in draft.trailers)
    return f"{draft.subject}\n{block}\n".encode("utf-8", "replace").decode().rstrip("\n") + "\n"


def author_of(actor: str) -> tuple[str, str]:
    """Return name and address of an actor, without characters that git forbids."""
    name = re.sub(r"[<>\x00-\x1f\ud800-\udfff]", "_", actor).strip(" .,:;\"'\\") or COMMITTER[0]
    role = re.sub(r"[^A-Za-z0-9_-]", "", actor.partition(":")[0]) or COMMITTER[0]
    return name, f"{role}@memfolio.invalid"


def reflog_line(old: str | None, new: str, draft: CommitDraft) -> bytes:
    name, address = COMMITTER
    # Without the subject, which the commit has: there are two such lines for every commit.
    return f"{old or NO_COMMIT} {new} {name} <{address}> {seconds_of(draft.at)} +0000\tcommit\n".encode()


def seconds_of(moment: datetime) -> int:
    if moment.utcoffset() is None:
        raise NaiveTimeError(f"{moment} has no time zone", hint="use an aware datetime")
    return max(int(moment.timestamp() // 1), 0)
