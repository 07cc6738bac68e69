"""`memfolio purge`: it shows what would go, asks for a word, and says where it looked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from memfolio.errors import ConflictError, RefusedError
from memfolio.memory import Memory
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.life import purge
from memfolio.serve.cli.output import Screen
from tests.vault.proof import BOT, item

SECRET = "The number of the safe is 48-15-16-23"


@pytest.fixture
def options(home: Path) -> Options:
    with Memory.open(home, background=False) as memory:
        memory.remember(SECRET)
        memory.remember("The number of the bus is 12")
    return Options(home=str(home))


def memories(home: Path) -> set[str]:
    with Memory.open(home, background=False) as memory:
        return {each.content for each in memory.vault.entries("main")}


def test_words_that_fit_several_are_refused(options: Options) -> None:
    with pytest.raises(ConflictError, match="2 memories fit"):
        purge(options, ["number"], yes=True)


def test_a_dry_run_shows_and_keeps(options: Options, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = purge(options, ["number safe"], dry_run=True)
    answer.show(Screen())
    shown = capsys.readouterr().out
    assert SECRET in shown
    assert "Out of reach: clones" in shown
    assert "Nothing was changed." in shown
    assert answer.document["dry_run"] is True
    assert SECRET in memories(home)


def test_yes_destroys_and_tells_where_it_looked(
    options: Options, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = purge(options, ["number safe"], yes=True)
    answer.show(Screen())
    shown = capsys.readouterr().out
    assert "Found: nothing" in shown
    assert SECRET not in shown
    assert answer.status == 0
    assert answer.document["left"] == ()
    assert answer.document["searched"]["objects"] > 0
    assert memories(home) == {"The number of the bus is 12"}


def test_nobody_is_asked_without_a_terminal(options: Options, home: Path) -> None:
    with pytest.raises(RefusedError, match="destroy 1 memory for good; there is no terminal"):
        purge(options, ["number safe"])
    assert SECRET in memories(home)


@pytest.mark.parametrize(("typed", "is_gone"), [("purge", True), ("yes", False), ("", False)])
def test_the_word_must_be_typed(
    options: Options, home: Path, monkeypatch: pytest.MonkeyPatch, typed: str, is_gone: bool
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: typed)
    if is_gone:
        purge(options, ["number safe"])
    else:
        with pytest.raises(typer.Abort):
            purge(options, ["number safe"])
    assert (SECRET not in memories(home)) is is_gone


def test_what_was_corrected_goes_with_the_correction(options: Options, home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        old = memory.recall("safe")[0].memory
        new = memory.correct(old.id, "The number of the safe was changed on Monday")
    answer = purge(options, [new.id], yes=True)
    assert {each["id"] for each in answer.document["purged"]} == {old.id, new.id}
    assert memories(home) == {"The number of the bus is 12"}


def test_what_is_left_is_an_error(options: Options, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "agents/main/memory/.log.swp").write_bytes(b"\0\xff" + SECRET.encode())
    answer = purge(options, ["number safe"], yes=True)
    answer.show(Screen())
    assert answer.status == 1
    assert "left in agents/main/memory/.log.swp" in capsys.readouterr().out


def test_yes_says_what_stays(options: Options, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(home, background=False) as memory:
        safe, bus = (memory.recall(word)[0].memory.id for word in ("safe", "bus"))
        related = memory.vault.add("main", [item("Numbers matter", derived_from=(safe, bus))], BOT).ids[0]
    answer = purge(options, [safe], yes=True)
    answer.show(Screen())
    assert f"may say the same, check: {related}" in capsys.readouterr().out
    assert answer.document["related"] == (related,)


def test_what_was_not_looked_for_is_an_error(options: Options, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(home, background=False) as memory:
        pin = memory.remember("X9#7q").id
    answer = purge(options, [pin], yes=True)
    answer.show(Screen())
    assert answer.status == 1
    assert answer.document["left"] == ()
    assert "not looked for: 1 of its texts: too short" in capsys.readouterr().out


def test_every_long_part_tells_how_much_of_it_is_done(options: Options, home: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    with Memory.open(home, background=False) as memory:
        memory.purge(SECRET, by=BOT, on_progress=lambda job, *steps: told.setdefault(job, []).append(steps))
    assert list(told) == ["commits rewritten", "files searched", "git objects searched"]
    for steps in told.values():
        assert [done for done, _ in steps] == list(range(len(steps)))
        assert {total for _, total in steps} == {len(steps)}
