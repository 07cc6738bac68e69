"""Which tools are offered together, and what each does to the memory."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.serve.tools.tool import Tool, table

SETS: Mapping[str, tuple[str, ...]] = {
    "core": ("core",),
    "memory": ("core", "remembering", "upkeep"),
    "knowledge": ("core", "knowing"),
    "mind": ("core", "doing"),
    "reason": ("core", "reasoning"),
    "all": ("core", "remembering", "upkeep", "knowing", "doing", "reasoning"),
}
"""The modules of each set, loaded when it is asked for; the few tools of every day are in all of them."""
READING = frozenset(
    """
    recall explain status memory_recall memory_hierarchy_search memory_status fact_query fact_explain fact_infer
    rule_list constraint_check policy_eval infer_backward infer_abductive knowledge_explain cbr_retrieve
    ontology_list_proposals ontology_validate_proposal typedb_status typedb_query
    mind_list mind_due procedure_match procedure_decide
    search_memory explain_fact get_entity_info memory_stats weak_facts
    """.split()
)
"""Tools that change nothing."""
REMOVING = frozenset(
    """
    forget correct correct_fact fact_retract rule_toggle mind_update mind_end bdi_heartbeat memory_tend
    typedb_sync_agent_data
    """.split()
)
"""Tools that take something out of sight or put something else in its place; all of it can be undone."""
ONCE = frozenset(
    """
    remember correct confirm forget checkpoint propose fact_assert fact_retract mind_add mind_end mind_update
    memory_store_item memory_checkpoint memory_build_hierarchy memory_reindex remember_fact correct_fact confirm_fact
    rule_create ontology_propose_concept ontology_merge_approved ontology_scaffold_domain goal_seed_business
    typedb_sync_schema typedb_sync_agent_data
    """.split()
)
"""Tools that may be called again with the same arguments without a further effect."""
OUTSIDE = frozenset("typedb_status typedb_query typedb_sync_schema typedb_sync_agent_data".split())
"""Tools that ask another server."""
SLOW = OUTSIDE | frozenset("memory_tend memory_reindex memory_consolidate memory_build_hierarchy".split())
"""Tools that may take their time."""


def tools_of(name: str) -> dict[str, Tool]:
    """The tools of a set by their names."""
    if name not in SETS:
        raise InputError(f"there is no set of tools {name[:40]!r}", hint=nearest(name, list(SETS)))
    modules = (import_module(f"memfolio.serve.tools.{each}") for each in SETS[name])
    return table(each for module in modules for each in module.TOOLS)
