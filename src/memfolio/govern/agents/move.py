"""Giving memories to another agent: their entries as they stand, with their ids and what was said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.errors import InputError
from memfolio.index.lookup import Located
from memfolio.types import Action, Attribution
from memfolio.vault.change import AddBlocks, Change, Operation, PutPage
from memfolio.vault.excerpt import Excerpt, cut, excerpts
from memfolio.vault.format.lines import read_lines, split_lines
from memfolio.vault.paths import Ledger, agent_of, agent_root, ledger_of, state_ledger
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault


def moving(vault: Vault, found: Sequence[Located], to: str, by: Attribution) -> Change:
    """The change that brings these memories from their logs into those of `to`; composed while nobody writes."""
    logs: dict[str, set[str]] = {}
    for each in found:
        _check(each, to)
        logs.setdefault(each.path, set()).add(each.item.id)
    texts = {path: to_text(vault.books.read(path) or b"") for path in logs}
    taken = {path: excerpts(path, texts[path], ids) for path, ids in logs.items()}
    operations: list[Operation] = [
        PutPage(path, to_bytes(cut(texts[path], taken[path])), vault.home.hash(to_bytes(texts[path]))) for path in logs
    ]
    operations += _entries(taken, to)
    told = [line for path, ids in logs.items() for line in _lines(vault, agent_of(path) or "", ids)]
    there = _lines(vault, to, {each.item.id for each in found})
    if further := [line for line in told if line not in there]:
        ids = tuple(str(line.record.get("id")) for raw in further for line in read_lines(raw).records)
        operations.append(AddBlocks(state_ledger(to), tuple(further), ids))
    return Change(operations=tuple(operations), by=by, action=Action.EDIT)


def _check(found: Located, to: str) -> None:
    if found.form != "memory" or not found.item.id.startswith("M-"):
        raise InputError(
            f"{found.item.id} is text that somebody wrote into {found.path}", hint="move that text with an editor"
        )
    if ledger_of(found.path) is None:
        raise InputError(f"{found.item.id} is in the archive", hint="`restore` it first")
    if agent_of(found.path) == to:
        raise InputError(f"{found.item.id} is {to}'s already", hint="name another agent")


def _entries(taken: Mapping[str, list[Excerpt]], to: str) -> list[AddBlocks]:
    """The entries, by the log of the same day that each goes to."""
    by_ledger: dict[Ledger, list[Excerpt]] = {}
    for path, entries in taken.items():
        there = ledger_of(agent_root(to) + path.removeprefix(agent_root(agent_of(path) or "")))
        assert there is not None  # it was one before
        by_ledger.setdefault(there[0], []).extend(entries)
    return [
        AddBlocks(ledger, tuple(to_bytes(f"{each.body}\n") for each in entries), tuple(each.id for each in entries))
        for ledger, entries in by_ledger.items()
    ]


def _lines(vault: Vault, agent: str, ids: set[str]) -> list[bytes]:
    """What the state of an agent says about these memories, line by line."""
    ledger = state_ledger(agent)
    parts = sorted(path for path in vault.books.recent.known if path.startswith(f"{ledger.base}/"))
    lines = (raw for path in parts for raw in split_lines(vault.books.read(path) or b""))
    return [raw for raw in lines if any(line.record.get("memory") in ids for line in read_lines(raw).records)]
