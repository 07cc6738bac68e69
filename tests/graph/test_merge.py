"""Two entities become one: nothing that a page tells is lost, and it can be taken back."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.errors import ConflictError, NotFoundError
from memfolio.serve.cli.call import PERSON
from tests.graph.test_page import LINES, of_a_person
from tests.graph.world import World, person, relation

HEADINGS = "summary|facts|timeline|relations|open questions|alex"
OURS = re.compile(rf"\ufeff?---|(?:name|type|title|alias(?:es)?):.*|  - Al|#+ +(?:{HEADINGS})\b.*", re.IGNORECASE)
"""The marks of front matter, the names that go among the aliases, and headings that both pages may have."""


@pytest.fixture
def two(world: World) -> World:
    """Robert and Bob, who know each other, and Sam, who knows both."""
    world.fact("Bob plays chess", "Bob")
    world.fact("Robert leads Acme", "Robert")
    world.session(
        [person("Robert", "M-1", "M-2"), person("Bob", "M-3", "M-4", aliases=["Bobby"]), person("Sam", "M-1")],
        [relation("Bob", "works-at", "Acme"), relation("Sam", "knows", "Bob"), relation("Sam", "knows", "Robert")],
    )
    world.grow()
    world.save(
        "person--bob", world.page("person--bob") + "\n## Notes\n\nOwes me a book.\n\n## Open Questions\n\n- Age?\n"
    )
    world.save("person--sam", world.page("person--sam") + "\nSee [[person--bob|Bob]].\n")
    return world


def test_what_the_other_page_tells_goes_to_the_one_that_is_kept(two: World) -> None:
    merged = two.graph.merge("Robert", "Bob")
    assert merged.receipt is not None
    entity = two.graph.entity("bobby")
    assert (entity.id, entity.mentions, entity.aliases) == ("person--robert", 4, ("Bob", "Bobby"))
    assert [fact.partition(" (")[0] for fact in entity.facts] == ["Robert leads Acme", "Bob plays chess"]
    assert entity.questions == ("Age?",)
    assert "## Notes\n\nOwes me a book.\n" in two.page("person--robert")
    assert {(step.predicate, step.there) for step in entity.relations} == {
        ("works-at", "organization--acme"),
        ("knows", "person--sam"),
    }
    assert two.pages() == ["person--robert", "person--sam"]
    assert two.page("person--sam").count("knows: [[person--robert]]") == 1
    assert "See [[person--robert|Bob]]." in two.page("person--sam")
    assert "person--bob" not in (two.home / "agents/main/memory/graph/index.md").read_text(encoding="utf-8")
    two.assert_index_follows()


def test_a_merge_is_one_change_that_can_be_undone(two: World) -> None:
    before = {each: two.page(each) for each in two.pages()}
    receipt = two.graph.merge("Robert", "Bob").receipt
    assert receipt is not None
    two.memory.audit.undo(receipt.seq, by=PERSON)
    assert {each: two.page(each) for each in two.pages()} == before


def test_a_dry_run_shows_it_and_changes_nothing(two: World) -> None:
    before = {each: two.page(each) for each in two.pages()}
    merged = two.graph.merge("Robert", "Bob", dry_run=True)
    assert merged.receipt is None
    assert "+- Bob plays chess" in merged.diff
    assert {each: two.page(each) for each in two.pages()} == before


def test_later_mentions_of_the_other_go_to_the_one_that_is_kept(two: World) -> None:
    two.graph.merge("Robert", "Bob")
    two.session([person("Bob", "M-9")])
    two.grow()
    assert two.pages() == ["person--robert", "person--sam"]
    assert two.graph.entity("Robert").mentions == 5
    two.grow()
    assert two.changes.receipts == []


def test_a_person_s_summary_of_the_other_is_kept_where_there_is_none(two: World) -> None:
    two.save("person--bob", "---\nname: Bob\n---\n## Summary\n\nMy oldest friend.\n")
    two.graph.merge("Robert", "Bob")
    assert two.graph.entity("Robert").summary == "My oldest friend."


BOB = """---
name: Bob
c++: expert
role: chief
# a remark
aliases: [Bobby, Rob] # from school
---
He owes me 50 EUR.

# Bob

Intro line.

- yes

## Facts

```
one

two
```

## Open Questions

- yes

## Plans
"""


def test_lines_of_a_person_stay_as_they_are_when_pages_become_one(world: World) -> None:
    world.save("person--bob", BOB)
    world.save("person--robert", "---\nname: Robert\nrole: baker\n---\n# Robert\n\n## Facts\n\n- yes\n")
    world.graph.merge("Robert", "Bob")
    assert world.page("person--robert") == (
        "---\nname: Robert\nrole: baker\naliases: [Bob, Bobby, Rob]\nc++: expert\n"
        "mentions: 0\n---\n# Robert\n\n"
        "## Facts\n\n- yes\n```\none\n\ntwo\n```\n\n## Open Questions\n\n- yes\n\n"
        "# Bob\n\nrole: chief\n# a remark\n\nHe owes me 50 EUR.\n\nIntro line.\n\n- yes\n\n## Plans\n"
    )


def test_no_line_of_a_person_is_lost_when_pages_become_one(world: World) -> None:
    numbers = count()

    @settings(max_examples=25)
    @given(st.lists(LINES, max_size=20).map("".join), st.lists(LINES, max_size=20).map("".join))
    def merge(one: str, other: str) -> None:
        keep, gone = (f"person--alex-{next(numbers)}" for _ in range(2))
        world.save(keep, one)
        world.save(gone, other)
        world.graph.merge(keep, gone)
        after = of_a_person(world.page(keep))
        for line in {*of_a_person(one), *of_a_person(other)}:
            assert line in after or OURS.fullmatch(line), line
        world.save(keep, "")

    merge()


def test_merging_asks_for_two_that_are_there_and_meant(two: World) -> None:
    with pytest.raises(NotFoundError):
        two.graph.merge("Robert", "Nobody")
    with pytest.raises(ConflictError):
        two.graph.merge("Bob", "bobby")
    two.save("person--bob-2", "---\nname: Bob\n---\n")
    with pytest.raises(ConflictError, match=r"person--bob, person--bob-2"):
        two.graph.merge("Robert", "Bob")
    assert two.graph.merge("Robert", "person--bob-2").receipt is not None


def test_an_alias_of_somebody_else_is_refused(two: World) -> None:
    assert two.graph.alias("Sam", "Samuel").aliases == ("Samuel",)
    assert two.graph.entity("samuel").id == "person--sam"
    with pytest.raises(ConflictError):
        two.graph.alias("Sam", "bobby")
