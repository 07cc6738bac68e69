"""Summaries fit, and tell of what was to be summed up."""

from __future__ import annotations

import pytest

from memfolio.errors import ModelError
from memfolio.llm.sum_up import sum_up
from memfolio.testing import ScriptedModel
from memfolio.text import estimate_tokens
from tests.llm.answers import door

TEXTS = ["Alex drank tea on Monday.", "Alex drank\ntea on Tuesday.", " "]


def summary(text: str, limit: int = 100) -> str:
    with ScriptedModel([{"text": text}]) as server:
        return sum_up(door(server), TEXTS, limit)


def test_texts_are_summed_up_as_one_bullet_each() -> None:
    with ScriptedModel([{"text": " Alex drinks\n tea. "}]) as server:
        assert sum_up(door(server), TEXTS, 100) == "Alex drinks tea."
    assert (
        "\n- Alex drank tea on Monday.\n- Alex drank tea on Tuesday.\n<" in server.requests[0]["messages"][1]["content"]
    )


@pytest.mark.parametrize(("sentence", "limit"), [("Alex drinks tea in v1.2 rooms. ", 40), ("Alex每天喝茶。", 30)])
def test_of_a_long_summary_whole_sentences_are_kept(sentence: str, limit: int) -> None:
    kept = summary(sentence * 50, limit)
    assert limit / 2 < estimate_tokens(kept) <= limit
    assert kept == (sentence * kept.count("Alex")).strip()


@pytest.mark.parametrize("text", ["", "  ", "The stock market fell.", "Alex drinks tea and " * 60])
def test_what_is_no_summary_is_a_model_error(text: str) -> None:
    with pytest.raises(ModelError):
        summary(text)


def test_nothing_cannot_be_summed_up() -> None:
    with ScriptedModel([]) as server, pytest.raises(ModelError, match="nothing to sum up"):
        sum_up(door(server), ["", " "], 10)
    assert server.requests == []
