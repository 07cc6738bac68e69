"""Abduction: explanations by the rules of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.formal import abductive as reason
from tests.reason.asking import ask, knowing


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


def test_senseless_input_is_named(home: Path) -> None:
    with Memory.open(home, background=False) as m, pytest.raises(InputError, match="observation is no fact"):
        ask(reason, knowing(m), observation="a b")
