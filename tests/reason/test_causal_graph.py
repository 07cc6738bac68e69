"""Graphs and tables whose causal reading is published."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.reason.causal.causal import reason
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from tests.reason.roomless import roomless


def found(edges: str, treatment: str, outcome: str, **more: Any) -> Result:
    listed = [each.strip() for each in edges.split(";")]
    result = reason(Given({"edges": listed, "treatment": treatment, "outcome": outcome, **more}), roomless())
    json.dumps(dict(result.answer))
    return result


def table(names: str, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows of (values..., happened, did not happen) as data."""
    return [
        {**dict(zip(names.split(), row, strict=False)), "outcome": outcome, "count": count}
        for row in rows
        for outcome, count in ((True, row[-2]), (False, row[-1]))
    ]


SPRINKLER = "season -> sprinkler; season -> rain; sprinkler -> wet; rain -> wet; wet -> slippery"


@pytest.mark.parametrize(
    ("known", "separated"), [(["season"], True), (["season", "slippery"], False), ([], False), (["wet"], False)]
)
def test_sprinkler_and_rain_are_separated_by_the_season_alone(known: list[str], separated: bool) -> None:
    """Pearl 2009, "Causality", figure 1.2 and page 17."""
    assert found(SPRINKLER, "sprinkler", "rain", given=known).answer["separated"] is separated


def test_back_doors_are_closed_by_the_published_pairs() -> None:
    """Pearl 2009, figure 3.4: {X3, X4} and {X4, X5} will do, {X4} alone will not."""
    edges = "X1 -> X3; X1 -> X4; X2 -> X4; X2 -> X5; X3 -> Xi; X4 -> Xi; X4 -> Xj; X5 -> Xj; Xi -> X6; X6 -> Xj"
    answer = found(edges, "Xi", "Xj").answer
    assert ["X3", "X4"] in answer["back_door"]
    assert ["X4", "X5"] in answer["back_door"]
    assert ["X4"] not in answer["back_door"]
    assert answer["mediators"] == ["X6"]
    assert answer["front_door"] == [["X6"]]


def test_adjusting_for_what_two_hidden_causes_meet_in_does_harm() -> None:
    """Greenland, Pearl and Robins 1999: the M graph needs no adjustment, and the collider opens a way."""
    answer = found("U1 -> X; U1 -> M; U2 -> M; U2 -> Y; X -> Y", "X", "Y", hidden=["U1", "U2"]).answer
    assert answer["back_door"] == [[]]
    assert answer["colliders"] == ["M"]
    assert found("X -> C; Y -> C; X -> Y", "X", "Y").answer["colliders"] == ["C"]


def test_an_instrument_is_seen_where_no_adjustment_helps() -> None:
    """Pearl 2009, chapter 7: the plainest graph with an instrument."""
    result = found("Z -> X; X -> Y; X <-> Y", "X", "Y")
    assert result.answer["back_door"] == []
    assert result.answer["instruments"] == ["Z"]
    assert "cannot be told" in result.conclusion


def test_kidney_stones_turn_round_once_size_is_adjusted_for() -> None:
    """Charig and others 1986, BMJ 292: open surgery against keyhole, 78 % and 83 % of 350 each."""
    rows = [
        ("open", "small", 81, 6),
        ("open", "large", 192, 71),
        ("keyhole", "small", 234, 36),
        ("keyhole", "large", 55, 25),
    ]
    result = found(
        "size -> treatment; size -> outcome; treatment -> outcome", "treatment", "outcome",
        data=table("treatment size", rows), levels=["open", "keyhole"],
    )  # fmt: skip
    plain, adjusted = result.answer["estimates"]
    assert (plain["high"], plain["low"]) == (273 / 350, 289 / 350)
    assert adjusted["high"] == pytest.approx(81 / 87 * 357 / 700 + 192 / 263 * 343 / 700)
    assert adjusted["effect"] > 0 > plain["effect"]
    assert any("Simpson" in note for note in result.notes)
    assert any("risk ratio" in line for line in result.would_change)


def test_berkeley_favours_women_a_little_once_departments_are_compared() -> None:
    """Bickel, Hammel and O'Connell 1975, Science 187: the six largest departments."""
    admitted = {
        "A": ((512, 313), (89, 19)), "B": ((353, 207), (17, 8)), "C": ((120, 205), (202, 391)),
        "D": ((138, 279), (131, 244)), "E": ((53, 138), (94, 299)), "F": ((22, 351), (24, 317)),
    }  # fmt: skip
    rows = [(who, name, *each[at]) for name, each in admitted.items() for at, who in enumerate(("man", "woman"))]
    edges = "applicant -> department; department -> outcome; applicant -> outcome"
    given = {"data": table("applicant department", rows), "levels": ["man", "woman"]}
    result = found(edges, "applicant", "outcome", adjust=["department"], **given)
    plain, within = result.answer["estimates"]
    assert (round(plain["high"], 2), round(plain["low"], 2)) == (0.45, 0.30)
    assert within["effect"] < 0
    assert "cannot be told as a whole by adjusting for department" in result.conclusion
    assert any("department is an effect of applicant" in note for note in result.notes)
    assert result.confidence is None


def test_the_front_door_of_smoking_and_tar_gives_the_published_risks() -> None:
    """Pearl 2009, section 3.3.3, table 3.1: .4525 and .4975."""
    rows = [
        (0, 0, 47.5 * 0.10, 47.5 * 0.90),
        (1, 0, 2.5 * 0.90, 2.5 * 0.10),
        (0, 1, 2.5 * 0.05, 2.5 * 0.95),
        (1, 1, 47.5 * 0.85, 47.5 * 0.15),
    ]
    result = found(
        "smoking -> tar; tar -> outcome; smoking <-> outcome", "smoking", "outcome", data=table("smoking tar", rows)
    )
    plain, through = result.answer["estimates"]
    assert (through["high"], through["low"]) == (pytest.approx(0.4525), pytest.approx(0.4975))
    assert plain["effect"] > 0.7
    assert result.confidence is None


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"edges": ["a -> b", "b -> a"]}, "circle"),
        ({"edges": ["a b"]}, r"edges\[0\]"),
        ({"edges": ["a -> b"], "treatment": "c"}, "treatment"),
        ({"edges": ["a -> b"], "data": [{"a": 1}]}, r"data\[0\].b"),
        ({"edges": ["a -> b"], "data": [{"a": 1, "b": 1}]}, "levels"),
        ({"edges": ["a -> b"], "data": [{"a": 1, "b": "x"}, {"a": 0, "b": "y"}]}, "numbers for b"),
        (
            {"edges": ["a -> b", *(f"{n} -> a" for n in range(30)), *(f"{n} -> b" for n in range(30))]},
            "more than 1,000 cases",
        ),
    ],
)
def test_graphs_and_data_that_make_no_sense_are_refused(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        reason(Given({"treatment": "a", "outcome": "b", **wrong}), roomless(1000))
