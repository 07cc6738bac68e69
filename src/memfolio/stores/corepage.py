"""The text of MEMORY.md: its blocks, the lines in them, and the text behind an edit. Pure.

A block is what stands below a heading of the second level. Whatever an edit is not about stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memfolio.errors import ConflictError, ContentError, InputError, NotFoundError
from memfolio.index.passages import body_text
from memfolio.intake import ANY_ID, nearest
from memfolio.text import estimate_tokens
from memfolio.vault.format.content import encoded
from memfolio.vault.format.notes import closed_fences

IDENTITY, ACTIVE, PERSONA, CRITICAL = BLOCKS = ("Identity", "Active Context", "Persona", "Critical Facts")
TEMPLATE = """\
# Core memory

## Identity
<!-- Who the user is, and what matters most to them. -->

## Active Context
<!-- What goes on at the moment: work, open decisions, what is waited for. -->

## Persona
<!-- How to behave with this user. -->

## Critical Facts
<!-- What must never be forgotten, even if it has not come up for long. -->
"""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"(#{1,2})[ \t]+(.*?)[ \t]*#*[ \t]*\r?\n?")
_SIGN = re.compile(r"[ \t]*(?:(?P<bullet>[-*+]|\d{1,9}[.)])[ \t]+)?")
_BREAKING = re.compile(r"#|`{3}|~{3}|<!--|[-=]+$")
"""What would be more than words at the beginning of a line."""
_MARK = re.compile(rf"[ \t]*\[({ANY_ID.pattern})\]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What a bullet or a line of its own says; it stands in the lines from `first` to before `end`."""

    text: str
    first: int
    end: int

    @property
    def says(self) -> str:
        """Its words without the id behind them."""
        return _MARK.sub("", self.text)

    @property
    def id(self) -> str | None:
        """The memory that it was pinned from."""
        mark = _MARK.search(self.text)
        return mark[1] if mark else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block: its heading, its items, and how many tokens it has by estimate."""

    name: str
    items: tuple[Item, ...]
    tokens: int
    first: int
    end: int
    """The lines from its heading to before the next one."""


class CorePage:
    """MEMORY.md as it is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[str] = _LINE.findall(text)
        self._is_hidden = list(_hidden(text, self._lines))
        self.blocks = tuple(self._read_blocks())

    @property
    def tokens(self) -> int:
        """What the page says has so many tokens by estimate; comments are not counted, since no agent is shown them."""
        return estimate_tokens(body_text(self.text).strip())

    def _read_blocks(self) -> Iterator[Block]:
        heads = [(at, match) for at, line in enumerate(self._lines) if (match := self._heading(at, line))]
        ends = [at for at, _ in heads[1:]] + [len(self._lines)]
        for (first, match), end in zip(heads, ends, strict=False):
            if match[1] == "##":
                tokens = estimate_tokens(body_text("".join(self._lines[first:end])).strip())
                items = tuple(self._read_items(first + 1, end))
                yield Block(name=match[2], items=items, tokens=tokens, first=first, end=end)

    def _heading(self, at: int, line: str) -> re.Match[str] | None:
        return None if self._is_hidden[at] else _HEADING.fullmatch(line)

    def _read_items(self, first: int, end: int) -> Iterator[Item]:
        """Each bullet, also one below another, and each other line, with the lines that go on further in."""
        start: int | None = None
        for at in range(first, end + 1):
            line = self._lines[at] if at < end and not self._is_hidden[at] else ""
            goes_on = line.strip() and line[0] in " \t" and not _sign(line)["bullet"]
            if start is not None and not goes_on:
                words = "".join(self._lines[start:at])
                yield Item(text=" ".join(words[_sign(words).end() :].split()), first=start, end=at)
                start = None
            if start is None and line.strip():
                start = at

    def named(self, name: str) -> str:
        """The name of the block that is meant; one of the four, or one that a person made."""
        known = {_key(each): each for each in (*BLOCKS, *(block.name for block in self.blocks))}
        if (found := known.get(_key(name))) is None:
            raise InputError(f"core memory has no block {name[:40]!r}", hint=nearest(name, list(known.values())))
        return found

    def items(self, name: str) -> list[Item]:
        """All that stands in the blocks of this name."""
        return [item for block in self.blocks if _key(block.name) == _key(name) for item in block.items]

    def meant(self, name: str, what: str) -> Item:
        """The one item that a text, a part of it, or the id behind it means."""
        name, key = self.named(name), _key(what)
        items = self.items(name)
        ways = (
            [item for item in items if key in (_key(item.text), _key(item.says))],
            [item for item in items if item.id and key == _key(item.id)],
            [item for item in items if key in _key(item.says)],
        )
        found = next(filter(None, ways), [])
        if not found or not key:
            raise NotFoundError(f"{name} has no line {what[:60]!r}", hint="`memfolio core` shows what is there")
        if len(found) > 1 and len({_key(item.text) for item in found}) > 1:
            raise ConflictError(f"{len(found)} lines of {name} have {what[:60]!r}", hint="say more of the one you mean")
        return found[0]

    def has(self, name: str, text: str) -> bool:
        return any(_key(_MARK.sub("", text)) == _key(item.says) for item in self.items(name))

    def adding(self, name: str, text: str) -> str:
        """The page with a further line at the end of a block, which is made where it is missing."""
        name, line = self.named(name), line_of(text)
        block = next((each for each in self.blocks if _key(each.name) == _key(name)), None)
        if block is None:
            gap = "" if not self.text else "\n" if self.text.endswith("\n") else "\n\n"
            return f"{self.text}{self._ended(f'{gap}## {name}', f'- {line}')}"
        last = max(at for at in range(block.first, block.end) if self._lines[at].strip())
        return self._with(last + 1, last + 1, [f"- {line}"])

    def replacing(self, item: Item, text: str) -> str:
        """The page with other words in the place of an item, behind the same sign."""
        sign, line = _sign(self._lines[item.first]), line_of(text)
        escape = "\\" if not sign["bullet"] and _BREAKING.match(line) else ""
        mark = f" [{item.id}]" if item.id and not _MARK.search(text) else ""
        return self._with(item.first, item.end, [f"{sign[0]}{escape}{line}{mark}"])

    def removing(self, item: Item) -> str:
        """The page without an item."""
        return self._with(item.first, item.end, [])

    def rewriting(self, name: str, lines: Sequence[str]) -> str:
        """The page with these lines in the place of all items of a block; comments in it stay."""
        page = self
        while items := page.items(name):
            page = CorePage(page.removing(items[-1]))
        for line in dict.fromkeys(map(line_of, lines)):
            page = CorePage(page.adding(name, line))
        return page.text

    def _with(self, first: int, end: int, lines: Sequence[str]) -> str:
        before = "".join(self._lines[:first])
        gap = self._ended("") if lines and before and not before.endswith("\n") else ""
        return f"{before}{gap}{self._ended(*lines)}{''.join(self._lines[end:])}"

    def _ended(self, *lines: str) -> str:
        """Lines with the ends that the page's own have."""
        text = "".join(f"{line}\n" for line in lines)
        return text.replace("\n", "\r\n") if "\r\n" in self.text else text


def line_of(text: str) -> str:
    """`text` as one line of core memory."""
    line = " ".join(text.split())
    if not line or "\0" in line:
        raise ContentError("there is nothing to put into core memory", hint="say what is to be kept, as text")
    encoded(line)
    return line


def _sign(line: str) -> re.Match[str]:
    """What stands before the words of a line: blanks, and a bullet or a number where it has one."""
    match = _SIGN.match(line)
    assert match is not None  # it may be empty
    return match


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _hidden(text: str, lines: Sequence[str]) -> Iterator[bool]:
    """For each line whether it is code or a comment, in which nothing is a heading or an item."""
    fences, at, hidden_to = closed_fences(text), 0, 0
    for line in lines:
        fence = next((end for start, end in fences if start <= at < end), 0)
        is_comment = not fence and at >= hidden_to and line.lstrip().startswith("<!--")
        hidden_to = max(hidden_to, fence, text.find("-->", at) + 3 if is_comment else 0)
        yield at < hidden_to
        at += len(line)
