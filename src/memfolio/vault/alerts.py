"""Alerts in the trail: what the owner must be told, shown until the owner has acknowledged it.

A line says what it is about by its trigger, ids and source, never by content. The vault itself raises `critical-file`
and `trail-cut`; whoever watches raises the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import HistoryError
from memfolio.types import HUMAN, Action, Approval, Attribution
from memfolio.vault.audit import GENESIS, Trail, TrailLine, is_sealed, read_line
from memfolio.vault.paths import Sensitivity, sensitivity

if TYPE_CHECKING:
    from memfolio.vault.vault import Vault

WATCHMAN = Attribution(actor="system:audit", approval=Approval.NONE, trigger="critical-file")
MENDED = Attribution(actor="system:recover", approval=Approval.AUTO, trigger="trail-cut")
TAMPERED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="trail-cut")
SEEN = "alerts"
"""In the home's inside: up to where the trail was shown to each agent."""
FAR = 256 * 1024
"""Bytes of the trail from which on it is noted that there was nothing to show in them."""
_NEEDLES = (b'"action":"ALERT"', b'"action":"ACK"')
_TOLD = b'"trigger":"trail-'


def needs_alert(paths: Iterable[str], by: Attribution) -> bool:
    """Whether the owner must be told: a critical file changed behind our back or without approval."""
    if all(sensitivity(path) is not Sensitivity.CRITICAL for path in paths):
        return False
    if by.actor == HUMAN.actor:
        return by.trigger == HUMAN.trigger
    return by.approval is not Approval.APPROVED and by.actor != "system:init"


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


def all_alerts(trail: Trail) -> list[TrailLine]:
    """Every alert that was ever raised, oldest first."""
    return [line for line in trail.lines(containing=_NEEDLES[:1]) if line.action is Action.ALERT and not line.files]


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
        anchors = vault.history.anchors(merged=True) if vault.config.git_enabled else ()
        found += [anchor.commit.encode() for anchor in anchors if anchor.chain not in seals]
    return blake2b(b"\n".join(found), digest_size=8).hexdigest() if found else None


class Place(NamedTuple):
    """Up to where the trail was read: a file of it, and how many of its bytes."""

    part: str
    size: int


def unseen(vault: Vault, agent: str) -> tuple[list[TrailLine], Place]:
    """The open alerts behind the place up to which they were shown to this agent, and the end of the trail."""
    found, read, parts = list[TrailLine](), 0, vault.trail.parts()
    place = _places(vault).get(agent, Place("", 0))
    stamp = vault.books.stamp(place.part) if place.part in parts else None
    if stamp is None or stamp.size < place.size:  # nothing was shown yet, or it was another trail
        place = Place(parts[0] if parts else "", 0)
    for part in parts[parts.index(place.part) :] if parts else ():
        start = place.size if part == place.part else 0
        data = vault.home.disk.read(vault.home.path(part), start) or b""
        for raw in data.split(b"\n")[:-1] if _has_needle(data) else ():  # line by line takes ten times as long
            with suppress(ValueError):  # not a whole line: the trail is another one
                found += [read_line(raw)] if _has_needle(raw) else []
        place = Place(part, start + data.rfind(b"\n") + 1)
        read += place.size - start
    alerts = unanswered(found)
    if read > FAR and not alerts:
        note_seen(vault, agent, place)
    return alerts, place


def _has_needle(data: bytes) -> bool:
    return any(needle in data for needle in _NEEDLES)


def note_seen(vault: Vault, agent: str, place: Place) -> None:
    """What stands before this place need not be shown to this agent again; if that is lost, it is shown twice."""
    if vault.can_write:
        with suppress(OSError):
            places = json.dumps(_places(vault) | {agent: place}).encode()
            vault.home.disk.put(vault.home.internal / SEEN, places)


def _places(vault: Vault) -> dict[str, Place]:
    """What was noted; nothing where somebody spoiled it."""
    try:
        found = json.loads(vault.home.disk.read(vault.home.internal / SEEN) or b"{}")
        return {str(agent): Place(str(part), max(0, int(size))) for agent, (part, size) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
