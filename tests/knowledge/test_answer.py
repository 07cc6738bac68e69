"""Questions in plain words are taken for triples that are known, and answered from whatever can answer them."""

from __future__ import annotations

import pytest

from memfolio.errors import InputError
from memfolio.knowledge.inference import KnowledgeAnswer, KnownTerms, Prover, explain, understand
from memfolio.knowledge.join import Atom, MemoryRelations
from memfolio.knowledge.rule import Condition, render_part
from tests.knowledge.world import atoms_of, rules_of

KNOWN = atoms_of(
    "acme-consulting hasRevenue $60,000",
    "acme-consulting locatedIn Boston",
    "Boston partOf US",
    "bo worksAt Zed",
    "bits hasRevenue $9",
)
RULES = rules_of("""
big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true
inside: ?x locatedIn ?y and ?y partOf ?z => ?x locatedIn ?z
""")
TERMS = {term for atom in KNOWN for term in (atom.subject, atom.object)}
VOCABULARY = KnownTerms(
    predicates={atom.predicate for atom in KNOWN} | {"isBig"},
    known=lambda texts: [each for each in texts if each in TERMS],
)


def ask(question: str | Condition) -> KnowledgeAnswer:
    return explain(question, Prover(MemoryRelations(KNOWN), RULES), VOCABULARY, now=0)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the revenue of Acme Consulting?", "acme-consulting hasRevenue ?what"),
        ("Is Boston a part of the US?", "Boston partOf US"),
        ("who works at zed", "Zed worksAt ?what"),
        ("how big is Acme-Consulting's shop", "acme-consulting isBig ?what"),
        ("?x isBig true", "?x isBig true"),
        ("which revenues are there", "?who hasRevenue ?what"),
    ],
)
def test_known_words_make_a_pattern(question: str, first: str) -> None:
    groups = [group for group in understand(question, VOCABULARY)[0] if group]
    assert render_part(groups[0][0]) == first


@pytest.mark.parametrize(
    ("question", "answer", "paths"),
    [
        ("revenue of acme consulting", "acme-consulting hasRevenue $60,000", ("facts",)),
        ("who works at Zed", "bo worksAt Zed", ("facts",)),
        ("Is acme consulting big?", "acme-consulting isBig true", ("derived",)),
        ("is acme consulting located in the US", "acme-consulting locatedIn US", ("derived",)),
        (Condition("Boston", "partOf", "?x"), "Boston partOf US", ("facts",)),
    ],
)
def test_an_answer_says_what_holds_and_what_answered(question: str, answer: str, paths: tuple[str, ...]) -> None:
    found = ask(question)
    assert found.paths == paths
    assert answer in str(found).splitlines()[0]


def test_all_about_a_subject_is_told_where_no_predicate_is_named() -> None:
    told = {node.triple for node in ask("tell me about Boston").facts}
    assert told == {("Boston", "partOf", "US"), ("acme-consulting", "locatedIn", "Boston")}


def test_where_nothing_holds_gaps_and_hypotheses_answer() -> None:
    found = ask("is bits big")
    assert found.paths == ("gaps", "hypotheses")
    assert "bits hasRevenue ?y and ?y > $50,000" in str(found)


def test_no_rule_is_offered_that_needs_no_assumption() -> None:
    known = [*KNOWN, Atom(9, "acme-consulting", "isBig", "true")]
    told = explain("why is acme consulting big", Prover(MemoryRelations(known), RULES), VOCABULARY, now=0)
    assert (told.paths, told.hypotheses) == (("facts",), ())
    partly = explain(
        "why does bits isBig true",
        Prover(MemoryRelations([Atom(9, "bits", "isBig", "true")]), RULES),
        VOCABULARY,
        now=0,
    )
    assert all(each.assumptions for each in partly.hypotheses)
    assert "assuming bits hasRevenue ?y and ?y > $50,000" in str(partly)


def test_what_was_not_decided_is_not_said_to_be_unknown() -> None:
    chain = atoms_of(*(f"n{number} partOf n{number + 1}" for number in range(60)))
    within = rules_of("?x partOf ?y and ?y partOf ?z => ?x partOf ?z")
    found = explain(
        Condition("n0", "partOf", "n60"), Prover(MemoryRelations(chain), within, most=100), VOCABULARY, now=0
    )
    assert found.undecided == "not decided within 100 conclusions"
    assert str(found).startswith("Not decided within 100 conclusions: n0 partOf n60")
    assert "Nothing that is known says" not in str(found)
    assert "nothing more" not in str(found)


def test_a_question_without_known_words_is_refused() -> None:
    with pytest.raises(InputError, match="nothing in 'what is the meaning"):
        ask("what is the meaning of life")


def test_what_was_not_understood_is_said() -> None:
    found = ask("Is the Zork as big as Acme Consulting?")
    assert found.unknown == ("Zork",)
    assert str(found).startswith("Not understood: Zork\nacme-consulting isBig true")
