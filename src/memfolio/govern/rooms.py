"""Core memory, facts, rules and terms under the policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack

from memfolio.errors import PolicyError
from memfolio.govern.gate import Gate, proposable
from memfolio.govern.proposals import Proposal, Proposals
from memfolio.index.facts import Fact
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.ontology.document import Term, TermFields, as_fields, term_from
from memfolio.knowledge.ontology.ontology import TERMER, Added, Ontology
from memfolio.knowledge.rule import Rule, render
from memfolio.knowledge.rules import Rules, as_rule
from memfolio.knowledge.verify import Evidence, related_memories
from memfolio.policy import Deed
from memfolio.recall.searcher import Searcher
from memfolio.stores.core import BY, Core, CoreEdit
from memfolio.types import Attribution, Origin
from memfolio.vault.vault import Vault

Propose = Callable[[str, Mapping[str, Any], PolicyError], Proposal]


class ProposingRoom:
    """A room whose verbs become proposals if the policy requires approval."""

    def __init__(self, *args: Any, propose: Propose, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._propose = propose


class GovernedCore(ProposingRoom, Core):
    """Core memory under the policy."""

    def __init__(self, *args: Any, gate: Gate, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._gate = gate

    add = proposable("core.add")(Core.add)
    replace = proposable("core.replace")(Core.replace)
    remove = proposable("core.remove")(Core.remove)
    rewrite = proposable("core.rewrite")(Core.rewrite)
    unpin = proposable("core.unpin")(Core.unpin)

    @proposable("core.pin")
    def pin(self, what: str, *, by: Attribution = BY, dry_run: bool = False) -> CoreEdit:
        """See `Core.pin`; only who may confirm a stranger's words brings them always before an agent's eyes."""
        found = self._find(what.strip()) if self._find else None
        if found and found.item.origin is Origin.UNTRUSTED:
            self._gate.check(Deed.CONFIRM, by, Origin.UNTRUSTED)
        return super().pin(what, by=by, dry_run=dry_run)


# Facts, rules and terms under the policy, and what is done with several of them at once.


class GovernedFacts(ProposingRoom, Facts):
    """Facts under the policy; `inference` opens the inference over them."""

    def __init__(
        self, vault: Vault, searcher: Searcher, agent: str, *, inference: Callable[[], Inference], propose: Propose
    ) -> None:
        super().__init__(
            vault,
            searcher,
            agent,
            propose=propose,
            # Asked for when it is needed, since inference is made of these facts.
            refresh=lambda: inference().refresh(),
            explainer=lambda named, depth: inference().explain_fact(named, depth),
        )

    assert_ = proposable("facts.assert_")(Facts.assert_)
    retract = proposable("facts.retract")(Facts.retract)


class GovernedRules(ProposingRoom, Rules):
    """Rules under the policy."""

    create = proposable("rules.create")(Rules.create)
    toggle = proposable("rules.toggle")(Rules.toggle)
    delete = proposable("rules.delete")(Rules.delete)

    def __init__(self, *args: Any, propose: Propose, **kwargs: Any) -> None:
        def propose_text(verb: str, given: Mapping[str, Any], error: PolicyError) -> Proposal:
            rule = given.get("rule", "")
            text = rule if isinstance(rule, str) else render(as_rule(rule))
            return propose(verb, {**given, "rule": text} if rule else given, error)

        super().__init__(*args, propose=propose_text, **kwargs)


class GovernedOntology(ProposingRoom, Ontology):
    """Terms under the policy."""

    def add(self, term: Term, *, by: Attribution = TERMER, dry_run: bool = False) -> Added:
        """See `Ontology.add`."""
        return self.commit(**as_fields(self.resolved(term)), by=by, dry_run=dry_run)

    @proposable("ontology.commit")
    def commit(self, *, by: Attribution = TERMER, dry_run: bool = False, **fields: Unpack[TermFields]) -> Added:
        """Add the term with these fields, those of `as_fields`; `rationale` says on a proposal why it is needed."""
        return super().add(term_from(fields), by=by, dry_run=dry_run)


def scaffold(
    ontology: Ontology, rules: Rules, domain: str, template: str, *, by: Attribution, dry_run: bool
) -> tuple[Added, list[Rule]]:
    """Begin a domain with a template and make its rules: two changes, of which none is made where one cannot be."""
    # Both are tried first: they are two changes, and half a template helps nobody.
    planned = ontology.scaffold(domain, template, by=by, dry_run=True)
    rule_texts = [{"name": each.label, "domain": domain, "text": each.rule} for each in planned.terms if each.rule]
    made = rules.import_(json.dumps(rule_texts), by=by, dry_run=True)
    if dry_run:
        return planned, made
    return ontology.scaffold(domain, template, by=by), rules.import_(json.dumps(rule_texts), by=by)


def propose_term(proposals: Proposals, ontology: Ontology, term: Term, rationale: str, by: Attribution) -> Proposal:
    """Propose a term together with its warnings; a term that does not fit is refused."""
    # The proposal must hold the term as it would be written, not as it was abbreviated.
    term = ontology.resolved(term)
    warnings = ontology.fitting(term).warnings
    call = proposals.call("ontology.commit", as_fields(term) | {"rationale": rationale or None})
    return proposals.add(call, by=by, note="; ".join(warnings))


def evidence(vault: Vault, searcher: Searcher, ontology: Ontology, inference: Inference) -> Evidence:
    """Against what a fact is checked: memories, the rules that it may break, and terms that have one value."""

    def violations(fact: Fact) -> list[str]:
        found = inference.check().findings
        return [each.text for each in found if any(atom.triple == fact.triple for atom in each.supports)]

    functional = {term.name for term in ontology.terms() if term.functional}
    memories = partial(related_memories, vault, searcher)
    return Evidence(memories=memories, violations=violations, functional=functional)
