"""Moving memories out of the daily logs into their archives, and back.

What is cut is kept byte for byte. The files of a move, the state lines that tell of it and whatever else goes with it
are one change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError, InputError, NotFoundError, PageChangedError
from memfolio.types import Action, Attribution
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.cut import (
    Excerpt,
    Hash,
    LogPlace,
    cut,
    cut_from_archive,
    excerpts,
    gaps,
    into_archive,
    is_bare,
    lead,
    memories_in,
    with_entries,
    with_entry,
    with_heading,
    with_note,
    without_copied_marks,
)
from memfolio.vault.disk import disk_errors
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, pack, plain_name, split_lines, text_of
from memfolio.vault.past.past import ATTEMPTS, UndoResult
from memfolio.vault.past.rollback import TOMBSTONE, is_daily_log, record_of
from memfolio.vault.past.undo import difference
from memfolio.vault.paths import agent_of, archive_log, ledger_of, page_from_archive, state_ledger

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

STOOD = "stood"
"""The field of a state line that has the places of the memory that left."""

LEAVING = frozenset({TOMBSTONE, "archive"})

Files = Mapping[str, bytes | None]
Places = Mapping[str, Collection[str]]
"""Which memories of which files, by path and id."""

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """When a memory left its logs, and where it stood if its id does not say so."""

    at: str = ""
    places: tuple[LogPlace, ...] = ()


STAYED = Departure()


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What files must become, and where each memory stood whose id does not say so."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    stood: dict[str, list[LogPlace]] = field(default_factory=dict)


Beside = Callable[[], Iterable[PutPage]]

Composed = tuple[Files, Move, Records]
"""Files as they are, what becomes of them, and the state lines that tell of it."""


def cut_out(
    vault: Vault,
    places: Places,
    *,
    agent: str | None = None,
    by: Attribution,
    action: Action = Action.DELETE,
    records: Records = (),
    beside: Beside = tuple,
    dry_run: bool = False,
) -> UndoResult:
    """Move these memories from the daily logs to the archive and append `records` to the agent's state, as one change.

    `agent` says whose state, where no log is named. A record with the `memory` that it is about also gets the places
    that a return needs. The pages that `beside` composes are put by the same change. Raises NotFoundError when a memory
    is not in its file.
    """
    compose = partial(_cut, vault, places, records)
    agent = agent if agent and not places else _agent_of(places)
    return _make(vault, compose, agent=agent, by=by, action=action, beside=beside, dry_run=dry_run)


def departure(vault: Vault, agent: str, places: Places, records: Records) -> tuple[list[Operation], str]:
    """What `cut_out` would do as a part of a larger change, and the difference that it makes to the files."""
    operations, _, diff = _steps(vault, agent, _cut(vault, places, records))
    return operations, diff


def put_back(
    vault: Vault,
    places: Places,
    *,
    by: Attribution,
    records: Records = (),
    dry_run: bool = False,
) -> UndoResult:
    """Move these memories from the archive to where they stood and append `records` to the state, as one change.

    Paths are those of daily logs, of their archives, compressed or not, or of archived pages, which return as a whole.
    A memory that is in its log already stays as it is. Raises NotFoundError when one is neither there nor in the
    archive, ConflictError when something else has the name of a page.
    """
    agent = _agent_of(places)

    def compose() -> Composed:
        before = _read(vault, [each for path in places for each in _all_of(path)])
        left = _departures(vault, agent, {each for ids in places.values() for each in ids})
        return before, compose_return(before, places, left, vault.home.hash), records

    return _make(vault, compose, agent=agent, by=by, action=Action.RESTORE, dry_run=dry_run)


def compose_cut(files: Files, places: Places, hash: Hash) -> Move:
    """The logs without these memories, and their archives with them.

    Of an entry that stands in several places the first one counts: copies of it that say something else stay, as
    memories of their own.
    """
    move, said = Move(), dict[str, str]()
    for path, ids in places.items():
        target = archive_log(_checked(path))
        text, copied = without_copied_marks(path, to_text(files.get(path) or b""), ids, said)
        taken = excerpts(path, text, frozenset(ids))
        _check_found(set(ids) - copied, taken, path)
        after = {path: to_bytes(cut(text, taken))}
        if taken:
            after[target] = into_archive(target, files.get(target), taken)
        _note_places(move, path, text, taken, hash)
        move.files.update(after)
    return move


def compose_return(files: Files, places: Places, left: Mapping[str, Departure], hash: Hash) -> Move:
    """The logs with these memories again, and their archives without them."""
    move = Move()
    for path, ids in places.items():
        if page := page_from_archive(path):
            _return_page(move, files, path, page)
            continue
        log, source = _log_and_archive(path, files)
        content = move.files.get(log, files.get(log))
        named, archive = plain_name(source), to_text(text_of(source, files.get(source) or pack(source, b"")))
        wanted = frozenset(ids) - memories_in(log, content)
        found = excerpts(named, archive, wanted)
        _check_found(wanted, found, source)
        items = [item for each in wanted for item in _returning(each, found, left.get(each, STAYED), log)]
        if items:
            text = lead(log) if content is None else to_text(content)
            rest = to_bytes(cut_from_archive(named, archive, [item.taken for item in items]))
            move.files[log] = to_bytes(_with_all(log, text, items, hash))
            move.files[source] = None if is_bare(named, rest) else pack(source, rest)
    return move


def _return_page(move: Move, files: Files, path: str, page: str) -> None:
    content = files.get(path)
    if content is None:
        raise NotFoundError(f"{path} is not there", hint="somebody may have moved it; look for it again by its words")
    if files.get(page) not in (None, content):
        raise ConflictError(f"{page} is there already", hint="rename that page first")
    move.files.update({page: content, path: None})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Returning:
    """One archived excerpt on its way back."""

    taken: Excerpt
    at: str
    place: LogPlace | None


def _returning(id: str, found: list[Excerpt], left: Departure, log: str) -> list[_Returning]:
    """The first excerpts of a memory, as many as left; those behind them are earlier states of it."""
    mine = [each for each in found if each.id == id]
    stood = [place for place in left.places if place.path == log]
    places: Sequence[LogPlace | None] = stood[-len(mine) :] or [None]
    newest = mine[: len(places)]
    return [_Returning(taken=each, at=left.at, place=place) for each, place in zip(newest, places, strict=True)]


def _with_all(path: str, text: str, items: Iterable[_Returning], hash: Hash) -> str:
    """The log with all items; what left last returns first, so that each finds the text as it was when it left."""
    waiting = sorted(items, key=lambda item: (item.place.start if item.place else 0, item.taken.start))
    waiting.sort(key=lambda item: item.at, reverse=True)
    if all(item.place is None and item.taken.id.startswith("M-") for item in waiting):
        return with_entries(path, text, [(item.taken.id, item.taken.body) for item in waiting])
    for item in waiting:
        text = _with(path, text, item, hash)
    return text


def _with(path: str, text: str, item: _Returning, hash: Hash) -> str:
    taken, at = item.taken, item.place.point(text, hash) if item.place else None
    if taken.id.startswith("M-"):
        return with_entry(path, text, taken.id, taken.body, at)
    return (with_note if taken.is_note else with_heading)(path, text, taken.id, taken.body, at)


def _note_places(move: Move, path: str, text: str, taken: list[Excerpt], hash: Hash) -> None:
    """Note where hand-written text stood, and entries that stand more than once; of others the time in an id tells."""
    often = Counter(each.id for each in taken)
    if all(each.startswith("M-") and often[each] == 1 for each in often):
        return
    rest = list(gaps(text, taken))
    left, ends = "".join(rest), accumulate(map(len, rest))
    # In the order of the archive, where a memory that stands as a note and as an entry has its notes first.
    for each, at in sorted(zip(taken, ends, strict=False), key=lambda found: not found[0].is_note):
        if not each.id.startswith("M-") or often[each.id] > 1:
            place = LogPlace.of(path, text[: each.start], (left[:at], left[at:]), hash)
            move.stood.setdefault(each.id, []).append(place)


def _with_places(record: Mapping[str, Any], move: Move) -> Mapping[str, Any]:
    stood = move.stood.get(str(record.get("memory")))
    return {**record, STOOD: [place.as_record() for place in stood]} if stood else record


def _departures(vault: Vault, agent: str, ids: Collection[str]) -> dict[str, Departure]:
    """How each memory left, by the newest state line that tells of it."""
    ledger, disk = state_ledger(agent), vault.home.disk
    folder = vault.home.path(ledger.base)
    with disk_errors(vault.home.root):
        paths = [f"{ledger.base}/{name}" for name in disk.names(folder)] if folder.is_dir() else []
    parts = sorted((part[1], path) for path in paths if (part := ledger_of(path)))
    content = _read(vault, [path for _, path in parts])
    wanted = {each: each.encode() for each in ids}
    found: dict[str, Departure] = {}
    for raw in (raw for data in content.values() for raw in split_lines(data or b"")):
        if any(each in raw for each in wanted.values()):
            record = record_of(raw)
            if record.get("op") in LEAVING and record.get("memory") in wanted:
                found[record["memory"]] = _departure(record)
    return found


def _departure(record: Mapping[str, Any]) -> Departure:
    stood = record.get(STOOD)
    places = [LogPlace.from_record(each) for each in stood] if isinstance(stood, list) else []
    return Departure(at=str(record.get("at", "")), places=tuple(place for place in places if place))


def _make(
    vault: Vault,
    compose: Callable[[], Composed],
    *,
    agent: str,
    by: Attribution,
    action: Action,
    beside: Beside = tuple,
    dry_run: bool,
) -> UndoResult:
    """Compose a move and make it; again when somebody wrote meanwhile, and in the end without letting them."""

    def attempt() -> UndoResult:
        operations, changed, diff = _steps(vault, agent, compose())
        pages = list(beside())
        operations += pages
        changed += tuple(page.path for page in pages)
        diff += "".join(difference(page.path, vault.content(page.path), page.content) for page in pages)
        if dry_run or not operations:
            return UndoResult(diff=diff, paths=changed)
        receipt = vault.apply(Change(operations=tuple(operations), by=by, action=action))
        return UndoResult(diff=diff, paths=receipt.paths, receipt=receipt)

    for _ in range(ATTEMPTS):
        with suppress(PageChangedError):
            return attempt()
    with vault.writer.ready():
        return attempt()


def _cut(vault: Vault, places: Places, records: Records) -> Composed:
    before = _read(vault, [*places, *map(archive_log, places)])
    move = compose_cut(before, places, vault.home.hash)
    return before, move, [_with_places(record, move) for record in records]


def _steps(vault: Vault, agent: str, composed: Composed) -> tuple[list[Operation], tuple[str, ...], str]:
    """The operations of a move, the files that they change, and the difference that this makes."""
    before, move, records = composed
    changed = tuple(path for path, content in move.files.items() if content != before.get(path))
    hashes = {path: vault.home.hash(content) for path, content in before.items() if content is not None}
    operations: list[Operation] = [PutPage(path, move.files[path], hashes.get(path)) for path in changed]
    if records:
        operations.append(AddLines(state_ledger(agent), tuple(records)))
    return operations, changed, "".join(difference(path, before.get(path), move.files[path]) for path in changed)


def _read(vault: Vault, paths: Iterable[str]) -> dict[str, bytes | None]:
    with disk_errors(vault.home.root):
        return {path: vault.home.disk.read(vault.home.path(path)) for path in paths}


def _agent_of(places: Places) -> str:
    agents = {agent_of(path) for path in places}
    agent = agents.pop() if len(agents) == 1 else None
    if agent is None:
        raise InputError("the memories to move are not of one agent", hint="move those of each agent on their own")
    return agent


def _checked(path: str) -> str:
    if not is_daily_log(path):
        raise InputError(f"{path} is not a daily log", hint="name the log in which the memory stands")
    return path


def _all_of(path: str) -> list[str]:
    """The files that the return of a memory may touch, whichever of them is named."""
    if page := page_from_archive(path):
        return [path, page]
    log = _log_of(path)
    return [log, archive_log(log), f"{archive_log(log)}{SUFFIX}"]


def _log_and_archive(path: str, files: Files) -> tuple[str, str]:
    """A daily log and its archive, whichever of the two is named; a compressed one where there is no other."""
    log = _log_of(path)
    if path != log:
        return log, path
    archive = archive_log(log)
    packed = f"{archive}{SUFFIX}"
    return log, packed if files.get(archive) is None and files.get(packed) is not None else archive


def _log_of(path: str) -> str:
    if is_daily_log(path):
        return path
    named = PurePosixPath(plain_name(path))
    return _checked(str(named.parents[min(2, len(named.parents) - 1)] / named.name))


def _check_found(ids: Iterable[str], found: Iterable[Excerpt], path: str) -> None:
    if missing := sorted(set(ids) - {each.id for each in found}):
        raise NotFoundError(
            f"{missing[0]} is not in {path}",
            hint="somebody may have moved or edited it; look for it again by its words",
        )
