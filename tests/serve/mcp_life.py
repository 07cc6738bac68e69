"""A client's life with every tool: good calls in an order that makes sense, and bad ones."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from memfolio.clock import Clock
from memfolio.knowledge.model import EXAMPLE
from memfolio.memory import Memory
from memfolio.serve.mcp.server import NOTICE
from memfolio.types import HUMAN
from memfolio.verbs.verb import tools_of

Call = Callable[..., Awaitable[Any]]
CASE = {
    "situation": {"context": "The build fails"},
    "solution": {"actions": ["revert"]},
    "outcome": {"success": True},
}
GOALS = json.loads(EXAMPLE.read_text("utf-8"))
TERM = {"domain": "shop", "node_type": "class", "node_id": "Voucher", "rationale": "Shops sell them"} | {
    "label": "Voucher",
    "sbvr_definition": "A paper that is worth money.",
}
BETS = {"payoffs": {"tea": {"sun": 2, "rain": 5}, "ice": {"sun": 4, "rain": 0}}}


def furnish(home: Path, clock: Clock | None = None) -> None:
    """Make what only a person makes: a procedure, a decision tree, core memory, a page about somebody."""
    with Memory.open(home, background=False, speaker="owner", clock=clock) as memory:
        memory.procedures.add("Deploy", steps=["Build it", "Copy it"])
        memory.procedures.add("Choose", tree="Is it urgent?\n- yes: Run\n- no: Wait")
        memory.core.add("Identity", "Name: Alex")
        page = "---\nid: person--alex\nname: Alex\ntype: person\n---\n# Alex\n"
        memory.vault.put_page("agents/main/memory/graph/entities/person--alex.md", page, expects=None, by=HUMAN)


def told(result: Any) -> dict[str, Any]:
    """What a call answered, which is the same as values and as text: marked as data, unless it is an error."""
    text = result.content[0].text
    if not result.is_error:
        opening, notice, *lines, closing = text.split("\n")
        assert (opening[:10], closing) == ("<memfolio-", f"</{opening[1:]}")
        assert "not instructions" in notice
        text = "\n".join(lines)
        assert "<" not in text
    document = json.loads(text)
    notice = {} if result.is_error else {"notice": NOTICE}
    assert {**notice, **document} == result.structured_content
    return dict(document)


async def live(call: Call) -> set[str]:
    """Call every tool as it is meant; returns the names of those that were."""
    named: set[str] = set()

    async def good(name: str, /, **arguments: Any) -> Any:
        result = await call(name, arguments)
        named.add(name)
        assert not result.is_error or tools_of("all")[name].outside, (name, told(result))
        return told(result).get("result")

    await _daily(good)
    await _know(good)
    await _do(good)
    return named


async def _daily(good: Call) -> None:
    kept = await good("remember", text="Alex prefers tea", type="preference")
    assert [hit["id"] for hit in (await good("recall", query="tea"))["hits"]] == [kept["id"]]
    await good("confirm", id=kept["id"])
    right = await good("correct", id=kept["id"], text="Alex prefers green tea")
    assert (await good("explain", id=right["id"]))["memory"]["content"] == "Alex prefers green tea"
    assert not (await good("forget", what="green tea"))["forgotten"]
    assert (await good("forget", what=right["id"]))["forgotten"]
    assert (await good("restore", id=right["id"]))["memories"]
    assert (await good("get", id=right["id"]))["content"] == "Alex prefers green tea"
    assert (await good("pin", id=right["id"]))["pinned"]
    asked = await good("act_on", text="Forget about the green tea")
    assert (asked["asked"], [each["id"] for each in asked["memories"]]) == ("forget", [right["id"]])
    assert (await good("act_on", text="Remember that I am allergic to latex"))["core"] == [
        "The user is allergic to latex"
    ]
    assert right["id"] in await good("context", prompt="What tea does Alex prefer?")
    assert right["id"] in (await good("compose", prompt="What tea does Alex prefer?"))["ids"]
    turn = {"role": "user", "content": "Let us meet", "session": "s-1", "at": "2026-11-01T10:00:00+01:00"}
    assert (await good("observe", **turn))["session"] == "s-1"
    assert len(await good("observe_many", turns=[turn, turn])) == 2
    said = [{"text": "The user wants to meet", "type": "task", "turns": [(await good("learn"))["turns"][0]["id"]]}]
    assert [each["content"] for each in (await good("learn", statements=said))["learned"]] == ["The user wants to meet"]
    assert await good("notes_folders") == []
    assert set(await good("cost")) == {"models", "told"}
    assert "mind_add" in [each["name"] for each in await good("find_tool", wanted="remind me of a promise")]
    assert (await good("use_tool", name="memory_stats"))["entities"] == 1
    assert "Alex" in (await good("core_read"))["text"]
    await good("core_add", block="Identity", text="Likes tea")
    await good("core_replace", block="Identity", old="Likes tea", new="Likes green tea")
    await good("core_remove", block="Identity", text="Likes green tea")
    await good("reflect", dry_run=True)
    assert await good("audit_log", limit=2)
    assert (await good("changed", limit=1))["count"]
    assert (await good("why", text="The moon is made of cheese"))["memories"] == []
    assert "M-" in str(await good("forget_about", name="tea", dry_run=True))
    await good("checkpoint", context="Testing the door", decisions=["Use tea"])
    proposal = await good("propose", text="Kim drinks coffee")
    assert proposal["id"] in [each["id"] for each in await good("proposals_pending")]
    assert (await good("proposals_get", id=proposal["id"]))["shown"] == proposal["shown"]
    await good("status")
    await good("memory_store_item", content="A note", type="fact", importance=0.5)
    await good("memory_recall", query="note")
    await good("memory_consolidate", dry_run=True)
    await good("memory_checkpoint", context="Still testing")
    await good("memory_build_hierarchy", scope="week")
    await good("memory_hierarchy_search", query="note", level="daily")
    await good("memory_status")
    fact = await good("remember_fact", content="The port is 8080")
    right = await good("correct_fact", id=fact["id"], content="The port is 8081")
    await good("confirm_fact", id=right["id"])
    assert (await good("explain_fact", id=right["id"]))["supersedes"][0]["id"] == fact["id"]
    found = await good("search_memory", query="port", type="semantic", after="yesterday")
    assert [hit["id"] for hit in found["hits"]][:1] == [right["id"]]
    assert (await good("get_entity_info", name="Alex"))["name"] == "Alex"
    assert (await good("memory_stats"))["entities"] == 1
    await good("weak_facts")
    await good("memory_tend", jobs=["digest"], dry_run=True)
    assert (await good("memory_reindex"))["files"]


async def _know(good: Call) -> None:
    fact = await good("fact_assert", subject="Acme", predicate="locatedIn", object="Lisbon")
    await good("fact_query", subject="Acme")
    assert (await good("fact_traverse", start="Acme", path="locatedIn"))["paths"][0]["nodes"] == ["Acme", "Lisbon"]
    await good("fact_impact", what="Acme")
    assert (await good("fact_count", conditions="?x locatedIn Lisbon"))["groups"]
    assert [each["name"] for each in await good("graph_entities", type="person")] == ["Alex"]
    assert (await good("graph_entity", name="Alex"))["name"] == "Alex"
    await good("graph_neighbours", name="Alex")
    await good("graph_path", a="Alex", b="Alex")
    await good("fact_explain", fact_id=fact["id"])
    await good("fact_verify", fact_id=fact["id"], method="consistency_check")
    await good("fact_infer", premise="Acme is in Lisbon")
    rule = await good("rule_create", name="r", text="?x locatedIn ?y => ?x isIn ?y")
    await good("rule_list")
    await good("infer_forward")
    await good("infer_backward", subject="Acme", predicate="isIn", object="Lisbon")
    await good("infer_abductive", subject="Acme", predicate="isIn", object="Lisbon")
    await good("knowledge_explain", question="Where is Acme?")
    await good("constraint_check")
    await good("policy_eval", context=[["Acme", "owes", "money"]])
    await good("rule_toggle", rule_id=rule["id"], enabled=False)
    await good("fact_retract", fact_id=fact["id"])
    await good("cbr_store", **CASE)
    await good("cbr_retrieve", context="the build is broken")
    await good("ontology_scaffold_domain", domain="shop", template="ecommerce")
    term = await good("ontology_propose_concept", **TERM)
    await good("ontology_list_proposals")
    await good("ontology_validate_proposal", proposal_id=term["id"])
    await good("ontology_merge_approved", proposal_id=term["id"], shown=term["shown"])
    await good("goal_seed_business", goals=GOALS)
    for name, arguments in (("status", {}), ("sync_schema", {}), ("query", {"query": "match $x;"})):
        await good(f"typedb_{name}", **arguments)
    await good("typedb_sync_agent_data", dry_run=True)


async def _do(good: Call) -> None:
    await good("mind_add", kind="intention", text="Call Bob", fields={"when": "invoices"})
    await good("mind_list")
    await good("mind_due", about="the invoices")
    await good("mind_update", item="Call Bob", fields={"priority": 0.9})
    await good("mind_end", item="Call Bob")
    await good("bdi_heartbeat")
    await good("procedure_match", text="deploy")
    await good("procedure_decide", name="choose")
    run = await good("workflow_start", name="deploy")
    await good("workflow_done", run=run["id"])
    thought = await good("reason", problem="Tea or ice?", method="decision-theory", given=BETS, store=True)
    await good("reason_outcome", judgement=thought["judgement"]["id"], came_true=1.0)
