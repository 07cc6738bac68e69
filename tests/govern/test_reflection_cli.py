"""The commands that reflect and decide: nothing is approved that nobody looked at."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import ConflictError, InputError, RefusedError
from memfolio.govern.reflection.reflections import Pending
from memfolio.serve.cli import reflect as commands
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen

SAID = (
    "I moved to Bern last month.",
    "I prefer green tea over coffee.",
    "Anna Keller works at Initech on the billing project.",
    "We decided to deploy on Fridays.",
)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        memory.observe_many(
            [{"role": "user", "content": text, "session": f"s-{n}"} for n in (1, 2, 3) for text in SAID]
        )
        memory.remember("Sam lives in Rome", type="fact")
        yield memory


def drawn(answer: Answer, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    answer.show(Screen())
    return capsys.readouterr().out


def pending(memory: Memory) -> Pending:
    found = memory.reflections.pending()
    assert found is not None
    return found


def test_reflection_is_shown_approved_and_undone(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(home=str(memory.vault.home.root))
    shown = drawn(commands.reflect(options, dry_run=True), capsys)
    assert "# Reflection Summary" in shown
    assert "Nothing was written." in shown
    made = commands.reflect(options)
    waiting = pending(memory)
    assert made.document["hash"] == waiting.shown
    assert waiting.items
    with pytest.raises(RefusedError, match="nobody can be asked"):
        commands.approve(options)
    path = memory.vault.home.root / waiting.path
    path.write_text(waiting.text.replace("- why: ", "- why: as I said, "), encoding="utf-8")
    with pytest.raises(ConflictError, match="was edited"):
        commands.approve(options, yes=True)
    with pytest.raises(ConflictError, match="was edited"):
        commands.approve(options, edit=True, yes=True)
    with pytest.raises(InputError, match="no numbers"):
        commands.approve(options, without="all", shown=pending(memory).shown)
    decided = commands.approve(options, without=str(min(waiting.items)), shown=pending(memory).shown)
    assert list(decided.document["left_out"]) == [min(waiting.items)]
    assert f"`memfolio undo {decided.document['seq']}` takes that back." in drawn(decided, capsys)


def test_person_at_a_terminal_sees_the_page_and_what_they_edited(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    options = Options(home=str(memory.vault.home.root))
    commands.reflect(options)
    waiting = pending(memory)
    last = max(waiting.items)
    path = memory.vault.home.root / waiting.path
    head, _, foot = waiting.text.partition(f"{last}. ")
    end = foot[foot.index("\n\n") :]
    path.write_text(f"{head}> not that{end}", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    decided = commands.approve(options, edit=True)
    asked = capsys.readouterr().err
    assert "# Reflection Summary" in asked
    assert f"Item {last} was deleted" in asked
    assert list(decided.document["left_out"]) == [last]


def test_rejection_names_its_reason(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(home=str(memory.vault.home.root))
    commands.reflect(options)
    assert "rejected" in drawn(commands.reject(options, reason="too early"), capsys)
    with pytest.raises(ConflictError, match="no reflection waits"):
        commands.approve(options, yes=True)
    with pytest.raises(InputError, match="is no proposal"):
        commands.approve(options, ["M-1"], yes=True)
    again = commands.reflect(options, dry_run=True)
    assert "Nothing to change." in again.document["text"]


def test_proposal_is_approved_by_its_hash_or_rejected(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(home=str(memory.vault.home.root))
    one, two = memory.propose("Kim likes rain"), memory.propose("Kim likes snow", store="short_term")
    with pytest.raises(RefusedError, match=f"nobody would look at {one.id}"):
        commands.approve(options, [one.id], yes=True)
    approved = commands.approve(options, [one.id], shown=one.shown, kind="opinion")
    assert approved.document["approved"] == [one.id]
    assert [hit.memory.kind for hit in memory.recall("rain")] == ["opinion"]
    assert f"{two.id} rejected." in drawn(commands.reject(options, every=True, reason="no"), capsys)
    assert drawn(commands.approve(options, every=True), capsys) == "No proposal waits.\n"
