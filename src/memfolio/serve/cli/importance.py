"""Importance as people type it."""

from __future__ import annotations

from memfolio.errors import InputError


def read_importance(text: str) -> float:
    """A share, a grade or a word as a number from 0 to 1."""
    from memfolio.vault.format.fields import read_importance

    value = read_importance(text)
    if value is None:
        raise InputError(f"{text[:40]!r} is not an importance", hint="use 0 to 1, or up to 10, or low, medium, high")
    return value
