"""Flushing: before an agent's context is cut, what it knows is saved as a checkpoint and as memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from hashlib import blake2b
from typing import Any

from memfolio.errors import ModelError, PageChangedError, RefusedError
from memfolio.index.index import Index
from memfolio.index.standing import known_contents, newest_line
from memfolio.learn.learned import Statement, Turn
from memfolio.recall.asking import arguments
from memfolio.state import Op
from memfolio.stores.checkpoint import HEADINGS, Checkpoint, write
from memfolio.stores.core import ATTEMPTS, Core
from memfolio.stores.corepage import CorePage
from memfolio.stores.extract import Learn, draft_of_statement, summed_up
from memfolio.stores.reply import DAILY, MEMORY, NO_REPLY, USER, Kept, is_reply, read_reply
from memfolio.stores.transcript import read_transcript
from memfolio.tuning import Flush
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import local
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:flush", trigger="flush")
MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """What was saved, or would be: the checkpoint and where it lies, the memories, and what could not be read."""

    path: str | None = None
    checkpoint: Checkpoint | None = None
    drafts: tuple[Draft, ...] = ()
    core: tuple[str, ...] = ()
    """What went into core memory."""
    problems: tuple[str, ...] = ()
    diff: str = ""
    receipt: Receipt | None = None

    @property
    def memories(self) -> tuple[MemoryItem, ...]:
        """The memories that were made; none where the same had been flushed before."""
        return self.receipt.items if self.receipt else ()


def should_flush(tokens: int, *, window: int, reserve: int, soft: int, compaction: int, last: int | None) -> bool:
    """Whether the time has come, once for every compaction; `last` is the one before which it was done, if ever.

    The reserve and the warning before it are each at most a quarter of the window.
    """
    given = {"tokens": tokens, "window": window, "reserve": reserve, "soft": soft, "compaction": compaction}
    for name, value in given.items():
        arguments.number(name, value, int(name == "window"), MOST_TOKENS)
    limit = window - min(reserve, window // 4) - min(soft, window // 4)
    return compaction != last and tokens >= limit


def last_flush(index: Index, session: str | None) -> int | None:
    """Before which compaction of a session it was last done."""
    line = index.read(lambda connection: newest_line(connection, Op.FLUSH.value, "session", session))
    found = line.get("compaction") if line else None
    return found if isinstance(found, int) else None


def flush_due(
    index: Index, settings: Flush, tokens: int, *, compaction: int, session: str | None, window: int | None = None
) -> bool:
    """`should_flush` with the configured limits and what the state lines say, so that a restart changes nothing."""
    return should_flush(
        tokens,
        window=settings.window if window is None else window,
        reserve=settings.reserve,
        soft=settings.soft,
        compaction=compaction,
        last=last_flush(index, session),
    )


def flush_prompt(now: datetime, zone: tzinfo, *, summary: str = "") -> str:
    """What to ask an agent before its context is cut; its answer goes to `flush`."""
    at = local(now, zone)
    headings = ", ".join(HEADINGS.values())
    return f"""\
The session is nearing compaction: the context before {at:%Y-%m-%d %H:%M} will be cut.
Preserve what matters: decisions made, preferences expressed, facts learned, tasks created or completed, and errors \
with how they were resolved.

Answer with one item after the other, in this form and nothing else:

TYPE: decision | preference | fact | task | error
CONTENT: what to preserve, so that it is understood by itself
TARGET: {DAILY} | {MEMORY} | {USER}

{DAILY}: whatever is worth keeping; it is appended to memory/{at:%Y-%m-%d}.md.
{MEMORY}: only what must be before your eyes in every conversation. {USER}: only who the user is.
Also write a checkpoint with the sections {headings}, if you have a tool for that.
{f"{chr(10)}Where things stand: {summary.strip()}{chr(10)}" if summary.strip() else ""}
If there is nothing to preserve, answer with: {NO_REPLY}
"""


def flush(
    vault: Vault,
    agent: str,
    data: object,
    *,
    now: datetime,
    index: Index | None = None,
    learn: Learn | None = None,
    session: str | None = None,
    user: str | None = None,
    compaction: int | None = None,
    by: Attribution = BY,
    dry_run: bool = False,
) -> Flushed:
    """Save what a transcript tells, or what an agent answered to `flush_prompt`, as one change.

    The same flushed again is saved only once. What `index` knows already is not made a memory again, and what was
    forgotten does not come back.
    """
    by = replace(by, session=session) if session is not None else by
    state = _state(agent, compaction)
    key = vault.home.key_mark(agent, f"flush\0{session}\0{_digest(data)}\0{compaction}")
    if isinstance(data, str) and is_reply(data):
        return _keep(vault, agent, data, state, key, by, session=session, user=user, dry_run=dry_run)
    transcript = read_transcript(data)
    turns = [turn for turn in transcript.turns if turn.is_spoken]
    if not turns:
        return _note(vault, state, key, by, Flushed(problems=transcript.problems), dry_run=dry_run)
    statements, trouble = _learned([turn.turn for turn in turns], learn)
    known = _known(index, [each.text for each in statements])
    checkpoint = summed_up(turns, [each for each in statements if not known.get(each.text)])
    fresh = {each.text.casefold(): each for each in statements if each.text not in known}
    drafts = tuple(draft_of_statement(each, turns, session, user) for each in fresh.values())
    entries = (AddEntries(agent, drafts),) if drafts else ()
    further = (*entries, *state)
    written = write(vault, agent, checkpoint, now=now, by=by, further=further, key=key, dry_run=dry_run)
    return Flushed(
        path=written.path,
        checkpoint=checkpoint,
        drafts=drafts,
        problems=(*transcript.problems, *trouble),
        diff=written.diff,
        receipt=written.receipt,
    )


def _known(index: Index | None, texts: Sequence[str]) -> dict[str, bool]:
    return index.read(lambda connection: known_contents(connection, texts)) if index else {}


def _learned(turns: Sequence[Turn], learn: Learn | None) -> tuple[Sequence[Statement], tuple[str, ...]]:
    """What the turns tell; by rules where nothing else is wanted, or what is wanted fails, which is told."""
    from memfolio.learn import rules

    try:
        return (learn or rules.learn)(turns).statements, ()
    except ModelError as error:
        return rules.learn(turns).statements, (f"the rules took the place of the model: {error.message}",)


def _state(agent: str, compaction: int | None) -> tuple[Operation, ...]:
    if compaction is None:
        return ()
    line: dict[str, Any] = {
        "op": Op.FLUSH.value,
        "compaction": arguments.number("compaction", compaction, 0, MOST_TOKENS),
    }
    return (AddLines(state_ledger(agent), (line,)),)


def _note(
    vault: Vault, operations: Sequence[Operation], key: str, by: Attribution, found: Flushed, *, dry_run: bool
) -> Flushed:
    """Make the change that these operations are, if there are any."""
    if not operations:
        return found
    change = Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key)
    diff = vault.preview(change)
    return replace(found, diff=diff, receipt=None if dry_run else vault.apply(change))


def _keep(
    vault: Vault,
    agent: str,
    text: str,
    state: tuple[Operation, ...],
    key: str,
    by: Attribution,
    *,
    session: str | None,
    user: str | None,
    dry_run: bool,
) -> Flushed:
    """Save what an agent wants kept: in core memory what is meant for it and has room, the rest in the daily log."""
    reply = read_reply(text, session=session, user=user)
    for attempt in range(ATTEMPTS):
        page, lines, drafts = _sorted(Core(vault, agent), reply.kept)
        entries = (AddEntries(agent, drafts),) if drafts else ()
        pages = (page,) if page else ()
        found = Flushed(drafts=drafts, core=lines, problems=reply.problems)
        try:
            return _note(vault, (*pages, *entries, *state), key, by, found, dry_run=dry_run)
        except PageChangedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("it is kept, or refused")


def _sorted(core: Core, kept: Sequence[Kept]) -> tuple[PutPage | None, tuple[str, ...], tuple[Draft, ...]]:
    """The page of core memory with what has room there, those lines, and the rest as memories."""
    lines: list[tuple[str, str]] = []
    drafts: list[Draft] = []
    put_page: PutPage | None = None
    for each in kept:
        if each.block is None:
            drafts.append(each.draft)
            continue
        try:
            put_page = core.composed(_adding([*lines, (each.block, each.draft.content)]), each.block)[1] or put_page
            lines.append((each.block, each.draft.content))
        except RefusedError:  # no room
            drafts.append(each.draft)
    return put_page, tuple(line for _, line in lines), tuple(drafts)


def _adding(lines: Sequence[tuple[str, str]]) -> Any:
    def compose(page: CorePage) -> str:
        for block, line in lines:
            if not page.has(block, line):
                page = CorePage(page.adding(block, line))
        return page.text

    return compose


def _digest(data: object) -> str:
    """What tells one transcript from another."""
    if isinstance(data, bytes | bytearray):
        raw = bytes(data)
    else:
        raw = (data if isinstance(data, str) else repr(data)).encode("utf-8", "surrogatepass")
    return blake2b(raw, digest_size=16).hexdigest()
