"""Flushing: before an agent's context is cut, its knowledge is saved as a checkpoint and as memories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from hashlib import blake2b
from typing import Any, cast

from memfolio.arguments import OUTSIDE
from memfolio.errors import ModelError, RefusedError
from memfolio.index.index import Index
from memfolio.index.lookup import newest_line
from memfolio.index.maintenance import About, known_about
from memfolio.index.rows import ROLES
from memfolio.learn import rules
from memfolio.learn.ask import learn_by_model
from memfolio.learn.clauses import is_secret
from memfolio.learn.learned import Learned, Statement, Turn, drafted
from memfolio.learn.resolve import Knowledge, KnownStatementAbout, Reference, Resolution, Way, about, frame, resolve
from memfolio.llm.model import Model
from memfolio.recall import query
from memfolio.recall.context import CHECKPOINTS
from memfolio.recall.fence import strip_fences
from memfolio.recall.searcher import Searcher
from memfolio.settings import Flush
from memfolio.state import Op, moment
from memfolio.stores.checkpoint import HEADINGS, Checkpoint, make, put
from memfolio.stores.core import ACTIVE, CRITICAL, IDENTITY, Core, CorePage
from memfolio.text import clip, packaged_table, sentences
from memfolio.types import DEFAULT_KINDS, Action, Attribution, MemoryItem, Origin, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.fields import Draft, local, normalise_content, without_surrogates
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault

# Transcripts of conversations as hosts hand them over: lists of turns, JSON lines, or text. Pure.
#
# What cannot be read is reported, and the rest goes on.

PEOPLE = frozenset("user human me owner".split())
MACHINES = frozenset("assistant ai bot agent claude chatgpt gemini model".split())
OTHERS = frozenset("system tool function developer".split())
MANY = 20
"""How many problems are listed."""
_LIST = re.compile(r"\s*\[(?=\s*(?:\{|\]\s*\Z))")
_SPEAKER = re.compile(
    rf"(?i)[ \t]*(?:\*\*)?({'|'.join(sorted(PEOPLE | MACHINES | OTHERS))})(?:\*\*)?:(?:\*\*)?(?:[ \t]+|$)"
)


@frozen
class TranscriptTurn:
    """One turn: the speaker as the host names them, the text, and the time, if known."""

    role: str
    content: str
    at: datetime | None = None

    @property
    def is_person(self) -> bool:
        return self.role not in MACHINES | OTHERS

    @property
    def is_spoken(self) -> bool:
        """Whether a person or an agent said it, rather than a tool or the system."""
        return self.role not in OTHERS and not OUTSIDE.fullmatch(self.role)

    def turn(self, user: str | None) -> Turn:
        """The same as a turn to learn from, in which the user has this name."""
        names = {**dict.fromkeys(PEOPLE, user or "The user"), **dict.fromkeys(MACHINES, "The assistant")}
        speaker = names.get(self.role, self.role)
        return Turn(content=self.content, speaker=speaker, is_person=self.is_person, at=self.at)


@frozen
class Transcript:
    """The turns of a conversation, and what could not be read, one sentence each."""

    turns: tuple[TranscriptTurn, ...] = ()
    problems: tuple[str, ...] = ()


def turn_of(item: MemoryItem) -> Turn:
    """A memory as a turn to learn from, without what memfolio put into it; strangers' words teach nothing."""
    role = item.role or "user"  # a note without a speaker is the owner's
    is_user = role.casefold() in ("user", "human")
    return Turn(
        content=strip_fences(item.content),
        speaker=(item.user or "The user") if is_user else role,
        is_person=not is_machine(item) and item.origin is not Origin.UNTRUSTED,
        at=item.event_time or item.created_at,
    )


def is_machine(item: MemoryItem) -> bool:
    """Whether a machine said it."""
    return (item.role or "user").casefold() in ROLES - {"user", "human"}


def read_transcript(data: object) -> Transcript:
    """Read the turns in whatever a host hands over, without what memfolio itself added."""
    problems: list[str] = []
    turns = [turn for turn in map(_without_fences, _turns_in(data, problems)) if turn.content]
    more = len(problems) - MANY
    listed = [*problems[:MANY], *([f"and {more} more"] if more > 0 else [])]
    return Transcript(turns=tuple(turns), problems=tuple(listed))


def _without_fences(turn: TranscriptTurn) -> TranscriptTurn:
    """Return a turn without what memfolio added, and without characters that no file can hold."""
    content = without_surrogates(strip_fences(turn.content)).replace("\0", "\ufffd")
    return replace(turn, content=content.strip())


def _turns_in(data: object, problems: list[str]) -> Iterator[TranscriptTurn]:
    if isinstance(data, bytes | bytearray):
        data = bytes(data).decode("utf-8-sig", "replace")
    if isinstance(data, str):
        yield from _turns_in_text(data.removeprefix("\ufeff"), problems)
    elif isinstance(data, Iterable) and not isinstance(data, Mapping):
        yield from _read_records(((f"turn {nth}", each) for nth, each in enumerate(data, start=1)), problems)
    else:
        problems.append(f"a transcript is text or a list of turns, not a {type(data).__name__}")


def _turns_in_text(text: str, problems: list[str]) -> Iterator[TranscriptTurn]:
    # Text may begin with a bracket, as in a log: only a list of objects is one of turns.
    if _LIST.match(text):
        try:
            yield from _turns_in(json.loads(text), problems)
        except (ValueError, RecursionError):
            problems.append("it begins as a list of turns, and is not JSON")
    elif text.lstrip().startswith("{"):
        yield from _read_records(_json_lines(text, problems), problems)
    elif "\0" in text:
        problems.append("it is not text")
    else:
        yield from _spoken(text)


def _json_lines(text: str, problems: list[str]) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", json.loads(line)
        except (ValueError, RecursionError):
            problems.append(f"line {number} is not JSON")


def _read_records(records: Iterable[tuple[str, object]], problems: list[str]) -> Iterator[TranscriptTurn]:
    for where, record in records:
        if not isinstance(record, Mapping):
            problems.append(f"{where} is a {type(record).__name__}, not a turn")
        # Claude Code marks its own notes and the turns of sub-agents so.
        elif not record.get("isMeta") and not record.get("isSidechain"):
            yield from _read_record(where, record, problems)


def _read_record(where: str, record: Mapping[str, Any], problems: list[str]) -> Iterator[TranscriptTurn]:
    """A turn, or a line of a host's transcript with one inside; lines about other things are passed over."""
    message = record.get("message", record)
    if not isinstance(message, Mapping) or "content" not in message:
        if "role" in record or record.get("type") in ("user", "assistant"):
            problems.append(f"{where} has no content")
        return
    role = message.get("role", record.get("type"))
    content = _words(message["content"])
    if not isinstance(role, str) or not role.strip():
        problems.append(f"{where} does not say who speaks")
    elif content is None:
        problems.append(f"{where} has a content that is neither text nor a list of blocks")
    elif content.strip():
        at = moment(record.get("timestamp") or record.get("at"))
        yield TranscriptTurn(role=role.strip().casefold(), content=content, at=at)


def _words(value: object) -> str | None:
    """The words of a content: a text, or the texts among its blocks."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        return None
    texts = [each if isinstance(each, str) else _words_of(each) for each in value]
    return "\n".join(filter(None, texts))


def _words_of(block: object) -> str:
    """Return the text of a block; thoughts, tool calls and their results are not text."""
    if not isinstance(block, Mapping) or block.get("type", "text") != "text":
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _spoken(text: str) -> Iterator[TranscriptTurn]:
    """Split a text at `User:` and the like; without any, a person said all of it."""
    role, lines = "user", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        if label := _SPEAKER.match(line):
            yield TranscriptTurn(role=role, content="\n".join(lines))
            role, lines = label[1].casefold(), [line[label.end() :]]
        else:
            lines.append(line)
    yield TranscriptTurn(role=role, content="\n".join(lines))


# What is said as statements, and what they leave behind: a checkpoint to go on from, and what is to be kept.

LONGEST = 600
"""The most characters of the turn that describes the task."""
MOST_ITEMS = 12
"""How many lines of each kind a checkpoint has: the last ones."""
MOST_QUESTIONS = 5
FINDINGS = frozenset({Type.FACT, Type.PREFERENCE, Type.LESSON, Type.OUTCOME, Type.CORRECTION, Type.ERROR})
_WORDS = packaged_table("stores/data/flush.toml")
_TASK_LIKE = re.compile(_WORDS["task"])
_SAID = {name: re.compile(pattern) for name, pattern in _WORDS["said"].items()}
_CODE = re.compile(r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[^\n]*$|\Z)")

Learn = Callable[[Sequence[Turn]], Learned]


def summed_up(turns: Sequence[TranscriptTurn], learned: Iterable[Statement]) -> Checkpoint:
    """The checkpoint at the end of a conversation from which these statements were learned."""
    statements = list({each.text.casefold(): each for each in learned}.values())
    # What the rules have learned of a turn is not told again in its own words.
    learned_in = {turn for each in statements if each.type in (Type.DECISION, Type.TASK) for turn in each.turns}
    others = [turn for place, turn in enumerate(turns) if place not in learned_in]
    said = {name: _said(others, name) for name in ("decisions", "next_steps")}
    said |= {name: _said(turns, name) for name in ("findings", "open_questions")}
    return Checkpoint(
        context=_context(turns),
        decisions=_last((*_contents_of(statements, {Type.DECISION}), *said["decisions"])),
        findings=_last((*_contents_of(statements, FINDINGS), *said["findings"])),
        next_steps=_last((*_contents_of(statements, {Type.TASK}), *said["next_steps"])),
        open_questions=_last((*said["open_questions"], *_open_questions(turns))),
    )


def _said(turns: Iterable[TranscriptTurn], kind: str) -> Iterator[str]:
    return (words for turn in turns for words in said_in(turn.content, kind))


def said_in(content: str, kind: str) -> Iterator[str]:
    """The sentences of a turn that say something of a kind of `flush.toml`, in its own words, whoever said them."""
    for sentence in sentences(_CODE.sub(" ", content)):
        found = _SAID[kind].search(sentence)
        if found and len(sentence) <= LONGEST and not is_secret(sentence):
            told = sentence[found.end() if found.groupdict().get("label") else 0 :].strip(" *_-:")
            if len(told.split()) > 1:
                yield told[0].upper() + told[1:]


def _last(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))[-MOST_ITEMS:]


def stated(text: str, speaker: str | None, **further: Any) -> Statement:
    """A text as one statement in its own words, about what the rules take it to be about where it says one thing."""
    return Statement(text=text, turns=(), confidence=1.0, **about(text[:LONGEST], speaker), **further)


def resolved(
    index: Index,
    said: Sequence[tuple[Statement, datetime]],
    way: str,
    since: datetime | None = None,
    besides: Collection[str] = (),
    *,
    by_words: bool = True,
) -> Resolution:
    """What to keep of what was said, beside what is known; whatever was forgotten counts as forgotten `since`.

    What is known does not count `besides` these memories, which are replaced anyway. Without `by_words`, only another
    value of the same attribute contradicts.
    """
    # One question to the index for all statements, not one each.
    asked = [
        About(each.text, each.subject, each.predicate, each.object, each.is_single, frame(each)) for each, _ in said
    ]
    found = index.read(partial(known_about, statements=asked)) if asked else []
    there = (each for each in found if each.item.id not in besides)
    known = [KnownStatementAbout.of(each.item, is_archived=each.archived) for each in there]
    if since is not None:
        known = [replace(each, forgotten_at=since if each.forgotten_at else None) for each in known]
    return resolve(said, Knowledge(known), cast(Way, way), by_words=by_words)


def lines(resolution: Resolution) -> Iterator[dict[str, Any]]:
    """Yield state lines for replaced and contradicted statements."""
    for old, new in resolution.replaced:
        yield {"op": Op.SUPERSEDE, "memory": old, "by": new}
        if at := resolution.ended.get(old):
            yield {"op": Op.VALIDITY, "memory": old, "valid_until": at.isoformat()}
    for clash in resolution.contradicting:
        yield {"op": Op.EDGE, "memory": clash.new.ref, "to": clash.old.ref, "type": "contradicts"}


def said_again(known: Reference, sources: Iterable[str]) -> Iterator[dict[str, Any]]:
    """That something known was said again in these places, as state lines."""
    yield {"op": Op.ACCESS, "memory": known, "count": 1}
    for each in sources:
        yield {"op": Op.EDGE, "memory": known, "to": each, "type": "derived_from"}


def _context(turns: Sequence[TranscriptTurn]) -> str:
    """What the conversation was at: the last turn of a person that asks for something, else their last one."""
    people = [turn.content for turn in turns if turn.is_person] or [turn.content for turn in turns[-1:]]
    asking = [content for content in people if _TASK_LIKE.search(content)]
    return clip(next(iter(asking[-1:] or people[-1:]), ""), LONGEST)


def _contents_of(statements: Iterable[Statement], types: Collection[Type]) -> tuple[str, ...]:
    return tuple(each.text for each in statements if each.type in types)


def _open_questions(turns: Sequence[TranscriptTurn]) -> tuple[str, ...]:
    """The questions of the last turn, which nobody has answered, but for those that it calls open anyway."""
    is_said = _SAID["open_questions"].search
    last = (each for turn in turns[-1:] for each in sentences(turn.content) if not is_said(each))
    return tuple(each for each in last if each.endswith(("?", "？")))[-MOST_QUESTIONS:]


# What an agent answers to the flush prompt: TYPE, CONTENT and TARGET of each thing to be kept, or NO_REPLY. Pure.

NO_REPLY = "NO_REPLY"
MEMORY, USER = "memory.md", "user.md"
"""The targets that mean core memory; anything else is the daily log."""
MOST = 100
"""How many things one answer may have."""
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(?:\*\*)?(TYPE|CONTENT|TARGET)(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*", re.I
)


@frozen
class FlushItem:
    """Something to keep, and where: in the daily log, or in a block of core memory."""

    statement: Statement
    block: str | None = None


@frozen
class FlushSource:
    """What a transcript or an answer tells, before it is known what of it is to be kept, and what was wrong with it."""

    turns: Sequence[TranscriptTurn] = ()
    statements: Sequence[Statement] = ()
    kept: tuple[FlushItem, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_dated(self) -> bool:
        return bool(self.turns) and all(turn.at for turn in self.turns)

    def at(self, statement: Statement) -> datetime | None:
        """When it was said, where that is known."""
        return max(filter(None, (self.turns[nth].at for nth in statement.turns)), default=None)


def is_reply(text: str) -> bool:
    """Whether a text is such an answer, rather than a transcript."""
    lines = [line for line in text.splitlines() if line.strip(" \t`")]
    return bool(lines) and (lines[0].strip(" \t`.") == NO_REPLY or bool(_FIELD.match(lines[0])))


def read_reply(text: str, user: str | None = None) -> FlushSource:
    """Read what an answer wants to be kept."""
    kept: list[FlushItem] = []
    problems: list[str] = []
    types = {each.value: each for each in Type}
    for record in _records(without_surrogates(strip_fences(text)).replace("\0", "\ufffd")):
        content = normalise_content(record.get("content", "")).strip()
        if not content:
            problems.append("an item without CONTENT was passed over")
        elif len(kept) == MOST:
            problems.append(f"only the first {MOST} items were kept")
            break
        else:
            name, target = (record.get(field, "").strip(" \t`*.").casefold() for field in ("type", "target"))
            type_ = types.get(name, Type.OBSERVATION)
            statement = stated(content, user, type=type_, kind=DEFAULT_KINDS[type_], importance=0.6)
            kept.append(FlushItem(statement=statement, block=_block(target, type_)))
    return FlushSource(kept=tuple(kept), problems=tuple(dict.fromkeys(problems)))


def _block(target: str, type_: Type) -> str | None:
    """The block of core memory that a target means; what it names by itself is never a file."""
    blocks = {Type.PREFERENCE: IDENTITY, Type.DECISION: ACTIVE, Type.TASK: ACTIVE}
    return {USER: IDENTITY, MEMORY: blocks.get(type_, CRITICAL)}.get(target)


def _records(text: str) -> Iterator[dict[str, str]]:
    """The fields of each item; an item begins with its TYPE, or with a field that it has already."""
    record: dict[str, str] = {}
    name = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        field = _FIELD.match(line)
        if field:
            name = field[1].casefold()
            if name in record or (name == "type" and record):
                yield record
                record = {}
            record[name] = line[field.end() :]
        elif line.strip().startswith("```") or line.strip() == NO_REPLY:
            name = ""
        elif name == "content":
            record[name] += f"\n{line}"
    if record:
        yield record


BY = Attribution(actor="bot:flush", trigger="flush")
SOURCE = "flush"
MOST_TOKENS = 10**9


@frozen
class Flushed:
    """What was saved, or would be: the checkpoint and where it lies, the memories, and what could not be read."""

    path: str | None = None
    checkpoint: Checkpoint | None = None
    drafts: tuple[Draft, ...] = ()
    core: tuple[str, ...] = ()
    """Lines added to core memory."""
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
    # In a small window the usual reserve would leave nothing.
    limit = window - min(reserve, window // 4) - min(soft, window // 4)
    return compaction != last and tokens >= limit


def flush_due(
    index: Index, settings: Flush, tokens: int, *, compaction: int, session: str | None, window: int | None = None
) -> bool:
    """`should_flush` with the configured limits and what the state lines say, so that a restart changes nothing."""
    line = index.read(lambda connection: newest_line(connection, Op.FLUSH, "session", session)) or {}
    return should_flush(
        tokens,
        window=settings.window if window is None else window,
        reserve=settings.reserve,
        soft=settings.soft,
        compaction=compaction,
        last=line.get("compaction"),
    )


def flush_prompt(now: datetime, zone: tzinfo, *, summary: str = "") -> str:
    """Return the prompt for an agent before its context is cut; its answer goes to `flush`."""
    stands = _WORDS["summary"].format(summary.strip()) if summary.strip() else ""
    prompt: str = _WORDS["prompt"]
    return prompt.format(at=local(now, zone), headings=", ".join(HEADINGS.values()), summary=stands)


def flush(
    vault: Vault,
    searcher: Searcher,
    data: object,
    *,
    model: Model | None = None,
    session: str | None = None,
    user: str | None = None,
    compaction: int | None = None,
    source: str | None = None,
    project: str = "",
    dry_run: bool = False,
) -> Flushed:
    """Save what a transcript tells, or what an agent answered to `flush_prompt`, as one change.

    The same flushed again is saved only once. What is known already is not made a memory again, what it contradicts is
    replaced as the home has it set, and what was forgotten does not come back.
    """
    searcher.prepare()
    agent, now, by = searcher.agent, vault.home.now(), replace(BY, session=session, source=source)
    # A host that gets no answer flushes again.
    key = vault.home.key_mark(agent, f"flush\0{session}\0{_digest(data)}\0{compaction}")
    cut = () if compaction is None else ({"op": Op.FLUSH, "compaction": _number("compaction", compaction)},)
    content = _read(data, partial(learn_by_model, model) if model else None, user)

    def compose() -> tuple[Flushed, Change | None]:
        # Core memory and a checkpoint are never both written: an answer has no turns.
        page, core, rest = _add_to_core(Core(vault, agent), content.kept)
        dated = [(each, content.at(each) or now) for each in (*content.statements, *rest)]
        resolution = resolved(searcher.index, dated, vault.config.learn.conflicts, None if content.is_dated else now)
        drafts = tuple(drafted(each, source=SOURCE, user=user, at=content.at(each)) for each in resolution.kept)
        wanted = {*resolution.kept, *(each for _, each in resolution.repeated)}  # and was not forgotten
        current = [each for each in content.statements if each in wanted]
        checkpoint = replace(summed_up(content.turns, current), project=project) if content.turns else None
        page = put(vault, agent, checkpoint, now) if checkpoint else page
        records = (*lines(resolution), *cut)
        operations: list[Operation] = [
            *([page] if page else []),
            *([AddEntries(agent, drafts)] if drafts else []),
            *([AddLines(state_ledger(agent), records)] if records else []),
        ]
        path = page.path if page and checkpoint else None
        found = Flushed(path=path, checkpoint=checkpoint, drafts=drafts, core=core, problems=content.problems)
        change = Change(operations=tuple(operations), by=by, action=Action.APPEND, key=key)
        return found, change if operations else None

    found, diff, receipt = make(vault, compose, dry_run=dry_run)
    if receipt and receipt.repeated:
        found = replace(found, path=next((each for each in receipt.paths if f"/{CHECKPOINTS}/" in each), None))
    return replace(found, diff=diff, receipt=receipt)


def nothing_in(data: object) -> Flushed | None:
    """What comes of data in which there is nothing to save; None where there is something."""
    content = _read(data, lambda turns: Learned(), None)
    return None if content.turns or content.kept else Flushed(problems=content.problems)


def _read(data: object, learn: Learn | None, user: str | None) -> FlushSource:
    """What it tells; by rules where nothing else is wanted, or the model fails, which is a problem to tell."""
    if isinstance(data, str) and is_reply(data):
        return read_reply(data, user)
    transcript = read_transcript(data)
    turns = [turn for turn in transcript.turns if turn.is_spoken]
    spoken = [turn.turn(user) for turn in turns]
    problems = transcript.problems
    try:
        learned = (learn or rules.learn)(spoken) if spoken else Learned()
    except ModelError as error:
        learned = rules.learn(spoken)
        problems += (f"the rules took the place of the model: {error.message}",)
    return FlushSource(turns=turns, statements=learned.statements, problems=problems)


def _add_to_core(core: Core, kept: Sequence[FlushItem]) -> tuple[PutPage | None, tuple[str, ...], list[Statement]]:
    """The page of core memory with what has room there, those lines, and the rest."""
    added: list[tuple[str, str]] = []
    rest: list[Statement] = []
    page: PutPage | None = None
    for each in kept:
        if each.block is None:
            rest.append(each.statement)
            continue
        # Each line is tried together with those before it: they share one cap.
        wanted = [*added, (each.block, each.statement.text)]
        try:
            page = core.composed(partial(_with_lines, wanted), each.block)[1] or page
            added = wanted
        except RefusedError:  # no room
            rest.append(each.statement)
    return page, tuple(line for _, line in added), rest


def _with_lines(lines: Sequence[tuple[str, str]], page: CorePage) -> CorePage:
    for block, line in lines:
        if not page.has(block, line):
            page = page.adding(block, line)
    return page


def _number(name: str, value: int, least: int = 0) -> int:
    return query.check_number(name, value, least, MOST_TOKENS)


def _digest(data: object) -> str:
    """What tells one transcript from another."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes | bytearray) else data
    raw = (text if isinstance(text, str) else repr(text)).encode("utf-8", "surrogatepass")
    return blake2b(raw, digest_size=16).hexdigest()
