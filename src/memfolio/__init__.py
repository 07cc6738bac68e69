"""Long-term memory for AI agents that a person can open, read, edit, diff and undo.

Names load on first use (PEP 562), so `import memfolio` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than all of this

if TYPE_CHECKING:
    from memfolio.aio import AsyncMemory
    from memfolio.errors import (
        AgentIdError,
        ComparisonError,
        ConfigError,
        ConflictError,
        ContentError,
        DiskError,
        DiskFullError,
        EditConflictError,
        EmbedderError,
        FileNotHereError,
        HistoryError,
        HomeBusyError,
        HomeError,
        HomeFormatError,
        HomeMissingError,
        HomeReadOnlyError,
        IndexBusyError,
        IndexDamagedError,
        IndexUnavailableError,
        InferenceLimitError,
        InputError,
        MemfolioError,
        MirrorError,
        ModelError,
        NaiveTimeError,
        NotFoundError,
        NotOwnerError,
        OntologyError,
        PageChangedError,
        PathError,
        PolicyError,
        ProposedError,
        RefusedError,
        RuleError,
        SearchIndexError,
        StoreRewoundError,
        StoreUnavailableError,
        UndoConflictError,
    )
    from memfolio.index.facts import Fact
    from memfolio.knowledge.rule import Rule
    from memfolio.memory import Memory
    from memfolio.recall.explain import Explanation
    from memfolio.recall.fence import strip_fences
    from memfolio.recall.hit import Hit, Hits, Reason
    from memfolio.status import Status
    from memfolio.stores.edit import EditResult
    from memfolio.types import Action, Approval, Attribution, Kind, MemoryItem, Origin, Store, Type

__version__ = "0.1.0"

__all__ = [
    "Action",
    "AgentIdError",
    "Approval",
    "AsyncMemory",
    "Attribution",
    "ComparisonError",
    "ConfigError",
    "ConflictError",
    "ContentError",
    "DiskError",
    "DiskFullError",
    "EditConflictError",
    "EditResult",
    "EmbedderError",
    "Explanation",
    "Fact",
    "FileNotHereError",
    "HistoryError",
    "Hit",
    "Hits",
    "HomeBusyError",
    "HomeError",
    "HomeFormatError",
    "HomeMissingError",
    "HomeReadOnlyError",
    "IndexBusyError",
    "IndexDamagedError",
    "IndexUnavailableError",
    "InferenceLimitError",
    "InputError",
    "Kind",
    "MemfolioError",
    "Memory",
    "MemoryItem",
    "MirrorError",
    "ModelError",
    "NaiveTimeError",
    "NotFoundError",
    "NotOwnerError",
    "OntologyError",
    "Origin",
    "PageChangedError",
    "PathError",
    "PolicyError",
    "ProposedError",
    "Reason",
    "RefusedError",
    "Rule",
    "RuleError",
    "SearchIndexError",
    "Status",
    "Store",
    "StoreRewoundError",
    "StoreUnavailableError",
    "Type",
    "UndoConflictError",
    "__version__",
    "strip_fences",
]

_TYPES = frozenset({"Action", "Approval", "Attribution", "Kind", "MemoryItem", "Origin", "Store", "Type"})


_ELSEWHERE = {
    "AsyncMemory": "memfolio.aio",
    "Fact": "memfolio.index.facts",
    "Rule": "memfolio.knowledge.rule",
    "Explanation": "memfolio.recall.explain",
    "Hit": "memfolio.recall.hit",
    "Hits": "memfolio.recall.hit",
    "Memory": "memfolio.memory",
    "EditResult": "memfolio.stores.edit",
    "Reason": "memfolio.recall.hit",
    "Status": "memfolio.status",
    "strip_fences": "memfolio.recall.fence",
}


def _home_of(name: str) -> str:
    """The module that defines a public name."""
    return _ELSEWHERE.get(name) or ("memfolio.types" if name in _TYPES else "memfolio.errors")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'memfolio' has no attribute {name!r}")
    value = getattr(import_module(_home_of(name)), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
