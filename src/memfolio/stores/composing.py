"""Making a change of pages that others may change at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memfolio.errors import PageChangedError
from memfolio.vault.change import Change, Receipt
from memfolio.vault.vault import Vault

ATTEMPTS = 8
T = TypeVar("T")


def make(
    vault: Vault, compose: Callable[[], tuple[T, Change | None]], *, dry_run: bool
) -> tuple[T, str, Receipt | None]:
    """Compose against the pages as they are, and again where somebody was quicker.

    Returns what was composed with the change, its difference, and its receipt, which a dry run has none of.
    """
    for left in reversed(range(ATTEMPTS)):
        composed, change = compose()
        if change is None:
            return composed, "", None
        try:
            diff = vault.preview(change)
            return composed, diff, None if dry_run else vault.apply(change)
        except PageChangedError:
            if not left:
                raise
    raise AssertionError("a change is made, or refused")
