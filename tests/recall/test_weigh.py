"""What candidates are given, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from memfolio.index.lookup import NOBODY
from memfolio.index.rows import to_us
from memfolio.index.search import Scored, TurnColumns, Turns
from memfolio.recall.candidates import DISTANCES, SURE, Candidates, Near
from memfolio.recall.question import Intent, Question, understand
from memfolio.recall.rank import Rarity, Weighing, cover, weigh
from memfolio.settings import Ranking

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
WEIGHTS = Ranking()


def turn(
    row: int, *, session: str | None = None, role: str | None = None, at: datetime = NOON, kind: str = "episodic"
) -> TurnColumns:
    return TurnColumns(row, f"M-{row}", session, role, to_us(at), to_us(at), 1, kind, "conversation", None)


def gathered(
    turns: Mapping[int, TurnColumns],
    *,
    text: Mapping[int, float] | None = None,
    vector: Mapping[int, float] | None = None,
    near: Mapping[int, Sequence[tuple[int, int]]] | None = None,
    **others: Any,
) -> Candidates:
    """Candidates by their rows; `near` has other rows with their distances."""
    found, beside = Turns.of(turns.values()), near or {}
    at = [{distance: row for row, distance in pairs} for pairs in beside.values()]
    rows = [[each.get(distance, NOBODY) for distance in DISTANCES.tolist()] for each in at]
    scores = Scored.of({row: (text or {}).get(row, 0.0) for row in beside})
    return Candidates(
        turns=found,
        text=Scored.of(text or {}),
        vector=found.spread(Scored.of(vector)) if vector else None,
        near=Near.of(found, scores, np.array(rows, np.int64).reshape(-1, len(DISTANCES))),
        **others,
    )


def by_row(weighing: Weighing, strategy: str | None = None) -> dict[int, float]:
    """The scores, or a strategy's shares that are not 0."""
    values = weighing.scores if strategy is None else weighing.shares[strategy]
    found = zip((turn.row for turn in weighing.turns), values.tolist(), strict=True)
    return {row: value for row, value in found if strategy is None or value}


def weighed(candidates: Candidates, text: str = "tea", speakers: tuple[str, ...] = ()) -> Weighing:
    return weigh(candidates, understand(text, now=NOON, zone=UTC, speakers=speakers), Ranking())


def test_best_by_words_counts_1_and_others_in_proportion() -> None:
    found = weighed(gathered({1: turn(1), 2: turn(2)}, text={1: 8.0, 2: 2.0}))
    assert by_row(found, "text") == pytest.approx({1: 1.0, 2: 0.25})
    assert found.best(2) == [0, 1]


def test_meaning_counts_its_weight_and_less_where_the_nearest_is_far() -> None:
    near = weighed(gathered({1: turn(1)}, vector={1: 0.8}))
    far = weighed(gathered({1: turn(1)}, vector={1: SURE / 2}))
    assert (by_row(near, "vector")[1], by_row(far, "vector")[1]) == pytest.approx((WEIGHTS.vector, WEIGHTS.vector / 2))


def test_neighbours_have_a_share_of_words_that_halves_with_the_distance() -> None:
    turns = {row: turn(row) for row in (1, 2, 3)}
    found = weighed(gathered(turns, text={1: 4.0}, near={1: [(2, 1), (3, 2)]}))
    assert by_row(found, "text") == pytest.approx({1: 1.0, 2: 0.5, 3: 0.25})


def test_session_has_a_share_of_its_best() -> None:
    turns = {1: turn(1, session="s"), 2: turn(2, session="s"), 3: turn(3, session="t")}
    found = weighed(gathered(turns, text={1: 4.0}, vector={3: 0.7}))
    assert by_row(found, "session") == pytest.approx(dict.fromkeys((1, 2, 3), WEIGHTS.session))


def test_what_has_no_session_stands_for_itself() -> None:
    found = weighed(gathered({1: turn(1), 2: turn(2)}, text={1: 4.0, 2: 1.0}))
    assert by_row(found, "session") == pytest.approx({1: WEIGHTS.session, 2: WEIGHTS.session / 4})


def test_named_speaker_and_named_month_speak_for_a_turn() -> None:
    turns = {1: turn(1, role="Caroline"), 2: turn(2, role="Melanie", at=NOON.replace(month=6))}
    found = weighed(gathered(turns), "What did Caroline do in May?", ("Caroline", "Melanie"))
    assert by_row(found) == pytest.approx({1: WEIGHTS.speaker + WEIGHTS.date, 2: 0.0})


def test_machines_words_count_less_unless_they_are_asked_for() -> None:
    candidates = gathered({1: turn(1, role="assistant"), 2: turn(2, role="user")})
    assert by_row(weighed(candidates, "which tea?")) == {1: -WEIGHTS.owner, 2: 0.0}
    assert by_row(weighed(candidates, "which tea did you suggest?")) == {1: WEIGHTS.told, 2: 0.0}


def test_equal_ones_are_ordered_by_id() -> None:
    turns = {9: turn(9)._replace(id="M-a"), 1: turn(1)._replace(id="M-b")}
    found = weighed(gathered(turns, text={1: 1.0, 9: 1.0}))
    assert (found.best(2), found.best(1)) == ([1, 0], [1])


def test_why_names_each_strategy_with_rank_and_share() -> None:
    found = weighed(gathered({1: turn(1), 2: turn(2)}, text={1: 4.0, 2: 2.0}, vector={2: 0.7}))
    told = [(each.strategy, each.rank, each.score) for each in found.why([1])[0]]
    assert told[:2] == [("text", 2, 0.5), ("vector", 1, WEIGHTS.vector)]


def test_what_the_filter_stopped_gets_nothing_from_anybody() -> None:
    found = weighed(gathered({1: turn(1)}, text={1: 4.0}, near={1: [(2, 1)]}))
    assert set(by_row(found)) == {1}


def test_ways_of_doing_things_come_up_where_they_are_asked_for() -> None:
    candidates = gathered({1: turn(1, kind="procedural"), 2: turn(2)})
    how = weigh(candidates, Question(words=("deploy",), intent=Intent.HOW), Ranking(procedure=0.2))
    what = weigh(candidates, Question(words=("deploy",), intent=Intent.WHAT), Ranking(procedure=0.2))
    assert (by_row(how), by_row(what)) == ({1: 0.2, 2: 0.0}, {1: 0.0, 2: 0.0})


def test_where_the_latest_is_asked_for_the_newest_has_most_and_half_of_it_a_half_life_earlier() -> None:
    candidates = gathered({1: turn(1), 2: turn(2, at=NOON - timedelta(days=30))})
    found = weigh(candidates, Question(words=("plan",), intent=Intent.LATEST), Ranking(latest=0.5, recency_days=30))
    assert by_row(found) == pytest.approx({1: 0.5, 2: 0.25})


def test_what_happened_in_the_time_of_a_digest_that_fits_has_a_share_of_it() -> None:
    digest = turn(1, at=datetime(2026, 5, 10, tzinfo=UTC))
    inside, outside = turn(2), turn(3, at=NOON + timedelta(days=7))
    candidates = gathered(
        {1: digest, 2: inside, 3: outside}, text={1: 3.0}, digests={1: "agents/main/memory/weekly/2026-W19.md"}
    )
    found = weigh(candidates, Question(words=("plan",)), Ranking(digest=0.1))
    assert by_row(found, "digest") == pytest.approx({2: 0.1})


def test_what_names_the_same_entity_is_tied_to_the_question() -> None:
    candidates = gathered({1: turn(1), 2: turn(2)}, entity={1: 1.0, 2: 0.5})
    found = weigh(candidates, Question(words=("alex",)), Ranking(entity=0.3))
    assert by_row(found) == pytest.approx({1: 0.3, 2: 0.15})


def test_scaling_leaves_what_speaks_against_a_memory_as_it_is() -> None:
    weighing = Weighing(turns=[turn(1), turn(2)], scores=np.zeros(2), echoing=np.zeros(2, np.bool_))
    weighing.add("text", np.array([1.0, -0.5]))
    weighing.scale("importance", np.array([1.2, 1.2]))
    assert by_row(weighing) == pytest.approx({1: 1.2, 2: -0.5})


def test_words_are_covered_by_a_turn_by_those_around_it_and_by_the_question_before_it() -> None:
    texts = {1: "Which instruments do you play?", 2: "The clarinet!", 3: "I practised it in Bergen", 4: "Fine weather"}
    turns = {row: turn(row, session="s", role="Ann") for row in texts}
    candidates = gathered(turns, near={1: [(2, 1), (3, 2)], 3: [(4, 1), (2, -1), (1, -2)]})
    rarity = Rarity({"instruments": 2.0, "play": 1.0, "Bergen": 1.0}, 0.0, 4)
    found = cover(range(4), list(texts.values()).__getitem__, candidates, rarity)
    covered = list(
        zip(found.own.tolist(), found.around.tolist(), found.asked.tolist(), found.words.tolist(), strict=True)
    )
    assert covered[0] == (0.75, 0.25, 0.0, 2)
    assert covered[1] == (0.0, 1.0, 0.75, 0)
    assert covered[3] == (0.0, 0.25, 0.0, 0)


def test_what_a_machine_answers_ends_what_was_said_together() -> None:
    texts = {1: "I play the clarinet", 2: "Which clarinet do you play?", 3: "Good for you"}
    roles = {1: "user", 2: "assistant", 3: "user"}
    turns = {row: turn(row, session="s", role=role) for row, role in roles.items()}
    candidates = gathered(turns, near={1: [(2, 1), (3, 2)]})
    rarity = Rarity({"play": 1.0, "clarinet": 1.0}, 0.0, 3)
    found = cover(range(3), list(texts.values()).__getitem__, candidates, rarity)
    assert found.around.tolist() == [0.0, 0.0, 0.0]
    assert found.asked[2] == 0.0


@pytest.mark.parametrize(
    ("word", "text", "is_there"),
    [
        ("moved", "They move a lot", True),
        ("parties", "one party", True),
        ("art", "a party of artists", False),
        ("Café", "the cafe at the corner", True),
        ("зелёного", "зеленый чай", True),
        ("東 京", "東京に住む", True),
    ],
)
def test_word_is_covered_whatever_its_ending(word: str, text: str, is_there: bool) -> None:
    found = cover([0], [text].__getitem__, gathered({1: turn(1)}), Rarity({word: 1.0}, 0.0, 1))
    assert (found.own[0] == 1.0) == is_there


def test_rare_words_tell_more_and_unknown_ones_most() -> None:
    rarity, absent, _ = Rarity.of({"tea": 900, "oolong": 3, "quokka": 0}, 1000)
    assert rarity["tea"] < 0.5 < rarity["oolong"] < rarity["quokka"]
    assert 0.5 < absent < 0.6
