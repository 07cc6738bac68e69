"""The parts of a context that are pure: snippets, the situation, packing, and what is worth asking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio import MemoryItem
from memfolio.recall.context import Situation, StandingPage, asked, share_room
from memfolio.recall.hit import Hit, Reason, snippet
from memfolio.recall.pack import ContextLine, ContextSection, pack
from memfolio.settings import Packing
from memfolio.text import estimate_tokens

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LONG = (
    "We talked about the weather for a while. Then about trains. "
    "The harbour café opens at seven. It has good bread. " + "Nothing else was said of any use. " * 30
)


def item(content: str = "tea", *, days: float = 36_500, **given: object) -> MemoryItem:
    return MemoryItem(id="M-1-00000000", content=content, created_at=NOW - timedelta(days=days), **given)  # type: ignore[arg-type]


def hit(content: str, vector: float | None = None) -> Hit:
    why = () if vector is None else (Reason("vector", 1, vector),)
    return Hit(memory=item(content), score=1.0, why=why, path="")


@given(st.text(alphabet="abc .!?\n東京é"), st.lists(st.sampled_from(["abc", "a", "東 京"])), st.integers(1, 60))
def test_snippet_fits_and_cuts_no_word(content: str, words: list[str], tokens: int) -> None:
    found = snippet(content, words, tokens)
    assert estimate_tokens(found) <= tokens or found == ""
    known = set(content.replace("東", " 東 ").replace("京", " 京 ").replace("…", " ").split())
    assert set(found.replace("東", " 東 ").replace("京", " 京 ").replace("…", " ").split()) <= known


@pytest.mark.parametrize("tokens", [12, 20, 40, 80])
def test_snippet_has_the_sentence_that_the_question_is_about(tokens: int) -> None:
    found = snippet(LONG, ["harbour", "opening"], tokens)
    assert "The harbour café opens at seven." in found
    assert "…" in found
    assert estimate_tokens(found) <= tokens


def test_snippet_of_one_endless_sentence_begins_shortly_before_the_word() -> None:
    found = snippet("word " * 500 + "harbour " + "more " * 500, ["harbour"], 20)
    assert "harbour" in found
    assert found.startswith("… ")
    assert found.endswith(" …")


def test_short_text_is_whole_and_headings_stand_in_front() -> None:
    assert snippet("Tea\n\nat four", ["x"], 20) == "Tea\n\nat four"
    assert snippet("Tea at four", [], 20, ("Home", "Drinks")) == "Home › Drinks: Tea at four"
    assert snippet("Tea at four", [], 4, ("A very long heading",)) == "Tea at four"


def test_situation_brings_user_time_and_topics_nearer() -> None:
    weights = Packing()
    far = Situation(now=NOW).nearness(item(), weights)
    assert far == pytest.approx(1.0, abs=0.001)
    assert Situation(now=NOW, user="alex").nearness(item(user="alex"), weights) == pytest.approx(1.2 * far)
    assert Situation(now=NOW, user="alex").nearness(item(user="kim"), weights) == pytest.approx(far / 1.2)
    assert Situation(now=NOW, user="alex").nearness(item(), weights) == far
    assert Situation(now=NOW).nearness(item(days=0), weights) == pytest.approx(2.0)
    assert Situation(now=NOW).nearness(item(days=7), weights) == pytest.approx(1.5)
    topics = Situation(now=NOW, topics=("Drinks", "green tea", "person--alex", "drinks", "rum"))
    about = item("Green Tea for [[person--alex]]", tags=("drinks",))
    assert topics.nearness(about, weights) == pytest.approx(1.3 * far)


def test_every_factor_can_be_switched_off() -> None:
    weights = Packing(user=0, time=0, topic=0)
    situation = Situation(now=NOW, user="alex", topics=("tea",))
    assert situation.nearness(item(days=0, user="alex"), weights) == 1.0


@pytest.mark.parametrize(
    "prompt",
    [
        *("Where do I live?", "what's my name", "Is this mine?", "Do we have our keys?", "Wo wohne ich?"),
        *("Wie heißt mein Hund?", "Où est mon chat ?", "¿Dónde está mi gato?", "Где я живу?", "Где МОЙ кот?"),
    ],
)
def test_who_says_i_is_the_user(prompt: str) -> None:
    assert Situation(now=NOW, user="kim").speaker(prompt) == "kim"
    assert Situation(now=NOW).speaker(prompt) is None


@pytest.mark.parametrize("prompt", ["Where does Kim live?", "Which mice are there?", "", "Wem gehört das?"])
def test_who_does_not_say_i_means_nobody(prompt: str) -> None:
    assert Situation(now=NOW, user="kim").speaker(prompt) is None


def page(name: str, count: int) -> StandingPage:
    lines = tuple(f"- line {number} of {name}, with some words" for number in range(count))
    return StandingPage(name=name, inside=f"{name}.md", lines=lines)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 400))
def test_standing_pages_share_their_room(core: int, checkpoint: int, room: int) -> None:
    pages = [page("core", core), page("checkpoint", checkpoint)]
    found = share_room(pages, room)
    assert sum(section.whole for section in found if section) <= max(room, 0)
    if room >= 60:
        assert None not in found
    for one, (section, other) in zip(pages, zip(found, reversed(found), strict=True), strict=True):
        if section is None:
            assert one.cut(room - (other.whole if other else 0)) is None


def test_room_that_one_standing_page_does_not_need_goes_to_the_other() -> None:
    short, long = page("core", 1), page("checkpoint", 40)
    for pages in ([short, long], [long, short]):
        sizes = {
            each.name: section.whole for each, section in zip(pages, share_room(pages, 200), strict=True) if section
        }
        assert sizes["core"] == short.whole
        assert sizes["checkpoint"] > 200 - short.whole - 20
    equal = [section.whole for section in share_room([page("core", 40), long], 200) if section]
    assert all(80 < size <= 100 for size in equal)


def line(name: str, tokens: int, **given: object) -> ContextLine:
    text = f"- {name} ".ljust(4 * tokens - 1, "x")
    return ContextLine(id=name, text=text, says=f"{name} says so", **given)  # type: ignore[arg-type]


def names(sections: list[ContextSection]) -> list[list[str]]:
    return [[each.id for each in section.lines] for section in sections]


def test_section_keeps_to_its_share_while_the_others_need_theirs() -> None:
    one = ContextSection(title="One", share=0.5, lines=tuple(line(f"a{n}", 20) for n in range(9)))
    two = ContextSection(title="Two", share=0.5, lines=tuple(line(f"b{n}", 20) for n in range(9)))
    assert names(pack([one, two], 100)) == [["a0", "a1"], ["b0", "b1"]]


def test_what_a_section_leaves_goes_to_the_others_the_first_of_them_first() -> None:
    one = ContextSection(title="One", share=0.2, lines=tuple(line(f"a{n}", 20) for n in range(9)))
    two = ContextSection(title="Two", share=0.4, lines=(line("b", 20),))
    three = ContextSection(title="Three", share=0.4, lines=())
    assert names(pack([one, two, three], 100)) == [["a0", "a1", "a2"], ["b"]]


def test_nothing_is_said_twice_and_evidence_needs_its_fact() -> None:
    facts = ContextSection(title="Facts", share=0.5, lines=(line("a", 10), line("huge", 500)))
    again = ContextLine(id="other", text="- other", says="A  says SO")
    proofs = (line("p", 10, needs="a"), line("q", 10, needs="huge"), line("a", 10), again)
    assert names(pack([facts, ContextSection(title="Evidence", share=0.5, lines=proofs)], 200)) == [["a"], ["p"]]


def test_what_happened_is_shown_in_the_order_of_time() -> None:
    lines = tuple(line(f"a{days}", 10, at=NOW - timedelta(days=days)) for days in (1, 3, 2))
    assert names(pack([ContextSection(title="One", share=1.0, lines=lines, is_in_order=True)], 100)) == [
        ["a3", "a2", "a1"]
    ]


@given(st.lists(st.lists(st.integers(2, 60), max_size=8), max_size=4), st.integers(0, 300))
def test_packed_sections_fit_the_room(sizes: list[list[int]], room: int) -> None:
    sections = [
        ContextSection(title=f"S{s}", share=0.3, lines=tuple(line(f"{s}-{n}-", size) for n, size in enumerate(each)))
        for s, each in enumerate(sizes)
    ]
    shown = "\n".join(text for section in pack(sections, room) for text in section.shown())
    assert estimate_tokens(f"{shown}\n" if shown else "") <= room


SMALL_TALK = """
hello|Hi there!|thanks!|Thank you so much|ok|good morning|great, please continue|yes, go ahead|see you later
Danke!|merci beaucoup|¡Hola! Buenos días|спасибо|👍|2+2?||   |cool, sounds good
"""


@pytest.mark.parametrize("prompt", SMALL_TALK.replace("\n", "|").split("|"))
def test_small_talk_asks_for_nothing(prompt: str) -> None:
    assert asked(prompt) == []


@pytest.mark.parametrize("prompt", ["What does Alex drink?", "good tea", "お茶は好きですか", "AI", "release 42", "чай"])
def test_what_names_something_asks_for_it(prompt: str) -> None:
    assert asked(prompt) != []
