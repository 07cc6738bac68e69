"""The part of a day's page in `memory/conflicts/` that tells of beliefs in conflict. Pure.

It stands between two marks; whatever else is on the page, by a person or by other jobs, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, tzinfo
from hashlib import blake2b

from memfolio.mind.conflicts import Conflict
from memfolio.text import counted
from memfolio.vault.format.fields import local

BEGIN, END = "<!-- beliefs", "<!-- end of beliefs -->"
MOST = 100
"""How many conflicts are told."""
SHOWN = 300
"""Characters of a belief that are shown."""
ASK = "Nothing was changed. Correct, drop or retire what is wrong, by its id."
_OURS = re.compile(rf"^{BEGIN} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{END}", re.MULTILINE | re.DOTALL)


def told_on(text: str) -> str:
    """A hash of what we told on a page; empty where that is nothing."""
    found = _OURS.search(text)
    return found[1] if found else ""


def composed(there: str, before: str, conflicts: Sequence[Conflict], day: date, zone: tzinfo) -> str:
    """The page of the day; the same as `there` where there is nothing to tell that was not told.

    `before` is the hash of what we told last, on that day or earlier. Where a person wrote into it, it becomes theirs.
    """
    told = _rendered(conflicts, zone)
    if before == _hash(told) or not (conflicts or before):
        return there
    body = f"{BEGIN} {_hash(told)} -->\n{told}\n{END}"
    if (ours := _OURS.search(there)) and ours[1] == _hash(ours[2]):
        return _OURS.sub(lambda _: body, there, count=1)
    theirs = _OURS.sub(lambda found: found[2], there, count=1).rstrip()
    return f"{theirs or f'# Conflicts found on {day}'}\n\n{body}\n"


def _hash(told: str) -> str:
    lines = "\n".join(line.rstrip() for line in told.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _rendered(conflicts: Sequence[Conflict], zone: tzinfo) -> str:
    if not conflicts:
        return "## No conflict among beliefs\n"
    sections = (line for conflict in conflicts[:MOST] for line in _section(conflict, zone))
    rest = ["The others are not told here.", ""] if len(conflicts) > MOST else []
    return "\n".join([f"## {counted(len(conflicts), 'conflict')} among beliefs", "", ASK, "", *sections, *rest])


def _section(conflict: Conflict, zone: tzinfo) -> Iterator[str]:
    yield from (f"### {_inline(conflict.subject)}", "")
    for letter, side in zip("AB", (conflict.one, conflict.other), strict=True):
        known = [f"certainty {side.certainty:.2g}"] if side.certainty is not None else []
        known += [f"{local(side.at, zone):%Y-%m-%d}"] if side.at else []
        about = f" ({', '.join(known)})" if known else ""
        yield f'- **Belief {letter}**{about}: "{_inline(side.says)}" ({side.id})'
    sure = "certain" if conflict.is_certain else "possible"
    yield f"- **Severity**: {conflict.severity:.2g}, {sure}: {conflict.reason}"
    yield from (f"- **Recommended action**: {conflict.advice}", "")


def _inline(text: str) -> str:
    line = " ".join(text.split()).replace("<!--", "<! --")
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
