"""The base model of what agents hold: kinds of nodes with their attributes, and the relations between them.

Plain tables. Facts are read by them (`belief-1 isA Belief`, `belief-1 supports goal-7`), and a mirror makes its schema
of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

ValueType = Literal["string", "integer", "double", "boolean", "datetime"]

_STRINGS = """uid name description content agent_role department status source category rationale hierarchy_level unit
success_criteria commitment_strategy action_name precondition effect tone expertise instructions trigger_event schedule
assignee chosen_option subject_val predicate_val object_val origin rule_type condition_text conclusion_text severity
domain_name situation solution outcome lessons memory_type store_name tag parameters result_text error_text method_name
evidence"""
_INTEGERS = "step_order retries usage_count verification_count access_count"
_DOUBLES = """certainty confidence confidence_factor priority urgency importance alignment progress target_value
current_value estimated_cost estimated_hours success_rate proficiency duration_seconds cost"""
_BOOLEANS = "reversible enabled success"
_DATETIMES = """created_at updated_at accessed_at valid_from valid_until last_verified deadline committed_at started_at
finished_at decided_at last_used"""

_TYPED: Mapping[ValueType, str] = {
    "string": _STRINGS,
    "integer": _INTEGERS,
    "double": _DOUBLES,
    "boolean": _BOOLEANS,
    "datetime": _DATETIMES,
}
ATTRIBUTES: Mapping[str, ValueType] = {name: value for value, names in _TYPED.items() for name in names.split()}
"""What can be said of nodes, each with the type of its values."""

_NODES = {
    "agent": "name agent_role department description status created_at",
    "belief": "content certainty source category origin valid_from valid_until verification_count last_verified "
    "created_at updated_at",
    "desire": "content priority urgency importance alignment status created_at",
    "goal": "name description hierarchy_level status progress priority deadline target_value current_value unit "
    "success_criteria created_at updated_at",
    "intention": "content status deadline commitment_strategy committed_at",
    "plan": "name description status confidence estimated_cost estimated_hours success_rate created_at",
    "plan_step": "name description step_order status action_name precondition effect retries started_at finished_at",
    "persona": "name description tone expertise instructions",
    "skill": "name description proficiency usage_count last_used",
    "workflow": "name description status trigger_event schedule",
    "task": "name description status priority assignee deadline estimated_hours finished_at",
    "decision": "content rationale chosen_option confidence reversible status decided_at",
    "spo_fact": "subject_val predicate_val object_val confidence source category origin valid_from valid_until "
    "verification_count last_verified created_at updated_at",
    "knowledge_rule": "name description rule_type condition_text conclusion_text confidence_factor severity "
    "action_name enabled domain_name created_at updated_at",
    "cbr_case": "situation solution outcome success lessons importance created_at",
    "memory_item": "content memory_type store_name importance source origin tag access_count accessed_at created_at",
    "action_execution": "action_name parameters result_text error_text success cost duration_seconds started_at "
    "finished_at",
    "reasoning_method": "name category description",
    "reasoning_result": "content confidence method_name evidence created_at",
}
NODES: Mapping[str, tuple[str, ...]] = {kind: ("uid", *names.split()) for kind, names in _NODES.items()}
"""The kinds of nodes with the names of their attributes; each begins with its key, `uid`."""

_RELATIONS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("owns", "agent_owns", (("owner", "agent"), *(("owned", kind) for kind in NODES if kind != "agent"))),
    ("supports", "belief_supports_goal", (("supporter", "belief"), ("supported", "goal"))),
    ("motivates", "desire_motivates_goal", (("motivator", "desire"), ("motivated", "goal"))),
    ("requires", "goal_requires_plan", (("requirer", "goal"), ("required", "plan"))),
    ("contains", "plan_contains_step", (("container", "plan"), ("contained", "plan_step"))),
    ("dependsOn", "step_depends_on", (("dependent", "plan_step"), ("prerequisite", "plan_step"))),
    ("hasSkill", "agent_has_skill", (("skilled", "agent"), ("ability", "skill"))),
    ("hasPersona", "agent_has_persona", (("bearer", "agent"), ("character", "persona"))),
    ("produces", "method_produces_result", (("producer", "reasoning_method"), ("product", "reasoning_result"))),
    ("resolves", "decision_resolves_goal", (("resolver", "decision"), ("resolved", "goal"))),
)
RELATIONS: Mapping[str, tuple[tuple[str, str], ...]] = {name: roles for _, name, roles in _RELATIONS}
"""The relations, each with its roles and who plays them: the first is the subject of a fact, all others its object.

A role that several kinds play stands there once for each.
"""
PREDICATES: Mapping[str, str] = {short: name for short, name, _ in _RELATIONS}
"""The short predicates by which facts state a relation; its full name says the same."""

PATHS: Mapping[str, tuple[str, ...]] = {
    "belief-goal-plan": ("supports", "requires"),
    "belief-goal-plan-step": ("supports", "requires", "contains"),
    "desire-goal-plan": ("motivates", "requires"),
    "plan-goal-belief": ("^requires", "^supports"),
    "goal-decision": ("^resolves",),
    "step-prerequisites": ("dependsOn+",),
}
"""Ready questions: the predicates to follow, one after another."""

EFFECTS = ("supports", "motivates", "requires", "contains", "^dependsOn", "^resolves", "produces")
"""Where doubt spreads to: from a belief to the goals that it supports, from a step to those that depend on it."""


def kind_named(text: str) -> str:
    """The kind that a text names, as NODES spells it: `PlanStep` and `plan-step` are `plan_step`; others are kept."""
    kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", text.strip()).lower()
    return kind if kind in NODES else text


def ends(relation: str) -> tuple[str, frozenset[str]]:
    """The kind of a relation's subject, and the kinds that its object may have."""
    (_, subject), *objects = RELATIONS[relation]
    return subject, frozenset(kind for _, kind in objects)
