"""What candidates are given, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memfolio.index.rows import to_us
from memfolio.index.search import TurnColumns
from memfolio.recall.candidates import SURE, Candidates
from memfolio.recall.question import Intent, Question, understand
from memfolio.recall.rank import Coverage, Rarity, Weighing, cover, weigh
from memfolio.settings import Ranking

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
WEIGHTS = Ranking()


def turn(
    row: int, *, session: str | None = None, role: str | None = None, at: datetime = NOON, kind: str = "episodic"
) -> TurnColumns:
    return TurnColumns(row, f"M-{row}", session, role, to_us(at), to_us(at), 1, kind, "conversation", None)


def weighed(candidates: Candidates, text: str = "tea", speakers: tuple[str, ...] = ()) -> Weighing:
    return weigh(candidates, understand(text, now=NOON, zone=UTC, speakers=speakers), Ranking())


def test_best_by_words_counts_1_and_others_in_proportion() -> None:
    found = weighed(Candidates(turns={1: turn(1), 2: turn(2)}, text={1: 8.0, 2: 2.0}))
    assert found.shares["text"] == pytest.approx({1: 1.0, 2: 0.25})
    assert found.best(2) == [1, 2]


def test_meaning_counts_its_weight_and_less_where_the_nearest_is_far() -> None:
    near = weighed(Candidates(turns={1: turn(1)}, vector={1: 0.8}))
    far = weighed(Candidates(turns={1: turn(1)}, vector={1: SURE / 2}))
    assert (near.shares["vector"][1], far.shares["vector"][1]) == pytest.approx((WEIGHTS.vector, WEIGHTS.vector / 2))


def test_neighbours_have_a_share_of_words_that_halves_with_the_distance() -> None:
    turns = {row: turn(row) for row in (1, 2, 3)}
    found = weighed(Candidates(turns=turns, text={1: 4.0}, near={1: [(2, 1), (3, 2)]}))
    assert found.shares["text"] == pytest.approx({1: 1.0, 2: 0.5, 3: 0.25})


def test_session_has_a_share_of_its_best() -> None:
    turns = {1: turn(1, session="s"), 2: turn(2, session="s"), 3: turn(3, session="t")}
    found = weighed(Candidates(turns=turns, text={1: 4.0}, vector={3: 0.7}))
    assert found.shares["session"] == pytest.approx(dict.fromkeys((1, 2, 3), WEIGHTS.session))


def test_what_has_no_session_stands_for_itself() -> None:
    found = weighed(Candidates(turns={1: turn(1), 2: turn(2)}, text={1: 4.0, 2: 1.0}))
    assert found.shares["session"] == pytest.approx({1: WEIGHTS.session, 2: WEIGHTS.session / 4})


def test_named_speaker_and_named_month_speak_for_a_turn() -> None:
    turns = {1: turn(1, role="Caroline"), 2: turn(2, role="Melanie", at=NOON.replace(month=6))}
    found = weighed(Candidates(turns=turns), "What did Caroline do in May?", ("Caroline", "Melanie"))
    assert found.scores == pytest.approx({1: WEIGHTS.speaker + WEIGHTS.date, 2: 0.0})


def test_machines_words_count_less_unless_they_are_asked_for() -> None:
    candidates = Candidates(turns={1: turn(1, role="assistant"), 2: turn(2, role="user")})
    assert weighed(candidates, "which tea?").scores == {1: -WEIGHTS.owner, 2: 0.0}
    assert weighed(candidates, "which tea did you suggest?").scores == {1: WEIGHTS.told, 2: 0.0}


def test_equal_ones_are_ordered_by_id() -> None:
    turns = {9: turn(9)._replace(id="M-a"), 1: turn(1)._replace(id="M-b")}
    found = weighed(Candidates(turns=turns, text={1: 1.0, 9: 1.0}))
    assert (found.best(2), found.best(1)) == ([9, 1], [9])


def test_why_names_each_strategy_with_rank_and_share() -> None:
    found = weighed(Candidates(turns={1: turn(1), 2: turn(2)}, text={1: 4.0, 2: 2.0}, vector={2: 0.7}))
    told = [(each.strategy, each.rank, each.score) for each in found.why(2)]
    assert told[:2] == [("text", 2, 0.5), ("vector", 1, WEIGHTS.vector)]


def test_what_the_filter_stopped_gets_nothing_from_anybody() -> None:
    found = weighed(Candidates(turns={1: turn(1)}, text={1: 4.0}, near={1: [(2, 1)]}))
    assert set(found.scores) == {1}


def test_ways_of_doing_things_come_up_where_they_are_asked_for() -> None:
    candidates = Candidates(turns={1: turn(1, kind="procedural"), 2: turn(2)})
    how = weigh(candidates, Question(words=("deploy",), intent=Intent.HOW), Ranking(procedure=0.2))
    what = weigh(candidates, Question(words=("deploy",), intent=Intent.WHAT), Ranking(procedure=0.2))
    assert (how.scores, what.scores) == ({1: 0.2, 2: 0.0}, {1: 0.0, 2: 0.0})


def test_where_the_latest_is_asked_for_the_newest_has_most_and_half_of_it_a_half_life_earlier() -> None:
    candidates = Candidates(turns={1: turn(1), 2: turn(2, at=NOON - timedelta(days=30))})
    found = weigh(candidates, Question(words=("plan",), intent=Intent.LATEST), Ranking(latest=0.5, recency_days=30))
    assert found.scores == pytest.approx({1: 0.5, 2: 0.25})


def test_what_happened_in_the_time_of_a_digest_that_fits_has_a_share_of_it() -> None:
    digest = turn(1, at=datetime(2026, 5, 10, tzinfo=UTC))
    inside, outside = turn(2), turn(3, at=NOON + timedelta(days=7))
    candidates = Candidates(
        turns={1: digest, 2: inside, 3: outside}, text={1: 3.0}, digests={1: "agents/main/memory/weekly/2026-W19.md"}
    )
    found = weigh(candidates, Question(words=("plan",)), Ranking(digest=0.1))
    assert found.shares["digest"] == pytest.approx({2: 0.1})


def test_what_names_the_same_entity_is_tied_to_the_question() -> None:
    candidates = Candidates(turns={1: turn(1), 2: turn(2)}, entity={1: 1.0, 2: 0.5})
    found = weigh(candidates, Question(words=("alex",)), Ranking(entity=0.3))
    assert found.scores == pytest.approx({1: 0.3, 2: 0.15})


def test_scaling_leaves_what_speaks_against_a_memory_as_it_is() -> None:
    weighing = Weighing({1: turn(1), 2: turn(2)})
    weighing.add("text", {1: 1.0, 2: -0.5})
    weighing.scale("importance", {1: 1.2, 2: 1.2})
    assert weighing.scores == pytest.approx({1: 1.2, 2: -0.5})


def test_words_are_covered_by_a_turn_by_those_around_it_and_by_the_question_before_it() -> None:
    texts = {1: "Which instruments do you play?", 2: "The clarinet!", 3: "I practised it in Bergen", 4: "Fine weather"}
    turns = {row: turn(row, session="s", role="Ann") for row in texts}
    candidates = Candidates(turns=turns, near={1: [(2, 1), (3, 2)], 3: [(4, 1), (2, -1), (1, -2)]})
    rarity = Rarity({"instruments": 2.0, "play": 1.0, "Bergen": 1.0}, 0.0, 4)
    found = cover(texts, texts, candidates, rarity)
    assert found[1] == Coverage(own=0.75, around=0.25, asked=0.0, words=2)
    assert found[2] == Coverage(own=0.0, around=1.0, asked=0.75, words=0)
    assert found[4] == Coverage(own=0.0, around=0.25, asked=0.0, words=0)


def test_what_a_machine_answers_ends_what_was_said_together() -> None:
    texts = {1: "I play the clarinet", 2: "Which clarinet do you play?", 3: "Good for you"}
    roles = {1: "user", 2: "assistant", 3: "user"}
    turns = {row: turn(row, session="s", role=role) for row, role in roles.items()}
    candidates = Candidates(turns=turns, near={1: [(2, 1), (3, 2)]})
    found = cover(texts, texts, candidates, Rarity({"play": 1.0, "clarinet": 1.0}, 0.0, 3))
    assert [found[row].around for row in texts] == [0.0, 0.0, 0.0]
    assert found[3].asked == 0.0


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
    found = cover([1], {1: text}, Candidates(turns={1: turn(1)}), Rarity({word: 1.0}, 0.0, 1))
    assert (found[1].own == 1.0) is is_there


def test_rare_words_tell_more_and_unknown_ones_most() -> None:
    rarity, absent, _ = Rarity.of({"tea": 900, "oolong": 3, "quokka": 0}, 1000)
    assert rarity["tea"] < 0.5 < rarity["oolong"] < rarity["quokka"]
    assert 0.5 < absent < 0.6
