"""What holds now comes first and says what it replaces; what was so before stays to be asked for."""

from __future__ import annotations

import os
import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.recall import current
from memfolio.recall.current import Matter, Said, asks_before, asks_now

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ASIDE = ["Can you suggest a film for tonight?", "it rained all afternoon", "need to water the plants"]

CHANGED = [
    ("Where is my gym?", "My gym is in Harlow Street.", "Switched gyms, I go to the one on Canal Row now.", "Canal"),
    ("When is the launch?", "The launch is on 4 May.", "The launch got postponed to 18 May.", "18 May"),
    (
        "Who is my accountant?",
        "My accountant is Rahel Stein.",
        "Moved my books over to an accountant named Ojo.",
        "Ojo",
    ),
    ("How much is the parking permit?", "The parking permit is 80 euros.", "They raised the permit to 95 euros.", "95"),
    ("Which bank am I with?", "I am with Nordbank.", "I closed that bank account, moved to Tideway.", "Tideway"),
    ("What is the alarm code?", "The alarm code is 5512.", "The alarm code was changed to 7730.", "7730"),
    ("Where do we sleep?", "We sleep in the back bedroom.", "We sleep in the attic room.", "attic"),
    ("Where do I keep the spare key?", "I keep the spare key in the shed.", "I put the spare key in the safe.", "safe"),
    ("Who is my manager?", "Imke is my manager.", "After the reorg I report to Anatol.", "Anatol"),
    ("How much does the cat get?", "The cat gets half a tin.", "The vet wants the cat on a quarter tin.", "quarter"),
    ("What car do I drive?", "I drive a Corsa.", "Sold the Corsa, I have an Enyaq.", "Enyaq"),
    ("Was trinke ich?", "Ich trinke Pfefferminztee.", "Ich trinke jetzt nur noch Kakao.", "Kakao"),
    ("Wo wohne ich?", "Ich wohne in Bremen.", "Ich bin umgezogen und wohne jetzt in Kassel.", "Kassel"),
    ("我住在哪里?", "我住在北京。", "我搬家了,现在住在上海。", "上海"),
]
COMPATIBLE = [
    ("Which instruments do I play?", "I play the cello.", "I also play the flute."),
    ("Where do Ida and Olga live?", "Ida lives in Oslo.", "Olga lives in Bergen."),
    ("What is the code of the cellar?", "The code of the cellar is 311.", "The code of the attic was changed to 942."),
    ("How much is the bill for Orla?", "The bill for Orla is 300.", "The bill for Finn went up to 450."),
    ("What is my thesis about?", "My thesis is about otters.", "My thesis supervisor changed offices."),
    ("Where does my brother live?", "My brother lives in Hull.", "My brother's ex lives in Poole."),
    ("What shoe size do I wear?", "I wear size 9 shoes.", "Tim switched to size 4 shoes."),
    ("What colour is the back bedroom?", "The back bedroom is blue.", "The front bedroom is white."),
    ("What do I like?", "I like black coffee.", "I like green tea."),
    ("Where is my bike?", "My bike is in the Smith garage.", "My brother's bike is in the Jones garage now."),
    ("Can I call Priya at 9?", "Call with Priya on Friday, 3 pm.", "The train to Bergen leaves at 9:15."),
]


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        yield memory


def tell(memory: Memory, *texts: str) -> None:
    aside: Sequence[str] = ASIDE
    lines = [text for nth, each in enumerate(texts) for text in (each, aside[nth % len(aside)])]
    memory.observe_many(
        {"role": "user", "content": text, "session": f"s-{nth // 2}", "at": START + timedelta(days=9 * nth)}
        for nth, text in enumerate(lines)
    )


@pytest.mark.parametrize(("question", "old", "new", "value"), CHANGED)
def test_what_was_said_last_comes_first(memory: Memory, question: str, old: str, new: str, value: str) -> None:
    tell(memory, old, new)
    first, *others = memory.recall(question)
    assert value in first.memory.content
    assert first.replaces == tuple(each.memory.id for each in others if each.memory.content == old)
    context = memory.context(question) or ""
    line = next(each for each in context.splitlines() if each.startswith("- "))
    assert value in line
    assert "  | earlier: [" in context
    assert old in context


@pytest.mark.parametrize(("question", "one", "other"), COMPATIBLE)
def test_what_holds_beside_another_replaces_nothing(memory: Memory, question: str, one: str, other: str) -> None:
    tell(memory, one, other)
    assert [hit.replaces for hit in memory.recall(question) if hit.replaces] == []
    assert "earlier:" not in (memory.context(question) or "")


SUCCESSORS = [
    (
        "Where is my yoga class?",
        "My yoga class is in the Linden studio.",
        "Yoga is in the sports hall nowadays.",
        "hall",
    ),
    ("What does the gym cost?", "The gym costs 30 euros a month.", "The gym has put its price up to 38.", "38"),
    ("Can I use the sauna?", "The sauna is out of order.", "They mended the sauna this morning.", "mended"),
]
BESIDE = [
    (
        "What is the code of my bike lock?",
        "The code of my bike lock is 4411.",
        "The code of my gym lock is 9072.",
        "4411",
    ),
    ("Where does Mara work?", "Mara works at the town hall.", "Nils now works at the harbour.", "town hall"),
    (
        "Who leads the choir in June?",
        "Ruth leads the choir in June.",
        "In July it is Piet who leads the choir.",
        "Ruth",
    ),
]
LIFE = (
    "The {0} at the corner was closed when I walked past.",
    "I read a long article about the history of the {0}.",
    "My cousin sent a picture of a {0} from her trip.",
    "We talked about the price of a {0} over lunch.",
)
THINGS = "bakery lighthouse tractor violin castle museum kettle orchard glacier tunnel fountain carpet".split()


def test_successor_of_a_plain_statement_is_found_among_many_others(memory: Memory) -> None:
    pairs = SUCCESSORS + BESIDE
    lines = [old for _, old, _, _ in pairs]
    lines += [line.format(thing) for thing in THINGS for line in LIFE]
    lines += [new for _, _, new, _ in pairs]
    memory.observe_many(
        {"role": "user", "content": text, "session": f"s-{nth}", "at": START + timedelta(hours=11 * nth)}
        for nth, text in enumerate(lines)
    )
    memory.sync(embed=True)
    first = {question: memory.recall(question)[0].memory.content for question, *_ in pairs}
    assert [question for question, _, _, value in pairs if value not in first[question]] == []


# The newer one is about somebody or something that the question names as well, and about nothing that is asked for.
ANOTHER_MATTER = [
    (
        "What is Ada allergic to again?",
        "she's allergic to walnuts, Ada I mean, the school knows",
        "the puppy's here. he's not called Bolt any more, Ada changed her mind on the way, he's Sprocket",
    ),
    (
        "Why am I not fencing?",
        "I usually fence at the mill on Mondays, with Noor",
        "the parrot came back. it's no longer afraid, Noor switched the cage on Friday",
    ),
    (
        "Who is the contact at Hallam Rail?",
        "Ines does the timetable, and Sven at Hallam Rail is the contact",
        "Sven says Hallam Rail want a fire drill before anything is moved, so Dorset is pushed to 23 May",
    ),
]


@pytest.mark.parametrize(("question", "old", "new"), ANOTHER_MATTER)
def test_a_shared_name_makes_no_matter(memory: Memory, question: str, old: str, new: str) -> None:
    lines = [old, *(line.format(thing) for thing in THINGS for line in LIFE), new]
    memory.observe_many(
        {"role": "user", "content": text, "session": f"s-{nth}", "at": START + timedelta(hours=11 * nth)}
        for nth, text in enumerate(lines)
    )
    memory.sync(embed=True)
    first = memory.recall(question)[0]
    assert first.memory.content == old
    assert not first.replaces
    assert "What holds now" not in (memory.context(question) or "")


def test_what_cannot_be_a_successor_is_not_compared_word_by_word() -> None:
    lines = [line.format(thing) for thing in THINGS for line in LIFE]
    said = [Said("The bins go out on Tuesday.", (0, 0), "user", near=0.9)]
    said += [Said(text, (day * 86_400_000_000, 0), "user", 0.3, 0.05) for day, text in enumerate(lines, start=1)]
    before = current._steps.cache_info().misses
    assert Matter("When do the bins go out?", {"bins": 3.0}, 400).newest(said) is None
    assert current._steps.cache_info().misses - before < len(lines) / 4
    said.append(Said("The bins go out on Thursday.", (10**15, 0), "user", 1.0, 0.9, 1.0, 0.9))
    assert Matter("When do the bins go out?", {"bins": 3.0}, 400).newest(said) == (len(said) - 1, True)


def test_question_about_the_past_gets_what_was_so_before(memory: Memory) -> None:
    tell(memory, "I live in Lyon, near the river.", "I moved, I live in Nantes now.")
    assert "Lyon" in memory.recall("Where did I live before?")[0].memory.content
    context = memory.context("Where did I live before?") or ""
    first = next(line for line in context.splitlines() if line.startswith("- "))
    assert "Lyon" in first
    assert "  | later: [" in context


def test_word_of_a_stranger_does_not_replace_the_owners(memory: Memory) -> None:
    tell(memory, "My gym is in Harlow Street.")
    memory.observe("tool", "My gym switched, it is in Canal Row now.", session="s-9", at=START + timedelta(days=90))
    assert [hit.replaces for hit in memory.recall("Where is my gym?") if hit.replaces] == []


MEETING = """# Atlas sync

- The launch of Atlas is on March 3 with Tom and Priya.
- The launch of Atlas moved to April 14, says Priya.
"""


def test_parts_of_one_note_hold_together_and_a_later_note_replaces(home: Path, tmp_path: Path) -> None:
    question = "When is the launch of Atlas?"
    for name, text, day in (("sync", MEETING, 1), ("later", "The launch of Atlas moved to May 5.\n", 40)):
        note = tmp_path / name / f"{name}.md"
        note.parent.mkdir()
        note.write_text(text)
        at = (START + timedelta(days=day)).timestamp()
        os.utime(note, (at, at))
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(tmp_path / "sync")
        assert len(hits := memory.recall(question)) == 2
        assert not any(hit.replaces for hit in hits)
        assert "earlier:" not in (memory.context(question) or "")
        memory.notes.watch(tmp_path / "later")
        first, *others = memory.recall(question)
        assert "May 5" in first.memory.content
        assert {*first.replaces} < {hit.memory.id for hit in others}


def test_questions_tell_whether_they_are_about_now() -> None:
    assert asks_now("What is my phone number?")
    assert not asks_now("Where did I live before?")
    assert asks_before("Where did I live before?")
    assert asks_now("Could we take our own boat?")
    assert not asks_now("Could you find us a boat?")
    assert not asks_now("Can you help me plan my week?")


def test_no_value_is_missed_for_where_one_can_begin() -> None:
    data = Path(current.__file__).parent / "data" / "current.toml"
    given = tomllib.loads(data.read_text("utf-8"))["value"]
    gate, rest = given.index(r"(?=[^\Wa-z"), given.index("(?:\n(?P<email>")
    both = (given, given[:gate] + given[rest:])
    whole, ungated = (re.compile("".join(map(str.strip, each.splitlines()))) for each in both)
    words = re.findall(r"[^\W\d_]{2,}", given[rest:]) + "5 12 3pm €5 k2 a1 me@b.org the an hour two-day".split()
    chance = random.Random(5)
    texts = [each for word in words for each in (word, f"{word} 5", f"the {word.lower()} a", word.swapcase())]
    texts += [" ".join(chance.choices(words, k=6)) for _ in range(3000)]
    assert sum(len(ungated.findall(each)) for each in texts) > len(words)
    for text in texts:
        expected = [(found.span(), found.lastgroup) for found in ungated.finditer(text)]
        assert [(found.span(), found.lastgroup) for found in whole.finditer(text)] == expected, text
