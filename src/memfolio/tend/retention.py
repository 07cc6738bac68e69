"""Retention: what has been unused for long enough moves to the archive, and old archives are compressed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from memfolio.arguments import check_string
from memfolio.decay import DecayInput, days_until, relevance
from memfolio.errors import ConflictError, DiskError, InputError, NotFoundError
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lookup import LIFE, Located, by_rows, newest_line
from memfolio.index.maintenance import IDLE, KEPT, KINDS, USES, Values, by_kind, decay_values, faded, relevance_sql
from memfolio.index.read_files import page_date
from memfolio.index.rows import DERIVED, MICROSECOND, day_us, from_us, to_us
from memfolio.index.search import CURRENT
from memfolio.recall.context import CHECKPOINTS, checkpoints
from memfolio.recall.searcher import Searcher
from memfolio.settings import Decay, Retention
from memfolio.state import Op, moment
from memfolio.stores.edit import EditResult
from memfolio.tend.changes import JobChanges, tender
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import Change, PutPage, Receipt, UndoResult
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, is_packed, pack, plain_name, text_of
from memfolio.vault.move import cut, cut_out, excerpts, into_archive, is_bare, memories_in
from memfolio.vault.paths import SHARED, agent_root, archive_page, day_of, ledger_of, names_from, state_ledger
from memfolio.vault.vault import Vault

# What has faded, and what is due for the archive, as questions to the index.

_PROTECTED = f"({KEPT} OR m.decay_rate IS 0)"


class By(StrEnum):
    """By which score a person may have memories archived; each lies between 0 and 1, and falls with time."""

    RELEVANCE = "relevance"
    AGE = "age"
    IMPORTANCE = "importance"
    ACCESS = "access"


@frozen
class Below:
    """All whose score is below a limit, in place of what retention says."""

    by: By
    limit: float

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1:
            raise InputError(f"{self.limit} is not a score", hint="scores lie between 0 and 1: try 0.2")


@dataclass(slots=True, kw_only=True)
class DueForArchive:
    """Memories that are due for the archive, by the daily log that they stand in, and how many for which reason."""

    places: dict[str, list[str]] = field(default_factory=dict)
    copied: dict[str, list[str]] = field(default_factory=dict)
    """The logs of each entry whose mark stands in several of them, its own first; such are not among the places."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind and reason."""

    @property
    def count(self) -> int:
        return self.reasons.total()


@frozen
class Weak:
    """A fact that is little certain by now: its confidence, faded, and the days until it falls further."""

    located: Located
    certainty: float
    dormant_in: float | None
    archived_in: float | None


def weak(db: Connection, now: int, decay: Decay, limit: int) -> list[Weak]:
    """Facts, ways and opinions whose confidence has faded below `decay.weak`, the weakest first."""
    certainty = f"m.confidence * ({relevance_sql(decay)})"
    sql = (
        f"SELECT m.row, {LIFE}, {DERIVED} FROM memories m WHERE {CURRENT} AND m.kind != 'episodic' "
        f"AND {certainty} < :weak ORDER BY {certainty}, m.created_at, m.id LIMIT :limit"
    )
    values = {**decay_values(decay), "now": now, "weak": decay.weak, "limit": limit}
    lives = {row: DecayInput._make(life) for row, *life in db.execute(sql, values)}
    return [_weak(each, lives[each.row], now, decay) for each in by_rows(db, list(lives))]


def _weak(located: Located, life: DecayInput, now: int, decay: Decay) -> Weak:
    return Weak(
        located=located,
        certainty=located.item.confidence * relevance(life, now, decay),
        dormant_in=days_until(life, now, decay.dormant, decay),
        archived_in=days_until(life, now, decay.archived, decay),
    )


def due(db: Connection, now: int, retention: Retention, decay: Decay, below: Below | None = None) -> DueForArchive:
    """What is to be archived, by age and importance as retention says, or by a score; every log it stands in."""
    reason, values = _by_score(below, decay) if below else _by_retention(retention, decay)
    sql = (
        f"SELECT m.file, m.id, m.kind, {reason} AS reason FROM memories m WHERE m.archived = 0 AND "
        f"m.forgotten_at IS NULL AND NOT {_PROTECTED} AND reason IS NOT NULL"
    )
    paths = dict(db.execute("SELECT number, path FROM files"))
    copies = _copies(db)
    found = DueForArchive()
    for file, name, kind, why in db.execute(sql, {**decay_values(decay), **values, "now": now}):
        found.reasons[kind, why] += 1
        logs = [paths[number] for number in dict.fromkeys((file, *copies.get(name, ())))]
        if len(logs) > 1 and name.startswith("M-"):
            found.copied[name] = logs
        else:
            for path in logs:
                found.places.setdefault(path, []).append(name)
    return found


def _copies(db: Connection) -> Mapping[str, list[int]]:
    """The other daily logs in which memories stand."""
    sql = (
        "SELECT DISTINCT p.id, p.file FROM places p JOIN files f ON f.number = p.file "
        "WHERE f.path NOT LIKE '%/memory/archive/%'"
    )
    copies: dict[str, list[int]] = {}
    for name, file in db.execute(sql):
        copies.setdefault(name, []).append(file)
    return copies


def _by_retention(retention: Retention, decay: Decay) -> tuple[str, Values]:
    """Why a memory is due: importance counts first, then its kind, or that it has faded."""
    usual = _after("age", by_kind("_span"))
    if retention.faded:
        usual = f"coalesce({usual}, CASE WHEN {relevance_sql(decay)} < :faded THEN 'faded' END)"
    clauses = [
        f"WHEN m.importance >= :high_from THEN {_after('high', ':high')}",
        f"WHEN m.importance < :low_below THEN {_after('low importance', ':low')}",
        f"ELSE {usual}",
    ]
    reason = f"CASE {' '.join(clauses)} END"
    spans = {f"{kind}_span": _us(getattr(retention, kind)) for kind in KINDS}
    values = {"high": _us(retention.high), "low": _us(retention.low), "faded": decay.archived, **spans}
    return reason, {**values, "high_from": retention.high_importance, "low_below": retention.low_importance}


def _after(reason: str, span: str) -> str:
    return f"CASE WHEN {span} > 0 AND {IDLE} >= {span} THEN '{reason}' END"


def _us(span: timedelta) -> int:
    return span // MICROSECOND


def _by_score(below: Below, decay: Decay) -> tuple[str, Values]:
    scores = {
        By.RELEVANCE: relevance_sql(decay),
        By.AGE: faded(decay, "(:now - m.created_at)"),
        By.IMPORTANCE: f"m.importance * ({relevance_sql(decay)})",
        By.ACCESS: f"min(1.0, {faded(decay, IDLE)} * {USES})",
    }
    return f"CASE WHEN {scores[below.by]} < :below THEN '{below.by.value}' END", {"below": below.limit}


def batches(due: DueForArchive, *, files: int, memories: int) -> Iterator[dict[str, list[str]]]:
    """What is due in portions, each of so many daily logs and memories at most, in the order of the logs.

    An entry that was copied is one of its own, since what is a copy of it must be seen beside it.
    """
    yield from ({path: [name] for path in logs} for name, logs in due.copied.items())
    batch: dict[str, list[str]] = {}
    for path in sorted(due.places):
        ids = due.places[path]
        for start in range(0, len(ids), memories):
            part = ids[start : start + memories]
            if batch and (len(batch) == files or path in batch or sum(map(len, batch.values())) + len(part) > memories):
                yield batch
                batch = {}
            batch[path] = part
    if batch:
        yield batch


@frozen
class ArchivedFile:
    """A file as the index knows it: its name, when it was last written (microseconds), and how much can be found."""

    path: str
    modified: int
    memories: int


def files_in(db: Connection, *folders: str) -> list[ArchivedFile]:
    """The files below these folders of an agent, by name; what was forgotten does not count among their memories."""
    sql = (
        "SELECT f.path, f.stamp ->> 1, (SELECT count(*) FROM memories m WHERE m.file = f.number "
        f"AND m.forgotten_at IS NULL) FROM files f WHERE {' OR '.join(['f.path GLOB ?'] * len(folders))} ORDER BY 1"
    )
    rows = db.execute(sql, [f"{_plain(folder)}/*" for folder in folders])
    return [ArchivedFile(path=path, modified=(ns or 0) // 1000, memories=count) for path, ns, count in rows]


def left_at(db: Connection, folder: str) -> dict[str, int]:
    """When the last memory came to each uncompressed log of an archive, as far as state lines tell."""
    sql = (
        "SELECT f.path, max(s.line ->> 'at') FROM files f JOIN memories m ON m.file = f.number "
        "JOIN states s ON s.memory = m.id WHERE f.path GLOB ? AND s.op IN ('archive', 'tombstone') GROUP BY 1"
    )
    rows = db.execute(sql, (f"{_plain(folder)}/*.md",))
    return {path: to_us(at) for path, told in rows if (at := moment(told))}


def _plain(folder: str) -> str:
    """A folder as it is matched: no sign in it stands for others."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in folder)


# The archive: memories and pages move there, old logs in it are compressed, and a page lists what it holds.
#
# Nothing is deleted, and `restore` brings any of it back.

_MONTH = re.compile(r"/memory/archive/(\d{4}-\d\d)/")
TITLE = "# Archive\n\n| month | memories | files | from | to | compressed |\n|---|---|---|---|---|---|\n"


def archive_one(vault: Vault, located: Located, paths: Sequence[str], by: Attribution, *, dry_run: bool) -> EditResult:
    """Move one memory to the archive, out of every log in which it stands."""
    item = located.item
    if located.form != "memory":
        raise InputError(f"{item.id} is a part of {located.path}", hint="move or delete the page itself")
    if item.forgotten_at or located.archived:
        state = "forgotten" if item.forgotten_at else "archived"
        raise ConflictError(f"{item.id} is {state} already", hint="`restore` brings it back")
    outcome = archive(vault, {path: [item.id] for path in paths if ledger_of(path)}, by, dry_run=dry_run)
    return EditResult(memories=(item,), diff=outcome.diff, receipt=outcome.receipt)


def archive(vault: Vault, places: Mapping[str, Collection[str]], by: Attribution, *, dry_run: bool) -> UndoResult:
    """Move memories of one agent from these daily logs to the archive, as one change."""
    ids = dict.fromkeys(each for path in places for each in places[path])
    records = [{"op": Op.ARCHIVE.value, "memory": each} for each in ids]
    return cut_out(vault, places, by=by, action=Action.ARCHIVE, records=records, dry_run=dry_run)


def archive_pages(changes: JobChanges, pages: Iterable[ArchivedFile], by: Attribution) -> list[str]:
    """Move whole pages to the archive, as one change; returns which, less those that somebody removed meanwhile."""
    moves: dict[str, tuple[PutPage, PutPage]] = {}
    for each in pages:
        if move := _page_moves(changes.vault, each, {put.path for put, _ in moves.values()}):
            moves[each.path] = move
    if moves:
        operations = tuple(each for pair in moves.values() for each in pair)
        changes.make(Change(operations=operations, by=by, action=Action.ARCHIVE))
    return list(moves)


def _page_moves(vault: Vault, kept: ArchivedFile, taken: Collection[str]) -> tuple[PutPage, PutPage] | None:
    day, page = page_date(kept.path) or from_us(kept.modified).date(), vault.page(kept.path)
    target = archive_page(kept.path, f"{day:%Y-%m}")
    if page is None or target is None:
        return None
    # An archived page is never written over.
    free = next(name for name in names_from(target) if name not in taken and vault.page(name) is None)
    return PutPage(free, page.content, None), PutPage(page.path, None, page.hash)


def compress(changes: JobChanges, paths: Iterable[str], by: Attribution) -> list[str]:
    """Compress these archived logs, one change a month; returns which.

    A log that was compressed before takes up what came beside it; where that cannot be, it stays beside it.
    """
    months: dict[str, list[str]] = {}
    for path in paths:
        months.setdefault(month_of(path) or "", []).append(path)
    return [path for month in sorted(months) for path in _compress_month(changes, months[month], by)]


def _compress_month(changes: JobChanges, paths: Sequence[str], by: Attribution) -> list[str]:
    packings = {path: packing for path in paths if (packing := _packing(changes, path))}
    if packings and not changes.dry_run:  # the difference would show the whole month
        operations = tuple(each for pair in packings.values() for each in pair)
        changes.make(Change(operations=operations, by=by, action=Action.ARCHIVE))
    return list(packings)


def _packing(changes: JobChanges, path: str) -> tuple[PutPage, PutPage] | None:
    page, target = changes.vault.page(path), f"{path}{SUFFIX}"
    there = changes.vault.page(target)
    if page is None:
        return None
    try:
        text = page.content if there is None else _appended(path, text_of(target, there.content), page.content)
    except DiskError as error:
        changes.notes.append(f"{path} is not compressed: {error.message}")
        return None
    if text is None:
        return None
    return PutPage.over(there, target, pack(target, text)), PutPage(path, None, page.hash)


def _appended(path: str, before: bytes, later: bytes) -> bytes | None:
    """Two parts of one archived log as one; None where the later one holds more than memories."""
    text = to_text(later)
    taken = excerpts(path, text, memories_in(path, later))
    return into_archive(path, before, taken) if is_bare(path, to_bytes(cut(text, taken))) else None


def month_of(path: str) -> str | None:
    """The month whose part of the archive a file is in."""
    match = _MONTH.search(path)
    return match[1] if match else None


def list_archive(changes: JobChanges, agent: str, files: Iterable[ArchivedFile], by: Attribution) -> None:
    """Bring `archive/index.md` up to date with these files of the archive."""
    path = f"{agent_root(agent)}/memory/archive/index.md"
    text, page = render_list(files).encode(), changes.vault.page(path)
    if (page.content if page else TITLE.encode()) != text:
        put = PutPage.over(page, path, text)
        changes.make(Change.of_page(put, by))


def render_list(files: Iterable[ArchivedFile]) -> str:
    """The months of an archive as a table."""
    months: dict[str, list[ArchivedFile]] = {}
    for each in files:
        if month := month_of(each.path):
            months.setdefault(month, []).append(each)
    return TITLE + "".join(_row(month, months[month]) for month in sorted(months))


def _row(month: str, files: Sequence[ArchivedFile]) -> str:
    days = sorted(day for each in files if (day := day_of(each.path) or page_date(each.path)))
    first, last = (days[0].isoformat(), days[-1].isoformat()) if days else ("", "")
    logs = [each.path for each in files if day_of(each.path)]
    packed = [is_packed(path) for path in logs]
    extent = "yes" if packed and all(packed) else "partly" if any(packed) else "no"
    names = {plain_name(each.path) for each in files}
    return f"| {month} | {sum(each.memories for each in files)} | {len(names)} | {first} | {last} | {extent} |\n"


# One question to the index says what is due; it leaves its logs in changes of limited size, each of which can be
# undone.

RETAINER = tender("retention")
FILES, MEMORIES = 50, 5000
"""How many daily logs, and how many memories, one change takes to the archive at most."""
NEVER = timedelta(0)
SHOWN = 200_000
"""Characters of difference after which a preview only counts."""


@frozen
class Retained:
    """What moved to the archive, or would."""

    memories: int
    reasons: Mapping[tuple[str, str], int]
    """How many memories of which kind, and why."""
    pages: tuple[str, ...] = ()
    compressed: tuple[str, ...] = ()


def retain(changes: JobChanges, index: Index, below: Below | None = None, by: Attribution = RETAINER) -> Retained:
    """Archive what is due of an index's agent, by retention or by a score, and compress what has lain there long.

    With a score only memories are archived. What could not be moved is noted and comes again the next time.
    """
    config, now = changes.vault.config, to_us(changes.now)
    found = index.read(lambda connection: due(connection, now, config.retention, config.decay, below))
    _archive_due(changes, found, by)
    root = agent_root(index.agent)
    pages, packed = (
        ([], []) if below else (_archive_old_pages(changes, index, root, by), _compress_old(changes, index, by))
    )
    if not changes.dry_run:
        list_archive(changes, index.agent, _archived(index, root), by)
    return Retained(memories=found.count, reasons=found.reasons, pages=tuple(pages), compressed=tuple(packed))


def _archive_due(changes: JobChanges, found: DueForArchive, by: Attribution) -> None:
    for batch in batches(found, files=FILES, memories=MEMORIES):
        if changes.dry_run and len(changes.diff) > SHOWN:
            changes.notes.append("the difference shows only the first of these memories")
            return
        try:
            if there := _still_there(changes.vault, batch):
                changes.note(archive(changes.vault, there, by, dry_run=changes.dry_run))
        except NotFoundError as error:  # somebody edited a log since the question was answered
            changes.notes.append(f"not archived this time: {error.message}")


def _still_there(vault: Vault, batch: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What of a portion stands in its logs under its id: a copied entry is a memory of its own only to the index."""
    pages = {path: page for path in batch if (page := vault.page(path))}
    found = {path: memories_in(path, page.content) for path, page in pages.items()}
    there = {path: [each for each in batch[path] if each in ids] for path, ids in found.items()}
    return {path: ids for path, ids in there.items() if ids}


def _archive_old_pages(changes: JobChanges, index: Index, root: str, by: Attribution) -> list[str]:
    retention = changes.vault.config.retention
    latest = {f"{root}/{inside}" for inside in checkpoints(changes.vault, root)[:1]}
    spans = {f"{root}/sessions": retention.sessions, f"{root}/{CHECKPOINTS}": retention.checkpoints}
    found = index.read(lambda connection: files_in(connection, *spans))
    old = [
        each
        for each in found
        if each.path not in latest
        and _is_past(changes, max(each.modified, _day_of(each.path)), spans.get(each.path.rpartition("/")[0], NEVER))
    ]
    portions = (old[start : start + FILES] for start in range(0, len(old), FILES))
    return [path for some in portions for path in archive_pages(changes, some, by)]


def _compress_old(changes: JobChanges, index: Index, by: Attribution) -> list[str]:
    span, root = changes.vault.config.retention.compress, agent_root(index.agent)
    since = index.read(lambda connection: left_at(connection, f"{root}/memory/archive"))
    logs = [each for each in _archived(index, root) if day_of(each.path) and not is_packed(each.path)]
    old = [each.path for each in logs if _is_past(changes, since.get(each.path, each.modified), span)]
    return compress(changes, old, by)


def _archived(index: Index, root: str) -> list[ArchivedFile]:
    return index.read(lambda connection: files_in(connection, f"{root}/memory/archive"))


def _day_of(path: str) -> int:
    day = page_date(path)
    return day_us(day) if day else 0


def _is_past(changes: JobChanges, since: int, span: timedelta) -> bool:
    """Whether a span other than zero is over."""
    return NEVER < span <= (to_us(changes.now) - since) * MICROSECOND


# Being used: what was opened or cited keeps a memory awake; what was only found does not.


TELLER = Attribution(actor="bot:auto-detect", trigger="told")
MOST_KNOWN = 500
"""How many memories a line names that a conversation was told."""


def note_used(vault: Vault, searcher: Searcher, ids: Iterable[str] | str, by: Attribution) -> None:
    """Note that memories were used, each in the folder of its agent; what is only read is for its own to keep awake."""
    searcher.prepare()
    given = [check_string("an id", each) for each in ([ids] if isinstance(ids, str) else ids)]
    owners = [(each, found.agent) for each in given if (found := searcher.find(each))]
    for agent in (searcher.agent, SHARED):
        if mine := [each for each, owner in owners if owner == agent]:
            used(vault, agent, mine, by)


def used(vault: Vault, agent: str, ids: Iterable[str], by: Attribution) -> Receipt | None:
    """Note that these memories of an agent were used, as one change; who is named twice was used twice."""
    counts = Counter(ids)
    records = [{"op": Op.ACCESS.value, "memory": each, "count": count} for each, count in counts.items()]
    return vault.add_lines(state_ledger(agent), records, by) if records else None


# Being told: what an agent was shown in a conversation without asking for it, and what it made of that.


@dataclass(slots=True)
class Tally:
    """What was told in a conversation since it was last noted."""

    times: int = 0
    silent: int = 0
    """Prompts to which there was nothing to tell."""
    tokens: int = 0
    told: Counter[str] = field(default_factory=Counter)
    cited: Counter[str] = field(default_factory=Counter)

    def add(self, ids: Iterable[str], tokens: int) -> None:
        """Count what was told with one prompt, or at the beginning."""
        self.times += 1
        self.tokens += tokens
        self.told.update(ids)

    @property
    def count(self) -> int:
        return self.times + self.silent


def note_told(searcher: Searcher, vault: Vault, session: str | None, tally: Tally, known: Iterable[str]) -> None:
    """Note a tally as state lines, as one change; `known` is all that the conversation was told so far.

    What was cited was used. To an agent that cites, what it did not cite was of less use than it seemed.
    """
    if not tally.count:
        return
    searcher.prepare()
    found = {each: located for each in tally.told if (located := searcher.find(each))}
    mine = {each for each, located in found.items() if located.agent == searcher.agent}
    gone = [each for each, at in found.items() if at.item.superseded_by or at.item.forgotten_at]
    line = {
        "op": Op.TOLD.value,
        "times": tally.times,
        "silent": tally.silent,
        "tokens": tally.tokens,
        "told": sum(tally.told.values()),
        "cited": sum(tally.cited.values()),
        "corrected": len(gone),
        "known": sorted(known)[:MOST_KNOWN],
    }
    records: list[dict[str, Any]] = [line]
    records += [{"op": Op.ACCESS.value, "memory": each, "count": tally.cited[each]} for each in mine & {*tally.cited}]
    if tally.cited:
        ignored = mine - {*tally.cited}
        records += [{"op": Op.IGNORED.value, "memory": each, "count": tally.told[each]} for each in sorted(ignored)]
    vault.add_lines(state_ledger(searcher.agent), records, replace(TELLER, session=session))


def told_before(searcher: Searcher, session: str | None) -> set[str]:
    """What a conversation was told, as far as it is noted."""
    line = searcher.index.read(lambda db: newest_line(db, Op.TOLD.value, "session", session)) if session else None
    found = (line or {}).get("known")
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()
