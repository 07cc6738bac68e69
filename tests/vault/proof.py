"""What the tests of the vault share: things to write, processes to write them, and the checks a home must pass."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pygit2  # noqa: F401 - loaded once, for all processes that are forked

from memfolio.config import Config, load_config
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.git.history import History
from memfolio.vault.git.repository import parse_seqs
from memfolio.vault.journal import TrailLine
from memfolio.vault.lines import read_lines
from memfolio.vault.log import read_log
from memfolio.vault.paths import Form, agent_of, day_of, form_of, ledger_of
from memfolio.vault.survey import look_over
from memfolio.vault.vault import Vault

BOT = Attribution()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
IDENTITY = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")


def item(content: str, **more: Any) -> MemoryItem:
    """Something to remember; the writer gives it its id and time."""
    return MemoryItem(id="", content=content, created_at=EPOCH, **more)


def configured(home: Path, **overrides: object) -> Config:
    """A configuration in UTC that looks at no environment; commits happen when a test asks for them."""
    chosen: dict[str, object] = {"timezone": "UTC", "machine": "here", "commit_delay": 60.0, **overrides}
    return load_config(home, environ={"HOME": str(home.parent)}, overrides=chosen)


def git(home: Path, *arguments: str) -> str:
    """Run git in the home as a person would; returns what it prints."""
    command = ["git", "-C", str(home), *IDENTITY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def loose_objects(home: Path) -> int:
    """How many objects of git lie in files of their own."""
    return len(list((home / ".git/objects").glob("[0-9a-f][0-9a-f]/*")))


class CommitInfo(NamedTuple):
    """What a commit says about itself."""

    id: str
    author: str
    subject: str
    trailers: Mapping[str, str]


def commits(history: History, path: str = "") -> list[CommitInfo]:
    """The branch's commits, newest first; with `path`, those that changed this file."""
    form, below = "%H%x00%an%x00%s%x00%(trailers:only,unfold)%x01", ["--", path] if path else []
    records = git(history.home, "log", f"--format={form}", history.branch, *below).split("\x01\n")[:-1]
    fields = (record.split("\0") for record in records)
    return [CommitInfo(a, b, c, dict(line.split(": ", 1) for line in d.splitlines())) for a, b, c, d in fields]


def blobs(home: Path) -> list[bytes]:
    """Every content that any file ever had in git."""
    listed = git(home, "rev-list", "--objects", "--all").split("\n")
    ids = "\n".join(line.partition(" ")[0] for line in listed if line)
    command = ["git", "-C", str(home), "cat-file", "--batch"]
    data = subprocess.run(command, input=ids.encode(), capture_output=True, check=True).stdout
    found: list[bytes] = []
    while data:
        header, _, data = data.partition(b"\n")
        _, kind, size = header.split()
        if kind == b"blob":
            found.append(data[: int(size)])
        data = data[int(size) + 1 :]
    return found


def files(home: Path) -> dict[str, bytes]:
    """Every tracked file with its content."""
    return {path: (home / path).read_bytes() for path in look_over(home).files}


def snapshot(home: Path) -> dict[str, bytes | None]:
    """Every file and folder below the home, whoever it belongs to; locks and git's own files do not count."""
    found: dict[str, bytes | None] = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if not name.startswith(".git/") and not name.endswith("lock"):
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def entries(home: Path) -> dict[str, list[str]]:
    """The contents under every marked id of the home's logs and ledgers; a doubled entry has two."""
    found: dict[str, list[str]] = {}
    for path, data in files(home).items():
        for mark, content in _entries_of(path, data):
            found.setdefault(mark, []).append(content)
    return found


def _entries_of(path: str, data: bytes) -> list[tuple[str, str]]:
    if "/conflicts/" in path or "/archive/" in path:
        return []
    if form_of(path) is Form.LINES:
        records = read_lines(data).records
        return [(str(record["id"]), json.dumps(record.get("note"))) for record in records if "id" in record]
    if form_of(path) is Form.PAGE:
        return []
    text = data.decode("utf-8", "surrogateescape")
    reading = read_log(text, day=day_of(path) or date(1970, 1, 1), tz=UTC, agent=path.split("/")[1])
    found = [(each.entry.item, len(each.places)) for each in reading.entries]
    doubled = [
        (mark, "") for problem in reading.problems if "already the id" in problem for mark in problem.split()[2:3]
    ]
    return [(item.id, item.content) for item, times in found if item.id[0] == "M" for _ in range(times)] + doubled


class Found(NamedTuple):
    """A memory, the file it stands in, and whether that is the archive of a log."""

    item: MemoryItem
    path: str
    archived: bool


def find(vault: Vault, id: str) -> Found | None:
    """Where a memory stands, read from the files alone."""
    for path, data in files(vault.config.home).items():
        day, agent = day_of(path), agent_of(path)
        if form_of(path) is Form.LOG and day and agent:
            reading = read_log(data.decode("utf-8", "surrogateescape"), day=day, tz=vault.home.zone, agent=agent)
            for found in reading.entries:
                if found.entry.item.id == id:
                    return Found(found.entry.item, path, archived=ledger_of(path) is None)
    return None


def appended(vault: Vault) -> Counter[str]:
    """How often each id was appended, by the trail."""
    return Counter(mark for line in vault.trail.lines() if line.action is Action.APPEND for mark in line.ids)


def check_acknowledged(home: Path, acknowledged: Mapping[str, str]) -> None:
    """Every acknowledged memory is there exactly once, with the content that was written."""
    there = entries(home)
    for mark, content in acknowledged.items():
        assert there.get(mark) == [content], f"{mark}: wrote {content!r}, found {there.get(mark)}"


def check_home(home: Path, acknowledged: Mapping[str, str], config: Config | None = None) -> None:
    """Files, trail and git of a home agree; the next write and the next commit work."""
    with Vault.open(config=config or configured(home)) as vault:
        receipt = vault.add("main", [item("the next write works")], BOT)
        wanted = {**acknowledged, receipt.ids[0]: "the next write works"}
        check_acknowledged(home, wanted)
        counted, there = appended(vault), entries(home)
        assert vault.trail.problems() == []
        assert {mark: counted[mark] for mark in wanted} == dict.fromkeys(wanted, 1), "every id is in one APPEND line"
        assert {mark for mark, found in there.items() if len(found) > 1} == set(), "no id stands twice"
        assert vault.commit() == 0, vault.committer.obstacle
        assert vault.problems == {}
    check_git(home)


def check_git(home: Path) -> None:
    """The newest commit is what the folder holds, and git is whole."""
    git(home, "fsck", "--strict", "--no-dangling")
    status = git(home, "status", "--porcelain", "--untracked-files=all")
    assert status == "", status + git(home, "diff")[:2000]


def fork(work: Callable[[], None]) -> int:
    """Run `work` in a process of its own, with a process group of its own; returns its id."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the watchdog of faulthandler counts as a thread
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a forked test process must never return into pytest
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait(pid: int) -> int:
    """How a process ended: its exit status, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(pid: int) -> int:
    os.kill(pid, signal.SIGKILL)
    return wait(pid)


def check_continuity(vault: Vault) -> None:
    """Every change of a file begins where the one before it in the trail ended."""
    states: dict[str, tuple[str | None, int]] = {}
    for line in vault.trail.lines():
        for mark in line.files:
            now, size = states.get(mark.path, (None, 0))
            if mark.start is not None:
                assert mark.start == size, f"change {line.seq} of {mark.path} at {mark.start}, the file ended at {size}"
            else:
                assert mark.was == now, f"change {line.seq} of {mark.path} is not of what change before it left"
            states[mark.path] = (mark.now, mark.size if mark.now else 0)


def check_commits(vault: Vault) -> None:
    """Each change is in one commit, by its actor, with the content that the trail names."""
    lines = {line.seq: line for line in vault.trail.lines()}
    held: Counter[int] = Counter()
    for commit in commits(vault.history):
        seqs = parse_seqs(commit.trailers.get("Seq", ""))
        held.update(seqs)
        for seq in seqs:
            assert commit.trailers["Actor"] == lines[seq].by.actor == commit.author
        if seqs:
            assert commit.trailers["Chain"] == lines[max(seqs)].hash
            _check_blobs(vault, commit.id, lines[max(seqs)])
    assert held == dict.fromkeys(lines, 1), "every change is in exactly one commit"


def _check_blobs(vault: Vault, commit: str, line: TrailLine) -> None:
    for mark in line.files:
        content = vault.history.read(mark.path, commit=commit)
        found = None if content is None else vault.home.hash(content)
        assert found == mark.now, f"{mark.path} in git is not what change {line.seq} left"
