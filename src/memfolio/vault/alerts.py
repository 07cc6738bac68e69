"""Alerts: changes of critical files that nobody authorised, shown until the owner has acknowledged them."""

from __future__ import annotations

from collections.abc import Iterable

from memfolio.types import HUMAN, Action, Approval, Attribution
from memfolio.vault.audit import Trail, TrailLine
from memfolio.vault.paths import Sensitivity, sensitivity

WATCHMAN = Attribution(actor="system:audit", approval=Approval.NONE, trigger="critical-file")
MENDED = Attribution(actor="system:recover", approval=Approval.AUTO, trigger="trail-cut")
TAMPERED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="trail-cut")
_NEEDLES = (b'"action":"ALERT"', b'"action":"ACK"')


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
    alerts: dict[int, TrailLine] = {}
    for line in lines:
        if line.action is Action.ALERT:
            alerts[line.seq] = line
        elif line.action is Action.ACK:
            for seq in line.about:
                alerts.pop(seq, None)
    return list(alerts.values())
