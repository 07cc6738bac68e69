"""Tokens by which programs are let in over HTTP: each is for one agent, and stored only as a hash."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from datetime import datetime
from hashlib import blake2b
from hmac import compare_digest

from memfolio.arguments import check_known
from memfolio.errors import HomeError, InputError, MemfolioError, NotFoundError
from memfolio.recall.query import telling
from memfolio.types import frozen
from memfolio.vault.disk import FileLock, disk_errors
from memfolio.vault.paths import Home, check_agent

FILE, LOCK = "tokens.json", "tokens.lock"
SCOPES = ("read", "write", "admin")
"""What a token lets its bearer do; each includes the one before."""
PREFIX = "mf_"
_HASH = re.compile("[0-9a-f]{64}")
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


@frozen
class Token:
    """A token as it is listed: everything but the secret."""

    id: str
    name: str
    agent: str
    scope: str
    created_at: str
    hash: str = field(repr=False)
    revoked_at: str | None = None
    audience: str | None = None
    """Who listens: a person or `room:NAME`; None where whoever asks may say so."""

    def __post_init__(self) -> None:
        """Refuse what was written by hand and means nothing."""
        check_agent(self.agent)
        if self.scope not in SCOPES or not _HASH.fullmatch(self.hash):
            raise ValueError(f"the token {self.id} has no scope or no hash")

    def lets(self, scope: str) -> bool:
        """Whether it is enough for something."""
        return self.revoked_at is None and SCOPES.index(self.scope) >= SCOPES.index(scope)


class Tokens:
    """The tokens of a home; they lie in its inside, which is in no history and no backup of it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.internal / FILE
        self._read: tuple[bytes, tuple[Token, ...]] = b"[]", ()

    def all(self) -> list[Token]:
        """All tokens, the revoked ones too, oldest first."""
        try:
            content = self._home.disk.read(self._path) or b"[]"
            if content != self._read[0]:  # the file is read for every request, and seldom says something else
                self._read = content, tuple(Token(**each) for each in json.loads(content))
            return [*self._read[1]]
        except (ValueError, TypeError, RecursionError, OSError, MemfolioError) as error:
            raise HomeError(f"{FILE} cannot be read", hint="remove it, and create the tokens again") from error

    def create(
        self, name: str, agent: str, scope: str = "write", *, now: datetime, audience: str | None = None
    ) -> tuple[Token, str]:
        """A token and its secret, which is never shown again."""
        check_known("there is no scope", [scope], SCOPES)
        if not name.strip() or not name.isprintable() or len(name) > 64:
            raise InputError(f"{name[:64]!r} cannot be the name of a token", hint="say in a few words what it is for")
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(
            id=f"T-{secrets.token_hex(4)}",
            name=name.strip(),
            agent=check_agent(agent),
            scope=scope,
            created_at=now.isoformat(timespec="seconds"),
            hash=_hash(secret),
            audience=telling("audience", audience),
        )
        with self._changing() as known:
            known.append(token)
        return token, secret

    def revoke(self, id: str, *, now: datetime) -> Token:
        """Let a token let nobody in any more; it stays listed."""
        # Under a lock of its own: two commands may change the file at once.
        with self._changing() as known:
            place = next((place for place, token in enumerate(known) if token.id == id), None)
            if place is None:
                raise NotFoundError(f"there is no token {id[:40]!r}", hint="`memfolio token list` shows them")
            revoked_at = known[place].revoked_at or now.isoformat(timespec="seconds")
            known[place] = replace(known[place], revoked_at=revoked_at)
            return known[place]

    def bearer(self, secret: str) -> Token | None:
        """The token that a secret is of; None where nobody may come in with it."""
        # What cannot be one of ours is not worth a hash.
        if not _FORM.fullmatch(secret):
            return None
        mark = _hash(secret)
        return next((each for each in self.all() if each.revoked_at is None and compare_digest(each.hash, mark)), None)

    def has(self, token: Token) -> bool:
        """Whether a token is still good; not where that cannot be told."""
        try:
            return token in self.all()
        except HomeError:
            return False

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        lock = FileLock(self._home.internal / LOCK, self._home.disk, timeout=self._home.config.lock_timeout)
        try:
            with disk_errors(self._home.root), lock():
                known = [*self.all()]
                yield known
                self._home.disk.put(self._path, json.dumps([asdict(each) for each in known], indent=1).encode())
        finally:
            lock.close()


def _hash(secret: str) -> str:
    return blake2b(secret.encode(), digest_size=32, person=b"memfolio-token").hexdigest()
