"""Induction: published intervals and data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.formal import Law, succession
from memfolio.reason.methods.formal import inductive as reason
from tests.reason.asking import SHORT, ask, knowing


# Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), table I.
@pytest.mark.parametrize(
    ("right", "seen", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals_are_newcombes(right: int, seen: int, low: float, high: float) -> None:
    assert Law((), ("", ""), seen, right, []).interval == pytest.approx((low, high), abs=5e-5)


def test_laplaces_sunrise() -> None:
    # Laplace, Essai philosophique sur les probabilités (1814): after 1,826,213 days, 1,826,214 to one.
    chance = succession(1_826_213, 1_826_213)
    assert chance / (1 - chance) == pytest.approx(1_826_214)


# Quinlan, Induction of decision trees, Machine Learning 1 (1986), table 1.
WEATHER = """sunny hot high weak no|sunny hot high strong no|overcast hot high weak yes|rain mild high weak yes
rain cool normal weak yes|rain cool normal strong no|overcast cool normal strong yes|sunny mild high weak no
sunny cool normal weak yes|rain mild normal weak yes|sunny mild normal strong yes|overcast mild high strong yes
overcast hot normal weak yes|rain mild high strong no""".replace("\n", "|").split("|")
DAYS = [
    dict(zip(["outlook", "temperature", "humidity", "wind", "play"], each.split(), strict=True)) for each in WEATHER
]


def _rule(result: Any, when: dict[str, str], then: dict[str, str]) -> dict[str, Any]:
    return next(each for each in result.answer["rules"] if each["when"] == when and each["then"] == then)


def test_rules_of_quinlans_weather() -> None:
    result = ask(reason, instances=DAYS, target="play", conditions=2, share=0.6)
    overcast = _rule(result, {"outlook": "overcast"}, {"play": "yes"})
    assert (overcast["support"], overcast["seen"], overcast["against"]) == (4, 4, [])
    normal = _rule(result, {"humidity": "normal"}, {"play": "yes"})
    assert (normal["support"], normal["seen"], normal["against"]) == (6, 7, ["case 6"])
    assert _rule(result, {"outlook": "sunny", "humidity": "high"}, {"play": "no"})["share"] == 1  # his tree's left leaf
    assert _rule(result, {"outlook": "rain", "wind": "weak"}, {"play": "yes"})["seen"] == 3  # and its right one
    assert result.conclusion.startswith("what is outlook overcast has play yes (4 of 4")
    assert result.confidence == pytest.approx(5 / 6)
    assert result.would_change


def test_rules_of_the_transactions_of_han_and_kamber() -> None:
    # Han & Kamber, Data Mining (2nd ed. 2006), table 5.1 and example 5.4.
    baskets = "125 24 23 124 13 23 13 1235 123".split()
    result = ask(
        reason, closed=True, conditions=2, share=0.3, instances=[{f"I{each}": "in" for each in one} for one in baskets]
    )
    published = {"12-5": (2, 4), "15-2": (2, 2), "25-1": (2, 2)}
    for said, (support, seen) in published.items():
        when, then = ({f"I{each}": "in" for each in part} for part in said.split("-"))
        found = _rule(result, when, then)
        assert (found["support"], found["seen"]) == (support, seen)


def test_facts_of_the_store_are_generalised(home: Path) -> None:
    with Memory.open(home, background=False) as m:
        birds = [
            {"subject": each, "predicate": "isA", "object": "Bird"} for each in ("tweety", "jay", "pingu", "ostrich")
        ]
        flies = [{"subject": each, "predicate": "canFly", "object": "true"} for each in ("tweety", "jay")]
        m.facts.assert_many([*birds, *flies, {"subject": "pingu", "predicate": "canFly", "object": "false"}])
        result = ask(reason, knowing(m), subjects="*", target="canFly")
        assert result.conclusion.startswith("what is isA Bird has canFly true (2 of 3")
        assert any("pingu" in each for each in result.notes)
        with pytest.raises(InputError, match="no facts about"):
            ask(reason, knowing(m), subjects="fish*")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"instances": []}, "instances has 0 members"),
        ({"instances": [{"a": [1]}]}, r"instances\[0\].a is \[1\]"),
        ({"instances": [{"a": 1}], "target": "b"}, "no case has the target 'b'"),
        ({"instances": [{f"f{a}": a * b for a in range(40)} for b in range(40)]}, "more than 1,000 cases"),
    ],
)
def test_senseless_input_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ask(reason, SHORT, **values)
