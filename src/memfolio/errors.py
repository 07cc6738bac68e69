"""Every error memfolio raises on purpose, as one tree.

Each says what is wrong, where, and (in `hint`) what to do about it.

    MemfolioError
    ├── InputError                    the caller's values cannot be accepted
    │   ├── ContentError              empty, too long, or with NUL bytes
    │   ├── NaiveTimeError            a datetime without a time zone
    │   ├── AgentIdError              an agent id that is not [a-z0-9][a-z0-9-]{0,63}
    │   ├── PathError                 a path that leaves the home or cannot be stored
    │   ├── RuleError                 a rule that makes no sense, or could not be decided
    │   ├── ComparisonError           values of two types, such as money and text, cannot be compared
    │   └── OntologyError             a vocabulary that cannot be read, or a term that does not fit into it
    ├── ConfigError                   memfolio.toml, the environment or an argument is wrong
    ├── NotFoundError                 no such memory, page, change or commit
    ├── ConflictError                 somebody else changed it first
    │   ├── PageChangedError          carries the page's current content and hash
    │   ├── EditConflictError         carries what a memory says, what was seen of it, and what was to be said
    │   └── UndoConflictError         carries the overlapping difference
    ├── EmbedderError                 texts cannot be turned into vectors: not installed, not reachable, not usable
    ├── InferenceLimitError           more follows from the rules than may be concluded at once
    ├── MirrorError                   a graph server did not answer, or not with what was asked for
    ├── ModelError                    a language model did not answer, or not with what was asked for
    ├── RefusedError                  the rules of this home do not allow it
    │   ├── NotOwnerError             another machine writes this home
    │   ├── PolicyError               the policy does not let this actor do it; names the row that decided
    │   └── ProposedError             the policy wants it approved: it was proposed instead, and is named
    ├── SearchIndexError              the index does not answer; the memories themselves are safe
    │   ├── IndexBusyError            another process holds it for too long
    │   ├── IndexDamagedError         its file is damaged, or of another version
    │   └── IndexUnavailableError     its folder is full, locked away or read-only
    └── HomeError                     the home itself is in trouble
        ├── HomeBusyError             another process holds the write lock for too long
        ├── HomeMissingError          the folder vanished, was emptied, or is not a home
        ├── HomeReadOnlyError         the folder cannot be written
        ├── HomeFormatError           written by a newer memfolio
        ├── DiskError                 the operating system refused: broken, no handles
        │   └── DiskFullError         there is no room left, or the quota is used up; it passes when some is freed
        ├── FileNotHereError          a placeholder that its sync program has not fetched
        ├── StoreUnavailableError     the database does not answer; says whether the change may have been made
        ├── StoreRewoundError         the database lacks changes that were seen in it
        └── HistoryError              git is missing or broken where a command cannot do without it
"""

from __future__ import annotations


class MemfolioError(Exception):
    """The root. `code` is stable and machine-readable; `hint` is the next step for a person."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(MemfolioError, ValueError):
    code = "input"


class ContentError(InputError):
    code = "content"


class NaiveTimeError(InputError):
    code = "naive-time"


class AgentIdError(InputError):
    code = "agent-id"


class PathError(InputError):
    code = "path"


class RuleError(InputError):
    code = "rule"


class ComparisonError(InputError):
    code = "comparison"


class OntologyError(InputError):
    code = "ontology"


class InferenceLimitError(MemfolioError):
    """`limit` is how much may be done, such as `1,000,000 conclusions`."""

    code = "inference-limit"

    def __init__(self, message: str, *, hint: str = "", limit: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class MirrorError(MemfolioError):
    code = "mirror"


class ConfigError(MemfolioError):
    code = "config"


class NotFoundError(MemfolioError, LookupError):
    code = "not-found"


class ConflictError(MemfolioError):
    code = "conflict"


class PageChangedError(ConflictError):
    """The page is not what the change was composed against; nothing was written."""

    code = "page-changed"

    def __init__(self, path: str, *, current: bytes | None, current_hash: str | None) -> None:
        super().__init__(
            f"{path} was changed by somebody else",
            hint="read it again, apply your change to that, and write with the new hash",
        )
        self.path = path
        self.current = current
        self.current_hash = current_hash


class EditConflictError(ConflictError):
    """Somebody else changed the same words of a memory; nothing was written."""

    code = "edit-conflict"

    def __init__(self, id: str, *, current: str, base: str, wanted: str) -> None:
        super().__init__(
            f"{id} was changed by somebody else and says: {current[:200]}",
            hint="decide what is right, and correct that one",
        )
        self.id = id
        self.current = current
        self.base = base
        self.wanted = wanted


class UndoConflictError(ConflictError):
    """The change cannot be taken back because later edits overlap it; `diff` shows where."""

    code = "undo-conflict"

    def __init__(self, path: str, *, diff: str) -> None:
        super().__init__(
            f"later edits of {path} overlap the change to be undone",
            hint="edit the file by hand, or undo the later change first",
        )
        self.path = path
        self.diff = diff


class EmbedderError(MemfolioError):
    code = "embedder"


class ModelError(MemfolioError):
    code = "model"


class RefusedError(MemfolioError):
    code = "refused"


class NotOwnerError(RefusedError):
    code = "not-owner"


class PolicyError(RefusedError):
    """A row of the policy stands against it; `can_propose` says that somebody else may approve it."""

    code = "policy"

    def __init__(self, message: str, *, row: str, can_propose: bool = False, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.row = row
        self.can_propose = can_propose


class ProposedError(RefusedError):
    """It was not done but proposed, as `proposal`, because of a row of the policy."""

    code = "proposed"

    def __init__(self, proposal: str, *, row: str, to: str, proposer: str) -> None:
        decides = "the owner decides" if to == proposer else f"the owner decides, or {to} where the policy lets it"
        command = f"memfolio --agent {to}"
        super().__init__(
            f"this needs approval and was proposed as {proposal} (policy: {row})",
            hint=f"{decides}: `{command} approve {proposal}` does it, `{command} reject {proposal}` drops it",
        )
        self.proposal = proposal
        self.row = row


class SearchIndexError(MemfolioError):
    code = "index"


class IndexBusyError(SearchIndexError):
    code = "index-busy"


class IndexDamagedError(SearchIndexError):
    code = "index-damaged"


class IndexUnavailableError(SearchIndexError):
    code = "index-unavailable"


class HomeError(MemfolioError):
    code = "home"


class HomeBusyError(HomeError):
    code = "home-busy"


class HomeMissingError(HomeError):
    code = "home-missing"


class HomeReadOnlyError(HomeError):
    code = "home-read-only"


class HomeFormatError(HomeError):
    code = "home-format"


class DiskError(HomeError):
    code = "disk"


class DiskFullError(DiskError):
    code = "disk-full"


class StoreUnavailableError(HomeError):
    """`may_have_happened` says whether the change may have been made all the same."""

    code = "store-unavailable"

    def __init__(self, message: str, *, hint: str = "", may_have_happened: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.may_have_happened = may_have_happened


class StoreRewoundError(HomeError):
    code = "store-rewound"


class FileNotHereError(HomeError):
    code = "file-not-here"


class HistoryError(HomeError):
    code = "history"
