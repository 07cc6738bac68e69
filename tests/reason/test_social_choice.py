"""Elections whose outcome is published."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise, permutations
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
# Schulze 2011, "A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner election
# method", Social Choice and Welfare 36: 45 voters, E wins.
SCHULZE = {
    "A C B E D": 5,
    "A D E C B": 5,
    "B E D A C": 8,
    "C A B E D": 3,
    "C A E B D": 7,
    "C B A D E": 2,
    "D C E B A": 7,
    "E B A D C": 8,
}
# Condorcet 1785: a circle of three.
CIRCLE = {"A B C": 1, "B C A": 1, "C A B": 1}


def test_tennessee_is_decided_differently_by_each_family_of_rules() -> None:
    result = elected(TENNESSEE)
    winners = result.answer["winners"]
    assert winners["plurality"] == ["Memphis"]
    assert winners["instant-runoff"] == ["Knoxville"]
    assert [winners[each] for each in ("borda", "copeland", "schulze")] == [["Nashville"]] * 3
    assert result.answer["condorcet_winner"] == "Nashville"
    assert result.answer["borda"] == {"Memphis": 126, "Nashville": 194, "Chattanooga": 173, "Knoxville": 107}
    assert "plurality elects Memphis" in result.conclusion
    assert any("plurality fails the Condorcet criterion" in note for note in result.notes)
    json.dumps(dict(result.answer))


def test_schulze_finds_e_by_the_strongest_paths() -> None:
    result = elected(SCHULZE)
    assert result.answer["winners"]["schulze"] == ["E"]
    assert result.answer["condorcet_winner"] is None
    assert result.answer["pairwise"]["A"] == {"C": 26, "B": 20, "E": 22, "D": 30}


def test_condorcets_circle_is_shown_and_everybody_ties() -> None:
    result = elected(CIRCLE)
    assert sorted(result.answer["cycle"]) == ["A", "B", "C"]
    assert result.answer["winners"]["schulze"] == ["A", "B", "C"]
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


def test_a_majority_that_borda_passes_over_is_told() -> None:
    result = elected({"A B C": 3, "B C A": 2})
    assert result.answer["winners"]["borda"] == ["B"]
    assert "borda fails the majority criterion: more than half rank A first." in result.notes


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
        ({"ballots": [{"ranking": [str(n)]} for n in range(40)]}, "more than 1,000,000 cases"),
    ],
)
def test_ballots_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(wrong, roomless())


def strongest(over: dict[str, dict[str, int]], one: str, other: str) -> int:
    """The strength of the strongest chain of victories, of all chains."""
    rest = set(over) - {one, other}
    chains = ((one, *between, other) for size in range(len(rest) + 1) for between in permutations(rest, size))
    return max(min(over[a][b] * (over[a][b] > over[b][a]) for a, b in pairwise(chain)) for chain in chains)


@given(st.lists(st.permutations("ABCD"), min_size=1, max_size=9))
def test_condorcet_rules_elect_whoever_beats_all_others_and_schulze_the_strongest(rankings: list[list[str]]) -> None:
    answer = elected(dict(Counter(" ".join(each) for each in rankings))).answer
    if champion := answer["condorcet_winner"]:
        assert all(answer["winners"][rule] == [champion] for rule in ("copeland", "schulze"))
    over = answer["pairwise"]
    assert answer["winners"]["schulze"] == [
        a for a in "ABCD" if all(strongest(over, a, b) >= strongest(over, b, a) for b in "ABCD" if b != a)
    ]
