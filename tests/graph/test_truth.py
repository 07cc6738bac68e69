"""A page tells only what still holds, and what a person wrote or edited stays whatever becomes of it."""

from __future__ import annotations

import pytest

from memfolio.serve.cli.call import PERSON
from memfolio.types import Attribution
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER
from tests.graph.world import World, person, relation


def last_change(world: World) -> int:
    return world.memory.audit.log()[0].seq


def undo(world: World, seq: int) -> None:
    world.memory.audit.undo(seq, by=PERSON)


def test_a_cited_line_that_a_person_edited_stays_and_growth_says_so_once(world: World) -> None:
    fact = world.fact("Anna lives in Hamburg", "Anna")
    world.session([person("Anna", fact.id)])
    world.grow()
    edited = f"- Anna lives in Hamburg, ring at Meier ({fact.id})\n"
    world.save("person--anna", world.page("person--anna").replace(f"- Anna lives in Hamburg ({fact.id})\n", edited))
    new = world.fact("Anna lives in Munich", "Anna")
    line = {"op": "supersede", "memory": fact.id, "by": new.id}
    world.memory.vault.add_lines(state_ledger("main"), [line], Attribution())
    assert fact.id in world.grow().notes[0]
    assert world.changes.notes
    assert new.id in world.page("person--anna")
    assert edited in world.page("person--anna")
    world.fact("Anna likes tea", "Anna")
    assert world.grow().notes == ()
    assert edited in world.page("person--anna")


def test_a_relation_that_a_person_wrote_or_changed_never_ends(world: World) -> None:
    own = "---\nname: Zoe\n---\n\n## Relations\n\n- knows: [[person--sam]]\n"
    world.save("person--zoe", own)
    heard = world.said("Zoe knows Sam. Alex knows Sam.")
    world.session([], [relation("Zoe", "knows", "Sam", *heard), relation("Alex", "knows", "Sam", *heard)])
    world.grow()
    changed = world.page("person--alex").replace("[[person--sam]]", "[[person--sam]] (well)")
    world.save("person--alex", changed)
    world.memory.forget(heard[0])
    world.grow()
    assert "- knows: [[person--sam]]\n" in world.page("person--zoe")
    assert "- knows: [[person--sam]] (well)\n" in world.page("person--alex")


def test_what_was_undone_leaves_pages_with_all_that_rests_on_it(world: World) -> None:
    kept = world.fact("Bo likes tea", "Bo")
    world.session([person("Bo", *world.said("a", "b", "c"))])
    fact = world.fact("Bo is allergic to peanuts", "Bo")
    undone = [last_change(world)]
    told = [relation("Bo", "lives-in", "Kiel", "M-1"), relation("Priya", "married-to", "Bo", "M-1")]
    world.session([person("Bo", "M-1", aliases=["Priya's husband"])], told)
    undone.append(last_change(world))
    world.grow()
    page = world.page("person--bo")
    for part in ("peanuts", "lives-in", "aliases: [Priya's husband]"):
        assert part in page
    for seq in undone:
        undo(world, seq)
    assert "person--bo" in world.grow().pages
    page = world.page("person--bo")
    for part in ("peanuts", "lives-in", "aliases", fact.id):
        assert part not in page
    assert "married-to" not in world.page("person--priya")
    assert world.graph.entity("Bo").summary == "Bo likes tea."
    assert kept.id in page
    assert "mentions: 3\n" in page
    world.grow()
    assert world.changes.receipts == []
    world.assert_index_follows()


def test_nobody_is_said_to_be_mentioned_where_that_was_undone(world: World) -> None:
    world.session([person("Bo", "M-1", "M-2")], [relation("Bo", "lives-in", "Kiel", "M-1")])
    seq = last_change(world)
    world.grow()
    undo(world, seq)
    world.grow()
    assert world.graph.entity("Bo").mentions == 0


def test_what_was_undone_and_done_again_comes_back(world: World) -> None:
    world.session([person("Bo", "M-1", "M-2")])
    world.fact("Bo likes tea", "Bo")
    seq = last_change(world)
    world.grow()
    undo(world, seq)
    world.grow()
    assert "tea" not in world.page("person--bo")
    undo(world, last_change(world) - 1)
    world.grow()
    assert "tea" in world.page("person--bo")


def test_what_a_person_took_out_stays_out_when_the_last_conversation_is_undone(world: World) -> None:
    world.session([person("Alex", "M-1", aliases=["Lex"])], [relation("Alex", "knows", "Sam", "M-1")])
    world.session([person("Alex", "M-2")])
    seq = last_change(world)
    world.grow()
    lines = world.page("person--alex").splitlines(keepends=True)
    world.save("person--alex", "".join(line for line in lines if "knows" not in line and "Lex" not in line))
    undo(world, seq)
    world.grow()
    assert "knows" not in world.page("person--alex")
    assert "Lex" not in world.page("person--alex")


def test_archived_memories_stay_on_pages(world: World) -> None:
    fact = world.fact("Alex works at Acme", "Alex", "works-at", "Acme")
    world.session([person("Alex", fact.id), person("Acme", fact.id, type="organization")])
    world.grow()
    before = world.page("person--alex")
    world.memory.archive(fact.id, by=OWNER)
    world.grow()
    assert world.page("person--alex") == before


@pytest.mark.parametrize("secret", ["Priya is allergic to peanuts", "Priya is allergic to peanuts."])
@pytest.mark.parametrize("place", range(3))
def test_a_summary_with_holes_of_a_purge_is_made_anew(world: World, secret: str, place: int) -> None:
    world.session([person("Priya", *world.said("a", "b", "c"))])
    told = ["Priya lives in Lübeck.", "Priya likes tea"]
    facts = {text: world.fact(text, "Priya") for text in (*told[:place], secret, *told[place:])}
    world.grow()
    assert "peanuts. " in f"{world.graph.entity('Priya').summary} "
    world.memory.purge(facts[secret].id)
    world.grow()
    assert world.graph.entity("Priya").summary == "Priya lives in Lübeck. Priya likes tea."
    assert "peanuts" not in world.page("person--priya")


def test_a_sentence_that_a_person_took_out_of_a_summary_stays_out(world: World) -> None:
    world.session([person("Priya", *world.said("a", "b", "c"))])
    world.fact("Priya lives in Lübeck", "Priya")
    world.fact("Priya likes tea", "Priya")
    world.grow()
    world.save("person--priya", world.page("person--priya").replace("Priya lives in Lübeck. ", ""))
    world.fact("Priya likes chess", "Priya")
    world.grow()
    assert world.graph.entity("Priya").summary == "Priya likes tea."


def test_relations_end_after_a_merge_too(world: World) -> None:
    [heard] = world.said("Bob works at Acme")
    world.session([person("Bob", "M-1"), person("Robert", "M-1", "M-2")], [relation("Bob", "works-at", "Acme", heard)])
    world.grow()
    world.graph.merge("Robert", "Bob")
    assert "works-at" in world.page("person--robert")
    world.memory.forget(heard)
    world.grow()
    assert "works-at" not in world.page("person--robert")


def test_what_holds_both_ways_stays_while_either_way_is_told(world: World) -> None:
    one, other = world.said("Alex is married to Sam", "Sam is married to Alex")
    told = [relation("Alex", "married-to", "Sam", one), relation("Sam", "married-to", "Alex", other)]
    world.session([], told)
    world.grow()
    world.memory.forget(one)
    world.grow()
    assert "married-to: [[person--sam]]" in world.page("person--alex")


def test_the_user_is_a_person_and_first_seen_is_the_day_of_the_mention(world: World) -> None:
    world.session(
        [person("The user", "M-1", "M-2", type="concept"), person("Alex", "M-1") | {"on": "2025-03-02"}],
        [relation("Alex", "knows", "The user")],
    )
    world.session([person("Alex", "M-2") | {"on": "2025-04-02"}])
    world.grow()
    assert world.pages() == ["person--alex", "person--the-user"]
    assert world.graph.entity("Alex").first_seen == "2025-03-02"
    assert world.graph.entity("the user").first_seen == "2026-11-15"


def test_a_section_that_is_filled_again_keeps_its_empty_lines(world: World) -> None:
    fact = world.fact("Alex likes tea", "Alex")
    world.session([person("Alex", fact.id)], [relation("Alex", "knows", "Sam")])
    world.grow()
    before = world.page("person--alex")
    world.memory.forget(fact.id)
    world.grow()
    new = world.fact("Alex likes rum", "Alex")
    world.grow()
    assert world.page("person--alex") == before.replace("tea", "rum").replace(fact.id, new.id)


def test_tending_says_that_it_brought_the_overview_up_to_date(world: World) -> None:
    world.save("person--sam", "---\nname: Sam\n---\n")
    [done] = world.memory.tend(jobs=["graph"]).done
    assert done.changes
    assert done.did
