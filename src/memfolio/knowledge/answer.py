"""Answers to questions from what is known: facts, what follows from them, what is missing, and what would explain it.

A question is a triple with variables, or plain words in which known terms and predicates are looked for. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

from memfolio.errors import InputError
from memfolio.knowledge.abduce import GAPS, HYPOTHESES, Gap, Hypothesis, abduce
from memfolio.knowledge.prove import ANSWERS, At, Prover, call_of, prove
from memfolio.knowledge.rule import Condition
from memfolio.knowledge.rule_text import render_part
from memfolio.knowledge.tree import DEEPEST, Lookup, Node, as_text, called

LONGEST = 5
"""How many words a term may have to be found in a question."""
PATTERNS = 2000
"""How many triples one question may stand for."""
WORDS = 40
"""How many words of a question are looked at."""
_WORD = re.compile(r"\?\w+|[^\s?!,;()\"“”]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")
_EMPTY = frozenset(
    "a about an and are as at be by can did do does for had has have how i in is it many me much of on or tell that "
    "the there this to was were what when where which who whom whose why will with".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Which terms and predicates are known."""

    predicates: Collection[str]
    known: Callable[[Sequence[str]], Collection[str]]
    """Those of some spellings that are the subject or object of a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer to a question, from whatever could answer it."""

    question: str
    unknown: tuple[str, ...]
    """The words of it that were not understood."""
    patterns: tuple[Condition, ...]
    """The triples that it was taken for: those that hold, or the first ones where none does."""
    facts: tuple[Node, ...]
    derived: tuple[Node, ...]
    gaps: tuple[Gap, ...]
    hypotheses: tuple[Hypothesis, ...]
    truncated: bool
    undecided: str | None = None
    """Why it is not known whether it holds, where nothing was found: `not decided within 1,000,000 conclusions`."""

    @property
    def paths(self) -> tuple[str, ...]:
        """What answered: `facts`, `derived`, or where nothing holds `gaps`; and `hypotheses`."""
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
    vocabulary: Vocabulary,
    *,
    now: int,
    depth: int = DEEPEST,
    facts: Lookup | None = None,
) -> Explanation:
    """One answer from facts, rules, gaps and hypotheses; words are taken for the first triples that hold."""
    groups, unknown = ([[question]], []) if isinstance(question, Condition) else understand(question, vocabulary)
    held = At(known, now)
    holding = ([each for each in group[:PATTERNS] if held.match(*call_of(each))] for group in groups)
    goals = next(filter(None, holding), None) or next(filter(None, groups))[:HYPOTHESES]
    proofs = [prove(each, known, now=now, depth=depth, facts=facts) for each in goals]
    nodes = [answer.proof for proof in proofs for answer in proof.answers][:ANSWERS]
    given, drawn = [each for each in nodes if not each.ways], [each for each in nodes if each.ways]
    # What was asserted is explained only where somebody wants to know why.
    is_why = not isinstance(question, str) or question.lstrip().casefold().startswith("why")
    unexplained = [Condition(*each.triple) for each in given if is_why] if nodes else goals
    suggested = (each for goal in unexplained for each in abduce(goal, held, known.rules))
    return Explanation(
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


def understand(question: str, vocabulary: Vocabulary) -> tuple[list[list[Condition]], list[str]]:
    """The triples that a question may stand for, in groups, the most exact first; and the words that nobody knows."""
    words = [word.strip(".:'’") or word for word in _WORD.findall(question)][:WORDS]
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
    said = {stem for each in predicates for stem in _stems(each)} | _EMPTY
    unknown = [word for word in left if _stem(word) not in said]
    return [exact, about or [Condition("?who", each, "?what") for each in predicates]], unknown


def _terms(words: Sequence[str], vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    """The known terms among the words, the longest first where they overlap; and the words that are left."""
    spans = [(at, at + length) for length in range(LONGEST, 0, -1) for at in range(len(words) - length + 1)]
    spelled = {span: _spellings(words[span[0] : span[1]]) for span in spans}
    known = set(vocabulary.known(sorted({each for spellings in spelled.values() for each in spellings})))
    found: dict[int, str] = {}
    taken: set[int] = set()
    for span, spellings in spelled.items():
        term = next((each for each in spellings if each in known), None)
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
    """The predicates whose words are all in the question, those with the most words."""
    said = {_stem(word) for word in words}
    found = {each: len(stems) for each in known if (stems := _stems(each)) <= said}
    most = max(found.values(), default=0)
    return sorted(each for each, size in found.items() if size == most)


def _stems(predicate: str) -> set[str]:
    """The words of a predicate that say something."""
    stems = {_stem(word) for word in _HUMP.split(predicate) if word}
    return (stems - _EMPTY) or stems


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded if folded in _EMPTY or len(folded) < 4 else folded.removesuffix("s")


def _sources(node: Node) -> Iterator[str]:
    if node.fact:
        yield f"{node.fact.id} ({node.fact.source})" if node.fact.source else node.fact.id
    for way in node.ways:
        for premise in way.premises:
            yield from _sources(premise)


def _lines(found: Explanation) -> Iterator[str]:
    if found.unknown:
        yield f"Not understood: {', '.join(found.unknown)}"
    for node in (*found.facts, *found.derived):
        yield as_text(node)
    if not found.facts and not found.derived:
        asked = ", or ".join(map(render_part, found.patterns[:3]))
        said = found.undecided or "nothing that is known says"
        yield f"{said[0].upper()}{said[1:]}: {asked}"
    if found.gaps:
        yield "It would follow with:"
        yield from (f"  {gap}" for gap in found.gaps)
    if found.hypotheses:
        yield "It could be explained by:"
    for each in found.hypotheses:
        assumed = " and ".join(map(render_part, each.assumptions))
        yield f"  the rule {called(each.rule)} ({each.score:.2f}), assuming {assumed}"
    if found.sources:
        yield f"Sources: {', '.join(found.sources)}"
    if found.truncated:
        yield "The search was cut: there may be more."
