"""Finds what is to be taken out of a text, and puts a marker in its place."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from operator import is_
from os import urandom
from typing import Any

from memfolio.redact.personal import RULES as PERSONAL
from memfolio.redact.rules import MIXED, MIXTURE, PLAIN, Rule, by_literal
from memfolio.tuning import Redaction

_KINDS = "|".join({rule.kind: None for rule in (*MIXED, *PLAIN, *PERSONAL)})
_MARKER = rf"\[redacted:(?:{_KINDS}):[0-9a-f]{{8}}\]"
_HIDDEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""What nobody sees, and what a secret may be split with."""
_MIXED = by_literal(MIXED)


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch of a text that is to be taken out, and what it is."""

    kind: str
    start: int
    end: int


class Redactor:
    """Takes out of texts what the settings say. Threads may share one.

    `fingerprint` is a keyed hash, hexadecimal: the same secret gets the same marker, and nobody can test a guess
    against it. Without one, markers can be told apart only within this process.
    """

    def __init__(self, settings: Redaction, fingerprint: Callable[[bytes], str] | None = None) -> None:
        self._secrets = settings.secrets
        personal = [rule for rule in PERSONAL if rule.kind in settings.personal]
        self._plain = by_literal([*(PLAIN if settings.secrets else ()), *personal])
        self._allowed = frozenset(settings.allow)
        self._fingerprint = fingerprint or _passing_hash()

    def clean(self, text: str) -> str:
        """The text with a marker in place of each find; the same object where there is none.

        What is clean stays as it is: a marker is never taken out.
        """
        while found := self.find(text):  # a marker may set apart what it stood beside
            text = "".join(self._parts(text, found))
        return text

    def find(self, text: str) -> list[Found]:
        """What is to be taken out, in order and without overlaps."""
        if not text.isascii() and _HIDDEN.search(text):
            skipped = [match.start() - number for number, match in enumerate(_HIDDEN.finditer(text))]
            seen = self._find_visible(_HIDDEN.sub("", text))
            return [
                Found(each.kind, each.start + bisect(skipped, each.start), each.end + bisect(skipped, each.end - 1))
                for each in seen
            ]
        return self._find_visible(text)

    def clean_value(self, value: Any, name: str = "") -> Any:
        """The same value with every text in it clean; the same object where there is nothing to take out.

        A field's text is looked at behind its `name`: under `password`, a password is known for what it is.
        """
        match value:
            case str():
                lead = f"{name}=" if name else ""
                cleaned = self.clean(lead + value)
                return value if cleaned == lead + value else cleaned[len(lead) :]
            case Mapping():
                fields = {key: self.clean_value(each, str(key)) for key, each in value.items()}
                return fields if any(fields[key] is not each for key, each in value.items()) else value
            case list() | tuple():
                items = [self.clean_value(each, name) for each in value]
                return value if all(map(is_, items, value)) else type(value)(items)
        return value

    def _parts(self, text: str, found: list[Found]) -> Iterator[str]:
        end = 0
        for each in found:
            secret = _HIDDEN.sub("", text[each.start : each.end]).encode("utf-8", "surrogatepass")
            yield text[end : each.start]
            yield f"[redacted:{each.kind}:{self._fingerprint(secret)[:8]}]"
            end = each.end
        yield text[end:]

    def _find_visible(self, text: str) -> list[Found]:
        rules = self._rules_for(text)
        if not rules:
            return []
        stretches = _between_markers(text)
        return _apart([found for stretch in stretches for rule in rules for found in self._by(rule, text, *stretch)])

    def _rules_for(self, text: str) -> dict[Rule, None]:
        """The rules that can apply, in their order: of most texts none, which takes two looks to see."""
        lower = text.lower()
        rules: list[Rule] = []
        if self._secrets and MIXTURE.search(text):
            rules = [rule for literal, tried in _MIXED if literal in lower for rule in tried]
        rules += [rule for literal, tried in self._plain if literal in lower for rule in tried]
        return dict.fromkeys(rules)

    def _by(self, rule: Rule, text: str, start: int, end: int) -> Iterator[Found]:
        pattern = rule.pattern
        group = min(pattern.groups, 1)
        for match in pattern.finditer(text, start, end):
            secret = match[group]
            if secret and secret not in self._allowed and rule.accepts(secret):
                yield Found(rule.kind, *match.span(group))


def _between_markers(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that are no markers."""
    if "[redacted:" not in text:
        return [(0, len(text))]
    borders = [0, *(at for match in re.finditer(_MARKER, text) for at in match.span()), len(text)]
    return list(zip(borders[::2], borders[1::2], strict=True))


def _apart(found: list[Found]) -> list[Found]:
    """Finds in order; of what begins in one place the first rule's, and what overlaps is one."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda found: found.start):
        if kept and each.start == kept[-1].start:
            continue
        if kept and each.start < kept[-1].end:
            kept[-1] = Found(kept[-1].kind, kept[-1].start, max(kept[-1].end, each.end))
        else:
            kept.append(each)
    return kept


def _passing_hash() -> Callable[[bytes], str]:
    key = urandom(16)
    return lambda data: blake2b(data, key=key, digest_size=8).hexdigest()
