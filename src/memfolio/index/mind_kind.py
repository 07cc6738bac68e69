"""The nine pages of a mind: what stands on each, and which fields its items have. Plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memfolio.errors import InputError
from memfolio.intake import nearest


class Value(StrEnum):
    """What a field holds: a share is a number from 0 to 1, a day may be a time, names are ids or titles."""

    SHARE = "share"
    DAY = "day"
    NAMES = "names"
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
    **dict.fromkeys(("open", "pending", "planned", "ongoing", "in progress", "in-progress"), Status.ACTIVE),
    **dict.fromkeys(("on hold", "on-hold", "waiting", "blocked", "deferred"), Status.PAUSED),
    **dict.fromkeys(("completed", "complete", "achieved", "fulfilled", "finished"), Status.DONE),
    **dict.fromkeys(("cancelled", "canceled", "abandoned", "rejected"), Status.DROPPED),
    **dict.fromkeys(("obsolete", "superseded", "wrong"), Status.RETIRED),
}
"""What people write for a status."""
LEVELS = ("strategic", "tactical", "operational")
WORDS = {"none": 0.0, "low": 0.3, "medium": 0.5, "moderate": 0.5, "high": 0.8, "critical": 1.0}
"""What people write for a share."""
FIELDS = {
    **dict.fromkeys("certainty priority urgency alignment proficiency progress confidence".split(), Value.SHARE),
    **dict.fromkeys(("deadline", "updated", "created"), Value.DAY),
    **dict.fromkeys("from for supports motivates parent requires after".split(), Value.NAMES),
    **dict.fromkeys("role title department autonomy tools source to when reason".split(), Value.TEXT),
    **{each.value: each for each in (Value.STATUS, Value.LEVEL, Value.STRATEGY)},
}
"""What each field holds, on whichever page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the items of a page are: `prefix` begins their ids, `verb` says how one is added."""

    page: str
    name: str
    prefix: str
    verb: str
    fields: Mapping[str, Value]

    @property
    def links(self) -> list[str]:
        """The fields that name something else."""
        return [name for name, value in self.fields.items() if value is Value.NAMES]


def _kind(page: str, name: str, prefix: str, verb: str, fields: str) -> Kind:
    named = f"{fields} status updated created from reason".split()
    return Kind(page=page, name=name, prefix=prefix, verb=verb, fields={each: FIELDS[each] for each in named})


KINDS = (
    _kind("Persona", "persona", "A", "be", "role title department autonomy"),
    _kind("Capabilities", "capability", "K", "can", "proficiency tools"),
    _kind("Beliefs", "belief", "B", "believe", "certainty source supports"),
    _kind("Desires", "desire", "W", "want", "priority urgency alignment motivates"),
    _kind("Goals", "goal", "G", "aim", "level progress priority deadline parent requires"),
    _kind("Intentions", "intention", "I", "intend", "priority strategy for deadline when"),
    _kind("Plans", "plan", "N", "plan", "confidence progress after for deadline when"),
    _kind("Commitments", "commitment", "O", "commit", "to priority deadline when"),
    _kind("Learnings", "learning", "L", "learn", "certainty"),
)
"""The pages in the order in which they are read."""
BY_PAGE = {kind.page: kind for kind in KINDS}
BY_NAME = {name: kind for kind in KINDS for name in (kind.name, kind.page.lower(), kind.verb)}


def kind_of(name: Kind | str) -> Kind:
    """The kind with this name, page or verb."""
    if isinstance(name, Kind):
        return name
    if (found := BY_NAME.get(name.strip().lower().removesuffix(".md"))) is None:
        raise InputError(f"a mind has no page {name[:40]!r}", hint=nearest(name.capitalize(), list(BY_PAGE)))
    return found
