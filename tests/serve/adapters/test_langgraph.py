"""A store for LangGraph keeps what the library's own store keeps, in memories that people can read."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.adapters.langgraph import MemfolioStore
from memfolio.types import HUMAN

PLACES = [(("users", "alex"), "a b"), (("users", "Alex"), "a-b"), (("users",), "key"), (("users", "alex", "x"), "key")]
VALUES: list[dict[str, Any]] = [
    {"text": "Alex drinks oolong", "n": 1},
    {"n": 2, "deep": {"list": [1, {"a": 3}], "flag": True}},
    {"n": 2.5, "text": "line\n\n# heading · ü"},
    {},
]
FILTERS: list[dict[str, Any]] = [
    {"n": 2},
    {"n": {"$gt": 1, "$lt": 2.5}},
    {"n": {"$ne": 1}},
    {"deep": {"flag": True}},
    {"deep": {"list": (1, {"a": {"$gt": 2}})}},
]


def known(store: BaseStore, prefix: tuple[str, ...] = (), **given: Any) -> dict[Any, Any]:
    return {(each.namespace, each.key): each.value for each in store.search(prefix, limit=100, **given)}


def test_any_order_of_operations_gives_what_the_store_of_the_library_gives(memory: Memory) -> None:
    ours, theirs, chance = MemfolioStore(memory), InMemoryStore(), random.Random(7)
    for _ in range(40):
        place, value = chance.choice(PLACES), chance.choice(VALUES)
        for store in (ours, theirs):
            if value:
                store.put(*place, value)
            else:
                store.delete(*place)
        found, wanted = ours.get(*place), theirs.get(*place)
        assert (found and found.value) == (wanted and wanted.value)
        for prefix in ((), ("users",), ("users", "alex"), ("user",)):
            assert known(ours, prefix) == known(theirs, prefix)
        for wanted_fields in FILTERS:
            assert known(ours, filter=wanted_fields) == known(theirs, filter=wanted_fields)
        live = {namespace for namespace, _ in known(ours)}
        assert set(ours.list_namespaces()) == live
    for given in ({"prefix": ("users", "*")}, {"suffix": ("alex",)}, {"max_depth": 1}, {"limit": 1, "offset": 1}):
        for store in (ours, theirs):
            for place in PLACES:
                store.put(*place, VALUES[0])
        assert ours.list_namespaces(**given) == theirs.list_namespaces(**given)


def test_batch_reads_before_it_writes_and_is_one_change(memory: Memory) -> None:
    store = MemfolioStore(memory)
    store.put(("a",), "old", {"n": 1})
    before = memory.vault.head
    results = store.batch(
        [
            PutOp(("a",), "old", {"n": 2}),
            PutOp(("a",), "new", {"n": 3}),
            GetOp(("a",), "old"),
            SearchOp(("a",)),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)),
        ]
    )
    assert results[0] is results[1] is None
    assert results[2].value == {"n": 1}  # type: ignore[union-attr]
    assert [each.value for each in results[3]] == [{"n": 1}]  # type: ignore[union-attr]
    assert results[4] == [("a",)]
    assert memory.vault.head == before + 1
    assert {key: value["n"] for (_, key), value in known(store).items()} == {"old": 2, "new": 3}


def test_put_again_changes_nothing_and_another_value_keeps_when_it_was_made(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        store = MemfolioStore(memory)
        store.put(("users",), "a", VALUES[1])
        first, before = store.get(("users",), "a"), memory.vault.head
        store.put(("users",), "a", VALUES[1])
        assert memory.vault.head == before
        for value in (True, 1, 1.0):
            store.put(("users",), "b", {"n": value})
            assert type(known(store)[("users",), "b"]["n"]) is type(value)
        store.put(("users",), "a", VALUES[0])
    with Memory.open(home, background=False) as memory:
        item = MemfolioStore(memory).get(("users",), "a")
    assert first
    assert item
    assert item.value == VALUES[0]
    assert item.created_at == first.created_at < item.updated_at


def test_deleted_value_is_forgotten_with_its_versions_and_can_be_brought_back(memory: Memory) -> None:
    store = MemfolioStore(memory)
    for text in ("Alex drinks oolong", "Alex drinks sencha"):
        store.put(("users",), "alex", {"text": text})
    assert "oolong" not in " ".join(hit.memory.content for hit in memory.recall("What does Alex drink?"))
    before = memory.vault.head
    store.delete(("users",), "alex")
    assert store.get(("users",), "alex") is None
    assert not memory.recall("Alex drinks")
    store.delete(("users",), "alex")
    memory.audit.undo(before + 1, by=HUMAN)
    item = store.get(("users",), "alex")
    assert item
    assert item.value == {"text": "Alex drinks sencha"}
    memory.audit.undo(before, by=HUMAN)
    assert known(store) == {(("users",), "alex"): {"text": "Alex drinks oolong"}}


@pytest.mark.parametrize("by_person", [False, True])
def test_value_with_many_versions_is_gone_when_it_is_forgotten(memory: Memory, by_person: bool) -> None:
    store = MemfolioStore(memory)
    for number in range(120):
        store.put(("users",), "count", {"text": f"Alex drank {number} cups"})
    if by_person:
        memory.forget(memory.recall("Alex drank 119 cups")[0].memory.id, by=HUMAN)
    else:
        store.delete(("users",), "count")
        assert not memory.recall("Alex drank cups", include=["superseded"])
    assert store.get(("users",), "count") is None
    assert known(store) == {}
    assert store.search(("users",), query="Alex drank cups") == []


def test_search_by_words_finds_the_best_first_within_its_namespace(memory: Memory) -> None:
    store = MemfolioStore(memory)
    memory.remember("Oolong is a tea from nowhere in the store")
    store.put(("users", "alex"), "drink", {"text": "Alex drinks oolong tea in the morning", "n": 1})
    store.put(("users", "alex"), "home", {"text": "Alex lives in Lisbon", "n": 2})
    store.put(("users", "kim"), "drink", {"text": "Kim drinks oolong tea too", "n": 3})
    store.put(("users", "alex"), "secret", {"text": "oolong tea"}, index=False)
    store.put(("users", "alex"), "named", {"text": "oolong", "title": "harbour"}, index=["title"])
    found = store.search(("users", "alex"), query="oolong tea in the morning")
    assert found[0].key == "drink"
    assert found[0].score
    assert {each.namespace for each in found} == {("users", "alex")}
    assert "secret" not in [each.key for each in found]
    assert [each.key for each in store.search(("users",), query="oolong tea", filter={"n": 3})] == ["drink"]
    assert store.search(("users",), query="harbour")[0].key == "named"
    assert store.search(("nobody",), query="oolong tea") == []


def test_what_was_undone_is_gone_and_what_was_archived_or_replaced_by_others_is_still_held(memory: Memory) -> None:
    store = MemfolioStore(memory)
    store.put(("users",), "alex", {"text": "Alex drinks oolong"})
    memory.archive(memory.vault.entries("main")[0].id, by=HUMAN)
    assert list(known(store)) == [(("users",), "alex")]
    store.put(("users",), "kim", {"text": "Kim drinks coffee"})
    memory.correct(memory.vault.entries("main")[0].id, "Kim drinks water")
    assert known(store)[("users",), "kim"] == {"text": "Kim drinks coffee"}
    store.put(("users",), "sam", {"text": "Sam drinks milk"})
    memory.audit.undo(memory.vault.head, by=HUMAN)
    assert store.get(("users",), "sam") is None
    assert store.search(("users",), query="Sam drinks milk", filter={"text": "Sam drinks milk"}) == []


def test_value_that_somebody_edited_beyond_use_is_none_and_stops_nobody(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for key in ("a", "b"):
            MemfolioStore(memory).put(("users",), key, {"text": f"Alex drinks {key}"})
    [log] = home.glob("agents/main/memory/*.md")
    log.write_text(log.read_text().replace('"key":"a"', '"key":5'))
    with Memory.open(home, background=False) as memory:
        assert list(known(MemfolioStore(memory))) == [(("users",), "b")]
        MemfolioStore(memory).put(("users",), "a", {"text": "again"})
        assert len(known(MemfolioStore(memory))) == 2


def test_threads_and_tasks_that_share_a_store_lose_and_double_nothing(memory: Memory) -> None:
    store = MemfolioStore(memory)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: store.put(("t",), str(n % 5), {"n": n}), range(15)))
    assert sorted(key for _, key in known(store)) == list("01234")

    async def live() -> None:
        await asyncio.gather(*(store.aput(("u",), str(n), {"n": n}) for n in range(6)))
        assert [(await store.aget(("u",), str(n))).value["n"] for n in range(6)] == list(range(6))  # type: ignore[union-attr]
        assert len(await store.asearch(("u",))) == 6
        await store.adelete(("u",), "0")
        assert await store.alist_namespaces() == [("t",), ("u",)]

    asyncio.run(live())


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [
        (("a.b",), "k", {"n": 1}),
        ((), "k", {"n": 1}),
        (("a", ""), "k", {"n": 1}),
        (("a",), "k", {"n": object()}),
        (("a",), "k", {"n": float("nan")}),
        (("a",), "AKIAQYLPMN5HFIQR7XYA", {"n": 1}),
        (("a",), "k", {"text": "x" * 2_000_000}),
        (("a",), "k", {1: 2}),
        (("a",), "k", "text"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    memory: Memory, namespace: tuple[str, ...], key: str, value: Any
) -> None:
    store, before = MemfolioStore(memory), memory.vault.head
    with pytest.raises((InvalidNamespaceError, InputError)):
        store.put(namespace, key, value)
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"n": 1}, ttl=5)
    with pytest.raises(InputError):
        store.batch([GetOp(("a",), 5)])  # type: ignore[arg-type]
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])
    assert memory.vault.head == before


class State(TypedDict):
    said: str
    known: list[str]


def test_graph_keeps_and_finds_through_its_store(home: Path) -> None:
    def keep(state: State, *, store: BaseStore) -> State:
        found = [item.value["text"] for item in store.search(("users", "alex"), query=state["said"])]
        store.put(("users", "alex"), str(len(found)), {"text": state["said"]})
        return {"said": state["said"], "known": found}

    answers = []
    for text in ("Alex drinks oolong", "What does Alex drink?"):
        with Memory.open(home, background=False) as memory:
            graph = StateGraph(State)
            graph.add_node("keep", keep)
            graph.add_edge(START, "keep")
            graph.add_edge("keep", END)
            compiled = graph.compile(store=MemfolioStore(memory))
            answers.append(compiled.invoke({"said": text, "known": []})["known"])
    assert answers == [[], ["Alex drinks oolong"]]
