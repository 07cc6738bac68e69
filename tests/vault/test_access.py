"""Nobody writes without an access: secrets are taken out, policy decides, and agents who share a vault stay apart."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

import memfolio
from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import HomeError, InputError, MemfolioError, PolicyError
from memfolio.types import Action, Attribution
from memfolio.vault.change import Access, AddEntries, AddLines, Allowed, Change, PutPage
from memfolio.vault.fields import Draft
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER, Vault

SECRET = "ghp_k3JfP0aQxT7mZs9LwB2cVd5RyUe8Hn1000"
BOT = Attribution(actor="bot:main", trigger="test")
PAGE = "agents/main/notes.md"
PACKAGE = Path(memfolio.__file__).parent
Hunt = Callable[[Path], None]


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(home, clock=clock) as vault:
        yield vault


@contextmanager
def two(vault: Vault) -> Iterator[tuple[Memory, Memory]]:
    """A main agent through which its owner speaks, and a helper that speaks for itself, both at work in one vault."""
    with Memory(vault, "main", background=False, speaker="owner") as main:
        main.agents.create("helper", role="helps")
        with Memory(vault, "helper", background=False, speaker="agent") as helper:
            yield main, helper


def changes_with_a_secret() -> tuple[Change, ...]:
    operations = (
        AddEntries("main", (Draft(content=f"the token is {SECRET}"),)),
        AddLines(state_ledger("main"), ({"op": "note", "text": SECRET},)),
        PutPage(PAGE, f"{SECRET}\n".encode(), None),
    )
    return tuple(Change(operations=(each,), by=OWNER, action=Action.APPEND) for each in operations)


def write_a_secret(folder: Path) -> None:
    """A vault that nobody has set up for anything writes no secret."""
    with Vault.open(folder / "home") as vault:
        for change in changes_with_a_secret():
            assert SECRET not in vault.preview(change)
            vault.apply(change)
        vault.add("main", [Draft(content=SECRET)], BOT)
        vault.put_page("agents/main/other.md", SECRET, expects=None, by=BOT)
        with pytest.raises(InputError, match="looks like a secret"):
            vault.acknowledge([1], Attribution(actor="human", session=SECRET))
    written = [path for path in (folder / "home").rglob("*") if path.is_file()]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def write_what_is_not_allowed(folder: Path) -> None:
    """Each agent that shares a vault is held to its own policy, at every way to write."""
    with Vault.open(folder / "home") as vault, two(vault) as (main, helper):
        before = vault.head
        for write in (
            lambda: helper.vault.put_page("agents/main/SOUL.md", "mine\n", expects=None, by=BOT),
            lambda: helper.vault.add("main", [Draft(content="mine")], BOT),
            lambda: helper.vault.add_lines(state_ledger("main"), [{"op": "note", "text": "mine"}], BOT),
            lambda: helper.vault.acknowledge([1]),
        ):
            with pytest.raises(PolicyError):
                write()
        assert vault.head == before
        main.agents.update("helper", policy="proposes")
        with pytest.raises(PolicyError, match="proposes"):
            helper.vault.put_page("shared/notes.md", "mine\n", expects=None, by=BOT)
        main.vault.put_page("shared/notes.md", "all of ours\n", expects=None, by=OWNER)
        main.vault.put_page("agents/main/SOUL.md", "mine\n", expects=None, by=OWNER)


def test_a_fresh_vault_writes_no_secret(quick_path: Path) -> None:
    write_a_secret(quick_path)


def test_each_agent_of_a_vault_is_held_to_its_own_policy(quick_path: Path) -> None:
    write_what_is_not_allowed(quick_path)


def test_two_agents_of_one_vault_write_in_turns(vault: Vault) -> None:
    with two(vault) as (main, helper):
        for number in range(3):
            assert main.remember(f"main saw lighthouse {number}").id
            assert helper.remember(f"helper saw harbour {number}").id
        assert {item.content for item in vault.entries("main")} == {f"main saw lighthouse {each}" for each in range(3)}
        assert {item.content for item in vault.entries("helper")} == {f"helper saw harbour {each}" for each in range(3)}
        assert len(main.recall("lighthouse")) == len(helper.recall("harbour")) == 3


def test_two_agents_of_one_vault_write_at_once(vault: Vault) -> None:
    with two(vault) as (main, helper):

        def work(memory: Memory, word: str) -> None:
            for number in range(15):
                assert memory.get(memory.remember(f"{word} {number}").id) is not None
                assert len(memory.recall(word, limit=100)) == number + 1

        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(work, main, "lighthouse"), pool.submit(work, helper, "harbour")]:
                done.result()
        assert [len(vault.entries(agent)) for agent in ("main", "helper")] == [15, 15]


def test_each_agent_of_a_vault_sees_only_its_own_scope(vault: Vault) -> None:
    with two(vault) as (main, helper):
        kept = main.remember("the safe is behind the picture")
        assert main.vault.shows(PAGE)
        assert not helper.vault.shows(PAGE)
        assert kept.id in {each for line in main.vault.past.log() for each in line.ids}
        assert kept.id not in {each for line in helper.vault.past.log() for each in line.ids}
        assert main.status().changes > helper.status().changes
        assert helper.get(kept.id) is None


def test_a_vault_is_open_until_the_last_who_share_it_closes_it(home: Path) -> None:
    vault = Vault.open(home)
    with two(vault) as (main, helper):
        helper.close()
        with pytest.raises(HomeError, match="was closed"):
            helper.remember("too late")
        helper.close()
        assert main.remember("still here").content == "still here"
    with pytest.raises(HomeError, match="was closed"):
        vault.add("main", [Draft(content="too late")], OWNER)


def test_an_access_cannot_be_changed(vault: Vault) -> None:
    with two(vault) as (main, _):
        for name, value in (("guard", None), ("scope", None), ("redactor", None), ("speaker", "owner")):
            with pytest.raises(FrozenInstanceError):
                setattr(main.vault._access, name, value)
        for name in ("scope", "speaker"):
            with pytest.raises(AttributeError):
                setattr(main.vault, name, None)


def test_the_writer_makes_only_what_was_allowed(vault: Vault) -> None:
    head, change = vault.head, changes_with_a_secret()[0]
    with pytest.raises(AttributeError):
        vault.writer.apply(change)  # type: ignore[arg-type]
    assert vault.head == head


def test_only_an_access_and_the_vault_itself_allow_a_change() -> None:
    calls = (
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Allowed"
    )
    # A new home gets its configuration, and what a sync program left beside a file is merged into it.
    # A purge asks about all of it before it begins, and goes on once it has begun.
    allowing = ["vault/change.py", "vault/change.py", "vault/purge/purge.py", "vault/reconcile.py", "vault/vault.py"]
    assert sorted(calls) == allowing


def goes_around(self: Vault, change: Change) -> Any:
    return self.writer.apply(Allowed(change))


@contextmanager
def asks_nobody(self: Access, change: Change, current: object) -> Iterator[Allowed]:
    yield Allowed(self.clean(change, lambda path: None))


def replaces_the_access(self: Vault, guard: Any, scope: Any = None, *, speaker: str | None = None, **_: Any) -> Vault:
    self._access = replace(self._access, guard=guard, scope=scope, speaker=speaker or "")
    return self


BUGS: dict[str, tuple[type, str, Any, Hunt]] = {
    "an access skips redaction": (Access, "clean", lambda self, change, current: change, write_a_secret),
    "a write goes around redaction": (Vault, "apply", goes_around, write_a_secret),
    "a write goes around policy": (Vault, "apply", goes_around, write_what_is_not_allowed),
    "an access asks no guard": (Access, "allowing", asks_nobody, write_what_is_not_allowed),
    "who shares a vault shares the access": (Vault, "under", replaces_the_access, write_what_is_not_allowed),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_found(name: str, quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, broken, hunt = BUGS[name]
    monkeypatch.setattr(owner, method, broken)
    with pytest.raises((AssertionError, MemfolioError, pytest.fail.Exception)):
        hunt(quick_path)
