"""The month's digest: what the trail tells about a month, on one page, without a word of content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from memfolio.errors import InputError
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.audit import TrailLine
from memfolio.vault.disk import disk_errors
from memfolio.vault.paths import AUDIT, Sensitivity, sensitivity

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

MOST = 10
TRIGGER = "digest"
"""Writing a digest is a change too; left out, so that a digest made twice is the same."""
AUDITOR = Attribution(actor="system:audit", approval=Approval.AUTO, trigger=TRIGGER)
_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])")


def digest_path(month: str) -> str:
    return f"{AUDIT}/{month}/digest.md"


def write_digest(vault: Vault, month: str, by: Attribution = AUDITOR) -> str:
    """The page about one month of the trail (`2026-11`), written to `audit/<month>/digest.md` when it changed.

    For whom not all may be shown to, it tells of the rest and is not written.
    """
    path = digest_path(check_month(month))
    with disk_errors(vault.home.root):
        text = render_digest(month, vault.told(vault.trail.lines(containing=[month.encode()])))
    page = vault.page(path)
    if vault.can_write and vault.shows(path) and (page is None or page.content != text.encode()):
        vault.put_page(path, text, expects=page.hash if page else None, by=by)
    return text


def check_month(month: str) -> str:
    if not _MONTH.fullmatch(month):
        raise InputError(f"{month[:20]!r} is not a month", hint="write it like 2026-11")
    return month


def render_digest(month: str, lines: Iterable[TrailLine]) -> str:
    """The page for `2026-11`, from the lines of the trail that fall into it."""
    own = [line for line in lines if line.at.startswith(month) and line.by.trigger != TRIGGER]
    first = date.fromisoformat(f"{month}-01")
    sections = [
        f"# Audit digest · {first.strftime('%B %Y')}",
        "## Summary\n\n" + _bullets(_summary(own)),
        "## By action\n\n" + _table("action", Counter(line.action.value for line in own)),
        "## By actor\n\n" + _table("actor", Counter(line.by.actor for line in own)),
        "## Most changed files\n\n" + _table("file", Counter(path for line in own for path in line.paths)),
        "## To look at\n\n" + _bullets(_notable(own) or ["nothing out of the ordinary"]),
    ]
    return "\n\n".join(sections) + "\n"


def _summary(lines: Sequence[TrailLine]) -> list[str]:
    files = {path for line in lines for path in line.paths}
    sessions = {line.by.session for line in lines if line.by.session}
    reflections = {line.by.actor for line in lines if line.by.actor.startswith("reflection:")}
    critical = [line for line in lines if _is_critical(line)]
    return [
        f"{_count(len(lines), 'change')} of {_count(len(files), 'file')}, in {_count(len(sessions), 'session')}",
        f"{_count(sum(line.count for line in lines if line.action is Action.APPEND), 'entry', 'entries')} appended",
        f"{_count(len(reflections), 'reflection')}",
        f"{_count(_number(lines, Action.DECAY), 'decay transition')}",
        f"{_count(_number(lines, Action.ARCHIVE), 'archival')}",
        f"{_count(len(critical), 'change')} of critical files",
    ]


def _number(lines: Sequence[TrailLine], action: Action) -> int:
    return sum(line.action is action for line in lines)


def _notable(lines: Sequence[TrailLine]) -> list[str]:
    kinds = (Action.ALERT, Action.REVERT, Action.PURGE, Action.DELETE)
    chosen = [line for line in lines if line.action in kinds or _is_critical(line)]
    return [
        f"{line.at[:10]}: change {line.seq}, {line.action.value} by {line.by.actor}{_where(line)}" for line in chosen
    ]


def _where(line: TrailLine) -> str:
    if line.paths:
        return f", {line.paths[0]}" + (f" and {len(line.paths) - 1} more" if len(line.paths) > 1 else "")
    return f", about change {', '.join(map(str, line.about))}" if line.about else ""


def _is_critical(line: TrailLine) -> bool:
    return any(sensitivity(path) is Sensitivity.CRITICAL for path in line.paths)


def _table(name: str, counts: Counter[str]) -> str:
    rows = [
        f"| {label} | {number} |"
        for label, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST]
    ]
    return "\n".join([f"| {name} | changes |", "|---|---:|", *rows])


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
