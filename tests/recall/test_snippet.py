"""Where snippets are cut: sentences keep their stops, and no text takes long."""

from __future__ import annotations

import time

import pytest

from memfolio.recall.hit import snippet


@pytest.mark.serial
@pytest.mark.parametrize("repeated", [".", "'", '."', "?!", '..")a', ". ", "。", ".x", "\n.", "… »"])
def test_snippet_of_nothing_but_stops_takes_no_time(repeated: str) -> None:
    content = "kettle " + (repeated * 100_000)[:99_990] + "x"
    started = time.process_time()
    assert "kettle" in snippet(content, ["kettle"], 50)
    assert time.process_time() - started < 0.5


def test_snippet_keeps_stops_and_quotes_with_their_sentence() -> None:
    content = 'He said "no." She left... at 4.30! 本当。' + "Nothing else. " * 60
    assert snippet(content, ["said"], 5) == 'He said "no." …'
    assert snippet(content, ["left"], 7) == "… She left... …"
    assert snippet(content, ["4.30"], 7) == "… at 4.30! …"
