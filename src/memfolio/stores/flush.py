"""Flushing: before an agent's context is cut, what it knows is saved as a checkpoint and as memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from hashlib import blake2b

from memfolio.errors import ModelError, RefusedError
from memfolio.index.index import Index
from memfolio.index.standing import newest_line
from memfolio.learn import rules
from memfolio.learn.drafting import drafted
from memfolio.learn.learned import Learned, Statement
from memfolio.learn.resolve import Resolution
from memfolio.recall.asking import arguments
from memfolio.recall.context.standing import CHECKPOINTS
from memfolio.state import Op
from memfolio.stores.checkpoint import HEADINGS, Checkpoint, put
from memfolio.stores.composing import make
from memfolio.stores.core import Core
from memfolio.stores.corepage import CorePage
from memfolio.stores.extract import Learn, lines, resolved, summed_up
from memfolio.stores.reply import DAILY, MEMORY, NO_REPLY, USER, Kept, is_reply, read_reply
from memfolio.stores.transcript import Said, read_transcript
from memfolio.tuning import Flush
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import local
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:flush", trigger="flush")
SOURCE = "flush"
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
        _number(name, value, least=int(name == "window"))
    limit = window - min(reserve, window // 4) - min(soft, window // 4)
    return compaction != last and tokens >= limit


def flush_due(
    index: Index, settings: Flush, tokens: int, *, compaction: int, session: str | None, window: int | None = None
) -> bool:
    """`should_flush` with the configured limits and what the state lines say, so that a restart changes nothing."""
    line = index.read(lambda connection: newest_line(connection, Op.FLUSH.value, "session", session)) or {}
    return should_flush(
        tokens,
        window=settings.window if window is None else window,
        reserve=settings.reserve,
        soft=settings.soft,
        compaction=compaction,
        last=line.get("compaction"),
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
    index: Index,
    learn: Learn | None = None,
    session: str | None = None,
    user: str | None = None,
    compaction: int | None = None,
    by: Attribution = BY,
    dry_run: bool = False,
) -> Flushed:
    """Save what a transcript tells, or what an agent answered to `flush_prompt`, as one change.

    The same flushed again is saved only once. What is known already is not made a memory again, what it contradicts is
    replaced as the home has it set, and what was forgotten does not come back.
    """
    by = replace(by, session=session) if session is not None else by
    key = vault.home.key_mark(agent, f"flush\0{session}\0{_digest(data)}\0{compaction}")
    cut = () if compaction is None else ({"op": Op.FLUSH.value, "compaction": _number("compaction", compaction)},)
    told = _told(data, learn, user)

    def compose() -> tuple[Flushed, Change | None]:
        page, core, rest = _into_core(Core(vault, agent), told.kept)
        said = [(each, told.at(each) or now) for each in (*told.statements, *rest)]
        resolution = resolved(index, said, vault.config.learn.conflicts, None if told.is_dated else now)
        drafts = tuple(drafted(each, source=SOURCE, user=user, at=told.at(each)) for each in resolution.kept)
        checkpoint = summed_up(told.turns, _current(told.statements, resolution)) if told.turns else None
        page = put(vault, agent, checkpoint, now) if checkpoint else page
        records = (*lines(resolution), *cut)
        operations: list[Operation] = [
            *([page] if page else []),
            *([AddEntries(agent, drafts)] if drafts else []),
            *([AddLines(state_ledger(agent), records)] if records else []),
        ]
        path = page.path if page and checkpoint else None
        found = Flushed(path=path, checkpoint=checkpoint, drafts=drafts, core=core, problems=told.problems)
        change = Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key)
        return found, change if operations else None

    found, diff, receipt = make(vault, compose, dry_run=dry_run)
    if receipt and receipt.repeated:
        found = replace(found, path=next((each for each in receipt.paths if f"/{CHECKPOINTS}/" in each), None))
    return replace(found, diff=diff, receipt=receipt)


def nothing_in(data: object) -> Flushed | None:
    """What comes of data in which there is nothing to save; None where there is something."""
    told = _told(data, lambda turns: Learned(), None)
    return None if told.turns or told.kept else Flushed(problems=told.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What a transcript or an answer tells, before it is known what of it is to be kept."""

    turns: Sequence[Said] = ()
    statements: Sequence[Statement] = ()
    kept: Sequence[Kept] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_dated(self) -> bool:
        return bool(self.turns) and all(turn.at for turn in self.turns)

    def at(self, statement: Statement) -> datetime | None:
        """When it was said, where that is known."""
        return max(filter(None, (self.turns[nth].at for nth in statement.turns)), default=None)


def _told(data: object, learn: Learn | None, user: str | None) -> _Told:
    """What it tells; by rules where nothing else is wanted, or what is wanted fails, which is told."""
    if isinstance(data, str) and is_reply(data):
        reply = read_reply(data, user)
        return _Told(kept=reply.kept, problems=reply.problems)
    transcript = read_transcript(data)
    turns = [turn for turn in transcript.turns if turn.is_spoken]
    said = [turn.turn(user) for turn in turns]
    problems = transcript.problems
    try:
        learned = (learn or rules.learn)(said) if said else Learned()
    except ModelError as error:
        learned = rules.learn(said)
        problems += (f"the rules took the place of the model: {error.message}",)
    return _Told(turns=turns, statements=learned.statements, problems=problems)


def _current(statements: Sequence[Statement], resolution: Resolution) -> list[Statement]:
    """Those that were not forgotten."""
    held = {*resolution.kept, *(each for _, each in resolution.repeated)}
    return [each for each in statements if each in held]


def _into_core(core: Core, kept: Sequence[Kept]) -> tuple[PutPage | None, tuple[str, ...], list[Statement]]:
    """The page of core memory with what has room there, those lines, and the rest."""
    added: list[tuple[str, str]] = []
    rest: list[Statement] = []
    page: PutPage | None = None
    for each in kept:
        if each.block is None:
            rest.append(each.statement)
            continue
        wanted = [*added, (each.block, each.statement.text)]
        try:
            page = core.composed(partial(_with_lines, wanted), each.block)[1] or page
            added = wanted
        except RefusedError:  # no room
            rest.append(each.statement)
    return page, tuple(line for _, line in added), rest


def _with_lines(lines: Sequence[tuple[str, str]], page: CorePage) -> str:
    for block, line in lines:
        if not page.has(block, line):
            page = CorePage(page.adding(block, line))
    return page.text


def _number(name: str, value: int, least: int = 0) -> int:
    return arguments.number(name, value, least, MOST_TOKENS)


def _digest(data: object) -> str:
    """What tells one transcript from another."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes | bytearray) else data
    raw = (text if isinstance(text, str) else repr(text)).encode("utf-8", "surrogatepass")
    return blake2b(raw, digest_size=16).hexdigest()
