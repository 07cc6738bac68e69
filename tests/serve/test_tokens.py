"""Tokens: made, listed, revoked, and stored so that nobody can read them."""

from __future__ import annotations

import json
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.errors import HomeError, InputError, NotFoundError
from memfolio.memory import Memory
from memfolio.serve.tokens import SCOPES, Tokens
from tests.serve.calls import Run, RunJson


def test_token_lets_in_until_it_is_revoked_and_its_secret_lies_nowhere(cli_json: RunJson, cli: Run, home: Path) -> None:
    made = cli_json("token", "create", "my phone", "--scope", "read")
    secret = made["secret"]
    with Memory.open(home, background=False) as memory:
        tokens = Tokens(memory.vault.home)
        found = tokens.bearer(secret)
        assert found is not None
        assert [found.lets(scope) for scope in SCOPES] == [True, False, False]
        assert (found.agent, found.name) == ("main", "my phone")
        wrong = (secret[:-1] + ("A" if secret[-1] != "A" else "B"), "", "mf_", secret + "x", f" {secret}", "é" * 46)
        assert [tokens.bearer(each) for each in wrong] == [None] * len(wrong)
    assert not any(secret.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert "hash" not in cli_json("token", "list")["tokens"][0]
    assert "revoked" in cli("token", "revoke", made["id"])
    with Memory.open(home, background=False) as memory:
        assert Tokens(memory.vault.home).bearer(secret) is None


def test_what_makes_no_sense_is_refused(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        tokens, now = Tokens(memory.vault.home), memory.vault.home.now()
        for name, scope in (("phone", "everything"), ("", "read"), ("a\nb", "read"), ("x" * 65, "read")):
            with pytest.raises(InputError):
                tokens.create(name, "main", scope, now=now)
        with pytest.raises(NotFoundError):
            tokens.revoke("T-00000000", now=now)
        (path := home / ".memfolio" / "tokens.json").write_text("{", encoding="utf-8")
        with pytest.raises(HomeError):
            tokens.create("phone", "main", now=now)
        assert path.read_text(encoding="utf-8") == "{"


def test_a_long_list_of_tokens_is_read_anew_only_where_it_changed(home: Path) -> None:
    def fastest(look: Callable[[], object]) -> float:
        return min(timeit.repeat(look, timer=time.process_time, number=3, repeat=5))

    with Memory.open(home, background=False) as memory:
        tokens, now = Tokens(memory.vault.home), memory.vault.home.now()
        token, secret = tokens.create("phone", "main", now=now)
        path = home / ".memfolio" / "tokens.json"
        known = json.loads(path.read_text("utf-8"))
        others = [{**known[0], "id": f"T-{number}", "hash": f"{number:064x}"} for number in range(1000)]
        path.write_text(json.dumps(others + known), encoding="utf-8")
        assert fastest(lambda: tokens.bearer(secret)) < fastest(lambda: Tokens(memory.vault.home).bearer(secret)) / 2
        Tokens(memory.vault.home).revoke(token.id, now=now)
        assert tokens.bearer(secret) is None


def test_list_of_tokens_is_for_its_owner_alone(cli_json: RunJson, home: Path) -> None:
    cli_json("token", "create", "my phone")
    assert (home / ".memfolio" / "tokens.json").stat().st_mode & 0o777 == 0o600
