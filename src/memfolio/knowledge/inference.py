"""Inference over one agent's facts and rules: forward, backward, abduction, constraints, policies, questions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import islice, permutations
from typing import TypeVar

from memfolio.errors import InferenceLimitError, InputError, NotFoundError, RuleError
from memfolio.graph.grow import Readable
from memfolio.index.database import Connection
from memfolio.index.facts import Fact, fact_id
from memfolio.index.rows import to_us
from memfolio.knowledge.engine import (
    Derivation,
    Refreshed,
    RuleFinding,
    StoredRelations,
    WithContext,
    as_triple,
    derive,
    findings,
    refresh,
    trouble,
    trusted_atoms,
)
from memfolio.knowledge.facts import Facts, fact_of, known_terms, predicates
from memfolio.knowledge.join import (
    DEEPEST,
    Atom,
    Binding,
    Call,
    Lookup,
    MemoryRelations,
    ProofNode,
    Relations,
    Step,
    Triple,
    as_text,
    binding_for,
    call_of,
    explain_fact,
    instantiate,
    nearest,
    proof_tree,
    rule_label,
    size,
    solve,
    steps_to,
    substitute,
    valid_at,
)
from memfolio.knowledge.rule import (
    Condition,
    Part,
    Rule,
    RuleType,
    Severity,
    is_variable,
    positives,
    predicates_of,
    render_part,
    variables,
)
from memfolio.knowledge.rules import Rules
from memfolio.types import Attribution, Origin, frozen
from memfolio.vault.vault import Vault

# Abduction: what would explain an observation, and what each explanation takes for granted. Pure.

ABDUCTION_DEPTH = 2
"""How many hypotheses deep an assumption is explained in turn."""
HYPOTHESES = 20
GAPS = 10


@frozen
class Hypothesis:
    """A rule that would explain an observation.

    `score` is the share of its conditions that are met, times the rule's factor; `confidence` that of the least sure
    fact among those that meet them, 0 without any.
    """

    rule: Rule
    score: float
    confidence: float
    supports: tuple[Atom, ...]
    assumptions: tuple[Part, ...]
    binding: Binding
    """The values of the observation's variables under this hypothesis."""
    explained: tuple[tuple[Part, tuple[Hypothesis, ...]], ...] = ()
    """Hypotheses that would explain the assumptions in turn."""


@frozen
class Gap:
    """Missing conditions that would complete a proof, with its rules and the facts it already has."""

    missing: tuple[Part, ...]
    rules: tuple[Rule, ...]
    supports: tuple[Atom, ...]
    binding: Binding

    def __str__(self) -> str:
        return " and ".join(map(render_part, self.missing))


def abduce(
    observation: Condition,
    relations: Relations,
    rules: Sequence[Rule],
    *,
    depth: int = ABDUCTION_DEPTH,
    taken: Iterable[str] = (),
    above: tuple[str, ...] = (),
) -> list[Hypothesis]:
    """Return hypotheses for an observation, the best supported first; `relations` must hold only valid atoms.

    `taken` are variables in use elsewhere, `above` the predicates already being explained.
    """
    if depth <= 0 or observation.predicate in above:  # what a predicate needs of itself explains nothing
        return []
    found: dict[tuple[str, frozenset[Part]], Hypothesis] = {}
    for rule in rules:
        body, bound = instantiate(rule, observation, taken) or ((), {})
        for attempt in nearest(body, relations) if body else ():
            names = {*taken, *(name for part in attempt.missing for name in variables(part.terms))}
            deeper = partial(abduce, depth=depth - 1, taken=names, above=(*above, observation.predicate))
            inner = [(part, tuple(deeper(part, relations, rules))) for part in positives(attempt.missing)]
            one = Hypothesis(
                rule=rule,
                score=(1 - len(attempt.missing) / len(body)) * rule.factor,
                confidence=attempt.confidence,
                supports=attempt.atoms,
                assumptions=attempt.missing,
                binding={**bound, **attempt.binding},
                explained=tuple((part, explained) for part, explained in inner if explained),
            )
            # Of attempts that lack the same, the best supported one is told.
            key = rule.id, frozenset(attempt.missing)
            if observation not in attempt.missing and (key not in found or _rank(one) < _rank(found[key])):
                found[key] = one
    return sorted(found.values(), key=_rank)[:HYPOTHESES]


def gaps(goal: Condition, relations: Relations, rules: Sequence[Rule]) -> list[Gap]:
    """The smallest sets of conditions that would prove a goal, the smallest and best supported first."""
    # One deeper than hypotheses are shown: a gap may lie below the last of them.
    found = _gaps(abduce(goal, relations, rules, depth=ABDUCTION_DEPTH + 1))
    kept: list[Gap] = []
    for gap in sorted(found, key=lambda each: (size(each.missing), -len(each.supports))):
        if not any(set(other.missing) <= set(gap.missing) for other in kept):
            kept.append(gap)
    return kept[:GAPS]


def _gaps(hypotheses: Iterable[Hypothesis]) -> Iterator[Gap]:
    """Yield what each hypothesis lacks, and the same with one assumption replaced by what it lacks in turn."""
    for each in hypotheses:
        yield Gap(missing=each.assumptions, rules=(each.rule,), supports=each.supports, binding=each.binding)
        for part, inner in each.explained:
            for further in _gaps(inner):
                others = (substitute(other, further.binding) for other in each.assumptions if other is not part)
                yield Gap(
                    missing=tuple(dict.fromkeys((*others, *further.missing))),
                    rules=(each.rule, *further.rules),
                    supports=(*each.supports, *further.supports),
                    binding={name: further.binding.get(value, value) for name, value in each.binding.items()},
                )


def _rank(hypothesis: Hypothesis) -> tuple[float, float, int, str]:
    return -hypothesis.score, -hypothesis.confidence, len(hypothesis.assumptions), hypothesis.rule.name


# Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.
#
# The rules that lead to a goal are narrowed to it, as far as its values reach, and all is drawn that follows by them
# from the facts that they speak of. So nothing proves itself, and all ends. Pure.

ANSWERS = 50
"""How many answers are shown with their proofs."""
MOST = 200_000
"""How many conclusions may be drawn for one goal."""
FEW = 8
"""Up to this many goals with one predicate are proved one by one; after that, all with that predicate at once."""
_KEPT = 1 << 62
"""Keys from here on are conclusions that were kept, while others are drawn from them."""


class ProofVerdict(StrEnum):
    """The verdict on a goal."""

    PROVEN = "proven"
    GAPS = "derivable-with-gaps"
    UNPROVABLE = "unprovable"
    UNDECIDED = "not-decided"


@frozen
class GoalAnswer:
    """A binding for a goal's variables, the atom that matches, and its best proof."""

    binding: Binding
    atom: Atom
    proof: ProofNode


@frozen
class Proof:
    """The result of proving a goal; `truncated` if a search hit a limit, so that there may be more."""

    goal: Condition
    verdict: ProofVerdict
    answers: tuple[GoalAnswer, ...]
    total: int
    """The number of answers; `answers` may hold only the most certain ones."""
    gaps: tuple[Gap, ...]
    truncated: bool
    problems: tuple[str, ...]
    undecided: str | None = None
    """Why it is neither proven nor disproved: `not decided within 1,000,000 conclusions`."""


def prove(
    goal: Condition,
    prover: Prover,
    *,
    now: int | None = None,
    depth: int = DEEPEST,
    limit: int | None = ANSWERS,
    facts: Lookup | None = None,
) -> Proof:
    """Prove a goal whose subject and object may be variables; with `now`, only atoms valid at that time count.

    Proofs are shown `depth` rules deep, but may be deeper.
    """
    known = valid_at(prover, now)
    bound = ((atom, binding_for(goal, atom.subject, atom.object)) for atom in known.match(*call_of(goal)))
    held = [(atom, binding) for atom, binding in bound if binding is not None]
    held.sort(key=lambda each: (-each[0].confidence, each[0][1:]))
    undecided = None if held else prover.undecided(*call_of(goal))
    missing = [] if held else [each for each in gaps(goal, known, prover.rules) if each.missing]
    rest = ProofVerdict.UNDECIDED if undecided else ProofVerdict.GAPS if missing else ProofVerdict.UNPROVABLE
    return Proof(
        goal=goal,
        verdict=ProofVerdict.PROVEN if held else rest,
        answers=tuple(
            GoalAnswer(binding=found, atom=atom, proof=proof_tree(atom, prover.steps_to, depth, facts, ways=1))
            for atom, found in held[:limit]
        ),
        total=len(held),
        gaps=tuple(missing),
        truncated=prover.truncated,
        problems=tuple(sorted(prover.problems)),
        undecided=undecided,
    )


class Prover:
    """Facts together with their conclusions, derived on demand.

    With `kept`, `relations` already holds the conclusions of the kept rules, which are not drawn again. For other
    predicates that rules conclude, only asserted facts are read from `relations`.
    """

    def __init__(self, relations: Relations, rules: Iterable[Rule], *, most: int = MOST, kept: bool = False) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self._cut: dict[str, str] = {}
        """Why not every conclusion with a predicate could be drawn; then only asserted facts were found."""
        self._relations, self._most = relations, most
        self._heads: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in incomplete_rules(self.rules) if kept else self.rules:
            self._heads[head_of(rule).predicate].append(rule)
        self._answers: defaultdict[str, dict[Call, MemoryRelations]] = defaultdict(dict)
        self._drawn: list[Derivation] = []

    @property
    def truncated(self) -> bool:
        """Whether something could not be drawn."""
        return bool(self._cut)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """Return every valid atom with this predicate and, if given, this subject and object."""
        # No rule concludes it: what is asserted, or kept, is all there is.
        if predicate not in self._heads:
            return self._relations.match(predicate, subject, object)
        goal, answers = (predicate, subject, object), self._answers[predicate]
        if (asked := self._asked(goal)) is None:
            # A value that looks like a variable cannot stand in a rule.
            is_plain = not variables(filter(None, (subject, object)))
            asked = self._draw(goal if is_plain and len(answers) < FEW else (predicate, None, None))
        return answers[asked].match(predicate, subject, object)

    def undecided(self, predicate: str, subject: str | None = None, object: str | None = None) -> str | None:
        """Why `match` may be incomplete for this goal: `not decided within …`; None if it is complete."""
        self.match(predicate, subject, object)
        asked = self._asked((predicate, subject, object))
        return self._cut.get(predicate) if asked == (predicate, None, None) else None

    def _asked(self, goal: Call) -> Call | None:
        """Return the goal with known answers that also answers this one."""
        return next((each for each in _wider(goal) if each in self._answers[goal[0]]), None)

    def steps_to(self, atom: Atom) -> Sequence[Step]:
        """Return the steps that conclude an atom; none if it was asserted."""
        if found := self._derivation(atom):
            rule = next(rule for rule in self.rules if rule.id == found.proofs[atom.key].rule)
            # Absence needs no premise, and the premises alone would not show it.
            positive = [part for part in rule.conditions if not (isinstance(part, Condition) and part.negated)]
            binding = binding_for(head_of(rule), atom.subject, atom.object)
            met = islice(solve(positive, MemoryRelations(found.premises(atom)), binding), 1)
            return [(rule, each._replace(start=atom.start, end=atom.end)) for each in met]
        key = _KEPT - atom.key if atom.key >= _KEPT else atom.key
        if key > 0:
            return []
        # What is kept was drawn in the order of its keys, downwards: a step from what came before proves it.
        steps = steps_to(atom.triple, self, self.rules)
        return sorted(steps, key=lambda step: any(premise.key <= key for premise in step[1].atoms))

    def _derivation(self, atom: Atom) -> Derivation | None:
        """Return the derivation in which an atom was drawn."""
        return next((each for each in self._drawn if atom.key in each.proofs and each.atoms[atom.key] == atom), None)

    def _draw(self, goal: Call) -> Call:
        """Draw the answers to a goal and what they need; returns the goal that was answered, maybe a wider one."""
        # Like magic sets: only what can lead to the goal is drawn, from the facts that it asks for.
        rules, calls = self._narrowed(goal)
        try:
            found = derive(self._given(calls), rules, most=self._most)
        except (InferenceLimitError, RuleError) as error:
            reason = f" within {error.limit}" if isinstance(error, InferenceLimitError) else f": {error.message}"
            self._cut[goal[0]] = f"not decided{reason}"
            self.problems.add(error.message)
            goal = (goal[0], None, None)  # what failed once is not tried again
            self._answers[goal[0]][goal] = MemoryRelations(self._given([goal]))
            return goal
        self.problems.update(found.problems)
        self._drawn.append(found)
        self._answers[goal[0]][goal] = MemoryRelations(found.atoms.values())
        return goal

    def _narrowed(self, goal: Call) -> tuple[list[Rule], set[Call]]:
        """The rules that lead to a goal, with its values in them, and all that they ask for."""
        rules, calls, ahead = list[Rule](), set[Call](), [goal]
        while ahead:
            call = ahead.pop()
            # A wider question was asked already, and has this answer among its own.
            if calls.isdisjoint(_wider(call)):
                calls.add(call)
                for rule in self._heads.get(call[0], ()):
                    binding = binding_for(head_of(rule), *call[1:])
                    if binding is not None:
                        head, *body = (substitute(part, binding) for part in (head_of(rule), *rule.conditions))
                        assert isinstance(head, Condition)
                        rules.append(replace(rule, conditions=tuple(body), conclusion=head))
                        ahead += [call_of(part) for part in body if isinstance(part, Condition)]
        return rules, calls

    def _given(self, calls: Iterable[Call]) -> Iterator[Atom]:
        """Yield the asserted atoms for these lookups, each once, and the kept ones if none of them has to be drawn."""
        atoms = {atom.key: atom for call in calls for atom in self._relations.match(*call)}
        for key, atom in atoms.items():
            if key > 0:
                yield atom
            elif atom.predicate not in self._heads:
                yield atom._replace(key=_KEPT - key)


def _wider(call: Call) -> tuple[Call, ...]:
    """Return a goal, then those whose answers include its answers, the narrowest first."""
    predicate, subject, target = call
    return call, (predicate, subject, None), (predicate, None, target), (predicate, None, None)


def incomplete_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that conclude something of which the index does not keep all, as a rule on the way is not kept."""
    heads = [(head_of(rule).predicate, rule) for rule in rules]
    loose = {head for head, rule in heads if not rule.kept}
    while more := {head for head, rule in heads if loose & predicates_of([rule])} - loose:
        loose |= more
    return [rule for head, rule in heads if head in loose]


def head_of(rule: Rule) -> Condition:
    assert rule.conclusion is not None
    return rule.conclusion


# Answers to questions from what is known: facts, what follows from them, what is missing, and what would explain it.
#
# A question is a triple with variables, or plain words in which known terms and predicates are looked for. Pure.

LONGEST = 5
"""How many words a term may have to be found in a question."""
PATTERNS = 2000
"""The most triples that one question may be read as."""
WORDS = 40
"""How many words of a question are looked at."""
_WORD = re.compile(r"\?\w+|[^\s?!,;()\"“”]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")
_EMPTY = frozenset(
    "a about an and are as at be by can did do does for had has have how i in is it many me much of on or tell that "
    "the there this to was were what when where which who whom whose why will with".split()
)


@frozen
class KnownTerms:
    """The terms and predicates that occur in facts, for understanding questions."""

    predicates: Collection[str]
    known: Callable[[Sequence[str]], Collection[str]]
    """Those of some spellings that are the subject or object of a fact."""


@frozen
class KnowledgeAnswer:
    """The answer to a question: facts, conclusions, gaps and hypotheses."""

    question: str
    unknown: tuple[str, ...]
    """Words of the question that were not understood."""
    patterns: tuple[Condition, ...]
    """The triples that the question was read as: those that hold, or the first ones if none does."""
    facts: tuple[ProofNode, ...]
    derived: tuple[ProofNode, ...]
    gaps: tuple[Gap, ...]
    hypotheses: tuple[Hypothesis, ...]
    truncated: bool
    undecided: str | None = None
    """Why the question could not be decided if nothing was found: `not decided within 1,000,000 conclusions`."""

    @property
    def paths(self) -> tuple[str, ...]:
        """What answered: `facts` and `derived`, or `gaps` if nothing holds; and `hypotheses`."""
        return tuple(name for name in ("facts", "derived", "gaps", "hypotheses") if getattr(self, name))

    @property
    def sources(self) -> list[str]:
        """The ids and sources of all facts that it rests on, each once."""
        return list(dict.fromkeys(each for node in (*self.facts, *self.derived) for each in _sources(node)))

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def explain(
    question: Condition | str,
    known: Prover,
    vocabulary: KnownTerms,
    *,
    now: int,
    depth: int = DEEPEST,
    facts: Lookup | None = None,
) -> KnowledgeAnswer:
    """One answer from facts, rules, gaps and hypotheses; words are taken for the first triples that hold."""
    groups, unknown = ([[question]], []) if isinstance(question, Condition) else understand(question, vocabulary)
    held = valid_at(known, now)
    holding = ([each for each in group[:PATTERNS] if held.match(*call_of(each))] for group in groups)
    # The first group in which something holds; where nothing does, the most exact one is explained.
    goals = next(filter(None, holding), None) or next(filter(None, groups))[:HYPOTHESES]
    proofs = [prove(each, known, now=now, depth=depth, facts=facts) for each in goals]
    nodes = [answer.proof for proof in proofs for answer in proof.answers][:ANSWERS]
    given, drawn = [each for each in nodes if not each.ways], [each for each in nodes if each.ways]
    # What was asserted is explained only where somebody wants to know why.
    is_why = not isinstance(question, str) or question.lstrip().casefold().startswith("why")
    unexplained = [Condition(*each.triple) for each in given if is_why] if nodes else goals
    suggested = (each for goal in unexplained for each in abduce(goal, held, known.rules))
    return KnowledgeAnswer(
        question=question if isinstance(question, str) else render_part(question),
        unknown=tuple(unknown),
        patterns=tuple(goals),
        facts=tuple(given),
        derived=tuple(drawn),
        gaps=() if nodes else tuple(gap for proof in proofs for gap in proof.gaps)[:GAPS],
        hypotheses=tuple(islice((each for each in suggested if each.assumptions), HYPOTHESES)),
        truncated=any(proof.truncated for proof in proofs) or sum(proof.total for proof in proofs) > len(nodes),
        undecided=None if nodes else next((proof.undecided for proof in proofs if proof.undecided), None),
    )


def understand(question: str, vocabulary: KnownTerms) -> tuple[list[list[Condition]], list[str]]:
    """Return the triples that a question may mean, in groups, the most exact first; and its unknown words."""
    words = [word.strip(".:'’") or word for word in _WORD.findall(question)][:WORDS]
    # Three words with a known predicate in the middle are a triple as it stands.
    if len(words) == 3 and words[1] in vocabulary.predicates:
        return [[Condition(words[0], words[1], words[2])]], []
    terms, left = _terms(words, vocabulary)
    predicates = _predicates(words, vocabulary.predicates)
    if not terms and not predicates:
        hint = "name a subject or predicate as the facts do, or give a triple"
        raise InputError(f"nothing in {question[:80]!r} is known", hint=hint)
    exact = [Condition(one, each, other) for each in predicates for one, other in permutations(terms, 2)]
    about = [
        pattern
        for term in terms
        for each in predicates or sorted(vocabulary.predicates)
        for pattern in (Condition(term, each, "?what"), Condition("?who", each, term))
    ]
    understood = {stem for each in predicates for stem in _stems(each)} | _EMPTY
    unknown = [word for word in left if _stem(word) not in understood]
    return [exact, about or [Condition("?who", each, "?what") for each in predicates]], unknown


def _terms(words: Sequence[str], vocabulary: KnownTerms) -> tuple[list[str], list[str]]:
    """Return the known terms among the words, preferring the longest, and the remaining words."""
    spans = [(at, at + length) for length in range(LONGEST, 0, -1) for at in range(len(words) - length + 1)]
    spelled = {span: _spellings(words[span[0] : span[1]]) for span in spans}
    known = set(vocabulary.known(sorted({each for spellings in spelled.values() for each in spellings})))
    found: dict[int, str] = {}
    taken: set[int] = set()
    for span, spellings in spelled.items():
        term = next((each for each in spellings if each in known), None)
        # Longest spans come first, so a part of a longer term is not taken for another one.
        if term is not None and taken.isdisjoint(range(*span)):
            taken |= set(range(*span))
            found[span[0]] = term
    left = [word for at, word in enumerate(words) if at not in taken]
    return list(dict.fromkeys(found[at] for at in sorted(found))), left


def _spellings(words: Sequence[str]) -> list[str]:
    if all(word.casefold() in _EMPTY for word in words):
        return []
    joined = [sign.join(words) for sign in (" ", "-", "_", "")]
    plain = [each.removesuffix("'s").removesuffix("’s") for each in joined]
    return list(dict.fromkeys(form for each in (*joined, *plain) for form in (each, each.lower(), each.title())))


def _predicates(words: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the predicates whose words all occur in the question, those with the most words only."""
    stems_asked = {_stem(word) for word in words}
    found = {each: len(stems) for each in known if (stems := _stems(each)) <= stems_asked}
    most = max(found.values(), default=0)
    return sorted(each for each, size in found.items() if size == most)


def _stems(predicate: str) -> set[str]:
    """The words of a predicate that say something."""
    stems = {_stem(word) for word in _HUMP.split(predicate) if word}
    return (stems - _EMPTY) or stems


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded if folded in _EMPTY or len(folded) < 4 else folded.removesuffix("s")


def _sources(node: ProofNode) -> Iterator[str]:
    if node.fact:
        yield f"{node.fact.id} ({node.fact.source})" if node.fact.source else node.fact.id
    for way in node.ways:
        for premise in way.premises:
            yield from _sources(premise)


def _lines(found: KnowledgeAnswer) -> Iterator[str]:
    if found.unknown:
        yield f"Not understood: {', '.join(found.unknown)}"
    for node in (*found.facts, *found.derived):
        yield as_text(node)
    if not found.facts and not found.derived:
        asked = ", or ".join(map(render_part, found.patterns[:3]))
        reason = found.undecided or "nothing that is known says"
        yield f"{reason[0].upper()}{reason[1:]}: {asked}"
    if found.gaps:
        yield "It would follow with:"
        yield from (f"  {gap}" for gap in found.gaps)
    if found.hypotheses:
        yield "It could be explained by:"
    for each in found.hypotheses:
        assumed = " and ".join(map(render_part, each.assumptions))
        yield f"  the rule {rule_label(each.rule)} ({each.score:.2f}), assuming {assumed}"
    if found.sources:
        yield f"Sources: {', '.join(found.sources)}"
    if found.truncated:
        yield "The search was cut: there may be more."


# Reasoning over what one agent knows, as a small object: what follows, whether and why, what is wrong, what to do.

INFERRER = Attribution(actor="bot:inference", trigger="infer")
T = TypeVar("T")
ATTEMPTS = 3
"""How often a refresh is repeated while others keep changing the rules."""


@frozen
class Conclusion:
    """A derived triple with its rule and its premises."""

    id: str
    atom: Atom
    rule: Rule
    premises: tuple[Triple, ...]


@frozen
class Drawn:
    """The conclusions of forward chaining that are not stored yet."""

    conclusions: tuple[Conclusion, ...]
    total: int
    """The number of conclusions, of which `conclusions` may hold only the first."""
    counts: Mapping[str, int]
    """How many follow by each rule, by its id, those that are among the facts already included."""
    problems: tuple[str, ...]
    refreshed: Refreshed | None = None
    """What was stored; None for a preview."""


@frozen
class RuleFindings:
    """The findings of constraints or policies; `truncated` if the search hit a limit."""

    findings: tuple[RuleFinding, ...]
    problems: tuple[str, ...]
    truncated: bool


class Inference:
    """Inference over the trusted facts of an agent. Only the choice of rules whose conclusions are kept is stored."""

    def __init__(self, vault: Vault, searcher: Readable, agent: str, *, facts: Facts, rules: Rules) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent
        self._facts = facts
        self._rules = rules
        self._refreshed: tuple[object, ...] = ()
        """The state of the index at which the stored conclusions were last refreshed."""

    def forward(
        self,
        *,
        persist: bool = False,
        rules: Iterable[str] | None = None,
        domain: str | None = None,
        limit: int | None = None,
        by: Attribution = INFERRER,
    ) -> Drawn:
        """Draw what follows by all inference rules, or by the named ones; `persist` keeps it as long as it follows."""
        chosen = self._chosen(RuleType.INFERENCE, rules, domain)
        drawn = self._searcher.index.read(lambda db: self._draw(db, chosen, limit))
        if not persist:
            return drawn
        self._rules.keep([rule.id for rule in chosen], by=by)
        return replace(drawn, refreshed=self.refresh())

    @property
    def trouble(self) -> str | None:
        """Why nothing that follows is among the facts, though rules are kept."""
        self.refresh()
        return self._searcher.index.read(trouble)

    def refresh(self) -> Refreshed:
        """Bring stored conclusions in line with facts and rules; costs almost nothing if neither has changed."""
        index, done = self._searcher.index, Refreshed()
        for _ in range(ATTEMPTS):
            # The moment before the refresh: a change during it makes another round.
            moment = index.moment()
            if moment == self._refreshed:
                break
            done = refresh(index, self._inference_rules(), most=self._vault.config.knowledge.most)
            self._refreshed = moment  # and looked at once more: the rules may have changed since they were read
        return done

    def backward(
        self, subject: str, predicate: str, object: str, *, depth: int | None = None, limit: int | None = ANSWERS
    ) -> Proof:
        """Prove a triple: whether it holds or follows, the values of its `?variables`, the proof, and what is missing.

        `depth` limits how many rules deep each proof is shown; whether the triple is proven does not depend on it.
        """
        goal, now, deep = as_goal(subject, predicate, object), self._now(), self._depth(depth)
        return self._reason(lambda db, known: prove(goal, known, now=now, depth=deep, limit=limit, facts=_facts_in(db)))

    def abduce(self, subject: str, predicate: str, object: str) -> list[Hypothesis]:
        """Return hypotheses that would explain an observation, the best supported first."""
        observed, now = as_goal(subject, predicate, object), self._now()
        return self._reason(lambda _, known: abduce(observed, valid_at(known, now), known.rules))

    def explain(self, question: str | Sequence[str]) -> KnowledgeAnswer:
        """One answer to a triple or to plain words, from facts, rules, gaps and hypotheses, with its sources."""
        asked, now = question if isinstance(question, str) else as_goal(*as_triple(question)), self._now()

        def ask(db: Connection, known: Prover) -> KnowledgeAnswer:
            names = {*predicates(db), *(head_of(rule).predicate for rule in known.rules)}
            vocabulary = KnownTerms(predicates=names, known=lambda texts: known_terms(db, texts))
            return explain(asked, known, vocabulary, now=now, depth=self._depth(), facts=_facts_in(db))

        return self._reason(ask)

    def explain_fact(self, fact: str | Triple, depth: int | None = None) -> ProofNode:
        """Return the proof of a fact, named by id or triple; an untrusted fact or another agent's has no premises.

        Raises NotFoundError if the fact does not hold, and InferenceLimitError if that could not be decided.
        """
        named = self._facts.get(fact) if isinstance(fact, str) else None
        subject, predicate, target = triple = named.triple if named else as_triple(fact)
        deep = self._depth(depth)

        def ask(db: Connection, known: Prover) -> ProofNode:
            if named is not None and not known.match(predicate, subject, target):
                return ProofNode(triple=triple, confidence=named.confidence, fact=named)
            if (why := known.undecided(predicate, subject, target)) and not known.match(predicate, subject, target):
                raise InferenceLimitError(
                    f"{' '.join(triple)[:200]!r} is {why}", hint="; ".join(sorted(known.problems))
                )
            return explain_fact(triple, known, known.rules, deep, facts=_facts_in(db))

        return self._reason(ask)

    def check(
        self, *, severity: str | None = None, domain: str | None = None, rules: Iterable[str] | None = None
    ) -> RuleFindings:
        """Which constraints are violated; `severity` is the mildest that counts."""
        if severity is not None and severity not in set(Severity):
            raise InputError(f"{severity[:40]!r} is no severity", hint=f"there are {', '.join(Severity)}")
        return self._find(RuleType.CONSTRAINT, rules, domain, severity=Severity(severity or Severity.INFO))

    def evaluate(
        self, context: Sequence[Triple] = (), *, domain: str | None = None, rules: Iterable[str] | None = None
    ) -> RuleFindings:
        """Return the actions that policies demand, given facts that count for this call only."""
        return self._find(RuleType.POLICY, rules, domain, context=context)

    def supposing(self, question: Callable[[Relations], T]) -> T:
        """Answer a question about the trusted facts in one consistent state, for example what if there were others."""
        self.refresh()
        return self._searcher.index.read(lambda db: question(StoredRelations(db)))

    def _find(
        self,
        type: RuleType,
        names: Iterable[str] | None,
        domain: str | None,
        *,
        severity: Severity = Severity.INFO,
        context: Sequence[Triple] = (),
    ) -> RuleFindings:
        chosen = self._chosen(type, names, domain)
        now = self._now()

        def ask(db: Connection, known: Prover) -> RuleFindings:
            found = findings(known, chosen, now, severity=severity, problems=known.problems)
            problems = *filter(None, [trouble(db)]), *sorted(known.problems)
            return RuleFindings(findings=tuple(found), problems=problems, truncated=known.truncated)

        return self._reason(ask, context)

    def _reason(self, question: Callable[[Connection, Prover], T], context: Sequence[Triple] = ()) -> T:
        """Ask about all that holds and follows, with facts that count for this question only."""
        self.refresh()
        rules = self._inference_rules()

        def ask(db: Connection) -> T:
            stored = StoredRelations(db)
            # What is kept does not follow from facts that are not there, and is not there where there is trouble.
            kept = not context and trouble(db) is None
            relations = WithContext(stored, context) if context else stored
            return question(db, Prover(relations, rules, most=self._vault.config.knowledge.most, kept=kept))

        return self._searcher.index.read(ask)

    def _draw(self, db: Connection, chosen: Sequence[Rule], limit: int | None) -> Drawn:
        # Kept rules are applied, too: others may build on what they conclude.
        kept = [rule for rule in self._inference_rules() if rule.kept]
        rules, names = {rule.id: rule for rule in (*kept, *chosen)}, {rule.id for rule in chosen}
        atoms = trusted_atoms(db, predicates_of(rules.values()))
        found = derive(atoms, rules.values(), most=self._vault.config.knowledge.most)
        fresh = [each for each in found.derived if found.proofs[each.key].rule in names]
        if kept:
            fresh = [each for each in fresh if not _is_there(StoredRelations(db), each)]
        conclusions = [
            Conclusion(
                id=fact_id(self._agent, each.triple, "D"),
                atom=each,
                rule=rules[found.proofs[each.key].rule],
                premises=tuple(premise.triple for premise in found.premises(each)),
            )
            for each in fresh[:limit]
        ]
        counts = {name: found.counts.get(name, 0) for name in names}
        return Drawn(conclusions=tuple(conclusions), total=len(fresh), counts=counts, problems=found.problems)

    def _chosen(self, type: RuleType, names: Iterable[str] | None, domain: str | None) -> list[Rule]:
        """Return the enabled rules of a type; raises InputError if another rule is named.

        Raises NotFoundError for a domain that no rule has: a typing error would look like nothing to report.
        """
        domains = {each.domain for each in self._rules.list() if each.domain}
        if domain is not None and domain not in domains:
            hint = f"there are {', '.join(sorted(domains))}" if domains else "no rule has one"
            raise NotFoundError(f"no rule has the domain {domain[:80]!r}", hint=hint)
        # Rules that are named must fit: to leave one out silently would look like nothing to report.
        chosen = self._rules.list(type, enabled=True) if names is None else [self._rules.get(each) for each in names]
        if other := next((each for each in chosen if each.type is not type or not each.enabled), None):
            state = f"of type {other.type}" if other.enabled else "switched off"
            hint = f"name {type} rules that are switched on"
            raise InputError(f"the rule {rule_label(other)} is {state}", hint=hint)
        return [each for each in chosen if domain in (None, each.domain)]

    def _inference_rules(self) -> list[Rule]:
        return self._rules.list(RuleType.INFERENCE, enabled=True)

    def _now(self) -> int:
        return to_us(self._vault.home.now())

    def _depth(self, depth: int | None = None) -> int:
        return self._vault.config.knowledge.depth if depth is None else depth


def as_goal(subject: str, predicate: str, object: str) -> Condition:
    """A triple to be proved or explained; only its subject and object may be `?variables`."""
    if is_variable(predicate) or not all(each.strip() for each in (subject, predicate, object)):
        raise InputError(
            f"{' '.join((subject, predicate, object))[:80]!r} is no goal",
            hint="name the predicate; subject and object may be variables such as ?x",
        )
    return Condition(subject, predicate, object)


def _is_there(stored: StoredRelations, atom: Atom) -> bool:
    held = stored.match(atom.predicate, atom.subject, atom.object)
    return any(each.key < 0 and each[4:] == atom[4:] for each in held)


def _facts_in(db: Connection) -> Lookup:
    def fact(triple: Triple) -> Fact | None:
        found = fact_of(db, triple)
        return found if found and found.origin != Origin.UNTRUSTED else None

    return fact
