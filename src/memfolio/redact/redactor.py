"""Finds secrets in a text, and replaces them with markers."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from operator import is_
from os import urandom
from typing import Any, NamedTuple

from memfolio.redact.rules import MIXTURE, PLAIN, SECRETS, SecretRule, by_literal
from memfolio.redact.rules import RULES as PERSONAL
from memfolio.settings import PERSONAL as PERSONAL_KINDS
from memfolio.settings import Redaction

_KINDS = "|".join({rule.kind: None for rule in (*SECRETS, *PERSONAL)})
_MARKER = rf"\[redacted:(?:{_KINDS}):[0-9a-f]{{8}}\]"
_HIDDEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Invisible characters that may split a secret."""


_OWN_ID = re.compile(r"\^?[A-Z]-(?:[0-9]{13}-[0-9a-f]{8}|[0-9a-f]{16})")
"""One of our ids, as after a heading."""
SHORTEST = 6
"""Characters that a secret has at least."""
_Table = Sequence[tuple[str, tuple[SecretRule, ...]]]


class Secret(NamedTuple):
    """A span of a text to redact, and its kind."""

    kind: str
    start: int
    end: int


class Redactor:
    """Takes out of texts what the settings say. Threads may share one.

    `fingerprint` is a keyed hash, hexadecimal: the same secret gets the same marker, and nobody can test a guess
    against it. Without one, markers can be told apart only within this process.
    """

    def __init__(self, settings: Redaction, fingerprint: Callable[[bytes], str] | None = None) -> None:
        self._rules = settings.secrets, tuple(settings.personal)
        self._allowed = frozenset(settings.allow)
        self._fingerprint = fingerprint or _passing_hash()
        self.secret_in = lru_cache(maxsize=256)(self._secret_in)
        """The kind of the first secret in a name; personal data is none. A few names come with every change."""

    def clean(self, text: str) -> str:
        """Return the text with a marker in place of each find; the same object if there is none.

        Cleaning is idempotent: a marker is never redacted.
        """
        if text.isascii() and not self._tried(text):
            return text
        while found := self.find(text):  # a marker may set apart what it stood beside
            text = "".join(self._parts(text, found))
        return text

    def find(self, text: str) -> list[Secret]:
        """Return what to redact, in order and without overlaps."""
        if text.isascii() or not _HIDDEN.search(text):
            return self._find_visible(text)
        skipped = [match.start() - number for number, match in enumerate(_HIDDEN.finditer(text))]
        return [
            Secret(kind, start + bisect(skipped, start), end + bisect(skipped, end - 1))
            for kind, start, end in self._find_visible(_HIDDEN.sub("", text))
        ]

    def _secret_in(self, text: str) -> str | None:
        return next((each.kind for each in self.find(text) if each.kind not in PERSONAL_KINDS), None)

    def clean_value(self, value: Any, name: str = "") -> Any:
        """The same value with every text in it clean; the same object where there is nothing to take out.

        A field's text is looked at behind its `name`: under `password`, a password is known for what it is.
        """
        match value:
            case str() if len(value) < SHORTEST:
                return value
            case str():
                lead = f"{name}=" if name else ""
                cleaned = self.clean(lead + value)
                return value if cleaned == lead + value else cleaned[len(lead) :]
            case Mapping():
                fields = {self.clean_value(key): self.clean_value(each, str(key)) for key, each in value.items()}
                return value if all(key in fields and fields[key] is value[key] for key in value) else fields
            case list() | tuple():
                items = [self.clean_value(each, name) for each in value]
                return value if all(map(is_, items, value)) else type(value)(items)
        return value

    def _parts(self, text: str, found: list[Secret]) -> Iterator[str]:
        after = 0
        for kind, start, end in found:
            secret = _HIDDEN.sub("", text[start:end]).encode("utf-8", "surrogatepass")
            yield f"{text[after:start]}[redacted:{kind}:{self._fingerprint(secret)[:8]}]"
            after = end
        yield text[after:]

    def _tried(self, text: str) -> list[tuple[SecretRule, ...]]:
        """Return the rules whose literals occur in a text."""
        lower, table = text.lower(), _tables(*self._rules)[MIXTURE.search(text) is not None][text.isascii()]
        return [rules for literal, rules in table if literal in lower]

    def _find_visible(self, text: str) -> list[Secret]:
        tried = self._tried(text)
        if not tried:
            return []
        rules, stretches = dict.fromkeys(chain.from_iterable(tried)), _between_markers(text)
        return _apart([found for stretch in stretches for rule in rules for found in self._by(rule, text, *stretch)])

    def _by(self, rule: SecretRule, text: str, start: int, end: int) -> Iterator[Secret]:
        pattern = re.compile(rule.source)  # when a text first needs it: together they take longer than a start may
        group = min(pattern.groups, 1)
        for match in pattern.finditer(text, start, end):
            secret = match[group]
            if not secret or secret in self._allowed or _OWN_ID.fullmatch(secret):
                continue
            if rule.accepts(secret):
                yield Secret(rule.kind, *match.span(group))


@cache
def _tables(secrets: bool, personal: tuple[str, ...]) -> list[tuple[_Table, _Table]]:
    """The rules to try by their literals: for texts without and with a mixture of letters and digits, each for any text
    and for plain ASCII, in which nothing else is looked for. All homes with the same settings share them."""
    chosen = [rule for rule in PERSONAL if rule.kind in personal]
    pairs = [by_literal([*(rules if secrets else ()), *chosen]) for rules in (PLAIN, SECRETS)]
    return [(each, [pair for pair in each if pair[0].isascii()]) for each in pairs]


def _between_markers(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that are no markers."""
    borders = [0, *(at for match in re.finditer(_MARKER, text) for at in match.span()), len(text)]
    return list(zip(borders[::2], borders[1::2], strict=True))


def _apart(found: list[Secret]) -> list[Secret]:
    """Sort finds; of those that start at one place the first rule wins, and overlapping ones are merged."""
    kept: list[Secret] = []
    for each in sorted(found, key=lambda found: found.start):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
        elif each.start > kept[-1].start:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, each.end))
    return kept


def _passing_hash() -> Callable[[bytes], str]:
    key = urandom(16)
    return lambda data: blake2b(data, key=key, digest_size=8).hexdigest()
