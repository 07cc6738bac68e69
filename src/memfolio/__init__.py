"""Long-term memory for AI agents that a person can open, read, edit, diff and undo.

Names load on first use (PEP 562), so `import memfolio` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memfolio.errors import (
        AgentIdError,
        ConfigError,
        ConflictError,
        ContentError,
        DiskError,
        FileNotHereError,
        HistoryError,
        HomeBusyError,
        HomeError,
        HomeFormatError,
        HomeMissingError,
        HomeReadOnlyError,
        InputError,
        MemfolioError,
        NaiveTimeError,
        NotFoundError,
        NotOwnerError,
        PageChangedError,
        PathError,
        RefusedError,
        UndoConflictError,
    )
    from memfolio.memory import Memory
    from memfolio.types import Action, Approval, Attribution, Kind, MemoryItem, Origin, Store, Type

__version__ = "0.1.0"

__all__ = [
    "Action",
    "AgentIdError",
    "Approval",
    "Attribution",
    "ConfigError",
    "ConflictError",
    "ContentError",
    "DiskError",
    "FileNotHereError",
    "HistoryError",
    "HomeBusyError",
    "HomeError",
    "HomeFormatError",
    "HomeMissingError",
    "HomeReadOnlyError",
    "InputError",
    "Kind",
    "MemfolioError",
    "Memory",
    "MemoryItem",
    "NaiveTimeError",
    "NotFoundError",
    "NotOwnerError",
    "Origin",
    "PageChangedError",
    "PathError",
    "RefusedError",
    "Store",
    "Type",
    "UndoConflictError",
    "__version__",
]

_TYPES = frozenset({"Action", "Approval", "Attribution", "Kind", "MemoryItem", "Origin", "Store", "Type"})


def _home_of(name: str) -> str:
    """The module that defines a public name."""
    if name == "Memory":
        return "memfolio.memory"
    return "memfolio.types" if name in _TYPES else "memfolio.errors"


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'memfolio' has no attribute {name!r}")
    value = getattr(import_module(_home_of(name)), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
