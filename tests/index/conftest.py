"""A place for tests that make many homes, and a count of their trials, as for the tests of the vault."""

from __future__ import annotations

from tests.vault.conftest import tally

__all__ = ["tally"]
