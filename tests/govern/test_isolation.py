"""A lesser agent never sees or changes what is outside of its scope, whatever it asks."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memfolio import ConflictError, MemfolioError, Memory, NotFoundError
from memfolio.clock import SettableClock
from memfolio.errors import RefusedError
from memfolio.govern.agents import Agents
from memfolio.serve.cli.app import run
from memfolio.types import HUMAN
from memfolio.vault.past.past import write_digest
from memfolio.vault.paths import agent_root

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay")
LESSER = NAMES[:-1]
SCOPES: dict[str, tuple[str, ...]] = {
    "ada": (),
    "bob": ("shared",),
    "cyd": ("ada", "shared"),
    "dan": ("eve", "ada"),
    "eve": ("nobody", "fay"),
    "fay": ("*",),
}
WORDS = "tea budget launch berlin sprint alex invoice garden rocket deadline".split()
QUERIES = [800, pytest.param(10_000, marks=pytest.mark.long)]
SECRET = re.compile(r"(?:secret-of-|friend-|agents/)(\w+)")
"""What is in everything that an agent has, and in its paths: where it shows, whose it is shows, too."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("isolation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMFOLIO_CACHE", str(folder / "cache"))
        patch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "hashed")
        yield filled(folder / "home")


def filled(home: Path) -> Path:
    chance = random.Random(1)
    for name in (*NAMES, "shared"):
        with Memory.open(home, name, background=False, speaker="owner") as memory:
            for nth in range(12):
                words = " ".join(chance.sample(WORDS, 3))
                memory.remember(
                    f"{words} [[person--alex]] secret-of-{name} {nth}",
                    type=chance.choice(("fact", "decision", "event")),
                    tags=[chance.choice(WORDS)],
                    session=f"s-{name}",
                    importance=chance.random(),
                )
            memory.core.add("Identity", f"likes tea, secret-of-{name}")
            page = f"# Alex\n\nMet in secret-of-{name}.\n\n- knows: [[person--friend-{name}]]\n"
            path = f"{agent_root(name)}/memory/graph/entities/person--alex.md"
            memory.vault.put_page(path, page, expects=None, by=HUMAN)
            memory.forget(f"secret-of-{name} 3")
            memory.correct(memory.recall(f"secret-of-{name} 5 budget")[0].memory.id, f"corrected tea secret-of-{name}")
            if name != "shared":
                Agents(memory.vault, memory.searcher, name).update(name, reads=SCOPES[name])
    return home


def reach(name: str) -> set[str]:
    """Whose memory an agent may see."""
    scope = SCOPES[name]
    return {name, *((*NAMES, "shared") if "*" in scope else scope)}


def contents(home: Path, agents: set[str]) -> dict[str, bytes]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        vault, roots = memory.vault, tuple(f"{agent_root(each)}/" for each in agents)
        return {path: vault.read(path) or b"" for path in vault.states() if path.startswith(roots)}


def asking(chance: random.Random, memory: Memory, ids: list[str]) -> Callable[[], object]:
    """One thing that an agent may try, at random."""
    text, guess = " ".join(chance.sample(WORDS, 2)), chance.choice(ids)
    given: dict[str, Any] = chance.choice(
        (
            {},
            {"include": ("archived", "superseded", "dormant", "quarantined")},
            {"depth": 2, "limit": 20},
            {"entity": chance.choice(("person--alex", "Alex"))},
            {"as_of": memory.vault.home.now(), "types": "fact"},
            {"session": f"s-{chance.choice(NAMES)}"},
            {"tags": chance.choice(WORDS), "min_importance": 0.5},
        )
    )
    named = chance.choice((text, f"secret-of-{chance.choice(NAMES)}", f"{text} session:s-{chance.choice(NAMES)}"))
    tries: list[tuple[int, Callable[[], object]]] = [
        (14, lambda: memory.recall(named, **given)),
        (31, lambda: memory.get(guess)),
        (10, lambda: memory.find(guess)),
        (10, lambda: memory.explain(guess)),
        (1, lambda: memory.context(text, include="core")),
        (1, lambda: memory.audit.log(limit=20)),
        (2, lambda: memory.audit.diff(chance.randrange(150))),
        (1, lambda: memory.audit.undo(chance.randrange(150), by=HUMAN, dry_run=True)),
        (4, lambda: memory.graph.path("Alex", f"person--friend-{chance.choice(NAMES)}")),
        (4, lambda: memory.graph.entity("Alex")),
        (2, lambda: memory.forget(guess, dry_run=True)),
        (2, lambda: memory.restore(guess, dry_run=True)),
        (2, lambda: memory.archive(guess, dry_run=True)),
        (1, lambda: memory.forget(f"secret-of-{chance.choice(NAMES)}", every=True, dry_run=True)),
    ]
    return chance.choices([deed for _, deed in tries], [weight for weight, _ in tries])[0]


def changing(memory: Memory, id: str) -> Iterator[Callable[[], object]]:
    """Everything that changes the memory with an id."""
    yield lambda: memory.forget(id)
    yield lambda: memory.correct(id, "it is coffee")
    yield lambda: memory.pin(id)
    yield lambda: memory.confirm(id)
    yield lambda: memory.restore(id)
    yield lambda: memory.archive(id)
    yield lambda: memory.core.pin(id)
    yield lambda: memory.used([id])
    yield lambda: memory.purge(id)


@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("name", LESSER)
def test_no_answer_holds_anything_from_outside_of_the_scope(home: Path, name: str, queries: int) -> None:
    chance, allowed = random.Random(name), reach(name)
    ids = re.findall(r"\b[A-Z]-\d{13}-[0-9a-f]{8}\b", str(contents(home, {*NAMES, "shared"})))
    foreign = contents(home, {*NAMES, "shared"} - allowed)
    with Memory.open(home, name, background=False, speaker="agent") as memory:
        for _ in range(queries // len(LESSER)):
            found: object = None
            with suppress(NotFoundError, ConflictError, RefusedError):
                found = asking(chance, memory, ids)()
            assert set(SECRET.findall(repr(found))) <= allowed
    assert contents(home, {*NAMES, "shared"} - allowed) == foreign


@pytest.mark.parametrize("name", LESSER)
def test_a_memory_out_of_scope_is_answered_as_one_that_does_not_exist(home: Path, name: str) -> None:
    outside = {*NAMES, "shared"} - reach(name)
    before, absent = contents(home, outside), "M-1794753005123-00000000"
    with Memory.open(home, name, background=False, speaker="agent") as memory:
        for agent in sorted(outside):
            log = next(data for path, data in before.items() if path.startswith(f"{agent_root(agent)}/memory/2"))
            real = re.findall(r"\^(M-\d+-[0-9a-f]{8})", log.decode())[0]
            assert (memory.get(real), memory.find(real)) == (None, None)
            assert not memory.searcher.may_read(f"{agent_root(agent)}/MEMORY.md")
            for deed, control in zip(changing(memory, real), changing(memory, absent), strict=True):
                assert outcome(deed).replace(real, "ID") == outcome(control).replace(absent, "ID")
    assert contents(home, outside) == before


def outcome(deed: Callable[[], object]) -> str:
    try:
        return f"returned {deed()}"
    except MemfolioError as error:
        return f"{type(error).__name__}: {error.message} {error.hint}"


def test_an_agent_out_of_scope_is_answered_as_one_that_does_not_exist(home: Path) -> None:
    with Memory.open(home, "bob", background=False, speaker="agent") as memory:
        agents = Agents(memory.vault, memory.searcher, "bob")
        assert [each.id for each in agents.list()] == ["bob", "shared"]
        asked: tuple[Callable[[str], object], ...] = (
            agents.get,
            agents.retire,
            lambda name: agents.rename(name, "zoe"),
        )
        for ask in asked:
            answers = [outcome(partial(ask, name)).replace(name, "X") for name in ("ada", "zed")]
            assert answers[0] == answers[1]


def test_the_trail_of_others_is_as_if_there_were_none(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "agents/ada/agent.toml").write_text("reads = [] # touched\n")
    os.mkfifo(home / "agents/ada/pipe.md")
    allowed = (*(f"{agent_root(each)}/" for each in reach("bob")), "memfolio.toml")
    with Memory.open(home, "bob", background=False, speaker="owner") as owner:
        everything, alerts, status = owner.audit.log(limit=1000), owner.vault.alerts(), owner.status()
    with Memory.open(home, "bob", background=False, speaker="agent") as memory:
        seen = {each.seq for each in everything if all(path.startswith(allowed) for path in each.paths)}
        about = {each.seq for each in everything if each.about and not seen.issuperset(each.about)}
        assert {each.seq for each in memory.audit.log(limit=1000)} == seen - about
        assert (len(alerts), set(status.problems)) == (len(NAMES) + 1, {"agents/ada/pipe.md"})
        assert [seen.issuperset(each.about) for each in memory.vault.alerts()] == [True]
        assert (memory.status().alerts, memory.status().problems) == (1, {})
        foreign = next(each.seq for each in everything if each.seq not in seen)
        asked: tuple[tuple[Callable[[Any], object], object, object], ...] = (
            (memory.audit.diff, foreign, 99_999),
            (lambda seq: memory.audit.undo(seq, by=HUMAN), foreign, 99_999),
            (lambda path: memory.audit.diff_since(path, "HEAD"), "agents/ada/MEMORY.md", "agents/zed/MEMORY.md"),
            (lambda path: memory.audit.rollback(path, to="HEAD", by=HUMAN), "agents/ada/x.md", "agents/zed/x.md"),
            (lambda name: memory.undo(name, every_agent=True, dry_run=True), "s-of-ada", "s-of-zed"),
        )
        for ask, real, absent in asked:
            answers = [outcome(partial(ask, each)).replace(str(each), "X") for each in (real, absent)]
            assert answers[0] == answers[1]
        assert set(SECRET.findall(memory.audit.diff_since(None, "HEAD~40"))) <= reach("bob")
        assert set(SECRET.findall(write_digest(memory.vault, f"{memory.vault.home.now():%Y-%m}"))) <= reach("bob")
    (home / "agents/ada/pipe.md").unlink()
    for page, status_code in (("agents/bob/MEMORY.md", 0), ("agents/ada/MEMORY.md", 3), ("audit/x.jsonl", 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMFOLIO_SPEAKER", "agent")
            assert run(["--home", str(home), "--agent", "bob", "show", page]) == status_code
    assert set(SECRET.findall(capsys.readouterr().out)) == {"bob"}


def test_other_agents_in_scope_are_read_but_not_written(home: Path) -> None:
    with Memory.open(home, "dan", background=False, speaker="agent") as memory:
        hit = next(hit for hit in memory.recall("secret-of-eve tea", limit=50) if hit.agent == "eve")
        assert hit.path.startswith("agents/eve/")
        before = contents(home, {"eve"})
        for deed in changing(memory, hit.memory.id):
            with suppress(MemfolioError):
                deed()
    with Memory.open(home, "dan", background=False):  # what was begun would be finished here
        assert contents(home, {"eve"}) == before


def test_scope_narrows_to_named_agents_and_refuses_others(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, "cyd", background=False, speaker="agent") as memory:
        from memfolio.recall.query import Query

        def ask(*agents: str) -> set[str]:
            now, zone = memory.vault.home.now(), memory.vault.home.zone
            return {
                hit.agent for hit in memory.searcher.recall(Query.from_args("tea", now=now, zone=zone, agents=agents))
            }

        assert (ask("ada"), ask("cyd", "shared"), ask()) == ({"ada"}, {"cyd", "shared"}, {"ada", "cyd", "shared"})
        with pytest.raises(NotFoundError, match="reads no agent 'eve'"):
            ask("eve")
        with pytest.raises(NotFoundError, match="reads no agent 'zed'"):
            ask("zed")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A home with a sub-agent that says little beside a main agent that says much."""
    home = tmp_path / "two"
    with Memory.open(home, "main", background=False, speaker="owner") as owner:
        owner.agents.create("scout", policy="proposes")
        owner.remember("secret " * 20_000)
        for nth in range(20):
            owner.remember(f"secret {nth}")
    with Memory.open(home, "scout", background=False, speaker="agent") as scout:
        scout.observe("user", "Berlin is sunny")
    return home


@pytest.mark.parametrize("speaker", ["agent", None])
def test_status_tells_an_agent_only_of_what_it_may_read(two: Path, speaker: str | None) -> None:
    with Memory.open(two, "main", background=False, speaker="owner") as owner:
        everything = owner.status()
    with Memory.open(two, "scout", background=False, speaker=speaker) as scout:
        found, log = scout.status(), scout.audit.log(limit=1000)
        assert found.changes == len(log) < 10 < everything.changes
        sizes = {path: (two / path).stat().st_size for path in scout.vault.states() if scout.vault.shows(path)}
        assert found.bytes == {"files": sum(sizes.values())}
        assert found.bytes["files"] < 60_000 < everything.bytes["files"]
        assert set(everything.bytes) == {"files", "trail", "git", "internal", "index"}


def test_changes_that_wait_for_git_are_told_to_whoever_may_read_them(two: Path) -> None:
    (two / ".git/index.lock").touch()
    with Memory.open(two, "main", background=False, speaker="owner") as owner:
        owner.remember("secret of main")
        assert owner.status().waiting > 0
        with Memory.open(two, "scout", background=False, speaker="agent") as scout:
            assert scout.status().waiting == 0
    (two / ".git/index.lock").unlink()


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("speaker", ["agent", None])
def test_the_whole_home_is_copied_for_its_owner_only(
    two: Path, tmp_path: Path, speaker: str | None, dry_run: bool
) -> None:
    target = tmp_path / "copies"
    with (
        Memory.open(two, "scout", background=False, speaker=speaker) as scout,
        pytest.raises(RefusedError, match="whole home"),
    ):
        scout.backup(target, dry_run=dry_run)
    assert not target.exists()
    with Memory.open(two, "scout", background=False, speaker="owner") as owner:
        assert owner.backup(target).path.exists()


def test_what_hooks_of_others_left_is_not_told_to_an_agent(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (two / ".memfolio/hooks").mkdir()
    (two / ".memfolio/hooks/log").write_text("2026-11-16T01:00:00Z main: secret\n")
    for speaker, lines in (("owner", 1), ("agent", 0)):
        monkeypatch.setenv("MEMFOLIO_SPEAKER", speaker)
        assert run(["--home", str(two), "--agent", "scout", "status", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["hooks"]["troubles"]) == lines
