"""Tools: what agents call by name takes checked values and says what is wrong with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.tools.all import TOOLS

NAMED = """
memory_store_item memory_recall memory_consolidate memory_checkpoint memory_build_hierarchy memory_hierarchy_search
memory_status fact_assert fact_retract fact_query fact_explain rule_create rule_list rule_toggle constraint_check
policy_eval infer_forward infer_backward infer_abductive knowledge_explain cbr_retrieve cbr_store
ontology_propose_concept ontology_validate_proposal ontology_merge_approved ontology_list_proposals
ontology_scaffold_domain typedb_status typedb_sync_schema typedb_query typedb_sync_agent_data goal_seed_business
""".split()


@pytest.fixture
def memory(home: Path) -> Any:
    with Memory.open(home, background=False, speaker="owner") as memory:
        yield memory


def test_the_tools_of_the_specification_are_there_under_their_names() -> None:
    assert set(NAMED) <= set(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_says_what_it_does_and_what_it_takes(name: str) -> None:
    tool = TOOLS[name]
    assert tool.description.endswith(".")
    assert tool.schema["type"] == "object"
    assert set(tool.schema["required"]) <= set(tool.schema["properties"])


def test_what_a_tool_stores_another_finds(memory: Memory) -> None:
    item = TOOLS["memory_store_item"](memory, {"content": "Alex drinks tea", "type": "fact", "importance": 0.8})
    assert item.store == "short_term"
    found = TOOLS["memory_recall"](memory, {"query": "tea", "agent_id": "main"})
    assert [hit["id"] for hit in found["hits"]] == [item.id]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"query": "tea", "limits": 3}, "has no 'limits'"),
        ({"query": "tea", "limit": "3"}, "limit of memory_recall is '3'"),
        ({"query": "tea", "limit": True}, "limit of memory_recall is 'True'"),
        ({"query": "tea", "store": "attic"}, "store of memory_recall is 'attic'"),
        ({"query": ["tea"]}, "query of memory_recall"),
    ],
)
def test_arguments_that_make_no_sense_are_named(memory: Memory, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        TOOLS["memory_recall"](memory, arguments)


def test_a_missing_argument_is_named(memory: Memory) -> None:
    with pytest.raises(InputError, match="lacks its content"):
        TOOLS["memory_store_item"](memory, {"type": "fact", "importance": 0.5})
