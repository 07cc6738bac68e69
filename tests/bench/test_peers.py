"""`python -m bench.peers`: what is installed is measured with the same texts, what is not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import peers

NAMES = ["memfolio", "plain FTS5"]


@pytest.mark.long
def test_peers_keep_and_find_the_same_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MADE_UP", 60)
    monkeypatch.setattr(peers, "SINGLE", 10)
    monkeypatch.setenv("MEMFOLIO_CACHE", str(tmp_path / "cache"))
    texts, asked = peers.material(None)
    found = peers.measure(tmp_path, NAMES, texts, asked)
    assert list(found) == NAMES
    for result in found.values():
        assert result.found > 0.9
        assert min(result) > 0


def test_texts_of_a_file_of_cases_keep_their_gold(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    turn = '{{"turns": [{{"id": 1, "role": "Alex", "text": "{0}"}}], "questions": [{{"text": "{1}", "gold": [1]}}]}}\n'
    cases.write_text(turn.format("I prefer tea", "Which drink?") + turn.format("The launch is on Thursday", "When?"))
    texts, asked = peers.material(cases)
    words = {text.id: text.words for text in texts}
    assert [(each.words, [words[gold] for gold in each.gold]) for each in asked] == [
        ("Which drink?", ["Alex: I prefer tea"]),
        ("When?", ["Alex: The launch is on Thursday"]),
    ]


def test_a_peer_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.LanceDb, "package", "no-such-package")
    assert peers.LanceDb.missing() == "pip install 'memfolio[peers]', or pip install no-such-package"
    assert peers.Memfolio.missing() is None
