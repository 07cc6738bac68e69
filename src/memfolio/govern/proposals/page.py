"""The page of a proposal, which people read and edit: a title, a field a line, a rule, and below it the memory
that is meant, as a quote, and the text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import dropwhile, takewhile
from typing import Any

from memfolio.errors import ContentError, InputError
from memfolio.govern.proposals.proposal import VERBS, Proposal, Status, checked_argument, intent_of, known_verb
from memfolio.intake import choose
from memfolio.types import check_token
from memfolio.vault.format.content import normalise_content
from memfolio.vault.format.fields import iso_of, read_confidence, read_importance, read_moment, read_tags
from memfolio.vault.paths import agent_of, check_agent

RULE = "---"
QUOTE = ">"
_ID = r"P-\d{1,15}-[0-9a-f]{8}"
PATH = re.compile(rf"(?:agents/[^/]+|shared)/memory/meta/proposals/({_ID})\.md")
LABELS = {"id": "Memory"} | {name: f"Suggested {name}" for name in ("store", "kind", "type")}
LEVELS: Mapping[str, Callable[[str], float | None]] = {"confidence": read_confidence, "importance": read_importance}
_FIELD = re.compile(r"[-*] \*\*([^*]+)\*\*:[ \t]*(.*?)[ \t]*")
_LINK = re.compile(rf"\[\[({_ID})\]\]")


def _moment(text: str) -> datetime:
    moment = read_moment(text, UTC)
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint="write it like 2026-11-15T14:30:00+00:00")
    return moment


FIELDS: Mapping[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "From": ("proposer", str, check_agent),
    "Timestamp": ("at", iso_of, _moment),
    "Trigger": ("trigger", str, partial(check_token, "trigger")),
    "Policy": ("row", str, str),
    "Status": ("status", str, partial(choose, Status, "status")),
    "Conflicts": (
        "conflicts",
        lambda ids: ", ".join(f"[[{each}]]" for each in ids),
        lambda text: tuple(_LINK.findall(text)),
    ),
    "Note": ("note", str, str),
    "Expires": ("expires", iso_of, _moment),
}
"""The fields behind those of the verb: what of the proposal they are, and how they are written and read."""


def render(proposal: Proposal) -> str:
    """The page of a proposal."""
    intent, how = proposal.intent, VERBS[proposal.intent.verb]
    fields = {_label(name): _say(name, intent.arguments[name]) for name in how.names if name in intent.arguments}
    fields |= {label: say(value) for label, (name, say, _) in FIELDS.items() if (value := getattr(proposal, name))}
    lines = "\n".join(f"- **{label}**: {value}" for label, value in {"Do": intent.verb, **fields}.items())
    text = intent.text if how.body else ""
    # Where no memory is known, an empty quote keeps a text that begins with one from being taken for it.
    has_quote = proposal.about or (how.names_memory and text.startswith(QUOTE))
    below = f"{_quoted(proposal.about)}\n\n{text}" if has_quote else text
    return f"# {proposal.title}\n\n{lines}\n\n{RULE}\n\n{below}".rstrip("\n") + "\n"


def _quoted(text: str) -> str:
    return "\n".join(f"{QUOTE} {line}" if line else QUOTE for line in text.split("\n"))


def _unquoted(lines: list[str]) -> tuple[str, list[str]]:
    """What is quoted before anything else, and the lines behind it."""
    lines = list(dropwhile(lambda line: not line.strip(), lines))
    quote = list(takewhile(lambda line: line.startswith(QUOTE), lines))
    return "\n".join(line[1:].removeprefix(" ") for line in quote), lines[len(quote) :]


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " ").capitalize())


def _say(name: str, value: Any) -> str:
    """A value as a person would write it where it reads back as the same, else as JSON."""
    plain = ", ".join(value) if name == "tags" else value
    is_plain = isinstance(plain, str) and plain.isprintable() and plain == plain.strip() != ""
    return plain if is_plain and read_value(name, plain) == value else json.dumps(value, ensure_ascii=False)


def read_value(name: str, text: str) -> Any:
    """The value of an argument as a person wrote it."""
    if name in LEVELS and LEVELS[name](text) is not None:
        return LEVELS[name](text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return list(read_tags(text)) if name == "tags" and not isinstance(value, list) else value


def parse(path: str, content: bytes) -> Proposal:
    """The proposal on a page; ContentError names the line that makes no sense."""
    match, to = PATH.fullmatch(path), agent_of(path)
    with _line(path, content.count(b"\n")):
        try:
            lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError("it is not UTF-8 text") from error
        if match is None or to is None or RULE not in lines:
            raise InputError(f"a line {RULE} between its fields and its text is missing")
    rule = lines.index(RULE)
    fields = _fields(path, lines[:rule])
    take = partial(_taken, path, fields)
    verb = take("Do", known_verb)
    given = {name: take(_label(name), partial(_argument, verb, name)) for name in VERBS[verb].names}
    told = {name: take(label, read) for label, (name, _, read) in FIELDS.items()}
    for label, (number, _) in fields.items():
        with _line(path, number):
            raise InputError(f"there is no field {label[:40]!r} here")
    with _line(path, rule + 2):
        about, below = _unquoted(lines[rule + 1 :]) if VERBS[verb].names_memory else ("", lines[rule + 1 :])
        text, body = normalise_content("\n".join(below)), VERBS[verb].body
        if text and not body:
            raise InputError(f"{verb} takes no text")
        intent = intent_of(verb, {**given, body: text} if body else given)
    known = {name: each for name, each in told.items() if each is not None}
    return Proposal(id=match[1], to=to, intent=intent, about=about, **known)


def _argument(verb: str, name: str, text: str) -> Any:
    return checked_argument(verb, name, read_value(name, text))


def _fields(path: str, lines: list[str]) -> dict[str, tuple[int, str]]:
    """The fields of a page by their labels, with their lines."""
    fields: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            with _line(path, number):
                match = _FIELD.fullmatch(line)
                if match is None or match[1] in fields:
                    raise InputError("this field stands here twice" if match else "this is no field")
                fields[match[1]] = number, match[2]
    return fields


def _taken(path: str, fields: dict[str, tuple[int, str]], label: str, read: Callable[[str], Any]) -> Any:
    """What a field says, which is taken from the others; None where it is empty, if it may be."""
    number, text = fields.pop(label, (1, ""))
    with _line(path, number):
        if not text and label in ("Do", "From", "Timestamp"):
            raise InputError(f"the field {label} is missing")
        return read(text) if text else None


@contextmanager
def _line(path: str, number: int) -> Iterator[None]:
    """Say where it stands if something makes no sense."""
    try:
        yield
    except InputError as error:
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        raise ContentError(f"{path}, line {number}: {why}", hint="correct that line, or delete the file") from error
