"""The commands that reflect and decide: nothing is approved that nobody looked at."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import ConflictError, InputError, MemfolioError, NotFoundError, RefusedError
from memfolio.govern.reflection.reflections import Pending
from memfolio.serve.cli import reflect as commands
from memfolio.serve.cli.call import PERSON, Answer, Options
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
    with pytest.raises(RefusedError, match="no terminal to confirm in") as refused:
        commands.approve(options)
    assert refused.value.hint == f"read {waiting.path}, then say --hash {waiting.shown}"
    path = memory.vault.home.root / waiting.path
    path.write_text(waiting.text.replace("- why: ", "- why: as I said, "), encoding="utf-8")
    with pytest.raises(ConflictError, match="was edited"):
        commands.approve(options, yes=True)
    with pytest.raises(RefusedError, match="was edited and must be shown") as refused:
        commands.approve(options, edit=True, yes=True)
    assert refused.value.hint.endswith(f"--hash {pending(memory).shown}")
    with pytest.raises(InputError, match="not numbers"):
        commands.approve(options, without="all", shown=pending(memory).shown)
    decided = commands.approve(options, without=str(min(waiting.items)), shown=pending(memory).shown)
    assert list(decided.document["left_out"]) == [min(waiting.items)]
    assert f"`memfolio undo {decided.document['seq']}` undoes it." in drawn(decided, capsys)


def test_person_at_a_terminal_sees_the_page_and_what_they_edited(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    for decide in (commands.approve, commands.reject):
        with pytest.raises(NotFoundError, match="no reflection is pending"):
            decide(options)
    with pytest.raises(InputError, match="is not the id of a proposal"):
        commands.approve(options, ["M-1"], yes=True)
    again = commands.reflect(options, dry_run=True)
    assert "Nothing to change." in again.document["text"]


@pytest.mark.parametrize(
    ("given", "error", "hint"),
    [
        ({}, RefusedError, "look with `memfolio proposals {id}`, then say --hash {hash}"),
        ({"yes": True}, RefusedError, "look with `memfolio proposals {id}`, then say --hash {hash}"),
        ({"ids": None, "every": True}, RefusedError, "lists them with their hashes"),
        ({"ids": None, "every": True, "shown": "0"}, InputError, "one by one"),
        ({"without": "3", "yes": True}, InputError, "edit the page of the proposal"),
        ({"edit": True, "yes": True}, InputError, "edit the page of the proposal"),
        ({"yes": True, "shown": "0"}, ConflictError, "its hash is {hash}"),
        ({"yes": True, "shown": ""}, ConflictError, "its hash is {hash}"),
    ],
)
def test_proposal_that_is_not_approved_says_how(
    memory: Memory, given: dict[str, Any], error: type[MemfolioError], hint: str
) -> None:
    one, _ = memory.propose("Kim likes rain"), memory.propose("Kim likes snow")
    ids = given.pop("ids", [one.id])
    with pytest.raises(error) as caught:
        commands.approve(Options(home=str(memory.vault.home.root)), ids, **given)
    assert hint.format(id=one.id, hash=one.shown) in caught.value.hint
    assert len(memory.proposals.pending()) == 2


def test_proposal_is_approved_by_its_hash_or_rejected(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(home=str(memory.vault.home.root))
    one, two = memory.propose("Kim likes rain"), memory.propose("Kim likes snow", store="short_term")
    approved = commands.approve(options, [one.id], shown=one.shown, kind="opinion", yes=True)
    assert approved.document["approved"] == [one.id]
    [made] = [hit.memory for hit in memory.recall("rain")]
    assert made.kind == "opinion"
    for answer, deed in (
        (approved, f"{one.id} approved ({made.id})"),
        (commands.reject(options, every=True, reason="no"), f"{two.id} rejected"),
    ):
        seq = answer.document["changes"][0]["seq"]
        assert drawn(answer, capsys) == f"{deed} (change {seq}); `memfolio undo {seq}` undoes it\n"
        memory.audit.undo(seq, by=PERSON)
    assert {each.id for each in memory.proposals.pending()} == {one.id, two.id}
    commands.reject(options, every=True)
    assert drawn(commands.approve(options, every=True), capsys) == "No pending proposals.\n"


def test_proposal_that_cannot_be_carried_out_does_not_keep_the_others_waiting(
    memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [sam] = [hit.memory for hit in memory.recall("Rome", limit=1)]
    gone = memory.proposals.add(memory.proposals.call("confirm", {"id": sam.id}), by=PERSON)
    other = memory.propose("Kim likes rain")
    memory.forget(sam.id, by=PERSON)
    monkeypatch.setattr("sys.stdin", Terminal("y\ny\n"))
    answer = commands.approve(Options(home=str(memory.vault.home.root)), every=True)
    assert (answer.status, answer.document["approved"], list(answer.document["left"])) == (4, [other.id], [gone.id])
    assert f"{gone.id} was skipped: " in drawn(answer, capsys)


def test_log_tells_decisions_in_words(memory: Memory) -> None:
    options = Options(home=str(memory.vault.home.root))
    one, two = memory.propose("Kim likes rain"), memory.propose("Kim likes snow")
    commands.reflect(options)
    commands.approve(options, yes=True)
    commands.reject(options, [one.id])
    assert [entry.summary for entry in memory.audit.log(limit=5)] == [
        f"proposal {one.id} rejected, from main",
        "reflection 1 approved",
        "reflection 1 proposed",
        two.title,
        f"proposal {one.id}",
    ]
