"""What an agent answers to the flush prompt: TYPE, CONTENT and TARGET of each thing to be kept, or NO_REPLY. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memfolio.learn.learned import Statement
from memfolio.recall.context.fence import strip_fences
from memfolio.stores.corepage import ACTIVE, CRITICAL, IDENTITY
from memfolio.stores.extract import stated
from memfolio.types import Type, default_kind
from memfolio.vault.format.content import normalise_content, without_surrogates

NO_REPLY = "NO_REPLY"
DAILY, MEMORY, USER = TARGETS = ("daily log", "MEMORY.md", "USER.md")
MOST = 100
"""How many things one answer may have."""
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(?:\*\*)?(TYPE|CONTENT|TARGET)(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*", re.I
)
_ERROR = "an item without CONTENT was passed over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something to be kept, and where: in the daily log, or in a block of core memory."""

    statement: Statement
    block: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """All of an answer, and what was wrong with it, each as a sentence."""

    kept: tuple[Kept, ...] = ()
    problems: tuple[str, ...] = ()


def is_reply(text: str) -> bool:
    """Whether a text is such an answer, rather than a transcript."""
    lines = [line for line in text.splitlines() if line.strip(" \t`")]
    return bool(lines) and (lines[0].strip(" \t`.") == NO_REPLY or bool(_FIELD.match(lines[0])))


def read_reply(text: str, user: str | None = None) -> Reply:
    """What an answer wants kept; a target that is none of `TARGETS` is the daily log."""
    kept: list[Kept] = []
    problems: list[str] = []
    for record in _records(without_surrogates(strip_fences(text)).replace("\0", "\ufffd")):
        content = normalise_content(record.get("content", "")).strip()
        if not content:
            problems.append(_ERROR)
        elif len(kept) == MOST:
            problems.append(f"only the first {MOST} items were kept")
            break
        else:
            kept.append(_kept(record, content, user))
    return Reply(kept=tuple(kept), problems=tuple(dict.fromkeys(problems)))


def _kept(record: dict[str, str], content: str, user: str | None) -> Kept:
    type_ = _type(record.get("type", ""))
    statement = stated(content, user, type=type_, kind=default_kind(type_), importance=0.6)
    return Kept(statement=statement, block=_block(record.get("target", ""), type_))


def _type(name: str) -> Type:
    known = {each.value: each for each in Type}
    return known.get(name.strip(" \t`*.").casefold(), Type.OBSERVATION)


def _block(target: str, type_: Type) -> str | None:
    """The block of core memory that a target means; what it names by itself is never a file."""
    name = target.strip(" \t`*.").casefold()
    if name == USER.casefold():
        return IDENTITY
    if name != MEMORY.casefold():
        return None
    blocks = {Type.PREFERENCE: IDENTITY, Type.DECISION: ACTIVE, Type.TASK: ACTIVE}
    return blocks.get(type_, CRITICAL)


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
