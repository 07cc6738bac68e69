"""Core memory, facts, rules and terms under the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfolio.errors import PolicyError
from memfolio.govern.gate import Gate
from memfolio.govern.proposal import Proposal, ProposedCall, proposable
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.ontology.ontology import TERMER, Added, Ontology
from memfolio.knowledge.ontology.term import Term, as_fields, term_from
from memfolio.knowledge.rule import Rule, render
from memfolio.knowledge.rules import RULER, Rules, Said, as_rule
from memfolio.policy import Deed
from memfolio.stores.core import BY, Core, CoreEdit
from memfolio.types import Attribution, Origin

Propose = Callable[[ProposedCall, PolicyError], Proposal]


class Proposing:
    """A room whose verbs are proposed where the policy wants somebody's leave."""

    def __init__(self, *args: Any, propose: Propose, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._propose = propose


class GovernedCore(Proposing, Core):
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


class GovernedFacts(Proposing, Facts):
    """Facts under the policy."""

    assert_ = proposable("facts.assert_")(Facts.assert_)
    retract = proposable("facts.retract")(Facts.retract)


class GovernedRules(Proposing, Rules):
    """Rules under the policy."""

    toggle = proposable("rules.toggle")(Rules.toggle)
    delete = proposable("rules.delete")(Rules.delete)
    _create = proposable("rules.create")(Rules.create)

    def create(self, rule: Said, *, by: Attribution = RULER, dry_run: bool = False, **fields: Any) -> Rule:
        """See `Rules.create`; a proposal has the rule's text."""
        text = rule if isinstance(rule, str) else render(as_rule(rule))
        return self._create(text, **fields, by=by, dry_run=dry_run)


class GovernedOntology(Proposing, Ontology):
    """Terms under the policy."""

    def add(self, term: Term, *, by: Attribution = TERMER, dry_run: bool = False) -> Added:
        """See `Ontology.add`."""
        return self.commit(**as_fields(self.resolved(term)), by=by, dry_run=dry_run)

    @proposable("ontology.commit")
    def commit(
        self,
        node_id: str,
        node_type: str,
        *,
        definition: str = "",
        domain: str = "",
        label: str = "",
        parent_class: str = "",
        domain_class: str = "",
        range: str = "",
        synonyms: tuple[str, ...] = (),
        functional: bool = False,
        rule: str = "",
        rationale: str = "",
        by: Attribution = TERMER,
        dry_run: bool = False,
    ) -> Added:
        """Add the term with these fields; `rationale` says on a proposal why it is needed."""
        fields = {
            "node_id": node_id,
            "node_type": node_type,
            "definition": definition,
            "domain": domain,
            "label": label,
            "parent_class": parent_class,
            "domain_class": domain_class,
            "range": range,
            "synonyms": synonyms,
            "functional": functional,
            "rule": rule,
        }
        return super().add(term_from(fields), by=by, dry_run=dry_run)
