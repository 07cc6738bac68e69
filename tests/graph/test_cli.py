"""The commands about people and things say what the graph knows, to people and to programs."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import pytest

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.app import program
from memfolio.serve.cli.call import Answer
from memfolio.serve.cli.output import Screen
from tests.graph.world import World, person, relation


def answer(world: World, *args: str) -> Answer:
    """What a command answers, without anything else that the program does."""
    found = program().main(["--home", str(world.home), *args], standalone_mode=False)
    assert isinstance(found, Answer)
    return found


def ask(world: World, *args: str) -> dict[str, Any]:
    return answer(world, *args).document


def shown(world: World, *args: str) -> str:
    said = io.StringIO()
    with redirect_stdout(said):
        answer(world, *args).show(Screen())
    return said.getvalue()


@pytest.fixture
def acme(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Alex and Sam, who work at Acme in Berlin."""
    monkeypatch.setenv("MEMFOLIO_MACHINE", "here")
    monkeypatch.setenv("TZ", "UTC")
    world.fact("Alex prefers tea", "Alex")
    acme = person("Acme", "M-1", "M-2", type="organization")
    related = [("Alex", "works-at", "Acme"), ("Sam", "works-at", "Acme"), ("Acme", "located-in", "Berlin")]
    world.session([person("Alex", "M-1", "M-2", "M-3", aliases=["Lex"]), acme], [relation(*each) for each in related])
    world.grow()
    return world


def test_a_bare_name_shows_who_it_is(acme: World) -> None:
    text = shown(acme, "entity", "lex")
    for part in (
        "Alex  person--alex",
        "also called: Lex",
        "mentioned: 3 times",
        "Alex prefers tea.",
        "- Alex prefers tea (M-",
    ):
        assert part in text
    assert "- person--alex ─ works-at → organization--acme" in text
    assert ask(acme, "entity", "show", "Alex")["id"] == "person--alex"
    with pytest.raises(NotFoundError):
        ask(acme, "entity", "Nobody")


def test_two_hops_lead_to_the_colleague_and_the_town(acme: World) -> None:
    near = ask(acme, "entity", "Alex", "--hops", "2")["neighbours"]
    assert [(each["id"], each["hops"]) for each in near] == [
        ("organization--acme", 1),
        ("person--sam", 2),
        ("place--berlin", 2),
    ]


def test_a_list_has_those_mentioned_most_first(acme: World) -> None:
    assert [each["id"] for each in ask(acme, "entity", "list")["entities"]] == [
        "person--alex",
        "organization--acme",
        "person--sam",
    ]
    assert "person--sam" in shown(acme, "entity", "list", "--type", "person")
    assert shown(acme, "entity", "list", "--type", "tool") == "No matching people or things.\n"


def test_a_way_is_shown_and_none_is_said(acme: World) -> None:
    assert shown(acme, "path", "Alex", "Berlin").splitlines() == [
        "person--alex ─ works-at → organization--acme",
        "organization--acme ─ located-in → place--berlin",
    ]
    acme.save("person--zoe", "---\nname: Zoe\n---\n")
    none = answer(acme, "path", "Alex", "Zoe")
    assert (none.document["steps"], none.status) == (None, 3)


def test_merging_is_shown_first_and_done_then(acme: World) -> None:
    acme.save("person--alexander", "---\nname: Alexander\n---\n\n## Facts\n\n- Plays chess\n")
    assert ask(acme, "entity", "merge", "--dry-run")["alike"][0]["why"] == "nickname"
    assert "would be merged into person--alex" in shown(acme, "entity", "merge", "Alex", "Alexander", "--dry-run")
    assert ask(acme, "entity", "merge", "Alex", "Alexander")["seq"] is not None
    assert "Plays chess" in ask(acme, "entity", "Alexander")["facts"]
    with pytest.raises(InputError):
        ask(acme, "entity", "merge", "Alex")


def test_an_alias_is_found_at_once(acme: World) -> None:
    assert ask(acme, "entity", "alias", "Sam", "Sammy")["aliases"] == ("Sammy",)
    assert ask(acme, "entity", "sammy")["id"] == "person--sam"


def test_the_home_may_be_named_before_the_command(acme: World) -> None:
    found = program().main(["entity", "--home", str(acme.home), "--json", "list"], standalone_mode=False)
    assert isinstance(found, Answer)
    assert len(found.document["entities"]) == 3
    assert found.as_json


def test_a_list_shows_no_relation_as_a_summary(acme: World) -> None:
    assert "[[" not in shown(acme, "entity", "list")
