"""What is known as facts, and what follows from it: verbs of a line or two over the rooms of knowledge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING

from memfolio.governed import PROPOSER, Governed
from memfolio.intake import text_of
from memfolio.types import Attribution, check_attribution

if TYPE_CHECKING:  # what knows is loaded when somebody asks for it
    from memfolio.govern.proposal import Proposal
    from memfolio.govern.rooms import GovernedFacts, GovernedOntology, GovernedRules
    from memfolio.index.facts import Fact
    from memfolio.knowledge.cases import Cases
    from memfolio.knowledge.inference import Inference
    from memfolio.knowledge.ontology.ontology import Added
    from memfolio.knowledge.ontology.term import Term
    from memfolio.knowledge.rule import Rule
    from memfolio.knowledge.traverse import Questions
    from memfolio.knowledge.typedb.mirror import TypeDB
    from memfolio.knowledge.verify import GuessedFact, Verification

TEACHER = Attribution(actor="bot:ontology", trigger="ontology")
CHECKER = Attribution(actor="bot:verify", trigger="verify")


class Knowing(Governed):
    """What every `Memory` can do with facts, rules, cases and terms."""

    _is_mirrored: bool
    """Whether changes are sent to a TypeDB server as they come."""

    @cached_property
    def facts(self) -> GovernedFacts:
        """What is asserted, and what follows from it by the rules that are kept."""
        from memfolio.govern.rooms import GovernedFacts

        return GovernedFacts(
            self.vault,
            self.library,
            self.agent,
            refresh=lambda: self.inference.refresh(),
            explainer=lambda named, depth: self.inference.explain_fact(named, depth),
            propose=self._propose,
        )

    @cached_property
    def rules(self) -> GovernedRules:
        """What follows from what, what must not be, and what is to be done."""
        from memfolio.govern.rooms import GovernedRules

        return GovernedRules(self.vault, self.library, self.agent, propose=self._propose)

    @cached_property
    def inference(self) -> Inference:
        """Conclusions, proofs, explanations and checks."""
        from memfolio.knowledge.inference import Inference

        return Inference(self.vault, self.library, self.agent, facts=self.facts, rules=self.rules)

    @cached_property
    def cases(self) -> Cases:
        """What was done in which situation, and how it went."""
        from memfolio.knowledge.cases import Cases

        return Cases(self.vault, self.library, self.agent)

    @cached_property
    def ontology(self) -> GovernedOntology:
        """The terms in which facts are told."""
        from memfolio.govern.rooms import GovernedOntology

        return GovernedOntology(self.vault, self.library, self.agent, propose=self._propose)

    @cached_property
    def typedb(self) -> TypeDB:
        """The copy of all that on a TypeDB server, where one is configured."""
        from memfolio.knowledge.typedb.mirror import TypeDB

        return TypeDB(self.vault, self.library, self.agent, background=self._is_mirrored)

    def _troubles(self) -> Iterator[str]:
        """Why the copy on a TypeDB server is not up to date, and why nothing is concluded, where that is so."""
        if self.vault.config.typedb.url and (trouble := self.typedb.trouble()):
            yield f"typedb: {trouble}"
        if self.inference.trouble:
            yield f"inference: {self.inference.trouble}"

    @cached_property
    def questions(self) -> Questions:
        """What facts lead to: paths, effects, counts across agents, and what has the wrong kind."""
        from memfolio.knowledge.traverse import Questions

        return Questions(self.vault, self.library, refresh=self.inference.refresh)

    def scaffold(
        self, domain: str, template: str, *, by: Attribution = TEACHER, dry_run: bool = False
    ) -> tuple[Added, list[Rule]]:
        """Begin a domain of the ontology with a template, such as "saas" or "business", and make its rules.

        These are two changes, of which none is made where one cannot be.
        """
        by = check_attribution(by)
        planned = self.ontology.scaffold(domain, template, by=by, dry_run=True)
        told = [{"name": each.label, "domain": domain, "text": each.rule} for each in planned.terms if each.rule]
        rules = json.dumps(told)
        made = self.rules.import_(rules, by=by, dry_run=True)
        if dry_run:
            return planned, made
        return self.ontology.scaffold(domain, template, by=by), self.rules.import_(rules, by=by)

    def propose_term(self, term: Term, *, rationale: str = "", by: Attribution = PROPOSER) -> Proposal:
        """Propose a term for the ontology, with what there is to think of; one that does not fit is refused."""
        from memfolio.govern.proposal import intent_of
        from memfolio.knowledge.ontology.term import as_fields

        term = self.ontology.resolved(term)
        report = self.ontology.fitting(term)
        intent = intent_of("ontology.commit", as_fields(term) | {"rationale": rationale or None})
        return self.proposals.add(intent, by=check_attribution(by), note="; ".join(report.warnings))

    def verify_fact(
        self,
        id: str,
        method: str = "consistency_check",
        *,
        confirmed: bool | None = None,
        adjust: bool = False,
        by: Attribution = CHECKER,
    ) -> Verification:
        """Check a fact and note that; `adjust` lets the outcome change how sure it is.

        The methods are "user_confirmation", which needs what the person says in `confirmed`, "cross_reference",
        "temporal_check" and "consistency_check".
        """
        from memfolio.knowledge.verify import Evidence, brought_to_mind, verify

        evidence = Evidence(
            memories=partial(brought_to_mind, self.vault, self.library),
            violations=self._violations,
            functional={term.name for term in self.ontology.terms() if term.functional},
        )
        now, by = self.vault.home.now(), self.gate.named(check_attribution(by))
        return verify(self.facts, id, method, now=now, by=by, confirmed=confirmed, evidence=evidence, adjust=adjust)

    def _violations(self, fact: Fact) -> list[str]:
        found = self.inference.check().findings
        return [each.text for each in found if any(atom.triple == fact.triple for atom in each.supports)]

    def infer(self, premise: str, *, limit: int = 10) -> list[GuessedFact]:
        """What might follow from a premise: by a model where there is one, else by rules and likeness.

        These are hypotheses: nothing of them is stored.
        """
        from memfolio.knowledge.verify import brought_to_mind, hypothesise, relevant

        recalled = brought_to_mind(self.vault, self.library, text_of(premise), "fact")
        known = relevant(self.facts, [each.id for each in recalled])
        return hypothesise(premise, known, self._model, rules=self.rules.list(enabled=True), limit=limit)
