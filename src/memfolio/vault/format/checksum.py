"""The checksum that ends an entry's id: by it an entry that was torn or edited is told from one as it was written."""

from __future__ import annotations

from hashlib import blake2b

from memfolio.vault.format.heading import find_mark

BLANK = "00000000"
"""What stands in the place of the checksum while it is made."""


def checksum(salt: bytes, block: bytes) -> str:
    """The 8 hex digits that end an id, over the block with `BLANK` in their place."""
    return blake2b(salt + block).hexdigest()[:8]


def salt_of(agent: str, ms: int) -> bytes:
    """What an entry's checksum begins with, so that no block is another agent's or of another time."""
    return f"{agent}\0{ms}\0".encode()


def is_whole(block: str, agent: str) -> bool:
    """Whether `block` is, byte for byte, what was written; a torn or edited one is not.

    Blank lines after it, CRLF line ends and a missing last line end make no difference: git and editors change those,
    and nothing of the memory is lost with them.
    """
    text = block.replace("\r\n", "\n").rstrip("\n") + "\n"
    mark = find_mark(text[: text.index("\n")])
    if mark is None:
        return False
    at = mark.checksum_at
    blank = f"{text[:at]}{BLANK}{text[at + 8 :]}".encode("utf-8", "surrogatepass")
    return checksum(salt_of(agent, mark.ms), blank) == text[at : at + 8]


def whole_length(block: str, agent: str) -> int:
    """How much of `block` is, byte for byte, an entry as it was written; 0 when it does not begin with one."""
    lines = block.split("\n")[:-1]
    mark = find_mark(lines[0]) if lines else None
    if mark is None:
        return 0
    at, length = mark.checksum_at, 0
    digest = blake2b(salt_of(agent, mark.ms))
    for line in lines:
        blank = line if length else f"{line[:at]}{BLANK}{line[at + 8 :]}"
        digest.update(f"{blank}\n".encode("utf-8", "surrogatepass"))
        length += len(line) + 1
        if digest.copy().hexdigest()[:8] == lines[0][at : at + 8]:
            return length
    return 0


def own_length(block: str, agent: str) -> int:
    """How much of `block`, which begins with an entry, belongs to that: what follows an untouched one does not.

    Of an entry that was edited nobody can tell where it ends, so it has all of the block.
    """
    body = block.rstrip("\n")
    if "\n" not in body[body.find("\n\n") + 2 :] or _is_untouched(body, agent):
        return len(block)
    length = whole_length(block, agent)
    return length if length and length < len(body) else len(block)


def _is_untouched(body: str, agent: str) -> bool:
    """`is_whole` in half the time for a heading that ends as we end it, which is asked of each entry that is read."""
    at = body.index("\n") - 8
    ms = body[body.rfind("-", 0, at - 1) + 1 : at - 1]
    text = f"{agent}\0{ms}\0{body[:at]}{BLANK}{body[at + 8 :]}\n"
    return blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()[:8] == body[at : at + 8]
