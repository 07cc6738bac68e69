"""A page is added to, and no line that a person wrote is ever lost, moved or changed."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfolio.graph.page import FACTS, RELATIONS, TIMELINE, EntityText, cited_line, read_vocabulary, relation_line
from memfolio.index.read_files import read_entity
from memfolio.vault.journal import to_bytes, to_text
from tests.graph.world import ENTITIES, World, person

ID = "M-1794753005123-a3f2c91d"
PATH = "agents/main/memory/graph/entities/person--alex.md"
LINES = st.sampled_from(
    [
        *("---\n", "name: Alex\n", "aliases: [Al, 'Lex']\n", "aliases:\n", "  - Al\n", "aliases: Al\n", "role: x\n"),
        *("mentions: 3\n", "last_updated: 2026-01-01\n", "# Alex\n", "## Summary\n", "## summary\r\n", "### Facts\n"),
        *("## Facts\n", "##  FACTS ##\n", "## Timeline\n", "## Relations\n", "## Open Questions\n", "## Mine\n"),
        *("\n", "\r\n", "words\n", "no end", "```\n", "~~~\n", "<!--\n", "-->\n", "- a line of mine\n", "\ufeff"),
        *("- knows: [[person--sam]], [[person--bo]]\n", "* works-at: [[organization--acme]]\n", "- (M-1)\n", "\x0b"),
    ]
)


def grown(text: str) -> EntityText:
    page = EntityText(text)
    page.drop_cited({"M-1-00000000"}, ())
    page.drop_relations({("gone", "person--x"): ""})
    page.add_alias("Lexi")
    page.add(FACTS, [cited_line("Likes tea.", ID)])
    page.add(TIMELINE, [cited_line("Moved", ID, "2026-11-15")])
    page.add(RELATIONS, [relation_line("works-at", "organization--acme")])
    page.summarise("Likes tea.")
    page.set_field("mentions", "7")
    page.set_field("last_updated", "2026-11-15")
    return page


def of_a_person(text: str) -> list[str]:
    """The lines that are no fields of ours, in order; only the last may get the line end that it lacks."""
    fields = re.compile(r"\ufeff?(?:mentions|last_updated|aliases)[ \t]*:", re.IGNORECASE)
    return [line.rstrip("\r") for line in text.split("\n") if line.strip() and not fields.match(line)]


def is_within(lines: list[str], others: list[str]) -> bool:
    rest = iter(others)
    return all(line in rest for line in lines)


@given(st.lists(LINES | st.text(max_size=6), max_size=25).map("".join))
@example("---\nname: Alex\n---\n## Relations\n- knows: [[person--sam]]")
@example("words without an end")
def test_a_person_s_lines_always_survive(text: str) -> None:
    after = grown(text).text
    assert is_within(of_a_person(text), of_a_person(after))
    assert ID in after
    assert after.count("Lexi") == 1
    assert grown(after).cites.count(ID) == 4  # whoever adds looks first at what is there


def test_a_person_s_lines_survive_growth(world: World) -> None:
    @settings(max_examples=12)
    @given(st.lists(LINES, max_size=25).map("".join))
    def grow(text: str) -> None:
        name = f"alex-{len(world.pages())}"
        world.save(f"person--{name}", text)
        called = world.graph.entity(f"person--{name}").name
        world.session([person(called, "M-1", "M-2", aliases=[f"Lexi {name}"])])
        fact = world.fact(f"{called} likes tea", f"person--{name}")
        world.grow()
        after = (world.home / ENTITIES / f"person--{name}.md").read_bytes().decode()
        assert is_within(of_a_person(text), of_a_person(after))
        assert after.count(fact.id) == 1

    grow()


@given(st.binary(max_size=60))
def test_bytes_that_are_no_text_survive(data: bytes) -> None:
    assert data in to_bytes(EntityText(to_text(data)).text)


@given(st.lists(LINES, max_size=25).map("".join))
def test_aliases_that_were_there_are_still_there(text: str) -> None:
    before, after = (read_entity(PATH, each) for each in (text, grown(text).text))
    assert before is not None
    assert after is not None
    assert set(before.aliases) <= {*after.aliases, after.name}


def test_a_page_in_order_grows_in_order() -> None:
    text = "---\nname: Alex\nmentions: 1\n---\n# Alex\n\n## Facts\n\n- Mine\n\n## Open Questions\n\n- Why?\n"
    assert grown(text).text == (
        f"---\nname: Alex\nmentions: 7\naliases: [Lexi]\nsummarised: {_digest_of('Likes tea.')}\n"
        "last_updated: 2026-11-15\n---\n# Alex\n\n## Summary\n\nLikes tea.\n\n"
        f"## Facts\n\n- Mine\n- Likes tea ({ID})\n\n## Timeline\n\n- 2026-11-15: Moved ({ID})\n\n"
        "## Open Questions\n\n- Why?\n\n## Relations\n\n- works-at: [[organization--acme]]\n"
    )


@pytest.mark.parametrize("lines", ["```\nno end\n\n", "~~~\n## Facts\n~~~\n\n", "```\n## Facts\n```\n\n"])
def test_only_code_that_ends_hides_a_heading(lines: str) -> None:
    page = EntityText(f"# Alex\n\n{lines}## Facts\n\n- Mine\n\n## Notes\n")
    page.add("Facts", ["- Likes tea"])
    assert page.text == f"# Alex\n\n{lines}## Facts\n\n- Mine\n- Likes tea\n\n## Notes\n"
    assert [part.title for part in page.parts()] == ["", "Alex", "Facts", "Notes"]


def _digest_of(words: str) -> str:
    page = EntityText("---\nname: x\n---\n")
    page.summarise(words)
    found = re.search(r"summarised: ([0-9a-f]{8})", page.text)
    assert found
    return found[1]


def test_line_ends_stay_as_the_page_has_them() -> None:
    page = grown("---\r\nname: Alex\r\n---\r\n# Alex\r\n")
    assert "\n" not in page.text.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\naliases: [Al]\n---\n", "---\naliases: [Al, Lexi]\n---\n"),
        ("---\naliases: []\n---\n", "---\naliases: [Lexi]\n---\n"),
        ("---\naliases: Al\n---\n", "---\naliases: Al\nalias: [Lexi]\n---\n"),
        ("---\naliases:\n  - Al\n---\n", "---\naliases:\n  - Al\nalias: [Lexi]\n---\n"),
        ("---\nname: x\n---\n", "---\nname: x\naliases: [Lexi]\n---\n"),
        ("# Alex\n", "---\naliases: [Lexi]\n---\n# Alex\n"),
        ("---\naliases: [LEXI]\n---\n", "---\naliases: [LEXI]\n---\n"),
        ("---\naliases: [Al] # old\n---\n", "---\naliases: [Al, Lexi] # old\n---\n"),
        ("---\naliases: [Al,\n  D]\n---\n", "---\naliases: [Al,\n  D]\nalias: [Lexi]\n---\n"),
    ],
)
def test_an_alias_is_added_where_aliases_stand(text: str, expected: str) -> None:
    page = EntityText(text)
    page.add_alias("Lexi")
    assert page.text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\naliases: [Al, Lexi, Bo] # old\n---\n", "---\naliases: [Al, Bo] # old\n---\n"),
        ("---\nname: x\naliases: [Lexi]\n---\n", "---\nname: x\n---\n"),
        ("---\naliases: [Lexington]\n---\n", "---\naliases: [Lexington]\n---\n"),
    ],
)
def test_an_alias_is_taken_out_alone(text: str, expected: str) -> None:
    page = EntityText(text)
    page.drop_alias("Lexi")
    assert page.text == expected


def test_a_summary_of_ours_follows_the_facts_and_one_of_a_person_does_not() -> None:
    page = EntityText("---\nname: Alex\n---\n# Alex\n")
    page.summarise("Likes tea.")
    page.summarise("Likes rain.")
    assert "tea" not in page.text
    assert "Likes rain." in page.text
    mine = EntityText(page.text.replace("rain", "snow"))
    mine.summarise("Likes tea.")
    assert mine.text == page.text.replace("rain", "snow")
    page.summarise("")
    assert "rain" not in page.text


def test_links_lead_to_the_other_and_stand_there_once() -> None:
    page = EntityText(
        "- knows: [[person--bob]]\n- knows: [[person--robert]]\nSee [[Person--Bob|him]], [[person--bobby]]\n"
    )
    page.relink("person--bob", "person--robert")
    assert page.text == "- knows: [[person--robert]]\nSee [[person--robert|him]], [[person--bobby]]\n"


@pytest.mark.parametrize(
    "line",
    [
        "# " * 50_000 + "x",
        "- (" * 50_000,
        "- " + "(M-1-" * 30_000,
        " \t" * 50_000 + "x",
        "[[" * 50_000,
        "[[a/" * 30_000,
    ],
)
def test_hostile_lines_are_read_in_moments(line: str) -> None:
    start = time.process_time()
    page = grown(f"{line}\n## Facts\n{line}")
    page.relink("person--a", "person--b")
    read_vocabulary(f"- `a` {line}\n{'a' * 50_000}\n- `b` {'c' * 50_000} →")
    assert time.process_time() - start < 2
    assert page.text.count(line) >= 2
