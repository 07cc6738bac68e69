"""Sentences that cannot both be true are found, and those that can are left alone."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio.learn.contradict import contradict
from memfolio.learn.learned import Statement
from memfolio.learn.resolve import Knowledge, KnownStatementAbout, resolve
from memfolio.types import Kind, Type
from memfolio.vault.change import NewId

START = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("The ferry runs in winter.", "The ferry doesn't run in winter.", "negation"),
        ("I drink coffee.", "I never drink coffee.", "negation"),
        ("Lena likes olives.", "Lena can't stand olives.", "opposite"),
        ("The gate is locked at night.", "The gate is unlocked at night.", "opposite"),
        ("The heating works.", "The heating is broken.", "opposite"),
        ("The wall is red.", "The wall is green.", "opposite"),
        ("Our office is in Vienna.", "Our office is in Prague.", "values"),
        ("Mara's boss is Henrik.", "Mara's boss is Pia.", "values"),
        ("The library opens at nine.", "The library opens at ten.", "values"),
        ("The bridge was built in 1932.", "The bridge was built in 1958.", "values"),
        ("The radiator is on.", "The radiator is off.", "opposite"),
        ("The cake has nuts.", "The cake is nut-free.", "negation"),
        ("The cabin has running water.", "The cabin lacks running water.", "negation"),
        ("Our flat is on the third floor.", "Our flat is on the fifth floor.", "values"),
        ("Ines is a vegetarian.", "Ines eats pork.", "negation"),
        ("Helga has no pets.", "Helga's cat is called Mimi.", "negation"),
        ("Nadja is an only child.", "Nadja has a twin sister.", "negation"),
        ("Paul is allergic to peanuts.", "Paul eats peanuts every day.", "negation"),
        ("The barn belongs to Ruth.", "The owner of the barn is Ole.", "values"),
        ("The tallest tree in the yard is an oak.", "The tallest tree in the yard is a larch.", "values"),
        ("Uwe drives a Skoda.", "Uwe drives a Peugeot.", "values"),
        ("The kettle is made of steel.", "The kettle is made of glass.", "values"),
        ("The pharmacy closes at six.", "The pharmacy is open until eight.", "values"),
        ("The talk took 20 minutes.", "The talk took two hours.", "values"),
        ("Entry to the castle is free.", "Entry to the castle costs 12 euros.", "opposite"),
        ("My visa is valid until 2031.", "My visa expired last year.", "opposite"),
        ("Mia is taller than Jo.", "Jo is taller than Mia.", "opposite"),
        ("The archive is closed to visitors.", "Visitors may use the archive.", "negation"),
        ("Rosa can't wait for the fair.", "The fair fills Rosa with dread.", "opposite"),
        ("Flour gets on my nerves.", "I have a soft spot for flour.", "opposite"),
        ("I feel completely at ease on ladders.", "Ladders make me nervous.", "opposite"),
        ("The new clerk is experienced.", "The new clerk is a novice.", "opposite"),
        ("Their quarrel drives Ida mad.", "Ida enjoys their quarrel.", "opposite"),
        ("The clerk praised the design.", "The clerk criticised the design.", "opposite"),
        ("Someone in the mill sings.", "No one in the mill sings.", "negation"),
        ("The sofa is brown.", "Our couch isn't brown.", "negation"),
        ("The fair is held in Graz.", "Linz is where the fair takes place.", "values"),
        ("The kiosk is open from nine to five.", "The kiosk is open from eight to six.", "values"),
        ("Retries are limited to three.", "Up to five retries are allowed.", "values"),
        ("Mara is off sick.", "Mara is back.", "opposite"),
        ("Tom is in hospital.", "Tom is back at work.", "opposite"),
        ("My boss is on sick leave.", "My boss is well again.", "opposite"),
        ("I like jazz.", "I've lost interest in jazz.", "opposite"),
        ("I hate opera.", "Opera has really grown on me.", "opposite"),
        ("Das Café ist offen.", "Das Café ist geschlossen.", "opposite"),
        ("Lena mag Pilze.", "Lena mag keine Pilze.", "negation"),
        ("Mein Bruder wohnt in Bonn.", "Mein Bruder wohnt in Köln.", "values"),
        ("Die Probe ist am Montag.", "Die Probe ist am Freitag.", "values"),
        ("小李喜欢游泳。", "小李讨厌游泳。", "opposite"),
        ("她是老师。", "她不是老师。", "negation"),
        ("我住在西安。", "我住在武汉。", "values"),
        ("他是独生子。", "他有一个哥哥。", "negation"),
    ],
)
def test_contradiction_is_found_in_either_order(one: str, other: str, kind: str) -> None:
    assert [contradict(one, other), contradict(other, one)] == [kind, kind]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jonas lives in Kiel.", "Jonas lives in Kiel near the port."),
        ("I have a dog.", "I have a cat."),
        ("The soup is hot.", "The salad is cold."),
        ("We have two cars.", "We have three bikes."),
        ("I like tea in the morning.", "I don't like tea in the evening."),
        ("Room 4 is free.", "Room 6 is busy."),
        ("Mara is off sick.", "Jo is back."),
        ("Tom is in hospital.", "Tom is back in the choir since May."),
        ("The milk has gone off.", "I like milk."),
        ("I love tea.", "I have come round to coffee."),
        ("The heating is off.", "The music is back."),
        ("My dentist is Dr Ada Bloom.", "My dentist's number is 555 210."),
        ("The paint is blue.", "The paint is still wet."),
        ("The shop might be closed.", "The shop is open."),
        ("Ivo paints on Mondays.", "Ivo paints on Fridays."),
        ("Ines is a vegetarian.", "Ines eats rice."),
        ("Helga has no dog.", "Helga's cat is called Mimi."),
        ("Nadja has no children.", "Nadja has a twin sister."),
        ("Petra is a vegan.", "Petra's husband eats cheese."),
        ("Marit has no motorbike.", "Marit has a motorbike licence."),
        ("Mia is taller than Jo.", "Jo is shorter than Mia."),
        ("I lived in Rome for two years.", "I live in Bern."),
        ("The bank closes at four on Fridays.", "The bank closes at six on Mondays."),
        ("The old sofa is hard.", "The new sofa is soft."),
        ("We live on the third floor.", "My parents live on the sixth floor."),
        ("Tilda is Sven's mother.", "Tilda is Mia's aunt."),
        ("My father is a baker.", "My father is a good dancer."),
        ("I love Bern.", "I hate the trams in Bern."),
        ("I hate the smell of lilies.", "I love the look of lilies."),
        ("Ida is happy.", "Ida is worried about her goat."),
        ("The tent isn't cheap.", "The tent is expensive."),
        ("The film lasts 95 minutes.", "The film costs 12 euros."),
        ("Mira is thirty.", "Mira has two children."),
        ("Mira teaches children.", "Mira doesn't have children."),
        ("Some of the guests sing.", "Some of the guests don't sing."),
        ("My flight lands at nine.", "Your flight lands at eleven."),
        ("Nina lost the first game.", "Nina won the second game."),
        ("Ben lives with Ida.", "Ben lives on Oak Street."),
        ("The pot is in room 4 at ten.", "The pot is in room 4 at my aunt's."),
        ("I like my boss.", "My boss's boss scares me stiff."),
        ("Lena mag Pilze.", "Lena mag keinen Spinat."),
        ("Mein Bruder wohnt in Bonn.", "Meine Schwester wohnt in Köln."),
        ("小李喜欢游泳。", "小李不喜欢跑步。"),
        ("", "The shop is open."),
    ],
)
def test_what_may_both_be_true_is_no_contradiction(one: str, other: str) -> None:
    assert contradict(one, other) is None


LABELLED = [
    json.loads(line) for line in Path(__file__).with_name("contradictions.jsonl").read_text("utf-8").splitlines()
]


def test_most_contradictions_are_found_and_little_else() -> None:
    pairs = Counter(pair["kind"] for pair in LABELLED)
    found = Counter(pair["kind"] for pair in LABELLED if contradict(pair["one"], pair["other"]))
    shares = {kind: found[kind] / pairs[kind] for kind in pairs}
    assert shares.pop("compatible") <= 0.02
    assert min(shares.values()) >= 0.86, shares


def said(text: str, *, may_replace: bool = True) -> tuple[Statement, datetime]:
    statement = Statement(text=text, type=Type.FACT, kind=Kind.SEMANTIC, turns=(), may_replace=may_replace)
    return statement, START + timedelta(days=9)


def test_older_word_is_kept_with_the_time_until_which_it_was_true() -> None:
    known = KnownStatementAbout(ref="M-1", text="The depot is in Hull", at=START)
    found = resolve([said("The depot is not in Hull")], Knowledge([known]), "supersede")
    assert (found.replaced, found.ended) == ([("M-1", NewId(0))], {"M-1": START + timedelta(days=9)})


def test_word_of_a_stranger_stands_beside_what_is_known() -> None:
    known = KnownStatementAbout(ref="M-1", text="The depot is in Hull", at=START)
    found = resolve([said("The depot is not in Hull", may_replace=False)], Knowledge([known]), "supersede")
    assert (found.replaced, [each.old.ref for each in found.contradicting]) == ([], ["M-1"])


def test_few_of_many_known_statements_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [KnownStatementAbout(ref=f"M-{n}", text=f"The crate {n} is in the hall.", at=START) for n in range(600)]
    said = ("The ferry runs in winter.", "Our friends like the hall of mirrors.")
    known += [KnownStatementAbout(ref=f"M-{600 + n}", text=text, at=START) for n, text in enumerate(said)]
    compared: list[str] = []

    def counted(one: str, other: str) -> object:
        compared.append(one)
        return contradict(one, other)

    monkeypatch.setattr("memfolio.learn.resolve.contradict", counted)
    new = KnownStatementAbout(ref=NewId(0), text="The ferry doesn't run in winter.", at=START)
    assert [each.ref for each in Knowledge(known).detect(new)] == ["M-600"]
    assert compared == ["The ferry runs in winter."]
