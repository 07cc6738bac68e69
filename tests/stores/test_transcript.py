"""Transcripts in the forms that hosts hand over: what can be read is read, the rest is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.recall.fence import bullet, fenced
from memfolio.stores.flush import TranscriptTurn, read_transcript

HOST = [
    {"type": "summary", "summary": "Earlier"},
    {"type": "user", "timestamp": "2026-11-15T14:30:00Z", "message": {"role": "user", "content": "Fix the login"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Done."},
                {"type": "tool_use", "name": "Bash", "input": {}},
                {"type": "text", "text": "Next?"},
            ],
        },
    },
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "secret"}]}},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: …"}},
    {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "for another"}},
]


def pairs(data: object) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in read_transcript(data).turns]


def test_list_of_turns() -> None:
    found = read_transcript([{"role": "user", "content": "Hi"}, {"role": "Assistant", "content": "Hello"}])
    assert [(each.role, each.content) for each in found.turns] == [("user", "Hi"), ("assistant", "Hello")]
    assert found.problems == ()


def test_lines_of_a_host_without_thoughts_and_tools() -> None:
    text = "\n".join(json.dumps(each) for each in HOST)
    assert pairs(text) == [("user", "Fix the login"), ("assistant", "Done.\nNext?")]
    at = read_transcript(text).turns[0].at
    assert at is not None
    assert at.hour == 14
    assert pairs(text.encode()) == pairs(text) == pairs(json.dumps(HOST))


def test_text_with_labels() -> None:
    text = "User: Fix the login\nplease\n\nAssistant: Done.\n**User:** Thanks\nNote: not a speaker\n"
    assert pairs(text) == [
        ("user", "Fix the login\nplease"),
        ("assistant", "Done."),
        ("user", "Thanks\nNote: not a speaker"),
    ]


def test_text_without_labels_is_what_a_person_said() -> None:
    assert pairs("I live in Oslo.\nI like tea.") == [("user", "I live in Oslo.\nI like tea.")]


@pytest.mark.parametrize("data", ["", "  \n", b"", [], "[]", "{}", None, 5, {"role": "user"}])
def test_nothing_is_read_from_nothing(data: object) -> None:
    assert read_transcript(data).turns == ()


def test_what_is_malformed_is_told_and_the_rest_goes_on() -> None:
    lines = ['{"role": "user", "content": "one"}', "{oops", "7", '{"role": "user"}', '{"content": "who?"}']
    lines += ['{"role": "user", "content": 7}', '{"role": "user", "content": "two"}']
    found = read_transcript("\n".join(lines))
    assert [turn.content for turn in found.turns] == ["one", "two"]
    assert found.problems == (
        "line 2 is not JSON",
        "line 3 is a int, not a turn",
        "line 4 has no content",
        "line 5 does not say who speaks",
        "line 6 has a content that is neither text nor a list of blocks",
    )


def test_list_that_is_cut_off_is_told() -> None:
    found = read_transcript('[{"role": "user", "content": "one"}, {"role": "user", "cont')
    assert (found.turns, found.problems) == ((), ("it begins as a list of turns, and is not JSON",))


def test_what_is_not_text_is_told() -> None:
    found = read_transcript(b"\x7fELF\0\x01\xff I live in Oslo")
    assert (found.turns, found.problems) == ((), ("it is not text",))


def test_text_in_brackets_is_no_list() -> None:
    assert pairs("[14:30] I live in Oslo") == [("user", "[14:30] I live in Oslo")]


def test_many_problems_are_told_in_few_words() -> None:
    found = read_transcript("{\n" * 100)
    assert len(found.problems) == 21
    assert found.problems[-1] == "and 80 more"


def test_what_memfolio_put_into_a_prompt_is_not_read_again() -> None:
    block = fenced([bullet("[M-1-00000000]", "Alex likes tea")])
    assert pairs(f"User: {block}\nWhat now?") == [("user", "What now?")]
    assert pairs([{"role": "user", "content": block}]) == []


def test_who_is_a_person_and_who_spoke_at_all() -> None:
    assert TranscriptTurn(role="alex", content="x").turn("Sam").speaker == "alex"
    assert TranscriptTurn(role="user", content="x").turn("Sam").speaker == "Sam"
    assert TranscriptTurn(role="alex", content="x").is_person
    assert not TranscriptTurn(role="assistant", content="x").turn(None).is_person
    assert [TranscriptTurn(role=role, content="x").is_spoken for role in ("tool", "system", "tool_result", "user")] == [
        False,
        False,
        False,
        True,
    ]


@given(st.text() | st.binary() | st.lists(st.dictionaries(st.sampled_from(["role", "content", "message"]), st.text())))
def test_nothing_is_too_strange(data: object) -> None:
    for turn in read_transcript(data).turns:
        turn.content.encode()
        assert "\0" not in turn.content
