"""The nine pages of a mind: what stands on each, and which fields its items have. Plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Value(StrEnum):
    """What a field holds."""

    SHARE = "share"
    """A number from 0 to 1; `80%`, `high`, `medium` and `low` say the same."""
    DAY = "day"
    """A day or a time; a day alone means its end in a deadline, else its beginning."""
    NAMES = "names"
    """Ids of memories, facts and other items, with commas between them."""
    STATUS = "status"
    LEVEL = "level"
    STRATEGY = "strategy"
    TEXT = "text"


class Status(StrEnum):
    """How an item stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    DROPPED = "dropped"
    EXPIRED = "expired"
    STALLED = "stalled"
    RETIRED = "retired"


LIVE = frozenset({Status.ACTIVE, Status.PAUSED})
"""Items that still count."""
SAID = {
    **{each.value: each for each in Status},
    **dict.fromkeys("open pending planned committed new ongoing current".split(), Status.ACTIVE),
    **dict.fromkeys(("in progress", "in-progress", "in_progress"), Status.ACTIVE),
    **dict.fromkeys(("on hold", "on-hold", "waiting", "blocked", "deferred"), Status.PAUSED),
    **dict.fromkeys("completed complete achieved fulfilled finished kept".split(), Status.DONE),
    **dict.fromkeys("cancelled canceled abandoned rejected broken".split(), Status.DROPPED),
    **dict.fromkeys(("obsolete", "superseded", "wrong"), Status.RETIRED),
}
"""What people write for a status."""
LEVELS = ("strategic", "tactical", "operational")
WORDS = {"none": 0.0, "low": 0.3, "medium": 0.5, "moderate": 0.5, "high": 0.8, "critical": 1.0}
"""What people write for a share."""

_EVERY = {"status": Value.STATUS, "updated": Value.DAY, "created": Value.DAY, "from": Value.NAMES}
_WHEN = {"deadline": Value.DAY, "when": Value.TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the items of a page are: `prefix` begins their ids, `verb` says how one is added."""

    page: str
    name: str
    prefix: str
    verb: str
    fields: Mapping[str, Value]

    @property
    def names(self) -> str:
        """The names of its fields, as alternatives of a pattern."""
        return "|".join(self.fields)


def _kind(page: str, name: str, prefix: str, verb: str, **fields: Value) -> Kind:
    return Kind(page=page, name=name, prefix=prefix, verb=verb, fields={**fields, **_EVERY})


_SHARE, _NAMES, _TEXT = Value.SHARE, Value.NAMES, Value.TEXT
KINDS = (
    _kind("Persona", "persona", "A", "be", role=_TEXT, title=_TEXT, department=_TEXT, autonomy=_TEXT),
    _kind("Capabilities", "capability", "K", "can", proficiency=_SHARE, tools=_TEXT),
    _kind("Beliefs", "belief", "B", "believe", certainty=_SHARE, source=_TEXT, supports=_NAMES),
    _kind("Desires", "desire", "W", "want", priority=_SHARE, urgency=_SHARE, alignment=_SHARE, motivates=_NAMES),
    _kind(
        "Goals",
        "goal",
        "G",
        "aim",
        level=Value.LEVEL,
        progress=_SHARE,
        priority=_SHARE,
        deadline=Value.DAY,
        parent=_NAMES,
        requires=_NAMES,
    ),
    _kind(
        "Intentions",
        "intention",
        "I",
        "intend",
        priority=_SHARE,
        strategy=Value.STRATEGY,
        **{"for": _NAMES},
        **_WHEN,
    ),
    _kind("Plans", "plan", "N", "plan", confidence=_SHARE, progress=_SHARE, after=_NAMES, **{"for": _NAMES}, **_WHEN),
    _kind("Commitments", "commitment", "O", "commit", to=_TEXT, priority=_SHARE, **_WHEN),
    _kind("Learnings", "learning", "L", "learn", certainty=_SHARE),
)
"""The pages in the order in which they are read."""
BY_PAGE = {kind.page: kind for kind in KINDS}
BY_NAME = {name: kind for kind in KINDS for name in (kind.name, kind.page.lower(), kind.verb)}
BY_PREFIX = {kind.prefix: kind for kind in KINDS}
