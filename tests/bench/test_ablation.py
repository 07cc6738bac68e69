"""Switching strategies off: the default is recall itself, and each variant lacks what it says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from memfolio.bench.retrieval import measure, recalled
from memfolio.settings import Ranking
from tests.bench.examples import SESSIONS, TALK, question, turns, written
from tools import ablation
from tools.ablation import RECALL, ablated, table, variants, weighed

MARKS = ablation.BEGIN + ablation.END
AIR = {
    "turns": [
        *turns("leave", 30),
        {"id": "word", "session": "air", "role": "Ann Lee", "text": "The zeppelin is back"},
        {"id": "next", "session": "air", "role": "Ann Lee", "text": "At noon, from the field"},
    ],
    "questions": [question("one", "Which zeppelin will leave?", "next")],
}
"""The answer stands beside what has the word, and has none of the words itself."""


def changed(ranking: Ranking) -> set[str]:
    default = asdict(Ranking())
    return {name for name, value in asdict(ranking).items() if value != default[name]}


def test_default_weights_give_what_recall_gives(tmp_path: Path) -> None:
    ways = {RECALL: recalled, "same": weighed(Ranking())}
    (measured,) = measure([written(tmp_path, TALK, SESSIONS, AIR)], ways)
    assert [each.shares for each in measured.tallies["same"]] == [each.shares for each in measured.tallies[RECALL]]


def test_each_strategy_is_switched_off_once_and_nothing_else() -> None:
    off = [changed(each) for title, each in variants(Ranking()) if title.startswith("without ")]
    assert {"text"} in off
    assert {"owner", "told"} in off
    assert {"intent"} in off
    assert len(set().union(*off)) == sum(map(len, off))
    assert all(getattr(each, name) == 0 for _, each in variants(Ranking()) for name in changed(each))
    assert not {"cut", "recency", "recency_days", "breadth"} & set().union(*off)


def test_strategy_that_is_off_is_not_switched_off() -> None:
    titles = [title for title, _ in variants(Ranking(vector=0.0, told=0.0))]
    assert "without vector" not in titles
    assert "without owner" not in titles
    assert "without owner, told" in titles


def test_neither_words_nor_meaning_alone_find_what_company_finds(tmp_path: Path) -> None:
    ways = {title: way for title, way in ablated().items() if title.endswith(" only")}
    (measured,) = measure([written(tmp_path, AIR)], {RECALL: recalled, **ways})
    assert measured.tallies[RECALL].share()[10] == 1.0
    assert [measured.tallies[title].share()[20] for title in ways] == [0.0, 0.0]


def test_table_shows_what_changes_and_names_the_rest(tmp_path: Path) -> None:
    only = dict(variants(Ranking()))["words only"]
    ways = {RECALL: recalled, "words only": weighed(only), "same": weighed(Ranking())}
    shown = table(measure([written(tmp_path, AIR)], ways), ["words only", "same"])
    assert shown.splitlines() == [
        "| | cases.jsonl |",
        "|---|---|",
        "| recall | 1.000 |",
        "| words only | 0.000 (-1.000) |",
        "",
        "No difference: same.",
    ]


def test_page_gets_its_figures_between_the_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "recall.md"
    page.write_text(f"before\n{ablation.BEGIN}outdated\n{ablation.END}after\n")
    monkeypatch.setattr(ablation, "PAGE", page)
    ablation.main([str(written(tmp_path, AIR))])
    once = page.read_text()
    assert once.startswith(f"before\n{ablation.BEGIN}\n```sh\npython -m tools.ablation cases.jsonl")
    assert once.endswith(f"\n{ablation.END}after\n")
    assert "| all | 1 | 1.000 | 1.000 | 1.000 | 0.000 | 0.000 | 0.000 |" in once
    assert "| words only | 0.000 (-1.000) |" in once
    assert "outdated" not in once
    ablation.main([str(written(tmp_path, AIR))])
    assert page.read_text() == once


@pytest.mark.parametrize(("text", "names"), [("no marks", ["x"]), ("", []), (MARKS, ["absent"])])
def test_page_stays_as_it_is_when_there_is_nothing_to_write(
    text: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "recall.md"
    page.write_text(text)
    monkeypatch.setattr(ablation, "PAGE", page)
    with pytest.raises(SystemExit):
        ablation.main(names)
    assert page.read_text() == text
