"""The fenced material that a model is shown, and checks of what it answers."""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Container
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from memfolio.text import estimate_tokens, terms

if TYPE_CHECKING:
    from memfolio.llm.model import ModelQuestion

# The fence around material: a mark that nobody can guess, around text that cannot be taken for anything else.
#
# Pure, but for the fresh mark.

CUT = "[the rest is left out]"

_JOINERS = "\u200c\u200d"
_TAG = re.compile(r"<(?=[|/!?A-Za-z_])")
"""The beginning of a tag, including those of chat templates such as `<|im_start|>`."""
_TEMPLATE = re.compile(r"\[(/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS))\]", re.IGNORECASE)


def fenced(material: str, mark: str) -> str:
    """The material between two tags that carry the mark, with nothing in it that could be a tag."""
    inside = _TEMPLATE.sub(r"(\1)", _TAG.sub("‹", plain(material)))
    return f"<material-{mark}>\n{inside}\n</material-{mark}>"


def fresh_mark() -> str:
    return secrets.token_hex(8)


def plain(text: str) -> str:
    """A text without what cannot be seen; line ends, tabs and the joiners that Persian and emoji need stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(filter(_is_plain, text.replace("\r\n", "\n").replace("\r", "\n")))


def cut(text: str, limit: int) -> str:
    """The first lines of a text, as many as have at most `limit` tokens; of a longer line, its beginning."""
    if estimate_tokens(text) <= limit:
        return text
    kept, room = text, max(0, limit - estimate_tokens(CUT) - 1)
    while kept and (size := estimate_tokens(kept)) > room:
        kept = kept[: min(len(kept) - 1, len(kept) * room // size)]
    return f"{kept.rpartition(chr(10))[0] or kept}\n{CUT}"


def _is_plain(character: str) -> bool:
    return (
        character in "\n\t" or character in _JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    )


def with_schema(question: ModelQuestion[Any]) -> str:
    """Return instructions and schema as one message: many servers accept only one system message."""
    from pydantic import TypeAdapter

    schema = json.dumps(TypeAdapter(question.answer).json_schema())
    return f"{question.instructions}\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"


# What a model answered, made harmless: it goes into files that people read, so every text in it is plain and short.

T = TypeVar("T")

MAX_TEXT = 8_000
"""Characters that one text in an answer keeps."""
MAX_ITEMS = 200
"""Values that one list in an answer keeps."""


def cleaned(value: T) -> T:
    """The same value with every text in it stripped of what cannot be seen and cut to a length, every list too."""
    result: Any = value
    if isinstance(value, str):
        result = plain(value).strip()[:MAX_TEXT]
    elif isinstance(value, list | tuple):
        result = type(value)(cleaned(each) for each in value[:MAX_ITEMS])
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{each.name: cleaned(getattr(value, each.name)) for each in fields(value)})
    kept: T = result
    return kept


# Whether what a model says is in what it was shown. Pure.

_ADDRESS = re.compile(r"\w+://[^\s<>\"']+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\b")
"""Links, mail addresses, hosts and files."""
_ORDER = re.compile(
    r"\b(?:ignore|disregard|override|bypass)\b.{0,40}\b(?:instructions?|rules?|prompts?|polic(?:y|ies)|previous|above)\b"
    r"|\bsystem prompt\b|\byou (?:must|are now)\b",
    re.IGNORECASE,
)
"""Phrases that address the reader of the memory instead of describing something."""


def gives_orders(text: str) -> bool:
    """Whether a text gives orders to its reader."""
    return _ORDER.search(text) is not None


_ASSISTANTS = (
    r"(?:(?:ai|a\.i\.)(?:[ -](?:assistant|agent|model|system|chatbot|tool)s?)?"
    r"|llms?|(?:large )?language models?|chatbots?)"
)
_SEIZE = re.compile(
    r"\b(?:ignore|disregard|override|bypass|forget)\b.{0,30}\b(?:previous|prior|above|earlier|former|all|your|other)\b"
    r".{0,20}\b(?:instructions?|rules|prompts?|guidelines)\b"
    r"|\b(?:note|notice|message|attention|instructions?|important|dear|hey|hello)\W+(?:(?:to|for|all|any|every)\W+)*"
    rf"{_ASSISTANTS}\b"
    rf"|\b(?:if|when) you(?: are|'re) (?:an? )?{_ASSISTANTS}\b"
    r"|\bai (?:assistants?|agents?|models?|systems?|chatbots?)"
    r" (?:must|should|shall|are (?:to|required)|have to|need to)\b"
    r"|\b(?:remember|note|store|save|record|memori[sz]e|keep in mind)\W+(?:down\W+)?that the user\b",
    re.IGNORECASE,
)
"""Phrases with which a text addresses whatever assistant reads it, to make it do something."""


def addresses_reader(text: str) -> bool:
    """Whether a text is written for whatever assistant reads it, and not by the person who passes it on."""
    return _SEIZE.search(text) is not None


def is_grounded(text: str, said: str, besides: Container[str] = (), share: float = 1 / 2) -> bool:
    """Whether this share of a text's words or more occur in what was said, and no address or order comes with it that
    does not; words `besides` do not count."""
    said = said.casefold()
    words = [word for word in terms(text.casefold()) if word not in besides]
    found = sum(occurs(word, said) for word in words)
    return found >= share * len(words) and bool(words) and not _adds(text, said)


def are_words_of(text: str, said: str) -> bool:
    """Whether every word of a text occurs in what was said."""
    words, said = terms(text.casefold()), said.casefold()
    return bool(words) and all(occurs(word, said) for word in words)


_ENDING = re.compile(r"(?<=\w\w)(?:ing|ed|es|s)$")


def occurs(word: str, said: str) -> bool:
    """Whether a word occurs in a text in some form; anywhere in scripts without spaces."""
    if " " in word:
        return word.replace(" ", "") in said
    if len(word) < 4 or not word.isalpha():
        return _has(word, said, r"(?:'?s)?(?!\w)" if word.isalpha() else r"(?!\w)")
    short = _ENDING.sub("", word)
    is_short = len(short) < 4 and _has(short, said, r"(?:ing|e?d|e?s)?(?!\w)")
    return is_short or _has(word[: max(4, (2 * len(word) + 2) // 3)], said, "")


def _has(beginning: str, said: str, end: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(beginning)}{end}", said) is not None


def _adds(text: str, said: str) -> bool:
    brought = [found[0].casefold() for pattern in (_ADDRESS, _ORDER) for found in pattern.finditer(text)]
    return any(each.rstrip(".,;:!?") not in said for each in brought)
