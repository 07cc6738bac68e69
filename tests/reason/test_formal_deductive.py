"""Deduction: proofs from facts and rules."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.reason.methods.formal import deductive as reason
from memfolio.vault.vault import OWNER
from tests.reason.asking import ask, knowing

# Russell & Norvig, Artificial Intelligence (3rd ed. 2010), section 9.3.1, p. 330: Colonel West is a criminal.
CRIME = [
    (
        "crime: ?s by ?x and ?x isA American and ?s of ?y and ?y isA Weapon and ?s to ?z and ?z isA Hostile"
        " => ?x isA Criminal [factor 1.0]"
    ),
    "arms: Nono owns ?y and ?y isA Missile and ?s of ?y => ?s by West [factor 1.0]",
    "buyer: ?s of ?y and Nono owns ?y => ?s to Nono [factor 1.0]",
    "weapons: ?y isA Missile => ?y isA Weapon [factor 1.0]",
    "enemies: ?z enemyOf America => ?z isA Hostile [factor 1.0]",
]
CASE = ["Nono owns M1", "M1 isA Missile", "West isA American", "Nono enemyOf America", "sale of M1"]


@pytest.fixture
def memory(home: Path) -> Any:
    with Memory.open(home, background=False) as m:
        yield m


def test_colonel_west_is_a_criminal(memory: Memory) -> None:
    world = knowing(memory)
    result = ask(reason, world, goal="West isA Criminal", facts=CASE, rules=CRIME)
    assert result.answer["verdict"] == "proven"
    assert result.confidence == 1
    assert set(result.would_change) == {f"without the fact {each}" for each in CASE}
    who = ask(reason, world, goal="?who isA Criminal", facts=CASE, rules=CRIME)
    assert who.answer["answers"] == [{"?who": "West"}]
    short = ask(reason, world, goal="West isA Criminal", facts=CASE[:-2] + CASE[-1:], rules=CRIME)
    assert short.answer["verdict"] == "derivable-with-gaps"
    assert any("Nono enemyOf America" in each or "Nono isA Hostile" in each for each in short.would_change)
    assert not memory.facts.query()
    assert not memory.rules.list()


def test_store_and_given_facts_count_together_or_apart(memory: Memory) -> None:
    # The syllogism Barbara with a singular term, as in Mill, A System of Logic (1843), book II, chapter iii.
    memory.rules.create("mortals: ?x isA Human => ?x isA Mortal")
    memory.facts.assert_("Plato", "isA", "Human", confidence=0.8)
    world = knowing(memory)
    assert ask(reason, world, goal="Plato isA Mortal").confidence == pytest.approx(0.72)
    assert ask(reason, world, goal="Socrates isA Mortal").answer["missing"] == ["Socrates isA Human"]
    assert ask(reason, world, goal="Socrates isA Mortal", facts=["Socrates isA Human"]).answer["verdict"] == "proven"
    memory.rules.create("gods: ?x isA Human and not ?x isA God => ?x isDying true")
    dying = ask(reason, world, goal="Plato isDying true")
    assert dying.would_change == ("without the fact Plato isA Human", "if it were known that Plato isA God")
    denied = ask(reason, world, goal="Plato isDying true", facts=["Plato isA God"])
    assert denied.would_change == ("it would follow with: not Plato isA God",)
    alone = ask(reason, world, goal="Plato isA Mortal", only_given=True)
    assert alone.answer["verdict"] == "unprovable"
    assert alone.confidence is None
    assert ask(reason, world, goal="what is Plato?").answer["verdict"] == "proven"


def test_what_strangers_said_proves_nothing_and_the_rest_is_as_inference_has_it(memory: Memory) -> None:
    memory.rules.create("up: ?x partOf ?y and ?y partOf ?z => ?x partOf ?z")
    parts = [{"subject": str(at), "predicate": "partOf", "object": str(at + 1)} for at in range(4)]
    memory.facts.assert_many([*parts[:3], {**parts[3], "origin": "untrusted"}], by=OWNER)
    memory.inference.forward(persist=True)
    for one, other in combinations(range(5), 2):
        proof = memory.inference.backward(str(one), "partOf", str(other))
        found = ask(reason, knowing(memory), goal=f"{one} partOf {other}").answer
        assert (found["verdict"], found["holds"]) == (proof.verdict, True if other < 4 else None)


def test_what_is_far_off_follows_and_what_cannot_be_decided_is_said(memory: Memory) -> None:
    chain = [f"p{number} parent p{number + 1}" for number in range(15)]
    rules = ["?x parent ?y => ?x ancestor ?y", "?x parent ?y and ?y ancestor ?z => ?x ancestor ?z"]
    far = ask(reason, knowing(memory), goal="p0 ancestor p15", facts=chain, rules=rules)
    assert far.answer["verdict"] == "proven"
    assert "without the fact p14 parent p15" in far.would_change
    odd = ask(reason, knowing(memory), goal="a q 1", facts=["a p 1"], rules=["?x p 1 and not ?x q 1 => ?x q 1"])
    assert (odd.answer["verdict"], odd.answer["holds"]) == ("not-decided", None)
    assert odd.conclusion.lower().startswith("whether a q 1 is not decided: whether q holds depends on its own absence")


def test_contradiction_is_told(memory: Memory) -> None:
    # Nixon's diamond: Reiter & Criscuolo, On interacting defaults, IJCAI (1981).
    rules = ["?x isA Quaker => ?x isPacifist true", "?x isA Republican => ?x isPacifist false"]
    facts = ["Nixon isA Quaker", "Nixon isA Republican"]
    result = ask(reason, knowing(memory), goal="Nixon isPacifist true", facts=facts, rules=rules)
    assert result.answer["contradicted_by"] == ["Nixon isPacifist false"]
    assert result.confidence is None


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"goal": "a b c", "rules": ["?x b ?y => ?x b ?z"]}, r"rules\[0\]: the rule concludes with \?z"),
        ({"goal": "a b c", "facts": ["not a b c"]}, r"facts\[0\] is no fact"),
        ({"goal": "a ?p c"}, "goal is no fact: .* for a predicate"),
        ({"goal": "a b c", "facts": ["?x b c"]}, r"facts\[0\] has a variable"),
        ({"goal": "a b c", "fakts": []}, "there is no 'fakts'"),
        ({}, "goal is missing"),
    ],
)
def test_senseless_input_is_named(values: dict[str, Any], says: str, memory: Memory) -> None:
    with pytest.raises(InputError, match=says):
        ask(reason, knowing(memory), **values)
