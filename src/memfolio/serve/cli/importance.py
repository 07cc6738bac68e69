"""Importance as people type it."""

from __future__ import annotations

from memfolio.errors import InputError

SCALE = "0 to 1, where 1 is the most; or 2 to 10, of ten; or low, medium, high"


def read_importance(text: str) -> float:
    """A share, a grade or a word as a number from 0 to 1; what lies above 1 is a whole number of tenths."""
    from memfolio.vault.fields import read_importance, read_number

    value, number = read_importance(text), read_number(text)
    if value is None or (number is not None and number > 1 and not number.is_integer()):
        raise InputError(f"{text[:40]!r} is not an importance", hint=f"use {SCALE}")
    return value
