"""The signature on a JSON-lines record: its id, its time, and who wrote it with whose leave."""

from __future__ import annotations

import secrets
from collections.abc import Container, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from memfolio.clock import iso, to_ms
from memfolio.errors import InputError
from memfolio.types import Approval, Attribution

_SIGNED = frozenset({"id", "at", "actor", "trigger", "approval", "session", "source"})


def new_id(prefix: str, moment: datetime, taken: Container[str]) -> str:
    """`S-<milliseconds>-<8 hex>`, not among `taken`."""
    while (fresh := f"{prefix}-{to_ms(moment)}-{secrets.token_hex(4)}") in taken:
        pass
    return fresh


def sign(record: Mapping[str, Any], id: str, moment: datetime, by: Attribution) -> dict[str, Any]:
    """The record with its signature in front; a record may not bring these fields itself."""
    if clash := _SIGNED & record.keys():
        raise InputError(f"a record cannot set {', '.join(sorted(clash))}", hint="these fields are the writer's")
    signed: dict[str, Any] = {"id": id, "at": iso(moment), "actor": by.actor, "trigger": by.trigger}
    if by.approval is not Approval.AUTO:
        signed["approval"] = by.approval.value
    signed |= {name: value for name, value in (("session", by.session), ("source", by.source)) if value is not None}
    return signed | dict(record)


def attribution_of(record: Mapping[str, Any]) -> Attribution | None:
    """Who signed the record; None when it is not signed."""
    try:
        given = record["actor"], record.get("approval", "auto"), record["trigger"]
        return attribution(*given, record.get("session"), record.get("source"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


@lru_cache(maxsize=512)
def attribution(actor: str, approval: str, trigger: str, session: str | None, source: str | None) -> Attribution:
    """Few actors make most of the changes; finding one is cheaper than checking it anew."""
    return Attribution(actor=actor, approval=Approval(approval), trigger=trigger, session=session, source=source)
