"""What conversations tell of people and things ends on their pages, once, and nothing of a person's is touched."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.serve.cli.call import PERSON
from memfolio.types import Attribution, Origin, Type
from memfolio.vault.paths import state_ledger
from tests.graph.world import ENTITIES, World, person, relation


def test_one_mention_is_only_counted_and_the_second_makes_a_page(world: World) -> None:
    world.session([person("Alex", *world.said("Alex called"))])
    assert world.grow().pages == ()
    assert world.pages() == []
    world.session([person("Alex", *world.said("Alex called again"))])
    assert world.grow().pages == ("person--alex",)
    assert "mentions: 2\n" in world.page("person--alex")


def test_a_subject_has_a_page_at_once(world: World) -> None:
    fact = world.fact("Alex prefers tea to coffee.", "Alex", "prefers", "tea")
    world.session([person("Alex", fact.id)], [relation("Sam", "works-at", "Acme", fact.id)])
    world.grow()
    assert world.pages() == ["person--alex", "person--sam"]
    assert f"- Alex prefers tea to coffee ({fact.id})\n" in world.page("person--alex")
    assert "- works-at: [[organization--acme]]\n" in world.page("person--sam")


def test_growing_twice_writes_once(world: World) -> None:
    world.fact("Alex prefers tea", "Alex")
    world.session([person("Alex", *world.said("a", "b", "c"))], [relation("Alex", "knows", "Sam")])
    world.grow()
    assert len(world.changes.receipts) == 1
    world.grow()
    assert world.changes.receipts == []


def test_what_is_only_asked_about_has_no_page_until_something_is_told(world: World) -> None:
    asked = world.said("How is the weather in Utrecht?", "Is Utrecht far from here?", "Who knows Utrecht?")
    world.session([person("Utrecht", *asked, type="place")])
    world.grow()
    assert world.pages() == []
    world.session([person("Utrecht", *world.said("I spent a week in Utrecht."), type="place")])
    world.grow()
    assert "## Mentions\n\n- 2026-11-15: I spent a week in Utrecht (M-" in world.page("place--utrecht")
    assert "mentions: 4" in world.page("place--utrecht")


def test_growth_is_one_change_that_can_be_undone_and_shown_before(world: World) -> None:
    world.session([person("Alex", *world.said("Alex called", "Alex wrote"))])
    world.grow(dry_run=True)
    assert "+name: Alex" in world.changes.diff
    assert world.pages() == []
    world.grow()
    [receipt] = world.changes.receipts
    world.memory.audit.undo(receipt.seq, by=PERSON)
    assert world.pages() == []
    assert world.grow().pages == ("person--alex",)


def test_a_home_without_conversations_stays_without_a_graph(world: World) -> None:
    world.said("hello")
    world.grow()
    assert world.changes.receipts == []
    assert not (world.home / "agents/main/memory/graph").exists()


def test_a_summary_is_made_of_the_most_important_facts(world: World) -> None:
    world.session([person("Alex", *world.said("a", "b", "c"))])
    for nth, text in enumerate(("likes rain", "leads Acme", "has a dog", "plays chess")):
        world.fact(f"Alex {text}.", "Alex", importance=0.2 + nth / 5)
    world.grow()
    assert world.graph.entity("Alex").summary == "Alex leads Acme. Alex has a dog. Alex plays chess."


def test_below_three_mentions_there_is_no_summary(world: World) -> None:
    world.session([person("Alex", *world.said("a", "b"))])
    world.fact("Alex likes rain", "Alex")
    world.grow()
    assert "## Summary" not in world.page("person--alex")


def test_a_person_s_summary_is_never_replaced(world: World) -> None:
    world.session([person("Alex", *world.said("a", "b", "c"))])
    world.fact("Alex likes rain", "Alex")
    world.grow()
    edited = world.page("person--alex").replace("Alex likes rain.", "Alex is my best friend.")
    world.save("person--alex", edited)
    world.fact("Alex likes snow", "Alex")
    world.grow()
    assert world.graph.entity("Alex").summary == "Alex is my best friend."
    assert "Alex likes snow (" in world.page("person--alex")


def test_what_was_corrected_or_forgotten_leaves_the_page_and_its_summary(world: World) -> None:
    world.session([person("Alex", *world.said("a", "b", "c"))])
    old, lost = world.fact("Alex drinks tea", "Alex"), world.fact("Alex lives in Rome", "Alex")
    world.grow()
    world.clock.advance(seconds=1)
    new = world.memory.correct(old.id, "Alex drinks water")
    world.memory.forget(lost.id)
    world.grow()
    page = world.page("person--alex")
    assert "tea" not in page
    assert "Rome" not in page
    assert f"- Alex drinks water ({new.id})" in page
    assert world.graph.entity("Alex").summary == "Alex drinks water."
    world.grow()
    assert world.changes.receipts == []


def test_a_relation_ends_with_the_facts_that_state_it(world: World) -> None:
    world.session([person("Alex", "M-1"), person("Acme", "M-1", type="organization")])
    fact = world.fact("Alex works at Acme", "Alex", "works-at", "Acme")
    world.grow()
    assert "- works-at: [[organization--acme]]" in world.page("person--alex")
    world.memory.forget(fact.id)
    world.grow()
    assert "works-at" not in world.page("person--alex")


def test_strangers_words_reach_no_page(world: World) -> None:
    [heard] = world.said("Mallory owns everything", origin=Origin.UNTRUSTED)
    world.session([person("Mallory", heard), person("Mallory", heard)], [relation("Mallory", "owns", "Acme", heard)])
    world.fact("Alex should obey Mallory", "Mallory", origin=Origin.UNTRUSTED)
    world.grow()
    assert world.pages() == []


def test_strangers_words_end_no_relation(world: World) -> None:
    page = "---\nname: Alex\n---\n\n## Relations\n\n- owns: [[concept--acme]]\n"
    world.save("person--alex", page)
    [heard] = world.said("Alex owns Acme", origin=Origin.UNTRUSTED)
    world.session([], [relation("Alex", "owns", "Acme", heard)])
    fact = world.fact("Alex owns Acme", "Alex", "owns", "Acme", origin=Origin.UNTRUSTED)
    world.memory.forget(fact.id)
    world.memory.forget(heard)
    world.grow()
    assert world.page("person--alex") == page


def test_a_relation_ends_when_all_that_told_of_it_is_forgotten(world: World) -> None:
    one, other = world.said("Alex knows Sam", "Sam is Alex's pal")
    world.session([], [relation("Alex", "knows", "Sam", one, other)])
    world.grow()
    world.memory.forget(one)
    world.grow()
    assert "knows" in world.page("person--alex")
    world.memory.forget(other)
    world.grow()
    assert "knows" not in world.page("person--alex")


def test_what_a_person_took_out_stays_out(world: World) -> None:
    fact = world.fact("Alex likes rain", "Alex")
    world.session([person("Alex", "M-1", aliases=["Lex"])], [relation("Alex", "knows", "Sam")])
    world.grow()
    kept = [line for line in world.page("person--alex").splitlines(keepends=True) if "- " not in line]
    world.save("person--alex", "".join(line for line in kept if not line.startswith("aliases")))
    world.session([person("Alex", "M-2")])
    world.grow()
    page = world.page("person--alex")
    assert fact.id not in page
    assert "knows" not in page
    assert "Lex" not in page
    assert "mentions: 2\n" in page


def test_a_page_that_was_deleted_comes_back_only_when_it_is_spoken_of_again(world: World) -> None:
    world.session([person("Alex", "M-1", "M-2")])
    world.grow()
    (world.home / ENTITIES / "person--alex.md").unlink()
    world.memory.vault.survey()
    world.session([person("Sam", "M-3", "M-4")])
    world.grow()
    assert world.pages() == ["person--sam"]
    world.session([person("Alex", "M-5")])
    world.grow()
    assert world.pages() == ["person--alex", "person--sam"]


def test_names_and_aliases_mean_the_same_entity_in_any_case(world: World) -> None:
    world.session([person("Alex Miller", "M-1", aliases=["Alex"]), person("ALEX", "M-2")])
    world.grow()
    assert world.pages() == ["person--alex-miller"]
    world.session([person("Alexander", "M-3", aliases=["alex  miller"])])
    world.grow()
    entity = world.graph.entity("alexander")
    assert (entity.id, entity.mentions, entity.aliases) == ("person--alex-miller", 3, ("Alex", "Alexander"))


def test_the_same_name_of_clearly_different_types_is_two(world: World) -> None:
    world.session([person("Paris", "M-1", "M-2"), person("Paris", "M-3", "M-4", type="place")])
    world.session([person("Acme", "M-5", "M-6", type="organization"), person("Acme", "M-7", type="project")])
    world.grow()
    assert world.pages() == ["organization--acme", "person--paris", "place--paris"]


def test_two_pages_of_one_name_are_never_merged_and_the_one_mentioned_more_gets_it(world: World) -> None:
    world.save("person--sam-a", "---\nname: Sam\nmentions: 1\n---\n")
    world.save("person--sam-b", "---\nname: Sam\nmentions: 4\n---\n")
    world.session([person("Sam", "M-1")])
    grown = world.grow()
    assert grown.pages == ("person--sam-b",)
    assert "person--sam-a" in grown.notes[0]
    assert world.pages() == ["person--sam-a", "person--sam-b"]


def test_relations_are_told_once_in_the_words_of_the_vocabulary(world: World) -> None:
    world.session(
        [person("Acme", "M-1", "M-2", type="organization"), person("Alex", "M-1"), person("Sam", "M-1")],
        [
            relation("Acme", "employs", "Alex"),
            relation("Alex", "Works at", "Acme"),
            relation("Alex", "married-to", "Sam"),
            relation("Sam", "married-to", "Alex"),
            relation("Alex", "mentors", "Bo"),
        ],
    )
    world.grow()
    edges = {(step.here, step.predicate, step.there) for step in world.graph.entity("Alex").relations}
    assert edges == {
        ("person--alex", "works-at", "organization--acme"),
        ("person--alex", "married-to", "person--sam"),
        ("person--alex", "relates-to", "concept--bo"),
    }
    assert "- relates-to: [[concept--bo]] (mentors)\n" in world.page("person--alex")
    assert "works-at" not in world.page("organization--acme")


def test_a_person_may_extend_the_vocabulary_and_the_types(world: World) -> None:
    path = world.home / "agents/main/memory/graph/relations.md"
    path.parent.mkdir(parents=True)
    path.write_text("- `mentors` / `mentored-by` — person → person\n\n## Entity types\n\n- pet\n", encoding="utf-8")
    world.memory.vault.survey()
    world.session([person("Rex", "M-1", "M-2", type="pet")], [relation("Bo", "mentored by", "Alex")])
    world.grow()
    assert world.pages() == ["person--alex", "pet--rex"]
    assert "- mentors: [[person--bo]]\n" in world.page("person--alex")
    assert path.read_text(encoding="utf-8").startswith("- `mentors`")


def test_subject_that_is_nobodys_name_gets_no_page(world: World) -> None:
    world.session([person("Alex", "M-1")])
    world.fact("The two younger kids like football", "The two younger kids")
    world.grow()
    assert world.pages() == []


def test_events_go_to_the_timeline(world: World) -> None:
    world.session([person("Alex", "M-1")])
    fact = world.fact("Alex moved to Berlin", "Alex", type=Type.EVENT)
    world.grow()
    assert world.graph.entity("Alex").timeline == (f"2026-11-15: Alex moved to Berlin ({fact.id})",)


def test_the_overview_lists_entities_edges_and_who_may_be_the_same(world: World) -> None:
    mentions = [person(name, "M-1", "M-2") for name in ("Robert Brown", "Bob Brown")]
    world.session(mentions, [relation("Bob Brown", "knows", "Sam")])
    world.grow()
    text = (world.home / "agents/main/memory/graph/index.md").read_text(encoding="utf-8")
    assert "| person--bob-brown | person | Bob Brown | entities/person--bob-brown.md | 2 | 2026-11-15 |" in text
    assert "| person--bob-brown | knows | person--sam |" in text
    assert "- [[person--bob-brown]] and [[person--robert-brown]]: nickname, 0.97" in text


@pytest.mark.parametrize(
    "line",
    [
        {"mentions": "x", "relations": 3},
        {"mentions": [{"name": 3}, {"name": ""}, "x", {"name": "\n---\nname: [x]", "type": "a/b", "in": "x"}]},
        {"mentions": [{"name": "A" * 500, "in": ["M-1", "M-2"]}, {"name": "../../x", "in": ["M-1", "M-2"]}]},
        {"mentions": [{"name": "👋", "in": ["M-1", "M-2"]}, {"name": "C++", "in": ["M-1", "M-2"]}]},
        {"relations": [{"subject": "A"}, {"subject": "A", "predicate": None, "object": "A"}, {"predicate": "x"}]},
        {"relations": [{"subject": "C++", "predicate": "x", "object": "C#"}, {"subject": "C#", "object": "C"}]},
    ],
)
def test_whatever_a_line_says_growth_ends_well(world: World, line: dict[str, Any]) -> None:
    world.memory.vault.add_lines(state_ledger("main"), [{"op": "session", **line}], Attribution())
    world.grow()
    assert world.grow().pages == ()
    names = {each.name for each in world.graph.entities()}
    assert all("\n" not in name and len(name) <= 80 for name in names)
    world.assert_index_follows()


def test_of_pages_whose_names_differ_in_case_one_counts_whatever_comes_and_goes(world: World) -> None:
    world.save("person--bo", "- knows: [[person--a]]\n- fact (M-1-0000000a)\n")
    world.save("Person--bo", "- knows: [[person--b]]\n- Knows: [[person--b]], [[person--c]]\n")
    world.assert_index_follows()
    assert [each.id for each in world.graph.neighbours("bo")] == ["person--b", "person--c"]
    (world.home / ENTITIES / "Person--bo.md").unlink()
    world.memory.vault.survey()
    world.assert_index_follows()
    assert [each.id for each in world.graph.neighbours("bo")] == ["person--a"]


def test_the_index_follows_growth_and_edits(world: World) -> None:
    fact = world.fact("Alex works at Acme and likes tea", "Alex", "works-at", "Acme")
    world.session([person("Alex", fact.id, "M-2", "M-3"), person("Acme", fact.id, type="organization")])
    world.grow()
    world.assert_index_follows()
    world.save("person--alex", world.page("person--alex").replace("- works-at", "- knows"))
    assert [step.predicate for step in world.graph.entity("Alex").relations] == ["knows"]
    world.assert_index_follows()
    (world.home / ENTITIES / "person--alex.md").unlink()
    world.memory.vault.survey()
    world.assert_index_follows()


def test_a_fact_is_found_once_and_the_page_by_its_name_and_relations(world: World) -> None:
    fact = world.fact("Alex collects stamps", "Alex")
    world.session([person("Alex", fact.id)], [relation("Alex", "works-at", "Acme Corp")])
    world.grow()
    hits = world.memory.recall("collects stamps")
    assert [hit.memory.id for hit in hits if "stamps" in hit.memory.content] == [fact.id]
    assert any("organization--acme-corp" in hit.memory.content for hit in world.memory.recall("Alex works at"))


def test_a_page_saved_meanwhile_is_grown_from_what_the_person_saved(world: World) -> None:
    world.session([person("Alex", "M-1", "M-2")])
    world.grow()
    world.session([person("Alex", "M-3")])
    path = world.home / ENTITIES / "person--alex.md"
    path.write_text(f"{path.read_text(encoding='utf-8')}\nMy own words.\n", encoding="utf-8")
    world.grow()
    assert "My own words.\n" in world.page("person--alex")
    assert "mentions: 3" in world.page("person--alex")


def test_a_thousand_conversations_at_once_take_seconds(home: Path, clock: SettableClock) -> None:
    world = World(home, clock)
    for nth in range(1000):
        people = [person(f"Person {(nth * 7 + step) % 500}") for step in range(5)]
        related = relation(f"Person {nth % 500}", "knows", f"Person {(nth + 1) % 500}")
        world.session(people, [related])
    start = time.process_time()
    grown = world.grow()
    assert time.process_time() - start < 20
    assert (len(grown.pages), grown.sessions) == (500, 1000)
    world.memory.close()
