"""Routing by rules, and by a model whose answers are taken only as far as they make sense."""

from __future__ import annotations

from typing import Any

import pytest

from memfolio.errors import ContentError, ModelError
from memfolio.stores.flush import stated
from memfolio.stores.triggers import STORES, Classified, draft, route, route_by_model
from memfolio.types import Kind, Store, Type


class ScriptedModel:
    """A model that answers what it is told to, or fails."""

    name = "scripted"

    def __init__(self, answer: Classified | ModelError) -> None:
        self.answer = answer
        self.material = ""

    def questions(self, turns: int, most: int) -> int:
        return 100

    def drop(self, why: str, count: int) -> None:
        pass

    def ask(self, task: str, material: str, answer: type[Any]) -> Any:
        self.material = material
        if isinstance(self.answer, ModelError):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("text", "store", "type_"),
    [
        ("We decided to use SQLite for the index", "episodic", Type.DECISION),
        ("I prefer tabs over spaces", "semantic", Type.PREFERENCE),
        ("My name is Alex", "core", Type.FACT),
        ("I am allergic to nuts", "core", None),
        ("How to deploy: run the tests, then tag, then push", "procedural", None),
        ("Never delete this: the recovery phrase is in the safe", "vault", None),
        ("call the bank tomorrow", "episodic", Type.TASK),
        ("The staging server runs on port 8080", "semantic", Type.FACT),
    ],
)
def test_rules_find_the_store(text: str, store: str, type_: Type | None) -> None:
    routed = route(text)
    assert routed.store == store
    assert type_ in (None, routed.type)
    assert 2 <= len(routed.tags) <= 5


def test_what_the_rules_learn_is_used() -> None:
    routed = route("I work at Acme", "Alex")
    assert (routed.type, routed.kind) == (Type.FACT, Kind.SEMANTIC)
    assert routed.summary.startswith("Alex works at Acme")
    assert "acme" in routed.tags


@pytest.mark.parametrize(
    "text",
    [
        "my wife is critical of my job",
        "I'm a vegan, just kidding",
        "My sister is a vegan",
        "I might be diabetic, no idea",
    ],
)
def test_what_only_sounds_important_stays_out_of_core_memory(text: str) -> None:
    assert not route(text).core_update


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("The port is 8080", 1.0),
        ("I think the port is 8080", 0.7),
        ("The port might be 8080, not sure", 0.4),
    ],
)
def test_doubt_lowers_confidence(text: str, confidence: float) -> None:
    assert route(text).confidence == confidence


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("I live in Oslo", "Identity"),
        ("I am allergic to nuts", "Critical Facts"),
        ("We are working on the launch", "Active Context"),
    ],
)
def test_core_worthy_text_names_its_block(text: str, block: str) -> None:
    routed = route(text)
    assert (routed.core_update, routed.block) == (True, block)
    assert not route("The office has two printers").core_update


def test_model_decides_where_it_makes_sense() -> None:
    model = ScriptedModel(
        Classified(
            store="Semantic",
            type="decision",
            kind="semantic",
            tags=("Auth", "#security", "mobile app", "four", "five", "six"),
            confidence="medium",
            core_update=True,
            summary="The login uses PKCE.",
        )
    )
    routed = route_by_model(model, "We will use PKCE")
    assert model.material == "We will use PKCE"
    assert (routed.store, routed.type, routed.kind) == ("semantic", Type.DECISION, Kind.SEMANTIC)
    assert routed.tags == ("auth", "security", "mobile-app", "four", "five")
    assert (routed.confidence, routed.core_update, routed.summary) == (0.7, True, "The login uses PKCE.")


def test_values_that_make_no_sense_fall_back_one_by_one() -> None:
    text = "I prefer tabs over spaces"
    by_rules = route(text)
    said = Classified(store="moon", type="poem", kind="", confidence="very", summary=" ", tags=("code", "style"))
    routed = route_by_model(ScriptedModel(said), text)
    assert (routed.store, routed.type, routed.kind) == (by_rules.store, by_rules.type, by_rules.kind)
    assert (routed.confidence, routed.summary) == (by_rules.confidence, by_rules.summary)
    assert routed.tags == ("code", "style")


def test_model_that_fails_is_told() -> None:
    with pytest.raises(ModelError):
        route_by_model(ScriptedModel(ModelError("no")), "I prefer tabs")


def test_draft_has_the_words_of_the_person() -> None:
    text = "Never delete this: the recovery phrase is in the safe"
    made = draft(route(text), stated(text, None, type=Type.FACT, kind=Kind.SEMANTIC))
    assert (made.content, made.store, made.confidence) == (text, Store.VAULT, 1.0)


def test_draft_is_about_what_its_words_say() -> None:
    routed = route("I live in Berlin", "alex")
    made = draft(routed, stated("I live in Berlin", "alex", type=routed.type, kind=routed.kind), "alex")
    assert (made.content, made.user, made.store) == ("I live in Berlin", "alex", Store.LONG_TERM)
    assert dict(made.attributes) == {"subject": "alex", "predicate": "lives_in", "object": "Berlin", "single": True}


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_cannot_be_routed(text: str) -> None:
    with pytest.raises(ContentError):
        route(text)


@pytest.mark.parametrize("text", ["?", "ok", "日本語のテキスト", "x" * 100_000, "to " * 20_000, "first " * 20_000])
def test_every_text_has_a_place_and_tags(text: str) -> None:
    routed = route(text)
    assert routed.store in STORES
    assert len(routed.tags) >= 2
    assert len(routed.summary) <= 200
