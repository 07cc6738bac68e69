"""Core memory: what an agent always sees, in MEMORY.md, within a limit of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from memfolio.arguments import ANY_ID, nearest
from memfolio.errors import ConflictError, ContentError, InputError, NotFoundError, RefusedError
from memfolio.index.lookup import Located
from memfolio.index.read_files import body_text
from memfolio.state import Op
from memfolio.stores.checkpoint import make
from memfolio.text import encoded, estimate_tokens, packaged_text
from memfolio.types import EMPTY, Action, Attribution, frozen
from memfolio.vault.change import AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import agent_of, agent_root, state_ledger
from memfolio.vault.sections import COMMENT, PageText, closed_fences
from memfolio.vault.vault import Vault

# The text of MEMORY.md: its blocks, the lines in them, and the text behind an edit. Pure.
#
# A block is what stands below a heading of the second level. Whatever an edit is not about stays as it is, byte for
# byte.

IDENTITY, ACTIVE, PERSONA, CRITICAL = BLOCKS = ("Identity", "Active Context", "Persona", "Critical Facts")
TEMPLATE = packaged_text("stores/data/MEMORY.md")
"""Core memory before anything is in it."""
_SIGN = re.compile(r"[ \t]*(?:(?P<bullet>[-*+]|\d{1,9}[.)])[ \t]+)?")
_BREAKING = re.compile(r"#|`{3}|~{3}|<!--|[-=]+$")
"""What would be more than text at the beginning of a line."""
_MARK = re.compile(rf"[ \t]*\[({ANY_ID.pattern})\]$")


@frozen
class CoreLine:
    """A bullet or a line of its own; it occupies the lines from `first` to before `end`."""

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


@frozen
class CoreBlock:
    """A block: its heading, its items, and how many tokens it has by estimate."""

    name: str
    items: tuple[CoreLine, ...]
    tokens: int
    first: int
    end: int
    """The lines from its heading to before the next one."""


class CorePage:
    """MEMORY.md as it is; edits give another page."""

    def __init__(self, text: str) -> None:
        self.text = text
        # In code and comments nothing is a heading or an item.
        fences = closed_fences(text)
        comments = [match.span() for match in COMMENT.finditer(text)]
        open_comments = [each for each in comments if not any(start <= each[0] < end for start, end in fences)]
        self._page = PageText(text, [*fences, *open_comments])
        self.blocks = tuple(self._read_blocks())

    @property
    def tokens(self) -> int:
        """What the page says has so many tokens by estimate."""
        return _tokens(self.text)

    def _read_blocks(self) -> Iterator[CoreBlock]:
        for head, end in self._page.sections():
            if head.level == 2:
                tokens = _tokens("\n".join(self._page.lines[head.line : end]))
                items = tuple(self._read_items(head.line + 1, end))
                name = head.title.rstrip("# \t")
                yield CoreBlock(name=name, items=items, tokens=tokens, first=head.line, end=end)

    def _read_items(self, first: int, end: int) -> Iterator[CoreLine]:
        """Each bullet, also one below another, and each other line, with the lines that go on further in."""
        start: int | None = None
        for at in range(first, end + 1):
            line = self._page.lines[at] if at < end and not self._page.is_hidden_line(at) else ""
            goes_on = line.strip() and line[0] in " \t" and not _sign(line)["bullet"]
            if start is not None and not goes_on:
                words = "\n".join(self._page.lines[start:at])
                yield CoreLine(text=" ".join(words[_sign(words).end() :].split()), first=start, end=at)
                start = None
            if start is None and line.strip():
                start = at

    def named(self, name: str) -> str:
        """The name of the block that is meant; one of the four, or one that a person made."""
        known = {_key(each): each for each in (*BLOCKS, *(block.name for block in self.blocks))}
        if (found := known.get(_key(name))) is None:
            raise InputError(f"core memory has no block {name[:40]!r}", hint=nearest(name, list(known.values())))
        return found

    def items(self, name: str) -> list[CoreLine]:
        """All that stands in the blocks of this name."""
        return [item for block in self.blocks if _key(block.name) == _key(name) for item in block.items]

    def meant(self, name: str, what: str) -> CoreLine:
        """The one item that a text, a part of it, or the id behind it means."""
        name, key = self.named(name), _key(what)
        items = self.items(name)
        # The whole text first, so that a short line can be named though longer ones contain it.
        found = (
            [item for item in items if key in (_key(item.text), _key(item.says))]
            or [item for item in items if item.id and key == _key(item.id)]
            or [item for item in items if key in _key(item.says)]
        )
        if not found or not key:
            raise NotFoundError(f"{name} has no line {what[:60]!r}", hint="`memfolio core` shows what is there")
        if len({_key(item.text) for item in found}) > 1:
            raise ConflictError(f"{len(found)} lines of {name} have {what[:60]!r}", hint="say more of the one you mean")
        return found[0]

    def has(self, name: str, text: str) -> bool:
        return any(_key(_MARK.sub("", text)) == _key(item.says) for item in self.items(name))

    def adding(self, name: str, text: str) -> CorePage:
        """Return the page with a line added to a block, which is created if missing."""
        name, line, lines = self.named(name), f"- {line_of(text)}", self._page.lines
        block = next((each for each in self.blocks if _key(each.name) == _key(name)), None)
        if block is None:
            # A block that a person deleted is made again at the end.
            gap = "" if not self.text else "\n" if self.text.endswith("\n") else "\n\n"
            ending = f"{gap}## {name}\n{line}\n".replace("\n", self._page.newline)
            return CorePage(self.text + ending)
        last = 1 + max(at for at in range(block.first, block.end) if lines[at].strip())
        return self._with(last, last, [line] if last < len(lines) else [line, ""])

    def replacing(self, item: CoreLine, text: str) -> CorePage:
        """The page with other words in the place of an item, behind the same sign."""
        sign, line = _sign(self._page.lines[item.first]), line_of(text)
        # Behind a bullet nothing is markup; at the beginning of a line some words would be.
        escape = "\\" if not sign["bullet"] and _BREAKING.match(line) else ""
        mark = f" [{item.id}]" if item.id and not _MARK.search(text) else ""
        return self._with(item.first, item.end, [f"{sign[0]}{escape}{line}{mark}"])

    def removing(self, item: CoreLine) -> CorePage:
        """The page without an item."""
        return self._with(item.first, item.end, [])

    def rewriting(self, name: str, lines: Sequence[str]) -> CorePage:
        """The page with these lines in the place of all items of a block; comments in it stay."""
        page = self
        while items := page.items(name):
            page = page.removing(items[-1])
        for line in dict.fromkeys(map(line_of, lines)):
            page = page.adding(name, line)
        return page

    def _with(self, first: int, end: int, lines: Sequence[str]) -> CorePage:
        return CorePage(self._page.edited_lines([(first, end, lines)]))


def line_of(text: str) -> str:
    """`text` as one line of core memory."""
    line = " ".join(text.split())
    if not line or "\0" in line:
        raise ContentError("there is nothing to put into core memory", hint="say what is to be kept, as text")
    encoded(line)
    return line


def _tokens(text: str) -> int:
    """Comments are not counted, since no agent is shown them."""
    return estimate_tokens(body_text(text).strip())


def _sign(line: str) -> re.Match[str]:
    """Return what precedes the words of a line: blanks, and a bullet or a number."""
    match = _SIGN.match(line)
    assert match is not None  # it may be empty
    return match


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


PAGE = "MEMORY.md"
SUGGESTED = 3
"""How many lines are named that could go."""
BY = Attribution(actor="bot:core", trigger="core")
_LIKE_ID = re.compile(r"[A-Za-z]-[0-9a-f-]{4,}")
"""Text that can only be an id."""

Find = Callable[[str], Located | None]
Compose = Callable[[CorePage], CorePage]


@frozen
class CoreMemory:
    """The contents of core memory, their size and its limit in tokens."""

    path: str
    text: str
    blocks: tuple[CoreBlock, ...]
    tokens: int
    cap: int
    shares: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """The recommended tokens for each of the four blocks, by lower-case name."""

    def share(self, block: CoreBlock) -> int:
        """Return the recommended tokens for a block; 0 if there is no recommendation."""
        return self.shares.get(block.name.casefold(), 0)

    @property
    def over_cap(self) -> int:
        """How many tokens it has too many, as after an edit by hand."""
        return max(0, self.tokens - self.cap)

    @property
    def notice(self) -> str | None:
        """Return a notice for the person, if any."""
        if self.over_cap:
            return f"{self.path} has {self.tokens:,} tokens, {self.over_cap:,} more than core.tokens; shorten it"
        crowded = [each.name for each in self.blocks if 0 < self.share(each) < each.tokens]
        return f"{', '.join(crowded)} of {self.path} is longer than meant; shorten it" if crowded else None


@frozen
class CoreEdit:
    """What an edit did, or would do: nothing where it says so already, and then there is no receipt."""

    memory: CoreMemory
    diff: str = ""
    receipt: Receipt | None = None


class Core:
    """The core memory of one agent. `find` looks up the memories that are pinned by their ids."""

    def __init__(self, vault: Vault, agent: str, *, find: Find | None = None) -> None:
        self._vault = vault
        self._find = find
        self._path = f"{agent_root(agent)}/{PAGE}"

    def read(self) -> CoreMemory:
        """Read core memory; a page in another arrangement is read as it is."""
        page = self._vault.page(self._path)
        return self.memory_of(to_text(page.content) if page else "")

    def memory_of(self, text: str) -> CoreMemory:
        """Return core memory with this text."""
        return self._memory_of(CorePage(text))

    def _memory_of(self, page: CorePage) -> CoreMemory:
        core = self._vault.config.core
        shares = (core.identity, core.active, core.persona, core.critical)
        return CoreMemory(
            path=self._path,
            text=page.text,
            blocks=page.blocks,
            tokens=page.tokens,
            cap=core.tokens,
            shares={name.casefold(): share for name, share in zip(BLOCKS, shares, strict=True)},
        )

    def add(self, block: str, text: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Add a line to a block, unless it is there already."""

        def compose(page: CorePage) -> CorePage:
            return page if page.has(page.named(block), text) else page.adding(block, text)

        return self._edit(compose, block, by, dry_run=dry_run)

    def replace(self, block: str, old: str, new: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Replace a line, which is named by its words or a part of them."""
        return self._edit(lambda page: page.replacing(page.meant(block, old), new), block, by, dry_run=dry_run)

    def remove(self, block: str, text: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Take a line out of a block."""
        return self._edit(lambda page: page.removing(page.meant(block, text)), block, by, dry_run=dry_run)

    def rewrite(self, block: str, lines: Iterable[str], *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Put these lines in the place of all that a block has."""
        given = [lines] if isinstance(lines, str) else list(lines)
        return self._edit(lambda page: page.rewriting(page.named(block), given), block, by, dry_run=dry_run)

    def pin(self, what: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Put a text, or a memory named by its id, among the critical facts; such a memory does not fade either."""
        if not _LIKE_ID.fullmatch(what.strip()):
            return self.add(CRITICAL, what, by=by, dry_run=dry_run)
        located = self._located(what.strip())
        line = f"{located.item.content} [{located.item.id}]"

        def compose(page: CorePage) -> CorePage:
            is_there = any(item.id == located.item.id for item in page.items(CRITICAL))
            return page if is_there else page.adding(CRITICAL, line)

        return self._edit(compose, CRITICAL, by, self._pinning(located, pinned=True), dry_run=dry_run)

    def unpin(self, what: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Take a critical fact out, named by its words, a part of them or its id; its memory may fade again."""
        # Found by what was asked for, then removed by its full text: the page may change in between.
        item = CorePage(self.read().text).meant(CRITICAL, what)
        located = self._find(item.id) if item.id and self._find else None
        further = self._pinning(located, pinned=False) if located else ()
        return self._edit(
            lambda page: page.removing(page.meant(CRITICAL, item.text)), CRITICAL, by, further, dry_run=dry_run
        )

    def _located(self, id: str) -> Located:
        located = self._find(id) if self._find else None
        if located is None:
            raise NotFoundError(f"there is no memory {id}", hint="`memfolio recall` shows the ids of memories")
        if located.form != "memory":
            raise InputError(f"{id} is a part of {located.path}", hint="pin its words instead")
        if located.item.forgotten_at or located.item.superseded_by:
            raise ConflictError(f"{id} was forgotten or corrected", hint="`memfolio show` tells what has its place")
        return located

    def _pinning(self, located: Located, *, pinned: bool) -> tuple[Operation, ...]:
        agent = agent_of(located.path)
        if agent is None or located.form != "memory" or located.item.pinned == pinned:
            return ()
        return (AddLines(state_ledger(agent), ({"op": Op.PIN, "memory": located.item.id, "pinned": pinned},)),)

    def _edit(
        self,
        compose: Compose,
        block: str,
        by: Attribution,
        further: Sequence[Operation] = (),
        *,
        dry_run: bool,
    ) -> CoreEdit:
        """Edit the current page; `further` operations belong to the same change."""

        def composed() -> tuple[CorePage, Change | None]:
            page, put = self.composed(compose, block)
            operations = (*((put,) if put else ()), *further)
            return page, Change(operations=operations, by=by, action=Action.EDIT) if operations else None

        page, diff, receipt = make(self._vault, composed, dry_run=dry_run)
        return CoreEdit(memory=self._memory_of(page), diff=diff, receipt=receipt)

    def composed(self, compose: Compose, block: str) -> tuple[CorePage, PutPage | None]:
        """The page behind an edit, and the operation: None where nothing changes; RefusedError past the cap."""
        found = self._vault.page(self._path)
        page = CorePage(to_text(found.content) if found else TEMPLATE)
        edited = compose(page)
        if edited.text == page.text:
            return page, None
        self._check_size(page, self._memory_of(edited), page.named(block))
        return edited, PutPage.over(found, self._path, to_bytes(edited.text))

    def _check_size(self, before: CorePage, memory: CoreMemory, block: str) -> None:
        """Refuse an edit that exceeds the limit; one that shortens the page is always allowed."""
        if not memory.over_cap or memory.tokens < before.tokens:
            return
        # Whoever is refused should know what to give up for it.
        longest = sorted(before.items(block), key=lambda item: -len(item.text))[:SUGGESTED]
        named = "; ".join(repr(item.says[:60]) for item in longest) or "lines of the other blocks"
        deed = "unpin" if block == CRITICAL else "remove or shorten"
        raise RefusedError(
            f"core memory would have {memory.tokens:,} tokens, {memory.over_cap:,} more than its {memory.cap:,}",
            hint=f"{deed} something first, such as {named}; or raise core.tokens",
        )
