"""A place for tests that make many homes, and a count of their trials, as for the tests of the vault."""

from __future__ import annotations

from tests.vault.conftest import quick_path, tally

__all__ = ["quick_path", "tally"]
