"""Alerts in the trail: what the owner must be told, shown until the owner has acknowledged it.

A line says what it is about by its trigger, ids and source, never by content. The vault itself raises `critical-file`
and `trail-cut` when it finds them, `watch` the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from memfolio.errors import HistoryError, HomeError
from memfolio.types import HUMAN, Action, Approval, Attribution
from memfolio.vault.disk import disk_errors
from memfolio.vault.journal import GENESIS, Trail, TrailLine, is_sealed, read_line

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

MONITOR = Attribution(actor="system:audit", approval=Approval.NONE, trigger="critical-file")
SEEN = "alerts"
"""In the home's inside: up to which change alerts were shown to each agent. Only a hint."""
_NEEDLES = (b'"action":"ALERT"', b'"action":"ACK"')
_TOLD = b'"trigger":"trail-'
_FIRST = re.compile(rb'\{"seq":(\d{1,18}),')


def open_alerts(trail: Trail) -> list[TrailLine]:
    """Alerts without an acknowledgement, oldest first."""
    return unanswered(trail.lines(containing=_NEEDLES))


def unanswered(lines: Iterable[TrailLine]) -> list[TrailLine]:
    """The alerts that no person has acknowledged. Neither changes a file: a change cannot pass for one of them."""
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
    """A name for the ways in which the trail is not what was written, by its chain and by git; None when it is.

    A place where the chain is broken and an alert says so does not count: the owner knows of it.
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
    head, found = vault.head, list[TrailLine]()
    with disk_errors(vault.home.root):
        parts = vault.trail.parts()
    shown = _shown(vault).get(agent, 0)
    shown = shown if shown <= head else 0  # it was another trail
    for part in reversed(parts):
        data = vault.read(part) or b""
        found = [*_alert_lines(data), *found]
        if (first := _FIRST.match(data)) and int(first[1]) <= shown:
            break
    alerts = unanswered(line for line in found if line.seq > shown)
    if is_noted and not alerts and parts and part != parts[-1]:
        note_seen(vault, agent, head)  # so that the next look reads the last file only
    return alerts


def _alert_lines(data: bytes) -> Iterator[TrailLine]:
    if not any(needle in data for needle in _NEEDLES):  # line by line takes ten times as long
        return
    for raw in data.split(b"\n"):
        with suppress(ValueError):
            if any(needle in raw for needle in _NEEDLES):
                yield read_line(raw)


def note_seen(vault: Vault, agent: str, seq: int) -> None:
    """What stands up to this change need not be shown to this agent again; if that is lost, it is shown twice."""
    if vault.can_write:
        with suppress(HomeError):
            vault.note_hint(SEEN, _shown(vault) | {agent: seq})


def _shown(vault: Vault) -> dict[str, int]:
    """What was noted; nothing where somebody spoiled it."""
    with suppress(ValueError, TypeError):
        return {agent: int(seq) for agent, seq in vault.hint(SEEN).items()}
    return {}
