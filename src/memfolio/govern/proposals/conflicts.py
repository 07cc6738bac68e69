"""Which proposals cannot both be carried out. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from memfolio.govern.proposals.proposal import Intent, Proposal
from memfolio.learn.resolve import LONG, Knowledge, Known, about, plain

CLAIMS = frozenset({"remember", "correct", "core.add", "core.replace", "core.pin"})
KEEPING = frozenset({"confirm", "pin"})
_IS = re.compile(
    r"(?:[Tt]he )?(?P<subject>\w[^.,;]{2,60}?) (?:is|are|will be) (?:on |at |due )?(?P<object>[A-Z\d][^.;]*)\.?"
)
"""A thing and its value, which begins with a capital or a digit."""


def content_of(intent: Intent) -> str:
    """What an intent would do, without how sure or important it is, to be compared with what others would do."""
    said = {name: value for name, value in intent.arguments.items() if intent.verb != "remember" or name == "text"}
    alike = {name: plain(value) or value if isinstance(value, str) else value for name, value in said.items()}
    return json.dumps([intent.verb, alike], ensure_ascii=False, sort_keys=True)


def rivals(proposal: Proposal, pending: Iterable[Proposal]) -> list[Proposal]:
    """The proposals to the same agent that say or do something else about the same thing."""
    return [each for each in pending if each.to == proposal.to and _clash(proposal.intent, each.intent)]


def _clash(one: Intent, other: Intent) -> bool:
    if content_of(one) == content_of(other):
        return False
    if one.verb != other.verb and {one.verb, other.verb} <= KEEPING:
        return False
    return bool(_things(one, other) & _things(other, one)) or _contradict(one, other)


def _things(intent: Intent, other: Intent) -> set[tuple[str, ...]]:
    """What is touched: a memory, an entity that goes, a line of core memory, or its block where that is rewritten."""
    given = intent.arguments
    if "block" not in given:
        return {(given[name],) for name in ("id", "what", "other") if name in given}
    block = plain(given["block"])
    if "core.rewrite" in (intent.verb, other.verb):
        return {(block,)}
    line = given.get("text" if intent.verb == "core.remove" else "old")
    return {(block, plain(line))} if line else set()


def _contradict(one: Intent, other: Intent) -> bool:
    """Whether two texts give one thing two values."""
    return {one.verb, other.verb} <= CLAIMS and bool(Knowledge([_claim(one.text)]).detect(_claim(other.text)))


@lru_cache(maxsize=1024)
def _claim(text: str) -> Known:
    """What a text claims, by the rules or, where they cannot tell, as `this is that`."""
    found: dict[str, Any] = about(text[:LONG])
    match = _IS.fullmatch(text[:LONG])
    if match and not found.get("is_single"):
        found = {**match.groupdict(), "predicate": "is", "is_single": True}
    return Known(ref="", text=text, at=datetime.min.replace(tzinfo=UTC), **found)
