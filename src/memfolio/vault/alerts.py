"""Alerts in the trail: messages to the owner, shown until the owner acknowledges them.

A line describes its subject by trigger, ids and source, never by content. The vault itself raises `critical-file` and
`trail-cut` when it finds them, `watch` the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, HomeError
from memfolio.types import HUMAN, Action, Approval, Attribution
from memfolio.vault.change import Shows
from memfolio.vault.disk import disk_errors
from memfolio.vault.journal import GENESIS, Trail, TrailLine, is_sealed, read_line
from memfolio.vault.paths import agent_root

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

MONITOR = Attribution(actor="system:audit", approval=Approval.NONE, trigger="critical-file")
SEEN = "alerts"
"""In the home's inside: up to which change alerts were shown to each agent. Only a hint."""
_NEEDLES = (b'"action":"ALERT"', b'"action":"ACK"')
_TOLD = b'"trigger":"trail-'
MANY = 100
"""Changes without an open alert after which it is noted that they were looked at."""


def open_alerts(trail: Trail) -> list[TrailLine]:
    """Alerts without an acknowledgement, oldest first."""
    return unanswered(trail.lines(containing=_NEEDLES))


def unanswered(lines: Iterable[TrailLine]) -> list[TrailLine]:
    """Return the alerts that no person has acknowledged. Neither line changes a file, so no change can pass for one."""
    alerts: dict[int, TrailLine] = {}
    for line in lines:
        if line.action is Action.ALERT and not line.files:
            alerts[line.seq] = line
        elif line.action is Action.ACK and not line.files and line.by.actor.partition(":")[0] == HUMAN.actor:
            for seq in line.about:
                alerts.pop(seq, None)
    return list(alerts.values())


def all_alerts(vault: Vault) -> list[TrailLine]:
    """Every alert that was ever raised, oldest first."""
    return [line for line in vault.changes(containing=_NEEDLES[:1]) if line.action is Action.ALERT and not line.files]


def changes_of(vault: Vault, alerts: Iterable[TrailLine]) -> dict[int, TrailLine]:
    """The changes that a few alerts are about, by their numbers."""
    seqs = {seq for line in alerts for seq in line.about}
    found = vault.changes(containing=[b'"seq":%d,' % seq for seq in seqs]) if seqs else ()
    return {line.seq: line for line in found if line.seq in seqs}


def broken_seals(vault: Vault) -> str | None:
    """Return a hash of how the trail differs from what was written, by its chain and by git; None if it is intact.

    A break in the chain that an alert already reports does not count.
    """
    found, seals, previous = list[bytes](), set[str](), GENESIS
    for part in vault.trail.parts():
        for _, raw in vault.trail.raw_lines(part):
            if not is_sealed(raw, previous) and not (_NEEDLES[0] in raw and _TOLD in raw):
                found.append(raw)
            previous = raw[-len(GENESIS) - 2 : -2].decode("ascii", "replace")
            seals.add(previous)
    with suppress(HistoryError):
        anchors = vault.history.anchors(merged=True) if vault.config.git.enabled else ()
        found += [anchor.commit.encode() for anchor in anchors if anchor.chain not in seals]
    return blake2b(b"\n".join(found), digest_size=8).hexdigest() if found else None


def watch(vault: Vault) -> list[TrailLine]:
    """Look for changed critical files and an altered trail; returns the alerts that are new.

    Each alteration is raised once, also after it was acknowledged. Where the home cannot be written, nothing is done.
    """
    if not vault.can_write:
        return []
    head = vault.head
    vault.survey()  # raises alerts about critical files
    if broken := broken_seals(vault):
        by = replace(MONITOR, trigger=f"trail-altered:{broken}")
        with vault.exclusive():
            if all(line.by != by for line in all_alerts(vault)):
                vault.raise_alert(by)
    return [line for line in all_alerts(vault) if line.seq > head]


def unseen(vault: Vault, agent: str, *, is_noted: bool = True) -> list[TrailLine]:
    """The open alerts behind the change up to which they were shown to this agent; that is noted for the next look."""
    vault.refresh()
    head = vault.head
    moment = vault.epoch, head
    if vault.trouble is None and vault.without_alerts.get(agent) == moment:
        return []  # as nearly always, and sooner seen than read
    shown = _shown(vault).get(agent, 0)
    shown = shown if shown <= head else 0  # it was another trail
    with disk_errors(vault.home.root):
        newest_first = list(vault.trail.newest_first(containing=_NEEDLES, since=shown))
    alerts = unanswered(reversed(newest_first))
    if is_noted and not alerts and head - shown > MANY:
        note_seen(vault, agent, head)  # so that the next look need not go back as far
    if not alerts:
        vault.without_alerts[agent] = moment
    return alerts


def note_seen(vault: Vault, agent: str, seq: int) -> None:
    """Record that this agent has seen everything up to this change; if the record is lost, it is shown again."""
    if vault.can_write:
        with suppress(HomeError):
            vault.note_hint(SEEN, _shown(vault) | {agent: seq})


def _shown(vault: Vault) -> dict[str, int]:
    """Return what was recorded; empty if the file is damaged."""
    with suppress(ValueError, TypeError):
        return {agent: int(seq) for agent, seq in vault.hint(SEEN).items()}
    return {}


# Which changes somebody may know of, by the files that they may see.

_PATH = re.compile(rb'"path":"((?:[^"\\]|\\.)*)"')
"""A path in a raw line of the trail; inside a text, these quotes would be escaped."""


def visible_to(shows: Shows, trail: Trail, lines: Iterable[TrailLine]) -> Iterator[TrailLine]:
    """Yield the changes whose files are all visible, and alerts about such changes."""
    every = cache(lambda: {line.seq: line for line in trail.lines()})
    return (line for line in lines if _is_visible(shows, line, every))


def count_visible_to(shows: Shows, trail: Trail) -> int:
    """How many changes there are of which all files are shown; parsing each would take seconds in a long trail."""
    shown = cache(lambda path: shows(json.loads(b'"%s"' % path)))
    found, others = 0, list[TrailLine]()
    for part in trail.parts():
        for _, raw in trail.raw_lines(part):
            if paths := _PATH.findall(raw):
                found += all(map(shown, paths))
            else:
                with suppress(ValueError):  # a line that nobody can read
                    others.append(read_line(raw))
    return found + sum(1 for _ in visible_to(shows, trail, others))


def _is_visible(shows: Shows, line: TrailLine, every: Callable[[], Mapping[int, TrailLine]]) -> bool:
    if line.files:
        return all(map(shows, line.paths))
    whose = line.by.source if line.action is Action.ALERT else None
    about = [every()[seq] for seq in line.about if seq in every()]
    is_shown = whose is None or shows(f"{agent_root(whose)}/")
    return is_shown and all(_is_visible(shows, each, every) for each in about)
