"""Alerts in words: what is the matter, what it is about and what to do; and as the first section of a context.

The trail has no content, so the words of memories are looked up when an alert is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from memfolio.recall.context.fence import bullet
from memfolio.recall.context.lines import is_shown
from memfolio.recall.context.packing import Line, Section, pack
from memfolio.recall.library import Library
from memfolio.recall.snippet import snippet
from memfolio.vault.alerts import changes_of, note_seen, unseen
from memfolio.vault.audit import TrailLine
from memfolio.vault.disk import disk_errors
from memfolio.vault.format.fields import local
from memfolio.vault.paths import SHARED, Sensitivity, agent_of, sensitivity
from memfolio.vault.vault import Vault

TITLE = "From memfolio itself: tell the owner"
MOST = 3
MANY = 50
"""How many of the newest are looked at: somebody may raise thousands."""
WORDS = 40
"""Tokens of the words of one memory."""
GRAVEST = ("critical-file", "trail-cut", "trail-altered")
_PLAIN = re.compile(r"(?:(?:agents/[a-z0-9-]{1,64}|shared)/)?[A-Za-z]{1,20}\.[a-z]{1,8}")
"""A path that has no room for anybody's words."""
Changes = Mapping[int, TrailLine]


def describe(vault: Vault, library: Library, line: TrailLine) -> str:
    """An alert for a person: first what is the matter in one line, then what it is about and what to do."""
    return _describe(vault, library, line, changes_of(vault.trail, [line]))


def _describe(vault: Vault, library: Library, line: TrailLine, changes: Changes) -> str:
    kind, what, since = f"{line.by.trigger}::".split(":", 3)[:3]
    match kind:
        case "critical-file":
            return _changed(vault, next((changes[seq] for seq in line.about if seq in changes), None))
        case "git-moved":
            numbers = _numbers(line)
            advice = "to take changes back, use `memfolio undo` or `memfolio rollback`, which are recorded"
            return f"a git command took changes out of the files or the branch; they were put back{numbers}\n{advice}"
        case "git-commit":
            advice = "; ".join(f"`memfolio undo {seq}`" for seq in line.about)
            return f"a commit made by hand takes memories or files away, which stands\n{advice} brings them back"
        case "contradiction":
            facts = "\n".join(_fact(library, each) for each in line.ids)
            advice = "`memfolio forget` or `memfolio correct` the one that is wrong"
            return f"facts that are held to be certain contradict each other\n{facts}\n{advice}"
        case "growth":
            advice = "`memfolio status` shows what takes the room; `alerts.bytes` sets the budget"
            return f"the files of the home have grown past {what} bytes\n{advice}"
        case "degraded":
            return f"{what} has not worked as it should since {since}\n`memfolio status` and `memfolio doctor` say why"
    return "the trail was cut or altered by somebody\n`memfolio verify` says where; git has it as it was"


def _numbers(line: TrailLine) -> str:
    return f" (change {', '.join(map(str, line.about))})" if line.about else ""


def _changed(vault: Vault, change: TrailLine | None) -> str:
    if change is None:
        return "a critical file was changed, unapproved\n`memfolio log` shows what happened"
    critical = [path for path in change.paths if sensitivity(path) is Sensitivity.CRITICAL]
    names = ", ".join(path if _PLAIN.fullmatch(path) else f"…/{path.rpartition('/')[2]}" for path in critical)
    at = local(datetime.fromisoformat(change.at), vault.home.zone)
    advice = f"`memfolio diff {change.seq}` shows it, `memfolio undo {change.seq}` takes it back"
    return f"{names} was changed by {change.by.actor[:60]}, unapproved\non {at:%Y-%m-%d at %H:%M}; {advice}"


def _fact(library: Library, id: str) -> str:
    """A memory in one line: its words where it is there to be shown."""
    found = library.locate(id)
    if found is None or not is_shown(found[1].item):
        return f"[{id}] does not stand here any more, or is another agent's"
    return f"[{id}] {' '.join(snippet(found[1].item.content, (), WORDS).split())}"


def unread(vault: Vault, library: Library, agent: str, room: int) -> tuple[str, ...]:
    """The open alerts that this agent was not shown yet, the gravest first; none as long as there is no room for them.

    Those about the files and memories of other agents are not for it.
    """
    with disk_errors(vault.home.root):
        alerts = unseen(vault, agent)
        changes = changes_of(vault.trail, alerts[-MANY:])
        due = [line for line in alerts[-MANY:] if _concerns(line, changes, agent)]
        due.sort(key=lambda line: line.by.trigger.partition(":")[0] not in GRAVEST)
        texts = [f"[alert {line.seq}] {_describe(vault, library, line, changes)}" for line in due[:MOST]]
        if len(due) > MOST:
            texts.append(f"[alerts] and {len(due) - MOST + len(alerts[:-MANY])} more: `memfolio alerts`")
        if texts and not alert_section(texts, room):
            return ()
        if alerts:
            note_seen(vault, agent, alerts[-1].seq)
    return tuple(texts)


def alert_section(texts: Iterable[str], room: int) -> list[Section]:
    """The section at the top of a context, as far as it has room."""
    lines = tuple(Line(id=text, text=bullet("", text).replace("-  ", "- ", 1), says=text) for text in texts)
    return pack([Section(title=TITLE, share=1.0, lines=lines)], room)


def _concerns(line: TrailLine, changes: Changes, agent: str) -> bool:
    """Whether an alert is about this agent's files and memories, those that all share, or the home."""
    changed = [path for seq in line.about if seq in changes for path in changes[seq].paths]
    owners = set(map(agent_of, changed)) or {line.by.source}
    return not owners.isdisjoint((agent, SHARED, None))
