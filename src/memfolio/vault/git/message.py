"""What a commit says: its subject and trailers, and the numbers of the changes in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import InputError, NaiveTimeError
from memfolio.vault.git import gitdir

if TYPE_CHECKING:
    import pygit2

COMMITTER = ("memfolio", "memfolio@memfolio.invalid")
MAX_SEQ_SPAN = 100_000
_SEQ = re.compile(rb"^Seq: ?([\d, -]+)$", re.MULTILINE)
_CHAIN = re.compile(rb"^Chain: ?([0-9a-f]{32})$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitDraft:
    """A commit to be: `writes` maps paths to their whole new content, None deletes; `author` is an actor tag."""

    writes: Mapping[str, bytes | None]
    subject: str
    author: str
    at: datetime
    trailers: Sequence[tuple[str, str]] = ()


class Anchor(NamedTuple):
    """A commit's word on the trail: the changes in it, and the hash of the last one's line. Anybody can give it."""

    seqs: list[int]
    chain: str
    commit: str

    @property
    def seq(self) -> int:
        return max(self.seqs)


def format_seqs(numbers: Iterable[int]) -> str:
    """`41-43,47`: the value of a `Seq:` trailer."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def parse_seqs(value: str) -> list[int]:
    """The numbers in a `Seq:` trailer; parts that make no sense are left out, since people write commits too."""
    numbers: list[int] = []
    for part in value.split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if low.isdecimal() and high.isdecimal() and len(low + high) < 40:
            first, last = int(low), int(high)
            if last - first < MAX_SEQ_SPAN:
                numbers.extend(range(first, last + 1))
    return numbers


def anchor_of(commit: pygit2.Commit) -> Anchor | None:
    """What the commit vouches for, if it has both trailers, `Seq:` and `Chain:`."""
    trailers = commit.raw_message.rstrip().rpartition(b"\n\n")[2]
    seqs = [number for value in _SEQ.findall(trailers) for number in parse_seqs(value.decode("ascii"))]
    chain = _CHAIN.search(trailers)
    return Anchor(seqs, chain[1].decode("ascii"), str(commit.id)) if seqs and chain else None


def message_of(draft: CommitDraft) -> str:
    lines = [draft.subject, *(value for _, value in draft.trailers)]
    is_named = all(key.isascii() and key.replace("-", "").isalnum() for key, _ in draft.trailers)
    if not is_named or not draft.subject.strip() or any(len(f"{line}.".splitlines()) > 1 for line in lines):
        raise InputError("a commit's subject and trailers have one line each", hint="content has no place in them")
    block = "".join(f"\n{key}: {value}" for key, value in draft.trailers)
    return f"{draft.subject}\n{block}\n".encode("utf-8", "replace").decode().rstrip("\n") + "\n"


def author_of(actor: str) -> tuple[str, str]:
    """Name and address of an actor, without what git forbids in them."""
    name = re.sub(r"[<>\x00-\x1f\ud800-\udfff]", "_", actor).strip(" .,:;\"'\\") or COMMITTER[0]
    role = re.sub(r"[^A-Za-z0-9_-]", "", actor.partition(":")[0]) or COMMITTER[0]
    return name, f"{role}@memfolio.invalid"


def reflog_line(old: str | None, new: str, draft: CommitDraft) -> bytes:
    name, address = COMMITTER
    # Without the subject, which the commit has: there are two such lines for every commit.
    return f"{old or gitdir.NO_COMMIT} {new} {name} <{address}> {seconds_of(draft.at)} +0000\tcommit\n".encode()


def seconds_of(moment: datetime) -> int:
    if moment.utcoffset() is None:
        raise NaiveTimeError(f"{moment} has no time zone", hint="use an aware datetime")
    return max(int(moment.timestamp() // 1), 0)
