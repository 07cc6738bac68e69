"""Decision trees: nested bullets that lead from question to question, and the way that answers take. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memfolio.errors import ComparisonError
from memfolio.knowledge.literal import LONGEST, LiteralKind, Operator, compare, read_literal
from memfolio.procedures.procedure import Branch

DEEPEST = 50
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+(.*)")
_ANSWER = re.compile(r"(.+?)(?:->|→|=>|:(?=[ \t]|$))(.*)")
_SAME = {**dict.fromkeys(("y", "true", "yep"), "yes"), **dict.fromkeys(("n", "false", "nope"), "no")}
_BOUND = re.compile(r"(<=|>=|<|>|≤|≥|under|below|over|above|at least|at most)\s*(.+)", re.IGNORECASE)
_BOUNDS = {
    **dict.fromkeys(("<", "under", "below"), Operator.LT),
    **dict.fromkeys((">", "over", "above"), Operator.GT),
    **dict.fromkeys(("<=", "≤", "at most"), Operator.LTE),
    **dict.fromkeys((">=", "≥", "at least"), Operator.GTE),
}
_RANGE = re.compile(r"(.*?\w[%\w]*)\s*(?:-|–|\.\.|\bto\b)\s*(\S.*)")
_ELSE = frozenset({"else", "otherwise", "other", "anything else", "any"})
_GO_TO = re.compile(r"(?:go (?:back )?to|back to|see)[: ]\s*", re.IGNORECASE)

Line = tuple[int, str]
"""A line of a page: its number from 0, and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question on the way: what was said, and as which of its answers that counts."""

    question: str
    given: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Where answers lead: to a conclusion, or to the question that is still to be answered, and how."""

    path: tuple[Answered, ...]
    conclusion: str | None = None
    question: str | None = None
    answers: tuple[str, ...] = ()
    """What the open question may be answered with."""
    unfit: str | None = None
    """Why the answer to it that was given does not do."""


def decide(tree: Branch, answers: Mapping[str, Any] | Sequence[Any]) -> Decided:
    """Follow the answers, given by the words of the questions or in the order in which they are asked."""
    named = {_folded(str(name)): value for name, value in answers.items()} if isinstance(answers, Mapping) else None
    left = iter(() if isinstance(answers, Mapping) else answers)
    questions = {_folded(each.text): each for each in _questions(tree)}
    path: list[Answered] = []
    at, seen = tree, list[Branch]()
    while at.answers:
        if any(at is each for each in seen):
            return Decided(path=tuple(path), question=at.text, unfit="the tree leads back to this question")
        seen.append(at)
        given = next(left, None) if named is None else named.get(_folded(at.text))
        fitting = None if given is None else next((each for each in at.answers if fits(given, each)), None)
        if fitting is None:
            known = tuple(at.answers)
            unfit = None if given is None else f"{str(given)[:60]!r} is none of {', '.join(known)}"
            return Decided(path=tuple(path), question=at.text, answers=known, unfit=unfit)
        path.append(Answered(question=at.text, given=str(given), answer=fitting))
        at = _target(at.answers[fitting], questions)
    return Decided(path=tuple(path), conclusion=at.text)


def fits(given: Any, answer: str) -> bool:
    """Whether what was said is this answer: the same word, a value in its range, or anything where it says `else`."""
    said, wanted = _word(given), _word(answer)
    if said == wanted or wanted in _ELSE:
        return True
    bound, span = _BOUND.fullmatch(answer.strip()), _RANGE.fullmatch(answer.strip())
    tests = [(Operator.EQ, answer)]
    if bound:
        tests = [(_BOUNDS[bound[1].lower()], bound[2])]
    elif span and all(_is_value(each) for each in span.groups()):
        tests = [(Operator.GTE, span[1]), (Operator.LTE, span[2])]
    try:
        return all(_is_value(value) and compare(str(given), operator, value) for operator, value in tests)
    except ComparisonError:
        return False


def _is_value(text: str) -> bool:
    return len(text) <= LONGEST and read_literal(text).kind is not LiteralKind.TEXT


@dataclass(slots=True)
class _Node:
    """A bullet and what stands below it."""

    indent: int
    text: str
    line: int
    below: list[_Node] = field(default_factory=list)


def read_tree(lines: Iterable[Line]) -> tuple[Branch | None, list[str]]:
    """The tree that the lines of a section tell, and what makes no sense in them."""
    problems: list[str] = []
    root = _Node(-1, "", 0)
    stack = [root]
    for number, line in lines:
        bullet = _BULLET.fullmatch(line)
        if bullet is None:
            if line.strip():
                stack[-1].text = f"{stack[-1].text} {line.strip()}".strip()
                stack[-1].line = stack[-1].line or number + 1
            continue
        indent = len(bullet[1].expandtabs(4))
        while stack[-1].indent >= indent:
            stack.pop()
        if len(stack) > DEEPEST:
            problems.append(f"line {number + 1}: more than {DEEPEST} questions follow one another")
            continue
        stack.append(_Node(indent, bullet[2].strip(), number + 1))
        stack[-2].below.append(stack[-1])
    if not (root.text or root.below):
        return None, problems
    tree = _branch(root, problems)
    return tree, [*problems, *_flaws(tree)]


def tree_lines(branch: Branch, indent: str = "") -> Iterator[str]:
    """A tree as the lines of a section."""
    if not indent:
        yield branch.text
    for answer, below in branch.answers.items():
        yield f"{indent}- {answer}: {below.text}".rstrip()
        yield from tree_lines(below, f"{indent}  ")


def _branch(node: _Node, problems: list[str]) -> Branch:
    """A node whose text is a question or a conclusion; its answer was taken off."""
    if not node.text and len(node.below) == 1:  # a question that is a bullet itself
        inner = node.below[0]
        if inner.text.endswith("?") or (inner.below and not _ANSWER.fullmatch(inner.text)):
            return _branch(inner, problems)
    answers, known = dict[str, Branch](), set[str]()
    for each in node.below:
        match = _ANSWER.fullmatch(each.text)
        if match is None or match[1].strip().casefold() in known:
            what = "stands there twice" if match else "is no answer: write `- yes: …`"
            problems.append(f"line {each.line}: {each.text[:60]!r} {what}")
            continue
        each.text = match[2].strip()
        known.add(match[1].strip().casefold())
        answers[match[1].strip()] = _branch(each, problems)
    if answers and not node.text:
        problems.append(f"line {node.line or node.below[0].line}: the answers have no question")
    return Branch(text=node.text, answers=answers, line=node.line)


def _questions(tree: Branch) -> Iterator[Branch]:
    """The questions of a tree, the first one last: where two have the same words, it is the one that is meant."""
    for below in reversed([*tree.answers.values()]):
        yield from _questions(below)
    if tree.answers:
        yield tree


def _target(branch: Branch, questions: Mapping[str, Branch]) -> Branch:
    """Where a branch leads: a conclusion that names a question of the tree goes on there."""
    return branch if branch.answers else questions.get(_folded(_GO_TO.sub("", branch.text)), branch)


def _flaws(tree: Branch) -> Iterator[str]:
    """Branches that lead nowhere, or back to where they come from, whatever the way."""
    questions = {_folded(each.text): each for each in _questions(tree)}
    if not tree.answers:
        yield f"line {tree.line}: {tree.text[:60]!r} leads nowhere"
    is_open: dict[int, bool] = {}
    """The questions that were reached, by identity, and whether the way that is followed goes through them."""
    way = [(tree, iter(tree.answers.values()))]
    while way:
        is_open[id(way[-1][0])] = True
        below = next(way[-1][1], None)
        if below is None:
            is_open[id(way.pop()[0])] = False
            continue
        target = _target(below, questions)
        if not target.answers and (not below.text or below.text.endswith("?")):
            yield f"line {below.line}: {below.text[:60] or 'an answer'!r} leads nowhere"
        elif is_open.get(id(target)):
            yield f"line {below.line}: {below.text[:60]!r} leads back to a question that led there"
        elif target.answers and id(target) not in is_open:
            way.append((target, iter(target.answers.values())))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?!. ")


def _word(value: Any) -> str:
    folded = _folded(str(value))
    return _SAME.get(folded, folded)
