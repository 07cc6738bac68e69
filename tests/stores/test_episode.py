"""Episodes: mapped to the one vocabulary, clamped, tied to what they have to do with."""

from __future__ import annotations

import math
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.index.lookup import edges_of
from memfolio.memory import Memory
from memfolio.stores.episode import as_importance, episode_of
from memfolio.types import Type


@pytest.mark.parametrize(
    ("name", "type_", "attributes"),
    [
        ("error", Type.ERROR, {}),
        ("learning", Type.LESSON, {}),
        ("DECISION", Type.DECISION, {}),
        ("user_interaction", Type.EVENT, {"episode_type": "user_interaction"}),
        ("System Event", Type.EVENT, {"episode_type": "system_event"}),
    ],
)
def test_types_are_mapped(name: str, type_: Type, attributes: dict[str, str]) -> None:
    made = episode_of("Something happened", episode_type=name)
    assert (made.draft.type, dict(made.draft.attributes)) == (type_, attributes)


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ("HIGH", 0.9),
        ("medium", 0.6),
        ("low", 0.3),
        (8, 0.8),
        ("8", 0.8),
        (0.25, 0.25),
        (1, 1.0),
        (0, 0.0),
        (-3, 0.0),
        (99, 1.0),
        (math.inf, 1.0),
    ],
)
def test_importance_is_mapped_and_clamped(given: Any, share: float) -> None:
    assert as_importance(given) == pytest.approx(share)


@pytest.mark.parametrize("given", ["urgent", "", math.nan, True, None, [1]])
def test_importance_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(InputError):
        as_importance(given)


def test_importance_follows_from_the_type_where_nobody_says_so() -> None:
    found = {name: episode_of("x", episode_type=name).draft.importance for name in ("error", "decision", "learning")}
    assert found == {"error": 0.6, "decision": 0.6, "learning": 0.3}
    assert episode_of("x", episode_type="learning", importance=9).draft.importance == 0.9


def test_episode_is_one_change_with_its_ties(memory: Memory) -> None:
    other = memory.remember("The quota was lowered").id
    made = episode_of(
        "Rate limit hit",
        episode_type="error",
        importance="high",
        context={"batch": 3},
        related=[other, other],
        session="s-1",
    )
    before = memory.vault.head
    [item] = memory.vault.apply(made.change(memory.agent)).items
    assert memory.vault.head == before + 1
    found = memory.get(item.id)
    assert found is not None
    assert (found.type, found.importance, found.attributes["context"]) == (Type.ERROR, 0.9, {"batch": 3})
    [edge] = memory.searcher.index.read(lambda connection: edges_of(connection, item.id))
    assert (edge.type, edge.predicate, edge.target) == ("relation", "related", other)


@pytest.mark.parametrize(
    "bad",
    [
        {"episode_type": "party"},
        {"context": "text"},
        {"context": {"x": object()}},
        {"context": {"x": "y" * 20_000}},
        {"related": ["not an id"]},
        {"related": [7]},
    ],
)
def test_bad_values_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        episode_of("x", **bad)
