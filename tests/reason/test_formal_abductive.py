"""Abduction: published diagnoses, and explanations by the rules of a store."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.formal import abductive as reason
from tests.reason.asking import SHORT, ask, knowing


def test_irredundant_covers_of_peng_and_reggia() -> None:
    # Peng & Reggia, Abductive Inference Models for Diagnostic Problem-Solving (1990), chapter 3: m1, m4 and m5 are
    # explained by {d1 d2} x {d7 d8 d9}, {d3 d4} x {d8} and {d3 d4} x {d5} x {d7 d9}.
    effects = {
        "d1": "14",
        "d2": "134",
        "d3": "13",
        "d4": "16",
        "d5": "234",
        "d6": "23",
        "d7": "25",
        "d8": "456",
        "d9": "25",
    }
    causes = {name: {"effects": [f"m{each}" for each in some]} for name, some in effects.items()}
    result = ask(reason, causes=causes, observations=["m1", "m4", "m5"])
    published = [a + b for a in ("1", "2") for b in ("7", "8", "9")] + ["38", "48"]
    published += [a + "5" + b for a in ("3", "4") for b in ("7", "9")]
    found = ["".join(each).replace("d", "") for each in result.answer["explanations"]]
    assert sorted(found) == sorted(published)
    assert result.confidence is None


def test_reiters_full_adder() -> None:
    # Reiter, A theory of diagnosis from first principles, AIJ 32 (1987): the conflicts {X1 X2} and {X1 A2 O1}
    # have the diagnoses {X1}, {X2 O1} and {X2 A2}.
    parts = {"X1": ["sum", "carry"], "X2": ["sum"], "A2": ["carry"], "O1": ["carry"], "A1": ["none"]}
    result = ask(
        reason, causes={name: {"effects": some} for name, some in parts.items()}, observations=["sum", "carry"]
    )
    assert sorted(result.answer["explanations"]) == [["A2", "X2"], ["O1", "X2"], ["X1"]]
    assert result.conclusion == "best explained by X1"


chances = st.sampled_from([0.1, 0.25, 0.5, 0.9])
networks = st.dictionaries(
    st.sampled_from("abcd"),
    st.fixed_dictionaries({"prior": chances, "effects": st.dictionaries(st.sampled_from("wxyz"), chances, min_size=1)}),
    min_size=1,
)


@given(networks)
def test_likelihoods_are_those_of_the_probabilistic_causal_model(causes: dict[str, dict[str, Any]]) -> None:
    # Peng & Reggia, A probabilistic causal model, IEEE Trans. SMC 17 (1987): L = L1 L2 L3.
    every = sorted({each for one in causes.values() for each in one["effects"]})
    seen, absent = every[: (len(every) + 1) // 2], every[(len(every) + 1) // 2 :]
    covers = [
        set(some)
        for size in range(1, len(causes) + 1)
        for some in combinations(sorted(causes), size)
        if all(any(each in causes[name]["effects"] for name in some) for each in seen)
    ]
    covers = [one for one in covers if not any(other < one for other in covers)]

    def missed(some: set[str], each: str) -> float:
        return float(prod(1 - causes[name]["effects"].get(each, 0) for name in some))

    weights = [
        prod(causes[name]["prior"] / (1 - causes[name]["prior"]) for name in one)
        * prod(1 - missed(one, each) for each in seen)
        * prod(missed(one, each) for each in absent)
        for one in covers
    ]
    result = ask(reason, causes=causes, observations=seen, absent=absent)
    shares = dict(zip(map(tuple, result.answer["explanations"]), result.answer["shares"], strict=True))
    assert shares == {
        tuple(sorted(one)): pytest.approx(w / sum(weights)) for one, w in zip(covers, weights, strict=True)
    }
    assert result.confidence == pytest.approx(max(weights) / sum(weights))


def test_what_would_change_the_explanation_is_told() -> None:
    causes = {
        "flu": {"effects": {"fever": 0.9, "cough": 0.5}, "prior": 0.05},
        "cold": {"effects": {"cough": 0.8}, "prior": 0.2},
    }
    result = ask(reason, causes=causes, observations=["fever", "cough"])
    assert result.answer["explanations"] == [["flu"]]
    assert result.would_change == ("without the observation fever: cold",)


def test_weights_too_small_for_a_number_are_told_apart() -> None:
    seen = [f"sign {each}" for each in range(250)]
    causes = {name: {"effects": dict.fromkeys(seen, 0.01), "prior": prior} for name, prior in (("a", 0.2), ("b", 0.5))}
    result = ask(reason, causes=causes, observations=seen)
    assert result.answer["shares"] == pytest.approx([0.8, 0.2])
    certain = {f"c{each}": {"effects": [each], "prior": 1} for each in seen[:40]}
    assert ask(reason, causes=certain, observations=seen[:40]).confidence == 1


def test_rules_of_the_store_explain_wet_grass(home: Path) -> None:
    # Pearl, Probabilistic Reasoning in Intelligent Systems (1988): rain or the sprinkler may have wet the grass.
    with Memory.open(home, background=False) as m:
        m.rules.create("rained: ?d hadRain true and ?g isOutside true => ?g isWet ?d [factor 0.9]")
        m.rules.create("sprinkled: ?d hadSprinkler true and ?g isOutside true => ?g isWet ?d [factor 0.6]")
        m.facts.assert_("grass", "isOutside", "true")
        result = ask(reason, knowing(m), observation="grass isWet today")
        assert [each["rule"] for each in result.answer["hypotheses"]] == ["rained", "sprinkled"]
        assert result.answer["minimal"] == ["today hadRain true", "today hadSprinkler true"]
        also = ask(reason, knowing(m), observation="grass isWet today", facts=["today hadSprinkler true"])
        assert also.answer["hypotheses"][0]["rule"] == "sprinkled"
        m.facts.assert_("grass", "isWet", "today")
        assert ask(reason, knowing(m), observation="grass isWet today").answer == result.answer
        given_only = ask(reason, knowing(m), observation="a b c", rules=["?x c ?y => ?x b ?y"], only_given=True)
        assert given_only.answer["minimal"] == ["a c c"]
        assert (
            ask(reason, knowing(m), observation="moon isMadeOf cheese").conclusion
            == "no rule leads to moon isMadeOf cheese"
        )
        assert len(m.facts.query()) == 2


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"causes": {"a": {"effects": ["x"]}}, "observations": ["y"]}, "no cause has the effect 'y'"),
        ({"causes": {"a": {"effects": {"x": 2}}}, "observations": ["x"]}, "causes.a.effects.x is 2"),
        ({"causes": {"a": {"effects": ["x"], "prior": "high"}}, "observations": ["x"]}, "causes.a.prior is 'high'"),
        ({"observation": "a b"}, "observation is no fact"),
        ({"causes": {"a": {"effects": ["x"]}}, "observations": ["x"], "absent": ["x"]}, "'x' is observed and absent"),
        ({"causes": {f"c{a}": {"effects": list("uvwxyz")[a % 6 :]} for a in range(60)}, "observations": list("zyxwvu")},
         "more than 1,000 cases"),
    ],
)  # fmt: skip
def test_senseless_input_is_named(values: dict[str, Any], says: str, home: Path) -> None:
    with Memory.open(home, background=False) as m, pytest.raises(InputError, match=says):
        ask(reason, SHORT if "causes" in values else knowing(m), **values)
