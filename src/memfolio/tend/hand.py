"""How maintenance makes its changes, or only shows what they would do; and which part of a page is ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import TypeVar

from memfolio.errors import ModelError
from memfolio.types import Approval, Attribution
from memfolio.vault.change import Change, Receipt
from memfolio.vault.past.past import UndoResult
from memfolio.vault.vault import Vault

T = TypeVar("T")

# What of a page is ours, between two marks, and what a person wrote around it. Pure.
#
# The first mark has the hash of what we wrote there, so that an edit is seen.

BEGIN, END = "<!-- memfolio:begin", "<!-- memfolio:end -->"
_OURS = re.compile(rf"^{BEGIN} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{END}", re.MULTILINE | re.DOTALL)


def marked(body: str) -> str:
    """A text of ours between its marks."""
    return f"{BEGIN} {_hash(body)} -->\n{body}{END}"


def is_ours(text: str) -> bool:
    """Whether nobody changed what we wrote."""
    match = _OURS.search(text)
    return match is not None and _hash(match[2]) == match[1]


def within(text: str) -> str:
    """What we wrote."""
    match = _OURS.search(text)
    return match[2] if match else ""


def renewed(text: str, body: str) -> str:
    """The page with another text in the place of ours; what a person wrote around it stays."""
    return _OURS.sub(lambda _: marked(body), text, count=1)


def _hash(body: str) -> str:
    """Whatever an editor did to the ends of lines."""
    lines = "\n".join(line.rstrip() for line in body.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()


# The hand that tends: makes changes, or only shows what they would do.


def tender(trigger: str) -> Attribution:
    """Who tends, for the trail."""
    return Attribution(actor="system:tend", approval=Approval.AUTO, trigger=trigger)


@dataclass(slots=True, kw_only=True)
class Hand:
    """Makes the changes of a job one after the other, each of which can be undone; with `dry_run` none is made."""

    vault: Vault
    agent: str
    now: datetime
    dry_run: bool = False
    diff: str = ""
    """What the changes did, or would do."""
    receipts: list[Receipt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a person should know beside that."""

    def make(self, change: Change) -> Receipt | None:
        """Make a change; None where it is only shown or had been made before."""
        if self.dry_run:
            self._show(change)
            return None
        receipt = self.vault.apply(change)
        if receipt.repeated:
            return None
        self.receipts.append(receipt)
        return receipt

    def _show(self, change: Change) -> None:
        trouble = self.vault.trouble
        if trouble is None or self.vault.may_pass:
            self.diff += self.vault.preview(change)
        elif (note := f"the difference cannot be shown: {trouble.message}") not in self.notes:
            self.notes.append(note)

    def ask(self, question: Callable[[], T], without: str) -> T | None:
        """What a model answers; None where it fails, which is noted once as what was done `without` it."""
        try:
            return question()
        except ModelError as error:
            if (note := f"{without}: {error.message}") not in self.notes:
                self.notes.append(note)
            return None

    def note(self, outcome: UndoResult) -> None:
        """Take account of a change that was made, or only shown, by somebody else on this hand's behalf."""
        self.diff += outcome.diff
        if outcome.receipt is not None:
            self.receipts.append(outcome.receipt)
