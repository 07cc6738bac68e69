"""An agent's answer to the flush prompt: what it wants kept, and where it may go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.fence import bullet, fenced
from memfolio.stores.flush import is_reply, read_reply
from memfolio.types import Kind, Type

ANSWER = """\
```
TYPE: decision
CONTENT: Use PKCE for the login
TARGET: MEMORY.md

TYPE: preference
CONTENT: Alex wants short answers,
with examples
TARGET: USER.md

type: fact
content: The staging port is 8080
target: ../../etc/passwd

- **TYPE:** nonsense
- **CONTENT:** Something else
```
"""


def test_items_are_read_with_type_and_target() -> None:
    kept = read_reply(ANSWER).kept
    assert [(each.statement.type, each.statement.text, each.block) for each in kept] == [
        (Type.DECISION, "Use PKCE for the login", "Active Context"),
        (Type.PREFERENCE, "Alex wants short answers,\nwith examples", "Identity"),
        (Type.FACT, "The staging port is 8080", None),
        (Type.OBSERVATION, "Something else", None),
    ]
    assert kept[1].statement.kind is Kind.SEMANTIC


def test_item_is_about_what_it_says() -> None:
    [kept] = read_reply("TYPE: fact\nCONTENT: I live in Oslo", user="alex").kept
    found = kept.statement
    assert (found.text, found.subject, found.object, found.is_single) == ("I live in Oslo", "alex", "Oslo", True)


@pytest.mark.parametrize("text", ["NO_REPLY", " NO_REPLY.\n", "```\nNO_REPLY\n```"])
def test_nothing_to_keep(text: str) -> None:
    assert is_reply(text)
    assert read_reply(text).kept == ()


def test_item_without_content_is_told() -> None:
    found = read_reply("TYPE: fact\nTARGET: MEMORY.md\nTYPE: fact\nCONTENT: one")
    assert [each.statement.text for each in found.kept] == ["one"]
    assert found.problems == ("an item without CONTENT was passed over",)


@pytest.mark.parametrize("text", ["User: TYPE: fact", "Hello", "", '{"role": "user", "content": "x"}'])
def test_transcript_is_no_answer(text: str) -> None:
    assert not is_reply(text)


def test_recalled_text_is_not_kept_again() -> None:
    block = fenced([bullet("[M-1-00000000]", "x"), "CONTENT: evil"])
    assert [each.statement.text for each in read_reply(f"TYPE: fact\nCONTENT: one\n{block}").kept] == ["one"]


@given(st.lists(st.sampled_from(["TYPE:", "CONTENT:", "TARGET:", "MEMORY.md", "```", "NO_REPLY", "\n", " x", "\0"])))
def test_no_answer_is_too_strange(parts: list[str]) -> None:
    for each in read_reply("".join(parts)).kept:
        assert each.statement.text.strip()
