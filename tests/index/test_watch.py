"""Watching: what people do to the files is found a moment later, and what stands in the way is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.types import HUMAN, Action
from memfolio.vault.vault import Vault

PAGES = "agents/main/memory/procedures"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="as Linux does it")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    """A memory that has noticed an edit, so that its home is certainly watched."""
    with Memory.open(home, "main") as memory:
        write(home / PAGES / "first.md", "watching has begun")
        assert soon(lambda: finds(memory, "watching has begun"), seconds=10)
        yield memory


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# A page\n\n{text}\n")


def finds(memory: Memory, text: str) -> bool:
    return any(text in hit.memory.content for hit in memory.recall(text))


def soon(check: Callable[[], bool], *, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.02)
    return False


def complaint(memory: Memory) -> str:
    return next((each for each in memory.searcher.degraded() if each.startswith("watching: ")), "")


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memfolio-watch"]


def human_changes(memory: Memory, path: str) -> int:
    return sum(line.by.actor == HUMAN.actor and path in line.paths for line in memory.vault.trail.lines())


def run(script: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), str(home)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_edit_in_place_is_found(memory: Memory, home: Path) -> None:
    write(home / PAGES / "first.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    assert not finds(memory, "watching has begun")


def test_edit_saved_by_rename_is_found(memory: Memory, home: Path) -> None:
    write(home / PAGES / "sedXy12", "zebras eat grass")
    os.replace(home / PAGES / "sedXy12", home / PAGES / "first.md")
    assert soon(lambda: finds(memory, "zebras eat grass") and not finds(memory, "watching has begun"))


def test_line_that_a_person_adds_to_a_log_is_found(memory: Memory) -> None:
    item = memory.remember("Alex prefers tea")
    found = memory.find(item.id)
    assert found is not None
    with (memory.vault.config.home / found.path).open("a") as log:
        log.write("\n- zebras eat grass\n")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    assert finds(memory, "Alex prefers tea")


def test_pages_in_new_nested_folders_are_found_then_and_later(memory: Memory, home: Path) -> None:
    page = home / PAGES / "animals/striped/zebra.md"
    write(page, "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    write(page, "zebras sleep standing")
    assert soon(lambda: finds(memory, "zebras sleep standing"))


def test_deleted_page_is_not_found(memory: Memory, home: Path) -> None:
    (home / PAGES / "first.md").unlink()
    assert soon(lambda: not finds(memory, "watching has begun"))


def test_page_in_a_renamed_folder_is_found_under_its_new_name(memory: Memory, home: Path) -> None:
    write(home / PAGES / "old/zebra.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    (home / PAGES / "old").rename(home / PAGES / "new")
    assert soon(lambda: f"{PAGES}/new/zebra.md" in memory.vault.states() and finds(memory, "zebras eat grass"))
    write(home / PAGES / "new/zebra.md", "zebras sleep standing")
    assert soon(lambda: finds(memory, "zebras sleep standing"))


def test_what_git_brings_back_is_found(memory: Memory, home: Path) -> None:
    memory.vault.commit()
    before = memory.vault.history.tip()
    write(home / PAGES / "first.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    subprocess.run(["git", "-C", home, "restore", f"--source={before}", "--worktree", PAGES], check=True)
    assert soon(lambda: finds(memory, "watching has begun"))


def test_many_pages_at_once_are_all_found(memory: Memory, home: Path) -> None:
    for number in range(300):
        write(home / PAGES / f"many/{number}.md", f"animal{number} eats grass")
    assert soon(lambda: all(finds(memory, f"animal{number}") for number in (0, 150, 299)))
    assert soon(lambda: sum(path.startswith(f"{PAGES}/many/") for path in memory.vault.states()) == 300)


def test_edit_made_before_watching_begins_is_found(home: Path) -> None:
    with Memory.open(home, "main") as memory:
        write(home / PAGES / "zebra.md", "zebras eat grass")
        assert soon(lambda: finds(memory, "zebras eat grass"))


def test_half_of_a_save_is_not_recorded(memory: Memory, home: Path) -> None:
    path = f"{PAGES}/first.md"
    for attempt in range(20):
        before = human_changes(memory, path)
        pause = save_in_steps(home / path, ["# A page\n\n", "zebras ", "eat ", f"grass{attempt}\n"])
        assert soon(lambda word=f"grass{attempt}": finds(memory, word))  # type: ignore[misc]
        if pause < 0.05:  # else the machine was so busy that this was no save any more
            break
    assert human_changes(memory, path) == before + 1


def save_in_steps(path: Path, pieces: Sequence[str]) -> float:
    """Write a file as a slow editor does; returns the longest pause in seconds."""
    moments = [time.monotonic()]
    with path.open("w") as file:
        for piece in pieces:
            time.sleep(0.02)
            file.write(piece)
            file.flush()
            moments.append(time.monotonic())
    return max(later - earlier for earlier, later in pairwise(moments))


def test_own_memories_are_nobody_elses_edits(memory: Memory) -> None:
    for number in range(100):
        memory.remember(f"thought number {number}")
    time.sleep(0.5)
    lines = list(memory.vault.trail.lines())
    logs = {path for line in lines if line.action is Action.APPEND for path in line.paths}
    assert len(logs) == 1
    assert human_changes(memory, logs.pop()) == 0


def test_two_memories_of_one_home_record_an_edit_once(memory: Memory, home: Path) -> None:
    with Memory.open(home, "main") as other:
        time.sleep(0.6)
        write(home / PAGES / "first.md", "zebras eat grass")
        assert soon(lambda: finds(memory, "zebras eat grass") and finds(other, "zebras eat grass"))
    assert human_changes(memory, f"{PAGES}/first.md") == 2


def test_edit_in_a_home_of_another_machine_is_found(home: Path) -> None:
    with Memory.open(home, "main") as writer:
        writer.remember("Alex prefers tea")
    (home / ".memfolio/owner").write_text(json.dumps({"machine": "m-2", "name": "other"}))
    with Memory.open(home, "main") as reader:
        assert reader.vault.trouble is not None
        assert finds(reader, "Alex prefers tea")
        time.sleep(0.6)
        write(home / PAGES / "zebra.md", "zebras eat grass")
        assert soon(lambda: finds(reader, "zebras eat grass"))


@pytest.mark.parametrize("setting", ["argument", "environment"])
def test_nothing_watches_where_it_is_not_wanted(home: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    if setting == "environment":
        monkeypatch.setenv("MEMFOLIO_WATCH", "false")
    with Memory.open(home, "main", background=setting == "environment"):
        assert not {"memfolio-watch", "memfolio-begin"} & {thread.name for thread in threading.enumerate()}


@pytest.mark.serial
def test_closing_ends_the_thread_at_once(memory: Memory) -> None:
    assert len(watchers()) == 1
    began = time.monotonic()
    memory.searcher.close()
    assert time.monotonic() - began < 0.5
    assert watchers() == []


def test_opening_does_not_wait_for_the_library(home: Path) -> None:
    done = run(
        """
        import sys
        from memfolio import Memory
        with Memory.open(sys.argv[1], "main"):
            print("watchfiles" in sys.modules)
        """,
        home,
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_process_that_forgets_to_close_ends_by_itself(home: Path) -> None:
    done = run(
        """
        import sys, time
        from memfolio import Memory
        memory = Memory.open(sys.argv[1], "main")
        time.sleep(0.6)
        """,
        home,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_process_has_no_watcher_and_can_close(home: Path) -> None:
    done = run(
        """
        import os, sys, threading, time
        from memfolio import Memory
        memory = Memory.open(sys.argv[1], "main")
        time.sleep(0.6)
        child = os.fork()
        if child == 0:
            print(*[each.name for each in threading.enumerate()], flush=True)
            memory.searcher.close()
            os._exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print("memfolio-watch" in [each.name for each in threading.enumerate()])
        memory.close()
        """,
        home,
    )
    assert done.stdout.splitlines() == ["MainThread", "3", "True"]


@linux_only
def test_lack_of_handles_is_said_and_got_over(home: Path) -> None:
    done = run(
        """
        import os, resource, sys, time
        import watchfiles
        from memfolio import Memory

        def wait_for(check):
            deadline = time.monotonic() + 10
            while not check(memory.searcher.degraded()) and time.monotonic() < deadline:
                time.sleep(0.05)
            print(*memory.searcher.degraded())

        memory = Memory.open(sys.argv[1], "main")
        memory.remember("Alex prefers tea")
        memory.recall("tea")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
        plugs = [os.open("/dev/null", os.O_RDONLY)]
        while plugs[-1] < 99:
            plugs.append(os.open("/dev/null", os.O_RDONLY))
        os.mkdir(f"{sys.argv[1]}/agents/main/memory/procedures")
        wait_for(lambda degraded: degraded)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        wait_for(lambda degraded: not degraded)
        memory.close()
        """,
        home,
    )
    said, later = done.stdout.split("\n")[:2]
    assert said.startswith("watching: ")
    assert "Too many open files" in said
    assert later == ""


def test_edit_is_found_where_the_system_has_no_watcher_left(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", refuse)
    with Memory.open(home, "main") as memory:
        assert soon(lambda: "within a minute" in complaint(memory))
        write(home / PAGES / "first.md", "nobody tells of this page")
        assert soon(lambda: human_changes(memory, f"{PAGES}/first.md") == 1, seconds=10)


def test_vanished_home_ends_watching_and_is_said(memory: Memory, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.move(home, home.with_name("away"))
    assert soon(lambda: "is not the folder that was opened" in complaint(memory))
    assert soon(lambda: watchers() == [])
    assert len([each for each in caplog.records if each.message.startswith("watching ")]) == 1
    shutil.move(home.with_name("away"), home)


def test_emptied_home_is_said_and_nothing_counts_as_deleted(memory: Memory, home: Path) -> None:
    for number in range(5):
        write(home / PAGES / f"{number}.md", f"animal{number} eats grass")
    assert soon(lambda: finds(memory, "animal4 eats grass"))
    head = memory.vault.head
    shutil.move(home / "agents", home / "away")
    assert soon(lambda: "are gone" in complaint(memory))
    assert memory.vault.head == head
    shutil.move(home / "away", home / "agents")
    assert soon(lambda: complaint(memory) == "", seconds=5)
    assert finds(memory, "animal4 eats grass")


def test_edit_waits_for_a_process_that_holds_the_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFOLIO_LOCK_TIMEOUT", "0.2")
    with Memory.open(home, "main") as memory, Vault.open(home) as other:
        time.sleep(0.6)
        with other.writer.ready():
            write(home / PAGES / "zebra.md", "zebras eat grass")
            assert soon(lambda: "another process" in complaint(memory))
        assert soon(lambda: finds(memory, "zebras eat grass"), seconds=5)
        assert soon(lambda: complaint(memory) == "")


@linux_only
def test_file_whose_name_cannot_be_read_does_not_end_watching(memory: Memory, home: Path) -> None:
    with open(os.fsencode(home / PAGES) + b"/\xff.md", "wb"):
        pass
    assert soon(lambda: complaint(memory) != "")
    write(home / PAGES / "zebra.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"), seconds=4)
    assert soon(lambda: complaint(memory) == "")


def test_placeholder_does_not_hide_the_edits_beside_it(memory: Memory, home: Path) -> None:
    write(home / PAGES / "zebra.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    (home / PAGES / "first.md").write_bytes(b"\0" * 100)
    write(home / PAGES / "zebra.md", "zebras sleep standing")
    assert soon(lambda: finds(memory, "zebras sleep standing"))
    assert f"{PAGES}/first.md" in memory.vault.problems


@linux_only
def test_nothing_behind_a_link_and_nothing_of_git_is_watched(memory: Memory, home: Path, tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"outside/{number}").mkdir(parents=True)
    (home / PAGES / "link").symlink_to(tmp_path / "outside")
    write(home / PAGES / "deeper/zebra.md", "zebras eat grass")
    assert soon(lambda: finds(memory, "zebras eat grass"))
    memory.vault.commit()
    time.sleep(0.3)
    inner = [path for path in (home / "agents").rglob("*") if path.is_dir() and not path.is_symlink()]
    assert watched_folders() == len([home, home / "agents", *inner])


def watched_folders() -> int:
    """How many folders the system watches for this process."""
    texts = []
    for entry in Path("/proc/self/fdinfo").iterdir():
        try:
            texts.append(entry.read_text())
        except OSError:
            continue
    return sum(text.count("inotify wd:") for text in texts)
