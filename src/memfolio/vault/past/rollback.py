"""Rollback: pages, logs and state as they were at a moment; what was forgotten since stays forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from memfolio.types import EMPTY
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import record_of, split_lines
from memfolio.vault.move import Excerpt, cut, excerpts, into_archive, memories_in
from memfolio.vault.paths import (
    AUDIT,
    Form,
    archive_log,
    archive_page,
    form_of,
    is_daily_log,
    is_state,
    ledger_of,
    place_of,
)
from memfolio.vault.reconcile import blocks_of

# Rollback: pages, logs and state as they were at a moment. The trail and the archive are never rolled back, and what
# was forgotten or purged since then stays so. What leaves goes to the archive, so that nothing is only in git.

TOMBSTONE = "tombstone"
PURGE = "purge"
LIFT = "restore"
LASTING = frozenset({TOMBSTONE, PURGE})
"""Operations of state lines that outlive a rollback; a tombstone only as long as no later line lifts it."""

_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?!\d)")
_TELLING = (TOMBSTONE.encode(), PURGE.encode(), LIFT.encode())

Files = Mapping[str, bytes | None]


def is_rolled_back(path: str) -> bool:
    return not path.startswith(f"{AUDIT}/") and "/memory/archive/" not in path


def restore(
    then: Files, now: Files, state: Files, read: Callable[[str], bytes | None], month: str
) -> dict[str, bytes | None]:
    """What each file must become so that `then` is back, except for what was forgotten anywhere since.

    `state` is every state file as it is. Memories that leave their logs, and pages about conversations and checkpoints
    that were not there then, go to the archive, for which `read` says what is there; a page whose name tells no month
    goes to `month`.
    """
    wanted = {path: then.get(path) for path in {*then, *now} if is_rolled_back(path)}
    _keep_lasting(wanted, lasting_lines(now), then)
    forgotten = forgotten_by(lasting_lines(state))
    for path, content in wanted.items():
        if content is not None and form_of(path) is Form.LOG:
            wanted[path] = without(path, content, forgotten)
    purged = forgotten_by(lasting_lines(state), {PURGE})
    return wanted | archived_memories(wanted, now, purged, read) | _archived_pages(wanted, now, read, month)


def archived_memories(
    wanted: Files,
    now: Files,
    purged: frozenset[str],
    read: Callable[[str], bytes | None],
    more: Mapping[str, Sequence[Excerpt]] = EMPTY,
) -> dict[str, bytes | None]:
    """The archives of the logs that memories leave, with them in it; `more` is what else was cut out of each log."""
    archives: dict[str, bytes | None] = {}
    logs = [path for path in wanted if is_daily_log(path)]
    kept = purged.union(*(memories_in(path, wanted[path]) for path in logs))
    for path in logs:
        before = now.get(path)
        leaving = memories_in(path, before) - kept
        left = excerpts(path, to_text(before or b""), leaving) if leaving else []
        known = kept | {each.id for each in left}
        if left := [*left, *(each for each in more.get(path, ()) if each.id not in known)]:
            target = archive_log(path)
            archives[target] = into_archive(target, read(target), left)
    return archives


def _archived_pages(
    wanted: Files, now: Files, read: Callable[[str], bytes | None], month: str
) -> dict[str, bytes | None]:
    """The pages that are kept as a whole and vanish, where the archive has a free name for them or has them already."""
    archived: dict[str, bytes | None] = {}
    for path in sorted(path for path, content in wanted.items() if content is None and now.get(path)):
        named = _MONTH.match(path.rpartition("/")[2])
        if target := archive_page(path, named[0] if named else month):
            fitting = (None, now[path])
            names = (name for name in names_from(target) if name not in archived and read(name) in fitting)
            archived[next(names)] = now[path]
    return archived


def names_from(path: str) -> Iterator[str]:
    """The name of a page, and those to take in its place."""
    stem = path.removesuffix(".md")
    return (path if number == 1 else f"{stem}-{number}.md" for number in count(1))


def lasting_lines(files: Files) -> dict[str, list[bytes]]:
    """Each state file's lines that outlive a rollback."""
    lasting: dict[str, list[bytes]] = {}
    lifted: set[tuple[str, Any]] = set()
    for path, raw in _newest_first(files):
        record = record_of(raw)
        about = (place_of(path)[0], record.get("memory"))
        if record.get("op") == LIFT:
            lifted.add(about)
        elif record.get("op") == PURGE or (record.get("op") == TOMBSTONE and about not in lifted):
            lasting.setdefault(path, []).append(raw)
    return {path: lasting[path][::-1] for path in sorted(lasting, key=place_of)}


def _newest_first(files: Files) -> Iterator[tuple[str, bytes]]:
    """The lines of state files that may forget something or lift that, each ledger from its end to its beginning."""
    for path in sorted(filter(is_state, files), key=place_of, reverse=True):
        for raw in reversed(split_lines(files[path] or b"")):
            # Nearly all lines are about something else: they need not be read.
            if any(each in raw for each in _TELLING):
                yield path, raw


def forgotten_by(lasting: Mapping[str, list[bytes]], operations: Container[str] = LASTING) -> frozenset[str]:
    """The memories that these state lines forget or purge."""
    records = [record_of(raw) for lines in lasting.values() for raw in lines]
    memories = (record.get("memory") for record in records if record.get("op") in operations)
    return frozenset(memory for memory in memories if isinstance(memory, str))


def without(path: str, content: bytes, ids: Container[str]) -> bytes:
    """Return a ledger without the lines, entries and hand-written text of these ids, the rest byte for byte."""
    if form_of(path) is not Form.LOG:
        return to_bytes("".join(text for each, text in blocks_of(path, content) if each not in ids))
    text = to_text(content)
    return to_bytes(cut(text, excerpts(path, text, ids)))


def _keep_lasting(wanted: dict[str, bytes | None], lasting: Mapping[str, list[bytes]], then: Files) -> None:
    """Append the lasting lines that the restored files do not have, each to the newest restored part of its ledger."""
    present = {
        raw for path, content in then.items() if form_of(path) is Form.LINES for raw in split_lines(content or b"")
    }
    for path, lines in lasting.items():
        missing = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines if line not in present)
        if missing:
            target = _newest_part(path, then)
            before = wanted.get(target) or b""
            wanted[target] = before + (b"" if before.endswith(b"\n") or not before else b"\n") + missing


def _newest_part(path: str, then: Files) -> str:
    named = ledger_of(path)
    if named is None:
        return path
    numbers = [part[1] for part in map(ledger_of, then) if part and part[0] == named[0]]
    return named[0].part(max(numbers, default=1))


# What was forgotten, taken out of older copies of a log before they can bring it back.


def without_forgotten(
    path: str, content: bytes, paths: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[bytes, list[Excerpt]]:
    """Return a log's content without what the state files among `paths` forget, and what its archive may keep of it.

    Other files are returned unchanged.
    """
    if form_of(path) is not Form.LOG:
        return content, []
    lasting = lasting_lines({each: read(each) for each in paths if is_state(each)})
    forgotten, purged = forgotten_by(lasting), forgotten_by(lasting, {PURGE})
    if not forgotten:
        return content, []
    text = to_text(content)
    taken = excerpts(path, text, forgotten)
    return to_bytes(cut(text, taken)), [each for each in taken if each.id not in purged]


def archive_of(path: str) -> str:
    """The archive of a log; an archived log is its own."""
    return archive_log(path) if ledger_of(path) else path


def missing_from(path: str, content: bytes | None, taken: Iterable[Excerpt]) -> list[Excerpt]:
    """Return the excerpts whose memory is in no form in an archive: two with one id could not be told apart."""
    there = memories_in(path, content)
    return list({each.id: each for each in taken if each.id not in there}.values())
