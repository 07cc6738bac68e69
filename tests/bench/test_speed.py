"""Speed: a home of the size that was asked for is filled, and both ways of searching are timed."""

from __future__ import annotations

from memfolio.bench.retrieval import within
from memfolio.bench.speed import Talk, speed


def test_recall_is_timed_beside_the_bare_search() -> None:
    told: list[tuple[str, int, int]] = []
    (found,) = speed([300], progress=lambda *step: told.append(step))
    assert found.memories == 300
    assert 0 < found.floor_p50_ms <= found.floor_p95_ms
    assert 0 < found.p50_ms <= found.p95_ms
    assert found.ratio_p50 == round(found.p50_ms / found.floor_p50_ms, 2)
    assert told == [("300 memories", 0, 300)]


def test_talk_is_the_same_each_time_and_varied() -> None:
    one, other = ([turn["content"] for turn in Talk().turns(200)] for _ in range(2))
    assert one == other
    assert len(set(one)) == 200
    assert len({word for text in one for word in str(text).split()}) > 500


def test_question_asks_for_words_that_are_said() -> None:
    talk = Talk()
    said = {word for turn in talk.turns(5000) for word in str(turn["content"]).split()}
    asked = [set(talk.question().rstrip("?").split()) for _ in range(50)]
    assert all(words & said for words in asked)


def test_share_of_the_times_is_within() -> None:
    assert within([0.004, 0.001, 0.002, 0.003], 0.5) == 2.0
    assert within([0.004, 0.001, 0.002, 0.003], 0.95) == 4.0
