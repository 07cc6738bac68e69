"""No verb brings a byte of a secret to the disk: not into files, trail, git, index or what is inside the home."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.types import Attribution
from memfolio.vault.vault import OWNER

MARK = "k3JfP0aQxT7mZs9LwB2cVd5RyUe8Hn"
_numbers = count(1000)
Verb = Callable[[Memory, Callable[[], str]], Any]


def secret() -> str:
    """Another one each time, and all with the same middle."""
    return f"ghp_{MARK}{next(_numbers)}"


def spoken(memory: Memory, make: Callable[[], str]) -> None:
    memory.observe("user", f"try {make()}", session="s", attributes={"a": [make()], make(): 1})
    memory.observe_many([{"role": "user", "content": f"remember that the token is {make()}", "session": "s"}])
    memory.flush([{"role": "user", "content": f"we decided to use {make()}"}, {"role": "a", "content": make()}])
    memory.heed(f"remember that the key is {make()}")
    memory.end_session("s")
    memory.tend()


def kept(memory: Memory, make: Callable[[], str]) -> None:
    item = memory.remember(f"use {make()}", tags=[make()], attributes={"a": {"b": make()}})
    memory.correct(item.id, f"use {make()} instead")
    memory.episode(f"used {make()}", episode_type="learning", context={"with": make()})
    memory.checkpoint(make(), decisions=[make()], findings=[make()], next_steps=[make()])
    memory.save_context(task=make(), topics=[make()], task_history=[make()], scratchpad={"a": make(), make(): 1})
    memory.propose(make(), tags=[make()], source=make(), attributes={"a": make()})


def edited(memory: Memory, make: Callable[[], str]) -> None:
    memory.core.add("Persona", make())
    memory.core.pin(f"note {make()}")
    memory.core.rewrite("Persona", [make()])
    memory.agents.update("main", role=make())
    memory.vault.put_page("agents/main/notes.md", make(), expects=None, by=OWNER)


def asserted(memory: Memory, make: Callable[[], str]) -> None:
    key = make()
    facts = [memory.facts.assert_(f"Acme {key}", "hasKey", key, source="audit") for _ in range(2)]
    assert facts[0] == facts[1]
    memory.mind.add("belief", f"The key is {make()}", reason=make())


def asked(memory: Memory, make: Callable[[], str]) -> None:
    memory.recall(make())
    memory.context(make(), task=make())
    memory.load_context(make(), session=make())


def contents(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    for path in (each for folder in folders for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        yield path, data
        with suppress(zlib.error):
            yield path, zlib.decompress(data)


@pytest.mark.parametrize("verb", [spoken, kept, edited, asserted, asked])
def test_no_secret_reaches_the_disk(home: Path, monkeypatch: pytest.MonkeyPatch, verb: Verb) -> None:
    monkeypatch.setenv("MEMFOLIO_CACHE", str(home.parent / "cache"))
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Alex likes tea")
        verb(memory, secret)
        memory.recall("tea")
        memory.vault.commit()
    assert {path for path, data in contents(home, home.parent / "cache") if MARK.encode() in data} == set()


@pytest.mark.parametrize("name", ["session", "source", "user", "key"])
def test_no_secret_is_taken_for_a_name(home: Path, name: str) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        fields: dict[str, Any] = {name: secret()}
        with pytest.raises(InputError, match=f"the {name} looks like a secret"):
            memory.remember("tea", **fields)
        item = memory.remember("tea")
        with pytest.raises(InputError, match="the source looks like a secret"):
            memory.forget(item.id, by=Attribution(actor="human", trigger="cli", source=secret()))
        memory.vault.commit()
    assert [path for path, data in contents(home) if MARK.encode() in data] == []
