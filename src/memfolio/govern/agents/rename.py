"""Renaming an agent: its whole folder under another name, with every id that depends on whose it is.

Text without a mark has an id made of the agent and the words, and so have passages of pages. An entry with a mark keeps
its id, except where hand-written text stands right below it: only its checksum tells where the entry ends, and that
depends on the agent, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import zip_longest

from memfolio.errors import DiskError, RefusedError
from memfolio.index.reading import Found, is_log, is_state, read_file
from memfolio.vault.format.checksum import BLANK, checksum, salt_of
from memfolio.vault.format.content import text_id
from memfolio.vault.format.heading import find_mark
from memfolio.vault.format.log import Block, split_log
from memfolio.vault.format.packed import pack, text_of
from memfolio.vault.past.undo import difference
from memfolio.vault.paths import agent_root, is_packed_log
from memfolio.vault.recent import to_bytes, to_text

_ID = re.compile(r"\b[A-Z]-(?:[0-9]{1,15}-[0-9a-f]{8}|[0-9a-f]{16})\b")
_COMMENT = re.compile(r"(?m)^<!-- \{.*\} -->$")
"""The line of an entry that names the memories it was made of."""

Files = Mapping[str, bytes]


@dataclass(slots=True, kw_only=True)
class Renaming:
    """The files of an agent as they are, and as they are under its other name."""

    old: str
    new: str
    zone: tzinfo
    now: datetime
    files: Files
    ids: dict[str, str] = field(default_factory=dict)
    """What each id becomes."""
    renamed: dict[str, bytes] = field(default_factory=dict)

    def compose(self) -> None:
        """Logs first, since they say which ids change; then pages, which name them; then lines, which name all."""
        logs = {path: self._marked(path) for path in sorted(self.files) if is_log(path)}
        for path, marked in logs.items():
            if marked is None:
                self.renamed[self.path_of(path)] = self.files[path]
            else:
                self._put(path, _COMMENT.sub(lambda line: self._mapped(line[0]), marked))
        rest = [path for path in sorted(self.files) if path not in logs]
        for path in sorted(rest, key=lambda path: (path.endswith(".jsonl"), is_state(path))):
            text = self._mapped(to_text(self.files[path]))
            here, there = f"{agent_root(self.old)}/", f"{agent_root(self.new)}/"
            self._put(path, text.replace(here, there) if is_state(path) else text)

    def path_of(self, path: str) -> str:
        """What a file is called afterwards."""
        return agent_root(self.new) + path.removeprefix(agent_root(self.old))

    def diff(self) -> str:
        """What happens to each file, and to its content where that changes."""
        names = [f"rename {path} => {self.path_of(path)}\n" for path in self.files]
        edits = ((path, self.path_of(path), self.renamed[self.path_of(path)]) for path in self.files)
        return "".join(names) + "".join(difference(new, self.files[path], after) for path, new, after in edits)

    def _mapped(self, text: str) -> str:
        return _ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def _marked(self, path: str) -> str | None:
        """A log in which every entry still ends where it did; what its memories will be called is noted.

        None for a compressed one that is damaged.
        """
        try:
            blocks = split_log(to_text(text_of(path, self.files[path])), self.old)
        except DiskError:
            return None
        for found in self._found(path, self.files[path]):
            self.ids[text_id(self.old, found.item.content)] = text_id(self.new, found.item.content)
        return "".join(
            self._minted(block) if block.id and after and after.kind == "text" else block.text
            for block, after in zip_longest(blocks, blocks[1:])
        )

    def _minted(self, block: Block) -> str:
        """An entry with the checksum that it would have had as one of the agent's by its other name."""
        text = self._mapped(block.text)
        mark = find_mark(text.partition("\n")[0])
        assert mark is not None  # the block has an id
        at = mark.checksum_at
        blank = f"{text[:at]}{BLANK}{text[at + 8 :]}".encode("utf-8", "surrogatepass")
        digits = checksum(salt_of(self.new, mark.ms), blank)
        self.ids[mark.id] = f"{mark.id[:-8]}{digits}"
        return f"{text[:at]}{digits}{text[at + 8 :]}"

    def _put(self, path: str, text: str) -> None:
        before, there, after = self.files[path], self.path_of(path), to_bytes(text)
        if is_packed_log(path):
            after = before if after == text_of(path, before) else pack(path, after)
        self.renamed[there] = after
        here, then = self._found(path, before), self._found(there, after)
        if len(here) != len(then) or (is_log(path) and _words(here) != _words(then)):
            raise RefusedError(f"{path} would be read otherwise under another name", hint="move its text by hand")
        self.ids |= {a.item.id: b.item.id for a, b in zip(here, then, strict=True) if a.item.id != b.item.id}

    def _found(self, path: str, data: bytes) -> tuple[Found, ...]:
        return read_file(path, data, zone=self.zone, modified=self.now).found


def _words(found: tuple[Found, ...]) -> list[str]:
    return [each.item.content for each in found]
