"""The first phase: what the time since the last reflection was about. Pure."""

from __future__ import annotations

import calendar
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from memfolio.govern.reflection.knowledge import is_machine
from memfolio.learn.drafting import moment
from memfolio.sources import OVERHEARD, REFLECTION, SUMMED_UP
from memfolio.types import MemoryItem

TOPICS = 6
LONG = 500
"""Characters of a memory that are looked at."""
_NAME = re.compile(r"(?<!\w)(?P<amid>(?<=\w )|(?<=, ))?(?P<name>[^\W\d_a-z][\w-]{2,})")
_NO_NAMES = frozenset(each.casefold() for each in (*calendar.day_name, *calendar.month_name, "Mrs"))


def topics(items: Sequence[MemoryItem], names: Iterable[str]) -> tuple[str, ...]:
    """The names and tags that people mention again, those of the most conversations or days first.

    A name is told by its first letter amid a sentence; at the beginning of one it must be known as one of `names`.
    """
    retold = (*OVERHEARD, *SUMMED_UP, REFLECTION)
    said = [each for each in items if each.source not in retold and not is_machine(each)]
    amid = {name for item in said for name, is_amid in _capitals(item) if is_amid} | set(names)
    found: dict[str, dict[str, MemoryItem]] = defaultdict(dict)
    spelled: dict[str, str] = {}
    for item in said:
        for name in (*item.tags, *(name for name, _ in _capitals(item) if name in amid)):
            found[name.casefold()][item.id] = item
            spelled.setdefault(name.casefold(), name)
    places = {name: len({each.session or moment(each).date() for each in found[name].values()}) for name in found}
    again = (name for name in found if len(found[name]) > 1 and name not in _NO_NAMES)
    best = sorted(again, key=lambda name: (-places[name], -len(found[name]), name))
    return tuple(spelled[name] for name in best[:TOPICS])


def _capitals(item: MemoryItem) -> Iterator[tuple[str, bool]]:
    """Words with a capital letter, and whether they stand amid a sentence."""
    for match in _NAME.finditer(item.content[:LONG]):
        if match["name"][0].isupper():
            yield match["name"], match["amid"] is not None
