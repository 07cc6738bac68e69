"""The part of a day's page in `memory/conflicts/` that tells of beliefs in conflict. Pure.

It stands between two marks; whatever else is on the page, by a person or by other jobs, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, tzinfo
from hashlib import blake2b
from typing import NamedTuple

from memfolio.mind.conflicts import Conflict, Conflicts, Side
from memfolio.text import counted
from memfolio.vault.format.fields import local

BEGIN, END = "<!-- beliefs", "<!-- end of beliefs -->"
RESOLVED = "\n## Resolved\n"
SHOWN = 300
"""Characters of a belief that are shown."""
ASK = "Both of each are kept. Say which is right: correct, drop or retire the other one by its id."
_OURS = re.compile(rf"^{BEGIN} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{END}", re.MULTILINE | re.DOTALL)
_TOLD = re.compile(
    r"^### (?P<title>.+)\n\n- .*\((?P<one>[A-Z]-[0-9a-f-]+)\)\n- .*\((?P<other>[A-Z]-[0-9a-f-]+)\)$", re.M
)
_SETTLED = re.compile(r"^- (?P<title>.+) \((?P<one>[A-Z]-[0-9a-f-]+), (?P<other>[A-Z]-[0-9a-f-]+)\)$", re.M)


class Told(NamedTuple):
    """What we told on a page, by its hash, and as it stands there."""

    hash: str = ""
    body: str = ""


def told_on(text: str) -> Told:
    """What we told on a page; nothing where that is nothing."""
    found = _OURS.search(text)
    return Told(found[1], found[2].replace("\r\n", "\n")) if found else Told()


def composed(there: str, before: Told, conflicts: Conflicts, day: date, zone: tzinfo) -> str:
    """The page of the day; the same as `there` where there is nothing to tell that was not told.

    `before` is what we told last, on that day or on an earlier one. Where a person wrote into it, it becomes theirs.
    """
    told = _opened(conflicts, zone)
    earlier, _, settled = before.body.partition(RESOLVED)
    if before.hash == _hash(told) or (not conflicts.told and not before.hash):
        return there
    now_open, mine = {each.key for each in conflicts.told}, told_on(there)
    lines = dict(_titles(_SETTLED, settled)) if mine.hash else {}
    lines |= dict(_titles(_TOLD, earlier)) if not conflicts.left_off else {}
    gone = [f"- {title} ({key.replace(' ', ', ')})" for key, title in lines.items() if key not in now_open]
    body = "\n".join([f"{BEGIN} {_hash(told)} -->", told, *([RESOLVED.strip(), "", *gone, ""] if gone else []), END])
    if mine.hash and mine.hash == _hash(mine.body.partition(RESOLVED)[0]):
        return _OURS.sub(lambda _: body, there, count=1)
    theirs = _OURS.sub(lambda found: found[2], there, count=1).rstrip()
    return f"{theirs or f'# Conflicts found on {day}'}\n\n{body}\n"


def _hash(told: str) -> str:
    lines = "\n".join(line.rstrip() for line in told.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _opened(conflicts: Conflicts, zone: tzinfo) -> str:
    told, more = conflicts.told, conflicts.left_off
    head = f"## {counted(len(told) + more, 'conflict')} among beliefs" if told else "## No conflict among beliefs"
    rest = [f"and {more:,} more that are not told here", ""] if more else []
    sections = (line for conflict in told for line in _section(conflict, zone))
    return "\n".join([head, "", *([ASK, ""] if told else []), *sections, *rest])


def _section(conflict: Conflict, zone: tzinfo) -> Iterator[str]:
    yield from (f"### {_inline(conflict.subject)}", "")
    for letter, side in zip("AB", (conflict.one, conflict.other), strict=True):
        yield f'- **Belief {letter}**{_known(side, zone)}: "{_inline(side.says)}" ({side.id})'
    sure = "certain" if conflict.is_certain else "possible"
    yield f"- **Severity**: {conflict.severity:.2g}, {sure}: {conflict.reason}"
    yield from (f"- **Recommended action**: {conflict.advice}", "")


def _known(side: Side, zone: tzinfo) -> str:
    certainty = "" if side.certainty is None else f"certainty {side.certainty:.2g}"
    parts = filter(None, (certainty, f"{local(side.at, zone):%Y-%m-%d}" if side.at else ""))
    return f" ({told})" if (told := ", ".join(parts)) else ""


def _inline(text: str) -> str:
    line = " ".join(text.split()).replace("<!--", "<! --")
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _titles(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    for found in pattern.finditer(text):
        yield " ".join(sorted((found["one"], found["other"]))), found["title"]
