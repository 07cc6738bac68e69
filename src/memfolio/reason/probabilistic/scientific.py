"""scipy, which is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from memfolio.errors import InputError


def scientific(name: str) -> Any:
    """A module of scipy; InputError with the line that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        hint = "pip install 'memfolio[reason]'"
        raise InputError("this method needs scipy, which is not installed", hint=hint) from error
