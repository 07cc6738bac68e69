"""Tools: what agents call by name takes checked values and says what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import InputError, RuleError
from memfolio.memory import Memory
from memfolio.serve.cli.app import run
from memfolio.verbs.documents import as_json
from memfolio.verbs.verb import tools_of
from tests.serve.calls import RunJson

TOOLS = tools_of("all")
NAMED = """
memory_store_item memory_recall memory_consolidate memory_checkpoint memory_build_hierarchy memory_hierarchy_search
memory_status fact_assert fact_retract fact_query fact_explain rule_create rule_list rule_toggle constraint_check
policy_eval infer_forward infer_backward infer_abductive knowledge_explain cbr_retrieve cbr_store
ontology_propose_concept ontology_validate_proposal ontology_merge_approved ontology_list_proposals
ontology_scaffold_domain typedb_status typedb_sync_schema typedb_query typedb_sync_agent_data goal_seed_business
reason search_memory remember_fact correct_fact confirm_fact get_entity_info memory_stats explain_fact weak_facts
""".split()
LEFT_OUT = """
is_session_consolidated get_session_episodes save_nodes_batch extract_and_link_entities detect_conflicts
resolve_conflict mark_session_consolidated save_causal_edges update_entity_summary memory_search memory_get
create_episode get_episodes add_entity query_knowledge learn_skill execute_workflow search load_context save_context
consolidate archive_old_memories
""".split()
DOCS = Path(__file__).parents[2] / "docs" / "mcp.md"


@pytest.fixture
def memory(home: Path) -> Any:
    with Memory.open(home, background=False, speaker="owner") as memory:
        yield memory


def test_the_tools_of_the_specification_are_there_or_named_as_left_out() -> None:
    assert set(NAMED) <= set(TOOLS)
    assert not set(LEFT_OUT) & set(TOOLS)
    assert all(f"`{name}`" in DOCS.read_text("utf-8") for name in LEFT_OUT)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_says_what_it_does_and_what_it_takes(name: str) -> None:
    tool = TOOLS[name]
    assert tool.description.endswith(".")
    assert tool.schema["type"] == "object"
    assert set(tool.schema["required"]) <= set(tool.schema["properties"])


ALIKE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "fact_query": (("fact", "query", "acme"), {"subject": "acme"}),
    "fact_explain": (("fact", "explain"), {}),
    "fact_traverse": (("fact", "traverse", "acme", "owns"), {"start": "acme", "path": ["owns"]}),
    "fact_impact": (("fact", "impact", "acme"), {"what": "acme"}),
    "rule_list": (("rule", "list"), {}),
    "infer_backward": (
        ("infer", "backward", "acme", "isRich", "true"),
        {"subject": "acme", "predicate": "isRich", "object": "true"},
    ),
    "knowledge_explain": (("infer", "explain", "is acme rich"), {"question": "is acme rich"}),
    "constraint_check": (("infer", "check"), {}),
    "cbr_retrieve": (("case", "retrieve", "the build"), {"context": "the build"}),
    "mind_due": (("mind", "due"), {}),
    "core_read": (("core", "show"), {}),
    "why": (("why", "Alex drinks tea"), {"text": "Alex drinks tea"}),
}
"""Tools, each with the command that help lists for it and its arguments."""


def test_a_listed_command_answers_with_the_document_of_its_tool(memory: Memory, cli_json: RunJson) -> None:
    fact = memory.facts.assert_("acme", "owns", "bakery")
    memory.rules.create("?x owns ?y => ?x isRich true", name="rich")
    memory.cases.store({"context": "the build fails"}, {"actions": ["revert"]}, {"success": True})
    memory.mind.add("commitment", "Send it", deadline_="2020-01-01")
    memory.core.add("Identity", "Alex likes tea")
    memory.remember("Alex drinks tea")
    for name, (words, arguments) in ALIKE.items():
        by_id = ((fact.id,), {"fact_id": fact.id}) if name == "fact_explain" else ((), {})
        told = json.loads(as_json({"result": TOOLS[name](memory, {**arguments, **by_id[1]})}))["result"]
        said = cli_json(*words, *by_id[0])
        # A list stands under a name at the command line, which may add what its files have that makes no sense.
        whole = told if isinstance(told, dict) else {next(iter(said)): told}
        assert {each: said[each] for each in whole} == whole, name
        assert said.keys() - whole.keys() <= {"problems"}, name


def test_what_a_tool_stores_another_finds(memory: Memory) -> None:
    item = TOOLS["memory_store_item"](memory, {"content": "Alex drinks tea", "type": "fact", "importance": 0.8})
    assert item["store"] == "short_term"
    found = TOOLS["memory_recall"](memory, {"query": "tea", "agent_id": "main"})
    assert [hit["id"] for hit in found["hits"]] == [item["id"]]


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


def test_who_speaks_as_an_agent_acts_as_no_other(home: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.facts.assert_("Acme", "locatedIn", "Lisbon")
    monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
    monkeypatch.setenv("MEMFOLIO_AGENT", "scout")
    arguments = '{"agent_id": "main", "subject": "Acme"}'
    assert run(["--home", str(home), "tool", "call", "fact_retract", arguments]) == 5
    assert "cannot act as 'main'" in capsys.readouterr().err
    monkeypatch.delenv("MEMFOLIO_SPEAKER")
    assert run(["--home", str(home), "tool", "call", "fact_retract", arguments]) == 0


@pytest.mark.parametrize("arguments", ["[" * 5000 + "]" * 5000, "{", "[]", "9" * 5000])
def test_arguments_that_are_no_json_object_are_refused(home: Path, capsys: Any, arguments: str) -> None:
    assert run(["--home", str(home), "tool", "call", "recall", arguments]) == 2
    assert "the arguments are not" in capsys.readouterr().err


def test_business_vocabulary_and_its_rules_come_together_or_not_at_all(memory: Memory) -> None:
    memory.rules.create("?i isOverdue true => ?i isSettledBy writeoff")
    with pytest.raises(RuleError):
        memory.scaffold("business", "business")
    assert memory.ontology.terms() == []
    memory.rules.delete(memory.rules.list()[0].id)
    added, rules = memory.scaffold("business", "business")
    assert (len(added.terms), len(rules), rules[0].domain) == (309, 8, "business")
    assert all(rule.name for rule in memory.rules.list())


def test_log_tells_of_facts_and_rules_in_words(memory: Memory) -> None:
    fact = memory.facts.assert_("Acme", "locatedIn", "Lisbon")
    memory.facts.retract(fact.id)
    memory.rules.create("?x a ?y => ?x b ?y", name="ab")
    assert [each.summary for each in memory.audit.log(limit=3)] == [
        "create rule ab",
        "retract Acme locatedIn Lisbon",
        "assert Acme locatedIn Lisbon",
    ]
