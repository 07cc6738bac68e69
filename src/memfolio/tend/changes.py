"""How maintenance makes its changes, or only previews them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memfolio.errors import ModelError
from memfolio.types import Attribution
from memfolio.vault.change import Change, Receipt, UndoResult
from memfolio.vault.vault import Vault

T = TypeVar("T")


def tender(trigger: str) -> Attribution:
    """Who tends, for the trail."""
    return Attribution(actor="system:tend", trigger=trigger)


@dataclass(slots=True, kw_only=True)
class JobChanges:
    """Makes the changes of a job one after the other, each of which can be undone; with `dry_run` none is made."""

    vault: Vault
    agent: str
    now: datetime
    dry_run: bool = False
    diff: str = ""
    """The diff of the changes, made or previewed."""
    receipts: list[Receipt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Notes for a person."""

    def make(self, change: Change) -> Receipt | None:
        """Make a change; None if it is only previewed, or was made before."""
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
        """Ask a model; None if it fails, which is noted once as done `without` it."""
        try:
            return question()
        except ModelError as error:
            if (note := f"{without}: {error.message}") not in self.notes:
                self.notes.append(note)
            return None

    def note(self, outcome: UndoResult) -> None:
        """Count a change that was made, or previewed, by another part on behalf of this job."""
        self.diff += outcome.diff
        if outcome.receipt is not None:
            self.receipts.append(outcome.receipt)
