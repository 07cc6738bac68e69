"""Moving memories out of the daily logs into their archives, and back.

What is cut is kept byte for byte. The files of a move, the state lines that tell of it and whatever else goes with it
are one change. A memory that returns stands in its log in the order of time, or below the title if it is a note; text
without an id of its own is known by its words alone, so all places of it leave and return together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError, InputError, NotFoundError, PageChangedError
from memfolio.types import Action, Attribution
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.cut import (
    Excerpt,
    cut,
    excerpts,
    into_archive,
    is_bare,
    lead,
    memories_in,
    with_excerpts,
    without_copied_marks,
)
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, pack, plain_name, text_of
from memfolio.vault.past.merge import difference
from memfolio.vault.past.past import ATTEMPTS, UndoResult
from memfolio.vault.paths import agent_of, archive_log, is_daily_log, page_from_archive, state_ledger

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

Files = Mapping[str, bytes | None]
Places = Mapping[str, Collection[str]]
"""Which memories of which files, by path and id."""

Records = Sequence[Mapping[str, Any]]
Beside = Callable[[], Iterable[PutPage]]
Composed = tuple[Files, Files]
"""Files as they are, and what becomes of them."""


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

    `agent` says whose state, where no log is named. The pages that `beside` composes are put by the same change. Raises
    NotFoundError when a memory is not in its file.
    """
    agent = agent if agent and not places else _agent_of(places)
    compose = partial(_cut, vault, places)
    return _make(vault, compose, agent=agent, by=by, action=action, records=records, beside=beside, dry_run=dry_run)


def departure(vault: Vault, agent: str, places: Places, records: Records) -> tuple[list[Operation], str]:
    """What `cut_out` would do as a part of a larger change, and the difference that it makes to the files."""
    operations, _, diff = _steps(vault, agent, _cut(vault, places), records)
    return operations, diff


def put_back(
    vault: Vault, places: Places, *, by: Attribution, records: Records = (), dry_run: bool = False
) -> UndoResult:
    """Move these memories from the archive to their logs and append `records` to the state, as one change.

    Paths are those of daily logs, of their archives, compressed or not, or of archived pages, which return as a whole.
    A memory that is in its log already stays as it is. Raises NotFoundError when one is neither there nor in the
    archive, ConflictError when something else has the name of a page.
    """

    def compose() -> Composed:
        before = {each: vault.read(each) for path in places for each in _all_of(path)}
        return before, compose_return(before, places)

    agent = _agent_of(places)
    return _make(vault, compose, agent=agent, by=by, action=Action.RESTORE, records=records, dry_run=dry_run)


def compose_cut(files: Files, places: Places) -> dict[str, bytes | None]:
    """The logs without these memories, and their archives with them.

    Of an entry that stands in several places the first one counts: copies of it that say something else stay, as
    memories of their own.
    """
    after, said = dict[str, bytes | None](), dict[str, str]()
    for path, ids in places.items():
        target = archive_log(_checked(path))
        text, copied = without_copied_marks(path, to_text(files.get(path) or b""), ids, said)
        taken = excerpts(path, text, frozenset(ids))
        _check_found(set(ids) - copied, taken, path)
        after[path] = to_bytes(cut(text, taken))
        if taken:
            after[target] = into_archive(target, files.get(target), taken)
    return after


def compose_return(files: Files, places: Places) -> dict[str, bytes | None]:
    """The logs with these memories again, and their archives without them."""
    after: dict[str, bytes | None] = {}
    for path, ids in places.items():
        if page := page_from_archive(path):
            after |= _return_page(files, path, page)
            continue
        log, source = _log_and_archive(path, files)
        content = after.get(log, files.get(log))
        named, archive = plain_name(source), to_text(text_of(source, files.get(source) or pack(source, b"")))
        wanted = frozenset(ids) - memories_in(log, content)
        found = excerpts(named, archive, wanted)
        _check_found(wanted, found, source)
        if returning := [each for each in found if _is_newest(each, found)]:
            text = lead(log) if content is None else to_text(content)
            rest = to_bytes(cut(archive, returning))
            after[log] = to_bytes(with_excerpts(log, text, returning))
            after[source] = None if is_bare(named, rest) else pack(source, rest)
    return after


def _is_newest(taken: Excerpt, found: Iterable[Excerpt]) -> bool:
    """Whether an excerpt says what the first one of its memory does; those that say otherwise are older states."""
    first = next(each for each in found if each.id == taken.id)
    return taken.id.startswith("H-") or taken.body == first.body


def _return_page(files: Files, path: str, page: str) -> Files:
    content = files.get(path)
    if content is None:
        raise NotFoundError(f"{path} is not there", hint="somebody may have moved it; look for it again by its words")
    if files.get(page) not in (None, content):
        raise ConflictError(f"{page} is there already", hint="rename that page first")
    return {page: content, path: None}


def _make(
    vault: Vault,
    compose: Callable[[], Composed],
    *,
    agent: str,
    by: Attribution,
    action: Action,
    records: Records,
    beside: Beside = tuple,
    dry_run: bool,
) -> UndoResult:
    """Compose a move and make it; again when somebody wrote meanwhile, and in the end without letting them."""

    def attempt() -> UndoResult:
        operations, changed, diff = _steps(vault, agent, compose(), records)
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


def _cut(vault: Vault, places: Places) -> Composed:
    before = {path: vault.read(path) for path in (*places, *map(archive_log, places))}
    return before, compose_cut(before, places)


def _steps(
    vault: Vault, agent: str, composed: Composed, records: Records
) -> tuple[list[Operation], tuple[str, ...], str]:
    """The operations of a move, the files that they change, and the difference that this makes."""
    before, after = composed
    changed = tuple(path for path, content in after.items() if content != before.get(path))
    hashes = {path: vault.home.hash(content) for path, content in before.items() if content is not None}
    operations: list[Operation] = [PutPage(path, after[path], hashes.get(path)) for path in changed]
    if records:
        operations.append(AddLines(state_ledger(agent), tuple(records)))
    return operations, changed, "".join(difference(path, before.get(path), after[path]) for path in changed)


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
