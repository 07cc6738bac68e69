"""Bringing an export of memfolio back."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from memfolio.errors import ConflictError, InputError
from memfolio.exchange.export import VERSION, is_lines, is_packed, is_plain, not_whole, read_archive, read_jsonl
from memfolio.exchange.take_in import batches
from memfolio.govern.agents import Renaming
from memfolio.memory import Memory
from memfolio.policy import Deed
from memfolio.types import AGENT_PATTERN, Action, Approval, Attribution, frozen
from memfolio.vault.change import Change, PutPage
from memfolio.vault.paths import CONFIG, GITIGNORE, agent_of

# Bringing an export of memfolio back: its files as they were, checked as a whole before any of them is written.

READERS = {is_packed: read_archive, is_lines: read_jsonl}
MOST_BYTES, MOST_FILES = 8 << 30, 1_000_000
SOME_BYTES, MOST_PACKED = 64 << 20, 250
"""More than the former may be at most so many times as large as it is packed; text is ten to twenty times."""
BATCH, WEIGHT = 200, 8 << 20
"""A change has at most so many files, and about so many bytes."""
OWN = (CONFIG, GITIGNORE)
"""Files that every home has: those that are there stay as they are."""
RESTORER = Attribution(actor="human", approval=Approval.APPROVED, trigger="import")

Files = Callable[[], Iterable[tuple[str, bytes]]]


@frozen
class Restored:
    """What came back, or would: how many files, how many were there, and which of the home's own were left."""

    agents: tuple[str, ...]
    written: int
    known: int
    left: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    """The changes that it came as; none in a dry run."""


def is_archive(path: Path) -> bool:
    """Whether a file is an archive, or lines, that memfolio exported; never raises."""
    return any(fits(path) for fits in READERS)


def restore(memory: Memory, path: Path, *, dry_run: bool = False) -> Restored:
    """Write the files of an export, or nothing if one of them exists with other content.

    An export of one agent is restored to the agent of `memory`; that of a whole home to the agents it came from. An
    interrupted restore can simply be repeated: existing files stay.
    """
    memory.gate.check(Deed.CRITICAL, RESTORER)
    # All of it is read once before anything is written: a broken export changes nothing.
    agents, is_whole = _checked(path)
    files: Files = partial(_files, path)
    if not is_whole:
        files, agents = _moved(memory, agents[0], files), (memory.agent,)
    with memory.vault.exclusive():
        states, there = memory.vault.states(), dict[str, bool]()
        for name, data in files():
            if (old := memory.vault.content(name)) is not None or _is_below(name, states):
                there[name] = old == data
        left = tuple(name for name, is_same in there.items() if not is_same)
        if taken := [name for name in left if name not in OWN]:
            more = f" and {len(taken) - 1} others are" if len(taken) > 1 else " is"
            hint = "import into a new home, or one agent for another: `memfolio --agent NAME import FILE`"
            raise ConflictError(f"{taken[0]}{more} there already with other content", hint=hint)
        fresh = (PutPage(name, data, None) for name, data in files() if name not in there)
        written, seqs = 0, list[int]()
        for batch in batches(fresh, BATCH, WEIGHT, lambda page: len(page.content or b"")):
            written += len(batch)
            if not dry_run:
                receipt = memory.vault.apply(Change(operations=batch, by=RESTORER, action=Action.RESTORE))
                seqs.append(receipt.seq)
    known = len(there) - len(left)
    return Restored(agents=agents, written=written, known=known, left=left, seqs=tuple(seqs))


def _checked(path: Path) -> tuple[tuple[str, ...], bool]:
    """Read an export once to check it; returns its agents, and whether it is of a whole home."""
    manifest = dict[str, Any]()
    names = {name for name, _ in _files(path, manifest)}
    owners = {agent_of(name) for name in names}
    if manifest.get("version") != VERSION:
        raise InputError(f"{path} was written by another version of memfolio", hint="import it with that one")
    agents, is_whole = manifest.get("agents"), manifest.get("whole_home") is True
    named = agents if isinstance(agents, list) else []
    is_sound = all(isinstance(each, str) and AGENT_PATTERN.fullmatch(each) for each in named)
    if not is_sound or not named or not owners <= ({*named, None} if is_whole else {*named[:1]}):
        raise not_whole(path, "is not of the agents that it names")
    if (len(named) > 1 and not is_whole) or any(_is_below(name, names) for name in names):
        raise not_whole(path, "has files that no home can have")
    return tuple(named), is_whole


def _files(path: Path, manifest: dict[str, Any] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an export; raises InputError if one would be outside of a home, or they are too many."""
    read = next((reader for fits, reader in READERS.items() if fits(path)), None)
    if read is None:
        raise InputError(f"{path} is nothing that memfolio exported", hint="`memfolio export FILE` makes an archive")
    total, most = 0, min(MOST_BYTES, max(SOME_BYTES, MOST_PACKED * path.stat().st_size))
    for number, (name, data) in enumerate(read(path, {} if manifest is None else manifest)):
        total += len(data)
        if total > most or number > MOST_FILES or not is_plain(name):
            why = f"{path} holds {name[:80]!r}, which cannot be a file of a home, or is too much"
            raise InputError(why, hint="do not trust it")
        yield name, data


def _is_below(name: str, files: Container[str]) -> bool:
    """Whether a file exists where a parent folder of this path would be."""
    return any(str(folder) in files for folder in PurePosixPath(name).parents)


def _moved(memory: Memory, agent: str, files: Files) -> Files:
    """Return the files for another agent: ids of hand-written text depend on the agent."""
    if agent == memory.agent:
        return files
    home = memory.vault.home
    moved = Renaming(old=agent, new=memory.agent, zone=home.zone, now=home.now(), files=dict(sorted(files())))
    moved.compose()
    return moved.renamed.items
