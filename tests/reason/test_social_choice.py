"""Elections whose outcome is published."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.inputs import Result
from memfolio.reason.methods.social import social_choice as reason
from tests.reason.roomless import roomless


def elected(ballots: dict[str, int], **more: Any) -> Result:
    listed = [{"ranking": ranking.split(), "count": count} for ranking, count in ballots.items()]
    return reason({"ballots": listed, **more}, roomless())


# Where should the capital of Tennessee be? The example that is used throughout the literature on voting rules.
TENNESSEE = {
    "Memphis Nashville Chattanooga Knoxville": 42,
    "Nashville Chattanooga Knoxville Memphis": 26,
    "Chattanooga Knoxville Nashville Memphis": 15,
    "Knoxville Chattanooga Nashville Memphis": 17,
}
# Condorcet 1785: a circle of three.
CIRCLE = {"A B C": 1, "B C A": 1, "C A B": 1}


def test_tennessee_is_decided_differently_by_each_family_of_rules() -> None:
    result = elected(TENNESSEE)
    winners = result.answer["winners"]
    assert winners["plurality"] == ["Memphis"]
    assert winners["instant-runoff"] == ["Knoxville"]
    assert [winners[each] for each in ("borda", "copeland")] == [["Nashville"]] * 2
    assert result.answer["condorcet_winner"] == "Nashville"
    assert result.answer["borda"] == {"Memphis": 126, "Nashville": 194, "Chattanooga": 173, "Knoxville": 107}
    assert "plurality elects Memphis" in result.conclusion
    assert "plurality passes over Nashville, who beats each other candidate in pairs." in result.notes
    json.dumps(dict(result.answer))


def test_condorcets_circle_is_shown_and_everybody_ties() -> None:
    result = elected(CIRCLE)
    assert sorted(result.answer["cycle"]) == ["A", "B", "C"]
    assert result.answer["winners"]["copeland"] == ["A", "B", "C"]
    assert result.answer["condorcet_winner"] is None
    assert any("circle" in note for note in result.notes)


def test_instant_runoff_at_burlington_in_2009_passes_over_the_condorcet_winner() -> None:
    """Gierzynski, Hamilton and Smith 2009: the ballots, reduced to the three who led, and their duels."""
    ballots = {
        "Montroll Kiss Wright": 1332, "Montroll Wright Kiss": 767, "Montroll": 455,
        "Kiss Montroll Wright": 2043, "Kiss Wright Montroll": 371, "Kiss": 568,
        "Wright Montroll Kiss": 1513, "Wright Kiss Montroll": 495, "Wright": 1289,
    }  # fmt: skip
    result = elected(ballots)
    winners, duels = result.answer["winners"], result.answer["pairwise"]
    assert (winners["plurality"], winners["instant-runoff"]) == (["Wright"], ["Kiss"])
    assert result.answer["condorcet_winner"] == "Montroll"
    assert (duels["Montroll"]["Kiss"], duels["Kiss"]["Montroll"]) == (4067, 3477)
    assert (duels["Montroll"]["Wright"], duels["Wright"]["Montroll"]) == (4597, 3668)
    assert (duels["Kiss"]["Wright"], duels["Wright"]["Kiss"]) == (4314, 4064)
    assert any("leave candidates out" in note for note in result.notes)


def test_a_winner_of_all_pairs_that_borda_passes_over_is_told() -> None:
    result = elected({"A B C": 3, "B C A": 2})
    assert result.answer["winners"]["borda"] == ["B"]
    assert "borda passes over A, who beats each other candidate in pairs." in result.notes


def test_what_would_turn_a_pair_does_turn_it() -> None:
    close = elected({"A B": 5, "B A": 3}, rule="plurality")
    assert close.conclusion == "A wins by plurality."
    assert close.would_change == ("2 voters who put B above A instead would turn that pair.",)
    assert elected({"A B": 4, "B A": 4}).answer["winners"]["plurality"] == ["A", "B"]
    assert elected({"A B": 3, "B A": 5}).answer["condorcet_winner"] == "B"


def test_many_who_are_first_on_no_ballot_are_out_at_once() -> None:
    result = elected({"A": 1}, candidates=["A", *map(str, range(60))])
    assert result.conclusion == "A wins by every rule."


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"ballots": []}, "ballots"),
        ({"ballots": [{"ranking": ["A", "A"]}]}, r"ballots\[0\].ranking"),
        ({"ballots": [{"ranking": ["A", "B"], "count": 0}]}, "ballots"),
        ({"ballots": [{"ranking": ["A"]}]}, "ballots"),
        ({"ballots": [{"ranking": ["A", "B"]}], "candidates": ["A", "C"]}, r"ballots\[0\]"),
        ({"ballots": [{"ranking": ["A", "B"]}], "rule": "approval"}, "rule"),
        ({"ballots": [{"ranking": [str(n), str(99 - n)]} for n in range(100)] * 2}, "more than 1,000 cases"),
    ],
)
def test_ballots_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(wrong, roomless(1000))


@given(st.lists(st.permutations("ABCD"), min_size=1, max_size=9))
def test_copeland_elects_whoever_beats_all_others(rankings: list[list[str]]) -> None:
    answer = elected(dict(Counter(" ".join(each) for each in rankings))).answer
    over = {a: {b: sum(r.index(a) < r.index(b) for r in rankings) for b in "ABCD" if b != a} for a in "ABCD"}
    assert answer["pairwise"] == over
    champions = [a for a in "ABCD" if all(over[a][b] > over[b][a] for b in over[a])]
    assert answer["condorcet_winner"] == (champions[0] if champions else None)
    if champions:
        assert answer["winners"]["copeland"] == champions
