"""Hooks as hosts call them: real processes, real homes, the JSON that each host sends and takes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest

from memfolio import __version__
from memfolio.memory import Memory
from memfolio.recall.fence import fenced, strip_fences
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.door import ACTS, MOST_CHARACTERS, shaped
from memfolio.serve.hooks.event import HookEvent, marks_of, read_parcel, turns_of, untold
from memfolio.serve.hooks.kept import health, keep
from memfolio.serve.hooks.learn import learn
from memfolio.serve.hooks.warm import answer_here
from memfolio.vault.disk import Disk, FileLock
from memfolio.vault.paths import INTERNAL
from tests.pages import surroundings
from tests.serve.calls import HOOK

SESSION = "0b5e0f0c-6a2e-4c38-9d1e-7a2f3c4d5e6f"
SOCKET = ".memfolio/hooks/socket"
SECRET = "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"
Hook = Callable[..., Any]


def environ(home: Path) -> dict[str, str]:
    return {name: value for name, value in surroundings(home.parent).items() if name != "TZ"}


def run(home: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", HOOK, *args]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False, env=environ(home))


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def caller(home: Path, session: str = SESSION) -> Hook:
    """Calls a hook as a host does: it must end with 0 and print one JSON object, or nothing where it must."""

    def call(host: str, event: str, said: object = None, *options: str) -> Any:
        data = said if isinstance(said, bytes) else json.dumps({"session_id": session, **(said or {})}).encode()  # type: ignore[dict-item]
        done = run(home, host, event, *options, stdin=data)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (event == "PreCompact") == (done.stdout == b"")
        answer = json.loads(done.stdout or b"{}")
        assert isinstance(answer, dict)
        return answer

    return call


@pytest.fixture
def hook(home: Path) -> Hook:
    """Calls hooks of a home that is this test's own."""
    return caller(home)


@contextmanager
def warmth(home: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """The process that hooks ask, started here."""
    command = [sys.executable, "-m", "memfolio.serve.hooks.warm", str(home), *options]
    with subprocess.Popen(command, env=environ(home)) as process:
        try:
            until((home / SOCKET).exists)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)  # one that a failed test left stopped would never end
            process.terminate()


@pytest.fixture
def warm(filled: Path) -> Iterator[subprocess.Popen[bytes]]:
    with warmth(filled) as process:
        yield process


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """A home with a warm process, in which each test has its own conversation."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMFOLIO_CACHE", f"{folder}/cache")
        with warmth(fill(Path(folder, "home"))):
            yield Path(folder, "home")


@pytest.fixture
def session() -> str:
    return str(uuid4())


@pytest.fixture
def ask(shared: Path, session: str) -> Hook:
    """Calls hooks of the home that tests share."""
    return caller(shared, session)


@pytest.fixture
def cold(filled: Path) -> Iterator[Path]:
    """A home without such a process; the one that a hook starts is ended."""
    yield filled
    until((filled / SOCKET).exists)
    until(lambda: run(filled, "stop").stdout == b"{}\n" and not (filled / SOCKET).exists())


def kept(home: Path) -> list[str]:
    folder = home / ".memfolio/hooks/new"
    return os.listdir(folder) if folder.exists() else []


def said(home: Path, session: str = SESSION) -> list[tuple[str | None, str]]:
    """The turns of a conversation, oldest first, once all that was kept is taken up."""
    until(lambda: not kept(home))
    with Memory.open(home, background=False) as memory:
        found = memory.recall("", session=session, limit=50)
    return [(hit.memory.role, hit.memory.content) for hit in reversed(found)]


def files_with(home: Path, words: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and words in path.read_bytes()]


def fill(home: Path) -> Path:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.core.add("identity", "Alex is allergic to walnuts")
        memory.checkpoint("Migrating the login to passkeys", next_steps=["Write the rollback"])
        memory.remember("The staging database of Kestrel is called heron", type="fact")
        memory.remember("Marmalade is what Alex wants for breakfast", type="preference")
    return home


@pytest.fixture
def filled(home: Path) -> Path:
    return fill(home)


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Another process writes for a long time."""
    lock = FileLock(home / INTERNAL / "lock", Disk(), timeout=5)
    with lock():
        yield
    lock.close()


def injected(answer: Any) -> str:
    return str(answer["hookSpecificOutput"]["additionalContext"])


def test_a_conversation_begins_with_core_memory_and_where_work_was_left(ask: Hook) -> None:
    text = injected(ask("claude-code", "SessionStart", {"source": "startup"}))
    assert text.startswith("<memfolio-")
    assert "allergic to walnuts" in text
    assert "Write the rollback" in text
    assert len(text) <= MOST_CHARACTERS


def test_a_prompt_brings_what_is_remembered_about_it_once_in_a_conversation(ask: Hook) -> None:
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    assert "heron" in injected(ask("claude-code", "UserPromptSubmit", asked))
    assert ask("claude-code", "UserPromptSubmit", asked) == {}
    assert "heron" in injected(ask("claude-code", "UserPromptSubmit", {**asked, "session_id": "another"}))


def test_what_could_not_be_compared_by_meaning_is_said(home: Path, hook: Hook) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("The staging database of Kestrel is called heron", type="fact")
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    (home / "memfolio.toml").write_text('[embedding]\nprovider = "none"\n', encoding="utf-8")
    with warmth(home):
        text = injected(hook("claude-code", "UserPromptSubmit", asked))
        assert text.splitlines()[-2].startswith("(Semantic search is not ready")
        assert not strip_fences(text)
        (home / "memfolio.toml").unlink()
        assert "Semantic" not in injected(hook("claude-code", "UserPromptSubmit", {**asked, "session_id": "b"}))


def test_a_prompt_that_was_asked_in_other_conversations_brings_the_answer(home: Path, hook: Hook) -> None:
    with Memory.open(home, background=False) as memory:
        memory.mind.believe("Alex prefers tea over coffee", certainty=0.9)
        memory.remember("Dana likes long walks")
    with warmth(home):
        questions = ("Which drink does Alex prefer?", "What does Alex prefer to drink?")
        for number, asked in enumerate(questions * 2):
            text = injected(hook("claude-code", "UserPromptSubmit", {"prompt": asked, "session_id": f"s-{number}"}))
            assert "Alex prefers tea over coffee" in text
            assert "drink" not in text
            until(lambda: not kept(home))
            hook("claude-code", "Stop", {"last_assistant_message": "Let me see.", "session_id": f"s-{number}"})


def test_what_stands_in_the_conversation_is_left_out_of_what_is_told(filled: Path, hook: Hook) -> None:
    with warmth(filled):
        assert "heron" in injected(hook("codex", "UserPromptSubmit", {"prompt": "Which database does Kestrel have?"}))
        hook("codex", "Stop", {"last_assistant_message": "The database of Kestrel lies in Frankfurt."})
        until(lambda: not kept(filled))
        with Memory.open(filled, background=False) as memory:
            memory.remember("The database of Kestrel moves to Oslo", type="fact")
        asked = {"prompt": "Where does the database of Kestrel lie, and where will it be?"}
        text = injected(hook("codex", "UserPromptSubmit", asked))
        assert [word for word in ("Oslo", "heron", "Frankfurt", "What happened") if word in text] == ["Oslo"]
        assert "Frankfurt" in injected(hook("codex", "UserPromptSubmit", {**asked, "session_id": "another"}))


def test_what_the_opening_told_is_not_told_again_where_no_process_was_warm(filled: Path, hook: Hook) -> None:
    (filled / ".memfolio/hooks").mkdir(mode=0o700)
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    with FileLock(filled / ".memfolio/hooks/lock", Disk(), timeout=5)():  # so that none becomes warm meanwhile
        assert "heron" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))
        assert hook("claude-code", "UserPromptSubmit", asked) == {}
    with warmth(filled):
        until(lambda: not kept(filled))
        assert hook("claude-code", "UserPromptSubmit", {"prompt": "And the staging database of Kestrel?"}) == {}


def test_of_a_long_memory_another_part_is_told_too() -> None:
    first, second = (fenced(["## Facts", f"- [M-1-a] fact: {words}"]) for words in ("heron …", "… lies in Oslo"))
    assert untold(first, marks_of(first)) is None
    assert untold(second, marks_of(first)) == second
    both = second.replace("- [M-1-a]", "- [M-2-b] fact: whole\n  | of two lines\n- [M-1-a]")
    assert untold(both, {"M-2-b"}) == second


def test_every_host_gets_its_own_form_and_no_other_keys(ask: Hook) -> None:
    asked = {"prompt": "What does Alex want for breakfast?"}
    for host, event in (("claude-code", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")):
        answer = ask(host, event, {**asked, "session_id": host})
        assert answer == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": injected(answer)}}
    assert ask("cursor", "sessionStart", {"conversation_id": "c"}).keys() == {"additional_context"}
    # Cursor passes on nothing that it is answered at a prompt, so that nothing may count as told there.
    assert ask("cursor", "beforeSubmitPrompt", {"conversation_id": "d", **asked}) == {}


def test_what_the_opening_told_is_not_told_again_with_the_first_prompt(ask: Hook) -> None:
    asked = {"session_id": "again", "prompt": "What does Alex want for breakfast?"}
    assert "Marmalade" in injected(ask("codex", "SessionStart", asked))
    assert ask("codex", "UserPromptSubmit", asked) == {}


def test_both_sides_of_a_conversation_are_noted_without_what_was_injected(
    shared: Path, ask: Hook, session: str
) -> None:
    told = injected(ask("claude-code", "UserPromptSubmit", {"prompt": "Which database does Kestrel have?"}))
    ask("claude-code", "UserPromptSubmit", {"prompt": f"{told}\nUse the second one."})
    ask("claude-code", "Stop", {"last_assistant_message": f"Done. {fenced(['- [M-1] heron'])}"})
    assert said(shared, session) == [
        ("user", "Which database does Kestrel have?"),
        ("user", "Use the second one."),
        ("assistant", "Done."),
    ]


def test_what_gemini_passes_back_of_what_it_was_told_is_not_learned(shared: Path, ask: Hook) -> None:
    told = injected(ask("gemini", "BeforeAgent", {"session_id": "e", "prompt": "Which database does Kestrel have?"}))
    escaped = told.replace("<", "&lt;").replace(">", "&gt;")
    back = f"<hook_context>{escaped}</hook_context>\n\nUse the second one."
    ask("gemini", "BeforeAgent", {"session_id": "e", "prompt": back})
    assert said(shared, "e")[-1] == ("user", "Use the second one.")


def test_a_turn_that_two_hooks_report_is_noted_once(shared: Path, ask: Hook) -> None:
    turn = {"conversation_id": "c-1", "generation_id": "g-1", "prompt": "Rename the heron database"}
    ask("cursor", "beforeSubmitPrompt", turn)
    ask("claude-code", "UserPromptSubmit", {**turn, "cursor_version": "3.1"})
    for _ in range(2):  # without a number for the turn
        ask("gemini", "BeforeAgent", {"session_id": "g", "prompt": "continue"})
    ask("gemini", "AfterAgent", {"session_id": "g", "prompt_response": "Going on."})
    ask("gemini", "BeforeAgent", {"session_id": "g", "prompt": "continue"})
    assert said(shared, "c-1") == [("user", "Rename the heron database")]
    assert said(shared, "g") == [("user", "continue"), ("assistant", "Going on."), ("user", "continue")]


def test_sub_agents_are_heard_only_where_that_is_asked_for(shared: Path, ask: Hook, session: str) -> None:
    ask(
        "claude-code",
        "Stop",
        {"agent_id": "a-1", "last_assistant_message": "Explored the folder"},
    )
    assert said(shared, session) == []
    ask(
        "claude-code",
        "Stop",
        {"agent_id": "a-1", "last_assistant_message": "Explored the folder"},
        "--subagents",
    )
    assert said(shared, session) == [("assistant", "Explored the folder")]


def test_two_conversations_at_once_are_both_answered_and_noted(shared: Path, ask: Hook, session: str) -> None:
    def talk(session: str) -> list[tuple[str | None, str]]:
        for nth in range(4):
            asked = {"session_id": session, "prompt": f"Is heron the {nth}. database of {session}?"}
            assert nth or "heron" in injected(ask("claude-code", "UserPromptSubmit", {**asked, "prompt": "heron?"}))
            ask("claude-code", "UserPromptSubmit", asked)
        return [("user", "heron?"), *[("user", f"Is heron the {nth}. database of {session}?") for nth in range(4)]]

    with ThreadPoolExecutor() as pool:
        expected = dict(zip("ab", pool.map(talk, "ab"), strict=True))
    assert {session: said(shared, session) for session in "ab"} == expected


def test_no_secret_is_written_anywhere_not_even_while_it_waits(cold: Path, hook: Hook) -> None:
    with held(cold):
        hook("claude-code", "UserPromptSubmit", {"prompt": f"My token is {SECRET}", "tool_input": SECRET})
        until((cold / SOCKET).exists)
        hook("claude-code", "Stop", {"last_assistant_message": f"It is {SECRET}, I see"})
        assert len(kept(cold)) == 2
        assert not files_with(cold, SECRET.encode())
    turns = said(cold)
    assert [words.partition("[redacted:github-token:")[0] for _, words in turns] == ["My token is ", "It is "]
    assert turns[0][1][12:] in turns[1][1]
    assert not files_with(cold, SECRET.encode())


def test_a_secret_that_the_longest_memory_would_cut_is_not_noted_in_part(filled: Path, hook: Hook) -> None:
    (filled / "memfolio.toml").write_text("max_content_bytes = 1000\n", encoding="utf-8")
    with warmth(filled):
        for session, size in (("a", 2_000), ("b", 20_000)):
            words = f"{'x ' * 495}{SECRET} {'y ' * size}"
            hook("claude-code", "UserPromptSubmit", {"session_id": session, "prompt": words})
            ((_, noted),) = said(filled, session)
            assert "[redacted:".startswith(noted[990:])
    assert not files_with(filled, SECRET[:8].encode())


def test_with_broken_settings_all_that_may_be_taken_out_is_and_the_turn_waits(cold: Path, hook: Hook) -> None:
    settings = cold / "memfolio.toml"
    settings.write_text("context = [broken", encoding="utf-8")
    words = f"{SECRET} is of berta@example.org, write to her"
    assert hook("claude-code", "UserPromptSubmit", {"prompt": words}) == {}
    assert len(kept(cold)) == 1
    assert not files_with(cold, SECRET.encode()) + files_with(cold, b"berta@")
    settings.unlink()
    hook("claude-code", "Stop", {"last_assistant_message": "I did."})
    turns = said(cold)
    assert turns[0][1].endswith(", write to her")
    assert turns[1:] == [("assistant", "I did.")]


TRANSCRIPTS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {"type": "user", "message": {"role": "user", "content": "We decided to use PostgreSQL for Kestrel."}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I noted it."}]}},
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "We decided to use Mongo."}},
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "x"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "We decided to use PostgreSQL for Kestrel."}],
            },
        },
    ],
    "gemini": [{"messages": [{"type": "user", "content": "We decided to use PostgreSQL for Kestrel."}]}],
    "cursor": [{"role": "user", "message": {"content": [{"type": "text", "text": "We decided to use PostgreSQL."}]}}],
}


@pytest.mark.parametrize("host", TRANSCRIPTS)
def test_what_people_and_agents_said_is_read_from_the_transcript_of_every_host(host: str, tmp_path: Path) -> None:
    turns = turns_of(str(written(host, tmp_path)))
    assert "PostgreSQL" in str(turns[0]["content"])
    assert [turn["role"] for turn in turns] == ["user", "assistant"][: len(turns)]


def test_of_a_long_transcript_the_end_is_read_and_what_is_broken_left_out(tmp_path: Path) -> None:
    line = json.dumps({"message": {"role": "user", "content": "word " * 100}})
    path = tmp_path / "long.jsonl"
    path.write_bytes((f"{line}\n" * 20_000).encode() + b'{"broken\n\xff\n[1]\n' + line.replace("word", "last").encode())
    turns = turns_of(str(path))
    assert len(turns) == 400
    assert str(turns[-1]["content"]).startswith("last last")
    assert turns_of(str(tmp_path)) == turns_of("") == turns_of("/nowhere/\0") == []


@pytest.mark.parametrize("host", ["claude-code", "gemini"])
@pytest.mark.usefixtures("warm")
def test_what_a_conversation_held_is_saved_before_it_is_cut_and_told_after(
    filled: Path, hook: Hook, host: str, tmp_path: Path
) -> None:
    start, prompt, _, cut, _ = ACTS[host]
    assert hook(host, cut, {"transcript_path": str(written(host, tmp_path)), "trigger": "auto"}) == {}
    if host == "gemini":  # which does not begin anew
        until(lambda: not kept(filled))
        text = injected(hook(host, prompt, {"prompt": "And what about the port of it?"}))
    else:
        text = injected(hook(host, start, {"source": "compact"}))
    assert "walnuts" in text
    assert "PostgreSQL" in text
    assert "Mongo" not in text


def written(host: str, folder: Path) -> Path:
    path = folder / "transcript.jsonl"
    path.write_text("\n".join(map(json.dumps, TRANSCRIPTS[host])), encoding="utf-8")
    return path


@pytest.mark.serial
def test_a_conversation_that_is_over_is_learned_from_by_a_process_of_its_own(shared: Path, ask: Hook) -> None:
    ask(
        "claude-code",
        "UserPromptSubmit",
        {"prompt": "Berta leads the Kestrel project and lives in Graz."},
    )
    began = time.monotonic()
    assert ask("claude-code", "SessionEnd", {"reason": "exit"}) == {}
    assert time.monotonic() - began < 1
    until(lambda: list((shared / "agents/main/sessions").glob("*.md")), 20)


def test_conversations_that_end_at_the_same_time_are_all_learned_from(filled: Path) -> None:
    with Memory.open(filled, background=False) as memory:
        said = {name: f"Berta leads the harbour project in hall {name.upper()}" for name in "ab"}
        memory.observe_many({"role": "user", "content": text, "session": name} for name, text in said.items())
    with ThreadPoolExecutor() as pool:
        with FileLock(filled / INTERNAL / "tend.lock", Disk(), timeout=5)():
            learn(filled, "main", "a", 0)
            later = pool.submit(learn, filled, "main", "b")
            time.sleep(0.2)
            assert not later.done()
        later.result(timeout=10)
    assert [path.stem[-1] for path in (filled / "agents/main/sessions").glob("*.md")] == ["b"]
    assert "nothing is learned from a" in health(filled).troubles[-1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nobody waits for what learns
def test_an_end_that_a_host_tells_three_times_is_one(filled: Path) -> None:
    started: list[Any] = []
    sys.addaudithook(lambda event, args: started.append(args[1]) if event == "subprocess.Popen" else None)
    desk = Desk(filled)
    for nth, session in enumerate(("s-1", "s-1", "s-1", "s-2")):
        name = f"{nth + 1:020d}-1"
        keep(filled, name, read_parcel(f'0\t{name}\tgemini\tSessionEnd\n{{"session_id": "{session}"}}'.encode())[2])
        desk.take_up()
    desk.close()
    assert [args[-1] for args in started if "memfolio.serve.hooks.learn" in args] == ["s-1", "s-2"]


def test_without_a_home_nothing_is_said_and_nothing_is_made(home: Path, hook: Hook) -> None:
    for host, (start, _, _, _, end) in ACTS.items():
        assert (hook(host, start, {"prompt": "hello"}), hook(host, end)) == ({}, {})
    assert not home.exists()


def test_whatever_a_host_says_the_answer_is_empty_json(shared: Path, ask: Hook, session: str) -> None:
    for data in (b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"prompt": 7, "session_id": []}', b"[" * 100_000):
        assert ask("claude-code", "UserPromptSubmit", data) == {}
        assert ask("claude-code", "Stop", data) == {}
    assert ask("claude-code", "UserPromptSubmit", {"prompt": "x" * (17 << 20)}) == {}
    assert said(shared, session) == []


def test_unknown_hosts_and_events_and_options_are_answered_with_nothing(shared: Path, ask: Hook) -> None:
    assert ask("claude-code", "PostToolUse", {"prompt": "x"}) == {}
    assert ask("emacs", "SessionStart") == {}
    assert ask("", "") == {}
    assert ask("claude-code", "PreCompact", {"transcript_path": "/nowhere/at/all\u0000"}) == {}
    assert (
        ask(
            "claude-code",
            "SessionStart",
            {},
            "--agent",
            "No Such Agent!",
        )
        == {}
    )
    until(lambda: not kept(shared))
    assert "No Such Agent" in health(shared).troubles[-1]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "> /dev/full"])
def test_a_host_that_does_not_listen_or_speak_is_not_failed(filled: Path, closed: str) -> None:
    line = f'"$0" -c "$1" claude-code Stop < /dev/null {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, HOOK], capture_output=True, env=environ(filled), timeout=20
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_host_that_never_ends_what_it_says_is_not_waited_for(filled: Path) -> None:
    command = [sys.executable, "-c", HOOK, "claude-code", "Stop"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ(filled)) as process:
        assert (process.wait(20), process.stdout and process.stdout.read()) == (0, b"{}\n")


def test_a_huge_prompt_is_answered_and_noted_as_far_as_a_memory_goes(shared: Path, ask: Hook, session: str) -> None:
    words = "The staging database of Kestrel? " + "ä" * 2_000_000
    assert len(injected(ask("claude-code", "UserPromptSubmit", {"prompt": words}))) <= MOST_CHARACTERS
    ((role, content),) = said(shared, session)
    assert role == "user"
    assert content.startswith("The staging database of Kestrel? ää")


@pytest.mark.serial
@pytest.mark.usefixtures("warm")
def test_what_was_said_while_the_home_is_held_is_noted_later(filled: Path, hook: Hook) -> None:
    with held(filled):
        began = time.monotonic()
        assert hook("claude-code", "Stop", {"last_assistant_message": "Said while it was locked"}) == {}
        assert time.monotonic() - began < 1
        assert "walnuts" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))
        assert kept(filled)
    hook("claude-code", "Stop", {"last_assistant_message": "Said afterwards"})
    assert said(filled) == [("assistant", "Said while it was locked"), ("assistant", "Said afterwards")]


def test_what_was_said_is_neither_lost_nor_doubled_when_the_warm_process_is_killed(cold: Path, hook: Hook) -> None:
    with held(cold), warmth(cold) as process:
        hook("claude-code", "UserPromptSubmit", {"prompt": "Remember the blue door"})
        process.kill()
        process.wait()
        assert kept(cold)
        assert (cold / SOCKET).exists()  # and nobody listens at it
    (name,) = kept(cold)
    again = (cold / ".memfolio/hooks/new" / name).read_bytes()
    hook("claude-code", "Stop", {"last_assistant_message": "I will."})
    assert said(cold) == [("user", "Remember the blue door"), ("assistant", "I will.")]
    (cold / ".memfolio/hooks/new" / name).write_bytes(again)  # killed between noting it and dropping it
    hook("claude-code", "Stop", {"last_assistant_message": "I said so."})
    assert [role for role, _ in said(cold)] == ["user", "assistant", "assistant"]


@pytest.mark.serial
def test_a_warm_process_that_hangs_costs_a_little_time_and_no_turn(
    warm: subprocess.Popen[bytes], filled: Path, hook: Hook
) -> None:
    warm.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    hook("claude-code", "Stop", {"last_assistant_message": "Nobody listens"})
    assert time.monotonic() - began < 2
    assert len(kept(filled)) == 1
    warm.send_signal(signal.SIGCONT)
    assert said(filled) == [("assistant", "Nobody listens")]


def test_what_lies_among_what_waits_and_is_none_of_it_is_in_nobodys_way(filled: Path, hook: Hook) -> None:
    folder = filled / ".memfolio/hooks/new"
    folder.mkdir(mode=0o700, parents=True)
    (folder / ".DS_Store").write_bytes(b"\0")
    (folder / f".{1:020d}-1.00ff00ff00ff.tmp").write_text("half writ", encoding="utf-8")
    (folder / f"{1:020d}-1").write_text('{"version": "of another time"}', encoding="utf-8")
    with warmth(filled):
        hook("claude-code", "Stop", {"last_assistant_message": "It goes on"})
        until(lambda: kept(filled) == [".DS_Store"])
    assert health(filled).waiting == 0
    (folder / ".DS_Store").unlink()
    assert said(filled) == [("assistant", "It goes on")]


def test_there_is_one_warm_process_which_takes_up_what_was_kept_meanwhile(filled: Path) -> None:
    with warmth(filled) as first:
        _, _, event = read_parcel(b'0\t1\tclaude-code\tStop\n{"session_id": "s", "last_assistant_message": "late"}')
        keep(filled, f"{time.time_ns():020d}-1", event)
        command = [sys.executable, "-m", "memfolio.serve.hooks.warm", str(filled)]
        assert subprocess.run(command, timeout=60, check=False).returncode == 0
        assert said(filled, "s") == [("assistant", "late")]
        assert first.poll() is None
        assert (filled / SOCKET).exists()


def test_it_ends_by_itself_when_nobody_comes(filled: Path) -> None:
    command = [sys.executable, "-m", "memfolio.serve.hooks.warm", str(filled), "0.2"]
    assert subprocess.run(command, timeout=60, check=False, env=environ(filled)).returncode == 0
    assert not (filled / SOCKET).exists()


def test_it_stays_while_a_conversation_is_not_over(filled: Path, hook: Hook) -> None:
    with warmth(filled, "1") as process:
        with socket.socket(socket.AF_UNIX) as connection:  # at once: a hook takes a while to start
            connection.connect(os.path.relpath(filled / SOCKET))
            connection.sendall(f'{__version__}\tx\tclaude-code\tSessionStart\n{{"session_id": "{SESSION}"}}'.encode())
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(10)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        hook("claude-code", "SessionEnd", {"reason": "exit"})
        assert process.wait(20) == 0


def test_the_warm_process_ends_when_another_version_speaks_to_it(warm: subprocess.Popen[bytes], filled: Path) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.relpath(filled / SOCKET))
        connection.sendall(b"0.0.1\tx\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b""
    assert warm.wait(10) == 0


def test_a_home_that_is_gone_is_not_made_anew(filled: Path, hook: Hook) -> None:
    with warmth(filled, "0.2") as process:
        hook("claude-code", "SessionStart")
        shutil.rmtree(filled)
        assert hook("claude-code", "UserPromptSubmit", {"prompt": "Where is the staging database?"}) == {}
        assert process.wait(10) == 0
    assert not filled.exists()


@pytest.mark.usefixtures("warm")
def test_settings_that_change_count_for_the_next_prompt(filled: Path, hook: Hook) -> None:
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    assert hook("claude-code", "UserPromptSubmit", asked)
    (filled / "memfolio.toml").write_text("context = 7\n", encoding="utf-8")
    assert hook("claude-code", "UserPromptSubmit", {**asked, "session_id": "b"}) == {}
    (filled / "memfolio.toml").unlink()
    asked = {"prompt": "What does Alex want for breakfast?", "session_id": "c"}
    assert "Marmalade" in injected(hook("claude-code", "UserPromptSubmit", asked))


@pytest.mark.parametrize("is_watching", [True, False])
def test_notes_that_were_edited_or_added_are_told_by_a_process_that_stays(
    home: Path, hook: Hook, tmp_path: Path, is_watching: bool
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Kestrel.md").write_text("The staging database of Kestrel is called heron.\n")
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(notes)
    (home / "memfolio.toml").write_text(f"watch = {str(is_watching).lower()}\n", encoding="utf-8")

    def told(prompt: str) -> str:
        return json.dumps(hook("claude-code", "UserPromptSubmit", {"session_id": str(uuid4()), "prompt": prompt}))

    with warmth(home):
        hook("claude-code", "SessionStart", {"source": "startup"})
        assert "heron" in told("What is the staging database of Kestrel called?")
        (notes / "Kestrel.md").write_text("The staging database of Kestrel is called bittern.\n")
        (notes / "Bees.md").write_text("The beekeeper of the allotment is Ottoline.\n")
        until(lambda: "bittern" in told("What is the staging database of Kestrel called?"), seconds=5)
        assert "heron" not in told("What is the staging database of Kestrel called?")
        assert "Ottoline" in told("Who is the beekeeper of the allotment?")


def test_where_nothing_can_be_kept_or_warm_the_hook_answers_by_itself(filled: Path, hook: Hook) -> None:
    (filled / INTERNAL / "hooks").write_text("in the way", encoding="utf-8")
    assert hook("claude-code", "Stop", {"last_assistant_message": "Nobody can keep this"}) == {}
    assert "walnuts" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))


def test_nothing_is_written_behind_a_link(filled: Path, hook: Hook, tmp_path: Path) -> None:
    (filled / INTERNAL / "hooks").symlink_to(tmp_path)
    assert hook("claude-code", "Stop", {"last_assistant_message": "Not there"}) == {}
    assert hook("claude-code", "SessionStart") != {}
    assert not list(tmp_path.iterdir())


def test_nobody_is_asked_in_a_folder_that_others_can_write_to(filled: Path, hook: Hook) -> None:
    folder = filled / INTERNAL / "hooks"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket"))
        listener.listen()
        listener.setblocking(False)
        folder.chmod(0o777)
        assert "walnuts" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_hook_that_answers_by_itself_does_not_take_longer_than_it_may(filled: Path) -> None:
    _, _, event = read_parcel(b'0\t1\tclaude-code\tSessionStart\n{"session_id": "s"}')
    assert event
    assert answer_here(filled, event, 0) == (b"{}", "")
    assert b"walnuts" in answer_here(filled, event, 10)[0]


def test_an_answer_without_text_is_empty_for_every_host() -> None:
    assert [shaped(host, event, None) for host, events in ACTS.items() for event in events] == [{}] * 20


def event_of(host: str, event: str, said: dict[str, str], session: str = SESSION) -> HookEvent:
    parcel = (
        f"{__version__}\t{time.time_ns():020d}-1\t{host}\t{event}\t\t\n{json.dumps({'session_id': session, **said})}"
    )
    found = read_parcel(parcel.encode())[2]
    assert found
    return found


def taken_up(desk: Desk, home: Path, event: HookEvent) -> bytes:
    """What a desk answers to an event, which it then takes up."""
    answer = desk.answer(event)
    keep(home, f"{time.time_ns():020d}-1", event)
    desk.take_up()
    return answer


PROMPTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}


def test_question_without_a_common_word_is_answered_by_the_hook_of_every_host(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea over coffee", type="preference")
        memory.remember("The staging database of Kestrel is called heron", type="fact")
    desk = Desk(home)
    for host, event in PROMPTS.items():
        asked = event_of(host, event, {"prompt": "Which hot beverage should I serve?"}, f"s-{host}")
        cold = answer_here(home, asked, 60)[0]
        assert "Alex prefers tea over coffee" in cold.decode()
        assert "Alex prefers tea over coffee" in desk.answer(asked).decode()
    # Cursor takes nothing at a prompt: it is told when a conversation begins.
    assert "Alex prefers tea" in desk.answer(event_of("cursor", "sessionStart", {}, "s-cursor")).decode()
    desk.close()


def test_alert_waits_until_an_agent_of_cursor_can_be_told(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea")
        (home / "agents/main/SOUL.md").write_text("Never ask.")
        memory.watch()
    desk = Desk(home)
    assert desk.answer(event_of("cursor", "beforeSubmitPrompt", {"prompt": "hello"}, "s-1")) == b"{}"
    assert b"SOUL.md was changed" in desk.answer(event_of("cursor", "sessionStart", {}, "s-2"))
    desk.close()


def test_what_was_told_cited_and_left_unsaid_is_counted_and_keeps_memories_awake(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        heron = memory.remember("The staging database of Kestrel is called heron", type="fact")
        other = memory.remember("The staging database of Kestrel has 4 GB of memory", type="fact")
        memory.used([other.id, other.id])
    desk = Desk(home)
    question = {"prompt": "What is the staging database of Kestrel called?"}
    told = taken_up(desk, home, event_of("claude-code", "UserPromptSubmit", question)).decode()
    assert heron.id in told
    taken_up(desk, home, event_of("claude-code", "UserPromptSubmit", {"prompt": "zzyzx qwfp"}))
    taken_up(desk, home, event_of("claude-code", "Stop", {"last_assistant_message": f"It is heron [{heron.id}]."}))
    with Memory.open(home, background=False) as memory:
        assert memory.cost().told == ()  # in one line at the end
    desk.note_told()
    desk.close()
    with Memory.open(home, background=False) as memory:
        [day] = memory.cost().told
        assert (day.conversations, day.times, day.silent, day.cited, day.corrected) == (1, 1, 1, 1, 0)
        assert day.tokens == day.tokens_each > 0
        cited, ignored = memory.get(heron.id), memory.get(other.id)
        assert cited is not None
        assert ignored is not None
        assert cited.access_count == 1
        assert ignored.access_count == (1 if other.id in told else 2)
        memory.reindex()
        assert memory.cost().told == (day,)
        assert memory.status().told == day


def test_what_a_conversation_was_told_is_known_to_the_next_process(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("The staging database of Kestrel is called heron", type="fact")
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    desk = Desk(home)
    assert b"heron" in desk.answer(event_of("claude-code", "UserPromptSubmit", asked))
    desk.note_told()
    desk.close()
    after = Desk(home)
    assert after.answer(event_of("claude-code", "UserPromptSubmit", asked)) == b"{}"
    assert b"heron" not in after.answer(event_of("claude-code", "SessionStart", {"source": "resume"}))
    assert b"heron" in after.answer(event_of("claude-code", "UserPromptSubmit", asked, "s-2"))
    after.close()


def test_agent_is_asked_to_learn_once_for_so_many_turns_where_the_person_wants_that(home: Path) -> None:
    with Memory.open(home, background=False):
        pass
    stop = event_of("claude-code", "Stop", {"last_assistant_message": "Done."})
    prompt = event_of("claude-code", "UserPromptSubmit", {"prompt": "Hello"})
    desk = Desk(home)
    desk.answer(prompt)
    assert {desk.answer(stop) for _ in range(12)} == {b"{}"}
    desk.close()
    (home / "memfolio.toml").write_text('[model]\nprovider = "agent"\n', encoding="utf-8")
    desk = Desk(home)
    desk.answer(prompt)
    answers = [json.loads(desk.answer(stop)) for _ in range(20)]
    assert [number for number, each in enumerate(answers) if each] == [9, 19]
    assert answers[9]["decision"] == "block"
    assert "`learn`" in answers[9]["reason"]
    assert desk.answer(event_of("codex", "Stop", {"last_assistant_message": "Done."})) == b"{}"
    desk.close()


def test_hooks_keep_silent_inside_a_question_of_ours(filled: Path) -> None:
    said = json.dumps({"session_id": SESSION, "prompt": "What is the staging database of Kestrel called?"}).encode()
    command = [sys.executable, "-c", HOOK, "claude-code", "UserPromptSubmit"]
    inside = environ(filled) | {"MEMFOLIO_ASKED": "1"}
    done = subprocess.run(command, input=said, capture_output=True, timeout=30, check=True, env=inside)
    assert (done.stdout, kept(filled), (filled / SOCKET).exists()) == (b"{}\n", [], False)


def test_prompt_that_asks_to_remember_reaches_core_memory_and_forgetting_is_only_shown(home: Path) -> None:
    with Memory.open(home, background=False):
        pass
    desk = Desk(home)

    def told(number: int, prompt: str) -> str:
        said = json.dumps({"session_id": SESSION, "prompt": prompt}).encode()
        name = f"{number:020d}-1"
        _, _, event = read_parcel(f"{__version__}\t{name}\tclaude-code\tUserPromptSubmit\t\t\n".encode() + said)
        assert event is not None
        assert keep(home, name, event) == ""
        answer = json.loads(desk.answer(event))
        desk.take_up()
        return injected(answer)

    assert "asked to remember" in told(1, "Remember that I am allergic to latex.")
    shown = told(2, "Forget about the latex")
    desk.close()
    assert "Nothing is forgotten yet" in shown
    with Memory.open(home, background=False) as memory:
        [line] = next(block.items for block in memory.core.read().blocks if block.name == "Critical Facts")
        assert line.says == "The user is allergic to latex"
        assert line.id is not None
        assert line.id in shown


def test_what_is_not_known_is_said_in_one_line_and_a_wish_to_forget_is_not_recorded(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        for text in (
            "Jonas Weber waters the plants",
            "Kim plays the cello",
            "The boiler needs 1.5 bar",
            "Rye bread: 500 g",
        ):
            memory.remember(text, type="fact")
    desk = Desk(home)

    def told(number: int, prompt: str) -> str:
        name, said = f"{number:020d}-1", json.dumps({"session_id": SESSION, "prompt": prompt}).encode()
        _, _, event = read_parcel(f"{__version__}\t{name}\tclaude-code\tUserPromptSubmit\t\t\n".encode() + said)
        assert event is not None
        assert keep(home, name, event) == ""
        answer = injected(json.loads(desk.answer(event)))
        desk.take_up()
        return answer

    assert told(1, "What do you know about Gerlinde Huber?") == "Nothing is remembered about what the person asks."
    shown = told(2, "Forget everything about Jonas Weber")
    assert "`forget_about`" in shown
    assert shown.count("waters the plants") == 1
    assert "the cello" in told(5, "What do you know about Gerlinde Huber? And what does Kim play?")
    assert "Forget" not in told(3, "What do you know about Jonas Weber?")
    told(4, "Forget everything about Kim. Jonas moved to Bergen.")
    desk.close()
    assert {text for _, text in said(home)} == {
        "What do you know about Gerlinde Huber?",
        "What do you know about Jonas Weber?",
        "What do you know about Gerlinde Huber? And what does Kim play?",
        "Forget everything about Kim. Jonas moved to Bergen.",
    }


def test_uninstall_ends_the_process_that_answers_hooks(filled: Path, warm: subprocess.Popen[bytes]) -> None:
    _program(filled, "install", "claude-code")
    _program(filled, "uninstall", "claude-code", "--dry-run")
    assert warm.poll() is None
    _program(filled, "uninstall", "claude-code")
    assert warm.wait(10) == 0


def test_uninstall_ends_a_process_that_a_hook_has_only_just_started(filled: Path, hook: Hook) -> None:
    _program(filled, "install", "claude-code")
    hook("claude-code", "UserPromptSubmit", {"prompt": "Where does the ferry leave?"})
    _program(filled, "uninstall", "claude-code")
    time.sleep(2)  # what was started then would listen by now
    assert not (filled / SOCKET).exists()
    with FileLock((filled / SOCKET).with_name("lock"), Disk(), timeout=0).if_free() as is_free:
        assert is_free


def _program(home: Path, *args: str) -> None:
    command = [sys.executable, "-m", "memfolio", "--home", str(home), *args]
    subprocess.run(command, env=environ(home), capture_output=True, timeout=60, check=True)
