"""A change is written without its secrets, and what was there before keeps its bytes."""

from __future__ import annotations

from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.redact.redactor import Redactor
from memfolio.settings import Redaction
from memfolio.types import Action, Attribution
from memfolio.vault.change import NAMES, AddEntries, AddLines, Change, NewId, PutPage, clean_change
from memfolio.vault.fields import Draft
from memfolio.vault.paths import state_ledger

KEY = "AKIAQYLPMN5HFIQR7XYA"
MARKER = "[redacted:aws-access-key:3f2a91c0]"


def clean(*operations: Any, action: Action = Action.APPEND, before: bytes | None = None) -> tuple[Change, Change]:
    """A change before and after."""
    change = Change(operations=operations, by=Attribution(), action=action)
    redactor = Redactor(Redaction(personal=("email",)), lambda _: "3f2a91c0ff")
    return change, clean_change(change, redactor, lambda _: before)


def test_memories_are_written_without_secrets() -> None:
    attributes = {"env": {"password": "Xk9!mm2p"}, KEY: 1}
    draft = Draft(content=f"use {KEY}", tags=("aws", KEY), attributes=attributes, key="k-1", user="ada@example.org")
    plain = Draft(content="tea")
    _, after = clean(AddEntries("ada", (plain, draft)))
    [entries] = after.operations
    assert isinstance(entries, AddEntries)
    assert entries.items[0] is plain
    attributes = {"env": {"password": "[redacted:password:3f2a91c0]"}, MARKER: 1}
    assert entries.items[1] == draft._replace(content=f"use {MARKER}", tags=("aws", MARKER), attributes=attributes)


def test_records_keep_what_they_are_found_by() -> None:
    record = {
        "op": "flush",
        "memory": NewId(0),
        "session": "s-1",
        "user": "ada@example.org",
        "text": f"{KEY}!",
        "asked": [KEY, 1],
    }
    _, after = clean(AddLines(state_ledger("ada"), (record,)))
    [lines] = after.operations
    assert isinstance(lines, AddLines)
    assert lines.records == ({**record, "text": f"{MARKER}!", "asked": [MARKER, 1]},)


@pytest.mark.parametrize("name", NAMES)
def test_name_that_is_a_secret_is_refused(name: str) -> None:
    fields: dict[str, Any] = {name: KEY}
    with pytest.raises(InputError, match=f"the {name} looks like a secret") as caught:
        clean(AddEntries("ada", (Draft(content="tea", **fields),)))
    assert KEY not in f"{caught.value.message} {caught.value.hint}"


def test_page_whose_name_has_a_secret_is_refused() -> None:
    with pytest.raises(InputError, match="the name of the page looks like a secret"):
        clean(PutPage(f"agents/ada/memory/notes/{KEY}.md", b"tea\n", None))


@pytest.mark.parametrize("name", ["session", "user"])
def test_record_is_refused_where_what_it_is_found_by_is_a_secret(name: str) -> None:
    with pytest.raises(InputError):
        clean(AddLines(state_ledger("ada"), ({"op": "context", name: KEY},)))


@pytest.mark.parametrize("name", ["session", "source"])
def test_attribution_with_a_secret_is_refused_whatever_is_done(name: str) -> None:
    fields: dict[str, Any] = {name: KEY}
    by = Attribution(**fields)
    with pytest.raises(InputError):
        clean_change(Change(operations=(), by=by, action=Action.DELETE), Redactor(Redaction()), lambda _: None)


def test_page_is_cleaned_only_in_lines_that_come_in() -> None:
    old = f"# Notes\n\nold {KEY}\n".encode()
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq2\n\nx9Qm8sZkP1vWcY7uRt3b\n-----END PRIVATE KEY-----"
    page = PutPage("notes.md", old + f"new {KEY} \udcff\n{pem}\n".encode("utf-8", "surrogateescape"), "hash")
    _, after = clean(page, action=Action.EDIT, before=old)
    [put] = after.operations
    assert isinstance(put, PutPage)
    assert put.content == old + f"new {MARKER} ".encode() + b"\xff\n[redacted:private-key:3f2a91c0]\n"


@pytest.mark.parametrize("action", sorted(set(Action) - {"CREATE", "EDIT", "APPEND", "COMMIT", "PROPOSE"}))
def test_what_moves_or_comes_back_keeps_its_bytes(action: Action) -> None:
    before, after = clean(PutPage("a.md", KEY.encode(), None), action=action)
    assert after is before


def test_change_without_secrets_is_the_same_object() -> None:
    before, after = clean(
        AddEntries("ada", (Draft(content="tea", tags=("a",), attributes={"x": [1]}),)),
        AddLines(state_ledger("ada"), ({"op": "pin", "memory": "M-1794753005123-a3f2c91d", "pinned": True},)),
        PutPage("a.md", b"tea\n", None),
        PutPage("b.md", None, "hash"),
    )
    assert after is before
