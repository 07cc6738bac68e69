"""The functions of the set `knowledge` whose arguments or answers differ from the method's."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

from memfolio.errors import InputError
from memfolio.knowledge.engine import as_triple
from memfolio.knowledge.model import seed_goals
from memfolio.knowledge.ontology.ontology import Report
from memfolio.knowledge.ontology.term import Term, term_from
from memfolio.memory import Memory
from memfolio.recall.query import check_number
from memfolio.types import Attribution
from memfolio.verbs import documents
from memfolio.verbs.documents import FactDocument

Method = Literal["user_confirmation", "cross_reference", "temporal_check", "consistency_check"]
RuleType = Literal["inference", "constraint", "policy"]
REVIEWER = Attribution(actor="bot:review", trigger="review")
MANY = 10_000
"""How many facts one answer may have."""
FAR = 100
"""How many steps a path may have."""
TERMS = "ontology."
"""How the verbs begin that are about terms."""
NodeType = Literal["class", "object_property", "datatype_property"]


class FactsDocument(TypedDict):
    facts: list[FactDocument]
    is_cut: bool


class Terms(TypedDict):
    added: list[str]


class FactPattern(TypedDict, total=False):
    """The pattern that facts must match."""

    subject: str
    predicate: str
    object: str
    valid_at: datetime
    as_of: datetime
    category: str
    source: str
    include_untrusted: bool


def fact_query(
    memory: Memory,
    min_confidence: float = 0.0,
    include_derived: bool = True,
    limit: int = 50,
    **pattern: Unpack[FactPattern],
) -> FactsDocument:
    """Find facts by pattern (* and ? stand for anything), confidence and validity; `is_cut` says there are more."""
    most = check_number("limit", limit, 1, MANY)
    query = partial(memory.facts.query, min_confidence=min_confidence, include_derived=include_derived)
    found = query(limit=most + 1, **pattern)  # one more than asked for tells whether there are more
    return {"facts": [documents.fact(each) for each in found[:most]], "is_cut": len(found) > most}


def fact_verify(memory: Memory, fact_id: str, method: Method, confirmed: bool | None = None) -> dict[str, Any]:
    """Check a fact with the person's answer, other sources, the calendar or the other facts; that is noted with it."""
    return documents.knowledge(memory.verify_fact(fact_id, method, confirmed=confirmed))


def fact_traverse(
    memory: Memory,
    start: str,
    path: list[str] | str,
    hops: int = 6,
    limit: int = 100,
    valid_at: datetime | None = None,
) -> dict[str, Any]:
    """Follow predicates from one thing to others, over all facts that you may read; `start` * stands for any thing."""
    ask, begin = memory.questions, None if start == "*" else start
    hops, most = check_number("hops", hops, 1, FAR), check_number("limit", limit, 1, MANY)
    return documents.paths(ask, ask.traverse(begin, path, valid_at=valid_at, limit=most, hops=hops))


def fact_impact(memory: Memory, what: str, hops: int = 6, valid_at: datetime | None = None) -> dict[str, Any]:
    """What is in doubt when a belief or a fact is: goals, plans, steps, and the conclusions that fall with it."""
    ask = memory.questions
    return documents.impact(ask, ask.impact(what, valid_at=valid_at, hops=check_number("hops", hops, 1, FAR)))


def fact_count(memory: Memory, conditions: str, by: str = "agent", valid_at: datetime | None = None) -> dict[str, Any]:
    """Count what meets conditions such as `?g isA Goal and ?g status behind`, by agent or by a ?variable of them."""
    ask = memory.questions
    return documents.groups(ask, ask.aggregate(conditions, by=by, valid_at=valid_at))


class RuleFields(TypedDict, total=False):
    """A rule by its parts, in place of its text."""

    type: RuleType
    conditions: list[dict[str, Any]]
    conclusion: dict[str, Any]
    violation_message: str
    severity: Literal["info", "warning", "error", "critical"]
    action: str
    escalate: bool


def rule_create(
    memory: Memory,
    name: str,
    text: str | None = None,
    description: str | None = None,
    confidence_factor: float | None = None,
    domain: str | None = None,
    **fields: Unpack[RuleFields],
) -> dict[str, Any]:
    """Make an inference, constraint or policy rule, from its text or from conditions and what follows."""
    given = text or dict(fields)
    rule = memory.rules.create(given, name=name, description=description, domain=domain, factor=confidence_factor)
    return memory.rules.as_json(rule)


def policy_eval(memory: Memory, context: list[list[str]] | None = None, domain: str | None = None) -> dict[str, Any]:
    """What the policy rules ask for in a situation; ask before you act on somebody's behalf."""
    given = [as_triple(tuple(each)) for each in context or ()]
    return documents.knowledge(memory.inference.evaluate(given, domain=domain))


def infer_forward(memory: Memory, persist: bool = False, domain: str | None = None, limit: int = 100) -> dict[str, Any]:
    """What follows from the facts by the rules; with `persist` it is kept, for as long as it follows."""
    most = check_number("limit", limit, 1, MANY)
    return documents.knowledge(memory.inference.forward(persist=persist, domain=domain, limit=most))


def knowledge_explain(memory: Memory, question: str) -> dict[str, Any]:
    """Answer a question from facts and rules, with sources and what is missing; `text` says it in words."""
    found = memory.inference.explain(question)
    return documents.knowledge(found) | {"text": str(found), "paths": found.paths, "sources": found.sources}


class ConceptFields(TypedDict, total=False):
    """Further fields of a class or a property."""

    label: str
    parent_class: str
    domain_class: str
    range: str
    sbvr_definition: str
    sbvr_synonyms: list[str]


def ontology_propose_concept(
    memory: Memory, domain: str, node_type: NodeType, node_id: str, rationale: str, **fields: Unpack[ConceptFields]
) -> dict[str, Any]:
    """Propose a class or a property for the ontology, for somebody to decide on."""
    further = {name.removeprefix("sbvr_"): value for name, value in fields.items()}
    term = term_from({"domain": domain, "node_type": node_type, "node_id": node_id, **further})
    return documents.term_proposal(memory.propose_term(term, rationale=rationale))


def ontology_validate_proposal(memory: Memory, proposal_id: str) -> Report:
    """What is wrong with a proposed term, and what to think of before it is approved."""
    return memory.ontology.validate(_term(memory, proposal_id))


def ontology_merge_approved(memory: Memory, proposal_id: str, shown: str) -> Terms:
    """Approve a proposed term as it was shown, by its hash, and write it into its ontology."""
    _term(memory, proposal_id)
    added = memory.proposals.commit(proposal_id, shown=shown, by=REVIEWER)
    return {"added": [each.id for each in getattr(added, "terms", ())]}


def ontology_list_proposals(memory: Memory) -> list[dict[str, Any]]:
    """List the terms that wait for a decision."""
    waiting = memory.proposals.pending(all=True)
    return [documents.term_proposal(each) for each in waiting if each.intent.verb.startswith(TERMS)]


def ontology_scaffold_domain(
    memory: Memory, domain: str, template: Literal["saas", "ecommerce", "consulting", "agency", "business"]
) -> dict[str, list[str]]:
    """Begin the ontology of a domain with a template."""
    added, rules = memory.scaffold(domain, template)
    return {"added": [each.id for each in added.terms], "rules": [each.id for each in rules]}


def goal_seed_business(memory: Memory, goals: dict[str, Any], dry_run: bool = False) -> Any:
    """Seed strategic, tactical and operational goals with what motivates them and the plans for them, as facts."""
    return seed_goals(memory.facts, goals, agent=memory.agent, dry_run=dry_run)


def _term(memory: Memory, proposal_id: str) -> Term:
    proposal = memory.proposals.get(proposal_id)
    if not proposal.intent.verb.startswith(TERMS):
        raise InputError(f"{proposal_id} proposes no term", hint="`ontology_list_proposals` lists those that do")
    return term_from(proposal.intent.arguments)
