"""Core memory: what an agent always has before its eyes, in MEMORY.md, within a limit of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memfolio.errors import ConflictError, InputError, NotFoundError, RefusedError
from memfolio.index.lookup import Located
from memfolio.state import Op
from memfolio.stores.composing import make
from memfolio.stores.corepage import BLOCKS, CRITICAL, TEMPLATE, Block, CorePage
from memfolio.types import EMPTY, Action, Attribution
from memfolio.vault.change import AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.paths import agent_of, agent_root, state_ledger
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

PAGE = "MEMORY.md"
SUGGESTED = 3
"""How many lines are named that could go."""
BY = Attribution(actor="bot:core", trigger="core")
_LIKE_ID = re.compile(r"[A-Za-z]-[0-9a-f-]{4,}")
"""What nobody would write but for an id."""

Find = Callable[[str], Located | None]
Compose = Callable[[CorePage], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreMemory:
    """What core memory says, how many tokens that are, and how many it may have."""

    path: str
    text: str
    blocks: tuple[Block, ...]
    tokens: int
    cap: int
    shares: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many tokens are meant for each of the four blocks, by its name in small letters."""

    def share(self, block: Block) -> int:
        """How many tokens are meant for a block; 0 where nothing is said about it."""
        return self.shares.get(block.name.casefold(), 0)

    @property
    def over_cap(self) -> int:
        """How many tokens it has too many, as after an edit by hand."""
        return max(0, self.tokens - self.cap)

    @property
    def notice(self) -> str | None:
        """What a person should know about it."""
        if self.over_cap:
            return f"{self.path} has {self.tokens:,} tokens, {self.over_cap:,} more than core.tokens; shorten it"
        crowded = [each.name for each in self.blocks if 0 < self.share(each) < each.tokens]
        return f"{', '.join(crowded)} of {self.path} is longer than meant; shorten it" if crowded else None


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """What it says; a page that a person arranged in another way is read as it is."""
        page = self._vault.page(self._path)
        return self.memory_of(to_text(page.content) if page else "")

    def memory_of(self, text: str) -> CoreMemory:
        """What core memory is where its page has this text."""
        return self._memory(CorePage(text))

    def _memory(self, page: CorePage) -> CoreMemory:
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
        """Put a line into a block; what it says already is not added again."""

        def compose(page: CorePage) -> str:
            return page.text if page.has(page.named(block), text) else page.adding(block, text)

        return self._edit(compose, block, by, dry_run=dry_run)

    def replace(self, block: str, old: str, new: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Put other words in the place of a line, which is named by its words or a part of them."""
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

        def compose(page: CorePage) -> str:
            is_there = any(item.id == located.item.id for item in page.items(CRITICAL))
            return page.text if is_there else page.adding(CRITICAL, line)

        return self._edit(compose, CRITICAL, by, self._pinning(located, pinned=True), dry_run=dry_run)

    def unpin(self, what: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """Take a critical fact out, named by its words, a part of them or its id; its memory may fade again."""
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
        return (AddLines(state_ledger(agent), ({"op": Op.PIN.value, "memory": located.item.id, "pinned": pinned},)),)

    def _edit(
        self,
        compose: Compose,
        block: str,
        by: Attribution,
        further: Sequence[Operation] = (),
        *,
        dry_run: bool,
    ) -> CoreEdit:
        """Compose against the page as it is; what is `further` to be written belongs to the same change."""

        def composed() -> tuple[CorePage, Change | None]:
            page, put = self.composed(compose, block)
            operations = (*((put,) if put else ()), *further)
            change = Change(operations=operations, by=by, action=Action.EDIT) if operations else None
            return CorePage(to_text(put.content or b"")) if put else page, change

        page, diff, receipt = make(self._vault, composed, dry_run=dry_run)
        return CoreEdit(memory=self._memory(page), diff=diff, receipt=receipt)

    def composed(self, compose: Compose, block: str) -> tuple[CorePage, PutPage | None]:
        """The page, and what an edit would put in its place: None where that is the same; RefusedError past the cap."""
        found = self._vault.page(self._path)
        page = CorePage(to_text(found.content) if found else TEMPLATE)
        text = compose(page)
        if text == page.text:
            return page, None
        self._check_size(page, CorePage(text), page.named(block))
        return page, PutPage(self._path, to_bytes(text), found.hash if found else None)

    def _check_size(self, before: CorePage, after: CorePage, block: str) -> None:
        """Refuse what does not fit; what makes a page shorter always does."""
        memory = self._memory(after)
        if not memory.over_cap or after.tokens < before.tokens:
            return
        longest = sorted(before.items(block), key=lambda item: -len(item.text))[:SUGGESTED]
        named = "; ".join(repr(item.says[:60]) for item in longest) or "lines of the other blocks"
        deed = "unpin" if block == CRITICAL else "remove or shorten"
        raise RefusedError(
            f"core memory would have {memory.tokens:,} tokens, {memory.over_cap:,} more than its {memory.cap:,}",
            hint=f"{deed} something first, such as {named}; or raise core.tokens",
        )
