"""Transcripts of conversations as hosts hand them over: lists of turns, JSON lines, or text. Pure.

What cannot be read is reported, and the rest goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from memfolio.intake import OUTSIDE
from memfolio.learn.learned import Turn
from memfolio.recall.fence import strip_fences
from memfolio.state import moment
from memfolio.vault.fields import without_surrogates

PEOPLE = frozenset("user human me owner".split())
MACHINES = frozenset("assistant ai bot agent claude chatgpt gemini model".split())
OTHERS = frozenset("system tool function developer".split())
MANY = 20
"""How many problems are told."""
_LIST = re.compile(r"\s*\[(?=\s*(?:\{|\]\s*\Z))")
_GAP = re.compile(r"[\s,]*")
_LABEL = re.compile(
    rf"(?i)[ \t]*(?:\*\*)?({'|'.join(sorted(PEOPLE | MACHINES | OTHERS))})(?:\*\*)?:(?:\*\*)?(?:[ \t]+|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One turn: who spoke, as the host names them, what, and when where that is known."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The turns of a conversation, and what could not be read, each as a sentence."""

    turns: tuple[TranscriptTurn, ...] = ()
    problems: tuple[str, ...] = ()


def read_transcript(data: object) -> Transcript:
    """The turns in whatever a host hands over; what memfolio itself put into them is taken out."""
    problems: list[str] = []
    turns = [turn for turn in map(_without_fences, _read(data, problems)) if turn.content]
    more = len(problems) - MANY
    told = [*problems[:MANY], *([f"and {more} more"] if more > 0 else [])]
    return Transcript(turns=tuple(turns), problems=tuple(told))


def _without_fences(said: TranscriptTurn) -> TranscriptTurn:
    """A turn without what memfolio put into it, and without what no file can hold."""
    content = without_surrogates(strip_fences(said.content)).replace("\0", "\ufffd")
    return TranscriptTurn(role=said.role, content=content.strip(), at=said.at)


def _read(data: object, problems: list[str]) -> Iterator[TranscriptTurn]:
    if isinstance(data, bytes | bytearray):
        data = bytes(data).decode("utf-8-sig", "replace")
    if isinstance(data, str):
        yield from _read_text(data.removeprefix("\ufeff"), problems)
    elif isinstance(data, Iterable) and not isinstance(data, Mapping):
        yield from _read_records(((f"turn {nth}", each) for nth, each in enumerate(data, start=1)), problems)
    else:
        problems.append(f"a transcript is text or a list of turns, not a {type(data).__name__}")


def _read_text(text: str, problems: list[str]) -> Iterator[TranscriptTurn]:
    if start := _LIST.match(text):
        yield from _read_records(_listed(text, start.end(), problems), problems)
    elif text.lstrip().startswith("{"):
        yield from _read_records(_json_lines(text, problems), problems)
    elif "\0" in text:
        problems.append("it is not text")
    else:
        yield from _spoken(text)


def _listed(text: str, at: int, problems: list[str]) -> Iterator[tuple[str, object]]:
    """The turns of a list, as far as it goes."""
    decoder = json.JSONDecoder()
    for nth in count(1):
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if text[at : at + 1] == "]":
            return
        try:
            record, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            problems.append(f"turn {nth} is not JSON, and the list was not read further")
            return
        yield f"turn {nth}", record


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
    content = _content(message["content"])
    if not isinstance(role, str) or not role.strip():
        problems.append(f"{where} does not say who speaks")
    elif content is None:
        problems.append(f"{where} has a content that is neither text nor a list of blocks")
    elif content.strip():
        at = moment(record.get("timestamp") or record.get("at"))
        yield TranscriptTurn(role=role.strip().casefold(), content=content, at=at)


def _content(value: object) -> str | None:
    """The words of a content: a text, or the texts among its blocks."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        return None
    texts = [each if isinstance(each, str) else _block(each) for each in value]
    return "\n".join(filter(None, texts))


def _block(block: object) -> str:
    """What a block says; thoughts, calls of tools and their results are nobody's words."""
    if not isinstance(block, Mapping) or block.get("type", "text") != "text":
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _spoken(text: str) -> Iterator[TranscriptTurn]:
    """Text with `User:` and the like at the beginning of turns; without any, a person said all of it."""
    role, lines = "user", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        if label := _LABEL.match(line):
            yield TranscriptTurn(role=role, content="\n".join(lines))
            role, lines = label[1].casefold(), [line[label.end() :]]
        else:
            lines.append(line)
    yield TranscriptTurn(role=role, content="\n".join(lines))
