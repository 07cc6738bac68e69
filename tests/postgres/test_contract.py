"""The contract of the vaults: in files and in PostgreSQL every verb answers the same, and leaves the same trail."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import MemfolioError, StoreUnavailableError
from memfolio.serve.http.errors import document_of
from memfolio.serve.mcp.caller import CallResult
from memfolio.serve.mcp.server import as_result
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault
from memfolio.verbs.documents import as_json, told_inside
from memfolio.verbs.verb import table
from tests.postgres.proxy import by_proxy
from tests.serve.mcp_life import furnish, live

BEGIN = datetime.now(UTC).replace(microsecond=0)
"""The clock of both homes begins here, since files have times of the real clock."""
SECRET = b"0123456789abcdef0123456789abcdef"
VERBS = table()
FILES_ALONE = {"commit", "took_ms", "seconds", "bytes", "waiting"}
"""What tells of git or of the moment."""
NONCE = re.compile(r"memfolio-[0-9a-f]{16}")


ID = re.compile(r"\d{13}-[0-9a-f]{8}")


def anonymous(path: str) -> str:
    """A path without the ids in it, which are others where something is composed twice."""
    return ID.sub("…", path)


def steady(value: Any) -> Any:
    """An answer without what tells of git, of the moment, and of the mark around data."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in FILES_ALONE}
    if isinstance(value, list):
        return [steady(each) for each in value]
    return NONCE.sub("…", value) if isinstance(value, str) else value


@dataclass
class Life:
    """What a vault answers in a life, and what it leaves."""

    answers: list[tuple[str, Any]] = field(default_factory=list)
    trail: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)


@contextmanager
def fixed_randomness(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same random numbers in the same order, each length by itself: the vaults need different ones elsewhere."""
    counts: Counter[int] = Counter()

    def token_hex(length: int = 32) -> str:
        counts[length] += 1
        return f"{counts[length]:0{2 * length}x}"[-2 * length :]

    with patch.context() as context:
        context.setattr(secrets, "token_hex", token_hex)
        yield


def lived(home: Path, patch: pytest.MonkeyPatch, spoil: Callable[[], None] = lambda: None) -> Life:
    """Call every verb; `spoil` is called before each."""
    clock, life = SettableClock(BEGIN), Life()
    with fixed_randomness(patch):
        furnish(home, clock=clock)
        with Memory.open(home, background=False, speaker="agent", clock=clock) as memory:

            def ask(name: str, given: dict[str, Any]) -> dict[str, Any]:
                clock.advance(seconds=1)
                spoil()
                try:
                    with told_inside(home):
                        return dict(json.loads(as_json({"result": again_if_lost(VERBS[name], memory, given)})))
                except MemfolioError as error:
                    return document_of(error)

            async def call(name: str, arguments: dict[str, Any]) -> Any:
                document = ask(name, arguments)
                life.answers.append((name, steady(document)))
                return as_result(CallResult(document, is_error="error" in document))

            life.named = anyio.run(live, call)
            life.trail = [line.hash for line in memory.vault.changes()]
            life.files = {path: memory.vault.read(path) or b"" for path in sorted(memory.vault.states())}
    return life


def again_if_lost(verb: Callable[..., Any], memory: Memory, given: dict[str, Any]) -> Any:
    """Call it again, as a caller may, where it is certain that nothing was made."""
    try:
        return verb(memory, given)
    except StoreUnavailableError as error:
        assert not error.may_have_happened
        return verb(memory, given)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    return monkeypatch


def in_files(folder: Path, name: str) -> Path:
    home = folder / "files" / name
    (home / ".memfolio").mkdir(parents=True)
    (home / ".memfolio" / "key").write_bytes(SECRET)
    return home


def in_rows(folder: Path, name: str, url: str, patch: pytest.MonkeyPatch) -> Path:
    patch.setenv("MEMFOLIO_STORE", "postgres")
    patch.setenv("MEMFOLIO_DATABASE_URL", url)
    home = folder / "rows" / name
    PostgresVault.of(load_config(home), clock=SettableClock(BEGIN), secret=SECRET).close()
    return home


def check_equal(files: Life, rows: Life) -> None:
    assert files.named == rows.named
    for (verb, one), (_, other) in zip(files.answers, rows.answers, strict=True):
        assert one == other, verb
    assert set(files.files) == set(rows.files)
    for path, content in files.files.items():
        assert content == rows.files[path], path
    assert files.trail == rows.trail


def test_every_verb_answers_the_same_in_files_and_in_rows(
    server: OwnServer, quick_path: Path, name: str, settled: pytest.MonkeyPatch
) -> None:
    files = lived(in_files(quick_path, name), settled)
    check_equal(files, lived(in_rows(quick_path, name, server.url, settled), settled))


@pytest.mark.long
def test_every_verb_answers_the_same_where_each_answer_to_a_commit_is_lost(
    server: OwnServer, quick_path: Path, name: str, settled: pytest.MonkeyPatch
) -> None:
    files = lived(in_files(quick_path, name), settled)
    with by_proxy(server) as (proxy, url):
        check_equal(files, lived(in_rows(quick_path, name, url, settled), settled, lambda: proxy.arm("after")))
        assert proxy.dropped > 30


@pytest.mark.long
def test_every_verb_is_carried_out_once_where_each_commit_is_lost(
    server: OwnServer, quick_path: Path, name: str, settled: pytest.MonkeyPatch
) -> None:
    files = lived(in_files(quick_path, name), settled)
    with by_proxy(server) as (proxy, url):
        rows = lived(in_rows(quick_path, name, url, settled), settled, lambda: proxy.arm("before"))
        assert proxy.dropped > 30
    assert len(rows.trail) == len(files.trail)
    assert set(map(anonymous, rows.files)) == set(map(anonymous, files.files))
    for (verb, one), (_, other) in zip(files.answers, rows.answers, strict=True):
        assert ("error" in one) == ("error" in other), verb
