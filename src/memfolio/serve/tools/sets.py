"""Which tools are offered together, and what each does to the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.serve.tools import core, doing, knowing, remembering
from memfolio.serve.tools.tool import Tool, table

SETS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "core": core.TOOLS,
    "memory": (*core.TOOLS, *remembering.TOOLS),
    "knowledge": (*core.TOOLS, *knowing.TOOLS),
    "mind": (*core.TOOLS, *(each for each in doing.TOOLS if not each.__name__.startswith("reason"))),
    "reason": (*core.TOOLS, *(each for each in doing.TOOLS if each.__name__.startswith("reason"))),
    "all": (*core.TOOLS, *remembering.TOOLS, *knowing.TOOLS, *doing.TOOLS),
}
"""The tools of each set; the few of every day are in all of them."""
READING = frozenset(
    """
    recall explain status memory_recall memory_hierarchy_search memory_status fact_query fact_explain fact_infer
    rule_list constraint_check policy_eval infer_backward infer_abductive knowledge_explain cbr_retrieve
    ontology_list_proposals
    ontology_validate_proposal typedb_status typedb_query mind_list mind_due procedure_match procedure_decide
    """.split()
)
"""Tools that change nothing."""
REMOVING = frozenset("forget fact_retract rule_toggle mind_end".split())
"""Tools that take something out of sight; all of it can be undone."""
ONCE = frozenset("remember correct confirm forget fact_assert fact_retract rule_toggle mind_end mind_update".split())
"""Tools that may be called again with the same arguments without a further effect."""


def tools_of(name: str) -> dict[str, Tool]:
    """The tools of a set by their names."""
    if name not in SETS:
        raise InputError(f"there is no set of tools {name[:40]!r}", hint=nearest(name, list(SETS)))
    return table(SETS[name])
