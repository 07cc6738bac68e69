"""Search finds what pages of people and things tell, and nothing that was made for them or stands in a memory."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memfolio.index.read_files import FileReading, read_file
from tests.graph.world import World, person, relation

PAGE = "agents/main/memory/graph/entities/person--alex.md"
CITED = "- Likes tea (M-1794753005123-a3f2c91d)\n"


def reading(data: bytes) -> FileReading:
    return read_file(PAGE, data, zone=UTC, modified=datetime(2026, 11, 15, tzinfo=UTC))


def passages(text: str) -> list[str]:
    return [found.item.content for found in reading(text.encode()).found]


def test_overview_and_vocabulary_are_not_searched(world: World) -> None:
    world.session([person("Alex", "M-1", "M-2")], [relation("Alex", "works-at", "Acme")])
    world.grow()
    for words in ("Semantic Graph Index", "is sure of it", "works-at"):
        assert not [hit for hit in world.memory.recall(words) if hit.memory.source == "relation"]
    paths = {hit.memory.attributes.get("page") for hit in world.memory.recall("relation types hierarchical nesting")}
    assert paths <= {PAGE, None}


def test_a_passage_has_no_gaps_and_no_empty_headings() -> None:
    text = (
        f"# Alex\n\n## Facts\n\n{CITED}{CITED}\n\n\n## Timeline\n\n{CITED}\n## Relations\n\n- knows: [[person--bo]]\n"
    )
    assert passages(text) == ["- knows: [[person--bo]]"]
    mine = text.replace("\n\n\n", "\n\nMine.\n\n\n\nMore.\n\n")
    assert passages(mine) == ["## Facts\n\nMine.\n\nMore.\n\n## Relations\n\n- knows: [[person--bo]]"]


def test_a_page_of_nothing_but_headings_has_no_passages() -> None:
    assert passages(f"---\nname: Alex\n---\n# Alex\n\n## Facts\n\n{CITED}") == []


def test_code_is_found_as_it_stands() -> None:
    code = "```\n# one\n# two\n\n\nx\n```"
    assert passages(f"# Alex\n\n{code}\n") == [code]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"---\nname: Alex\n---\n# Alex\n\ncaf\xe9\n", "not UTF-8"),
        (b"---\nname: [unclosed\n---\n# Alex\n", "`name`"),
        (b"---\naliases: [Al,\n  Lex]\n---\n# Alex\n", "`aliases`"),
    ],
)
def test_what_cannot_be_read_of_a_page_is_a_problem_of_it(data: bytes, problem: str) -> None:
    found = reading(data)
    assert found.entity is not None
    assert found.entity.name == "Alex"
    assert [problem in each for each in found.problems] == [True]


def test_problems_are_told_of_the_home(world: World) -> None:
    world.save("person--alex", "---\nname: [unclosed\n---\n# Alex\n")
    counts = world.memory.status().counts
    assert counts is not None
    assert list(counts.problems) == [PAGE]


def test_a_remark_behind_a_list_is_no_part_of_it() -> None:
    entity = reading(b"---\nname: Alex\naliases: [Al, Lex] # old\n---\n# Alex\n").entity
    assert entity is not None
    assert entity.aliases == ("Al", "Lex")


def test_a_relation_is_no_summary() -> None:
    entity = reading(b"# Alex\n\n## Relations\n\n- works-at: [[organization--acme]]\n").entity
    assert entity is not None
    assert entity.summary == ""
