"""A procedure and its page: Markdown that people write, read section by section, and edited line by line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, timedelta
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from memfolio.clock import format_duration, parse_duration
from memfolio.errors import ComparisonError, InputError
from memfolio.expression import Expressions, Infix, Reader
from memfolio.knowledge.literal import SIGNS, Operator, compare
from memfolio.text import packaged_table
from memfolio.types import frozen
from memfolio.vault.sections import LineEdit, PageHeading, PageText, Span, closed_fences, front_matter

# When something is done: `urgent is yes and (disk < 10 or not tests passed)`. Read and compared, never run. Pure.
#
# A name is any words up to `is` or a sign; case, `_` and `-` make no difference. A value in quotes may have any
# words.

_TOKEN = re.compile(r"\s*(\"[^\"]*\"|<=|>=|!=|==|[<>=≤≥≠()]|(?:[^\s()<>=!≤≥≠\"]|!(?!=))+)")
_JOINTS = {"or": Infix("or", 1), "and": Infix("and", 2)}
_RESERVED = frozenset({*SIGNS, *_JOINTS, "not", "is", "(", ")", ""})
_SAME = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_UNTRUE = frozenset({"", "false", "0", "none", "null"})
_HINT = "write it like `urgent is yes`, `disk < 10 and not tested` or `(a or b) and c`; put other words in quotes"


@frozen
class StepCondition:
    """A test of one value, or parts that are put together by `and`, `or` or `not`."""

    how: str = "test"
    parts: tuple[StepCondition, ...] = ()
    name: str = ""
    operator: Operator | None = None
    """None asks whether the value is a true one."""
    value: str = ""

    def holds(self, values: Mapping[str, Any]) -> bool | None:
        """Whether it holds; None if that depends on a value that is unknown or cannot be compared."""
        return self._holds({_name(str(name)): value for name, value in values.items()})

    @property
    def names(self) -> frozenset[str]:
        """The values that it asks for, in small letters with single spaces."""
        return frozenset({self.name} if self.name else ()).union(*(part.names for part in self.parts))

    def _holds(self, values: Mapping[str, Any]) -> bool | None:
        if self.how == "test":
            return self._tested(values.get(self.name))
        found = [part._holds(values) for part in self.parts]
        if self.how == "not":
            return None if found[0] is None else not found[0]
        # Kleene's logic: one true part decides an `or`, one false part an `and`, whatever is unknown beside it.
        decisive = self.how == "or"
        return decisive if decisive in found else None if None in found else not decisive

    def _tested(self, value: Any) -> bool | None:
        if value is None:
            return None
        if self.operator is None:
            return _shown(value).casefold() not in _UNTRUE
        try:
            return compare(_shown(value), self.operator, self.value)
        except ComparisonError:
            return None


def read_condition(text: str) -> StepCondition:
    """Parse a condition; InputError says what is wrong with it."""
    return _Conditions(text, f"the condition {text.strip()[:60]!r}").whole()


class _Conditions(Expressions[StepCondition]):
    token, hint, prefixes, infixes = _TOKEN, _HINT, {"not": Infix("not", 3)}, _JOINTS

    def joined(self, op: str, parts: tuple[StepCondition, ...], before: StepCondition | None) -> StepCondition:
        return StepCondition(how=op, parts=parts)

    def operand(self) -> StepCondition:
        name = _name(self._words("a name"))
        if not name:
            self.fail("a name with letters")
        if self.take("is"):
            operator: Operator | None = Operator.NE if self.take("not") else Operator.EQ
        else:
            operator = SIGNS.get(self.take(*SIGNS))
        value = self._words("a value") if operator else ""
        return StepCondition(name=name, operator=operator, value=_SAME.get(value.casefold(), value))

    def _words(self, what: str) -> str:
        """Words up to a sign or a word of the language; those in quotes are taken as they are."""
        taken: list[str] = []
        while self.peek().lower() not in _RESERVED:
            taken.append(self.take().strip('"'))
        if not taken:
            self.fail(what)
        return " ".join(taken)


def _name(name: str) -> str:
    return " ".join(re.sub(r"[\s_-]+", " ", name).casefold().split())


def _shown(value: Any) -> str:
    """A value as a page would say it."""
    if isinstance(value, timedelta):
        return format_duration(abs(value))
    text = value.isoformat() if isinstance(value, date) else str(value).strip()
    return _SAME.get(text.casefold(), text)


# A way to do something, as its page tells it: a skill, a workflow or a decision tree. Values only.


class ProcedureForm(StrEnum):
    """The form of a procedure: a skill, a fixed sequence, or questions that lead to an answer."""

    SKILL = "skill"
    WORKFLOW = "workflow"
    DECISION = "decision"


class OnError(StrEnum):
    """What happens when a step has failed as often as it may."""

    ABORT = "abort"
    SKIP = "skip"
    FALLBACK = "fallback"


@frozen
class Step:
    """One step: `text` is for the person or agent who does it, the rest says how it is run.

    `action` and `undo` name functions that a program has registered; a page never contains code to run.
    """

    number: int
    text: str
    action: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    condition: str | None = None
    """The condition of the step, such as `urgent is yes`; without one, it is always done."""
    expect: str | None = None
    timeout: timedelta | None = None
    retries: int | None = None
    """How often the step is retried; None if the page does not say."""
    on_error: OnError = OnError.ABORT
    fallback: str | None = None
    """What to do instead: a registered function, or an instruction in words."""
    undo: str | None = None
    """The function that reverts the step if a later one aborts the run."""
    repeatable: bool = True
    """Whether it may be done again when nobody knows whether it was done, as after a crash."""


@frozen
class Refinement:
    """One line of a procedure's history."""

    at: str
    version: str
    kind: str
    """`optimization`, `bugfix`, `adaptation`, `learned`, `retired` or `restored`."""
    text: str


@frozen
class Branch:
    """A question of a decision tree and where its answers lead, or a conclusion, which has no answers."""

    text: str
    answers: Mapping[str, Branch] = field(default_factory=dict)
    line: int = field(default=0, compare=False)


@frozen
class Procedure:
    """A procedure as described by its page `memory/procedures/<name>.md`."""

    name: str
    """The name of its page without the ending: `how-to-deploy`."""
    path: str
    title: str
    form: ProcedureForm = ProcedureForm.SKILL
    version: str = "1.0"
    is_retired: bool = False
    description: str = ""
    triggers: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    tree: Branch | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to do about each error, in words."""
    notes: tuple[str, ...] = ()
    learned_from: tuple[str, ...] = ()
    history: tuple[Refinement, ...] = ()
    timeout: timedelta | None = None
    """How long a whole run may take."""
    hash: str = field(default="", compare=False)
    problems: tuple[str, ...] = ()
    """What could not be understood on its page, with line numbers."""


_TABLE = packaged_table("procedures/data/page.toml")

# Decision trees: nested bullets that lead from question to question, and the way that answers take. Pure.

DEEPEST = 50
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+(.*)")
_ANSWER = re.compile(r"(.+?)(?:->|→|=>|:(?=[ \t]|$))(.*)")
_BOUND = re.compile(rf"(<=|>=|<|>|≤|≥|{'|'.join(_TABLE['bounds'])})\s*(.+)", re.IGNORECASE)
_RANGE = re.compile(r"(\W?\d.*?)\s*(?:-|–|\.\.|\bto\b)\s*(\W?\d.*)")
_ELSE = frozenset(_TABLE["else"]["words"].split(", "))

Line = tuple[int, str]
"""A line of a page: its number from 0, and its text."""


@frozen
class AnsweredQuestion:
    """An answered question: what was said, and which of the question's answers that counts as."""

    question: str
    given: str
    answer: str


@frozen
class TreeDecision:
    """Where answers lead: to a conclusion, or to the next question."""

    path: tuple[AnsweredQuestion, ...]
    conclusion: str | None = None
    question: str | None = None
    answers: tuple[str, ...] = ()
    """The possible answers to the open question."""
    unfit: str | None = None
    """Why the answer to it that was given does not do."""


def decide(tree: Branch, answers: Mapping[str, Any] | Sequence[Any]) -> TreeDecision:
    """Follow the answers, given by the words of the questions or in the order in which they are asked."""
    named = {_folded(str(name)): value for name, value in answers.items()} if isinstance(answers, Mapping) else None
    left = iter(() if isinstance(answers, Mapping) else answers)
    path, at = list[AnsweredQuestion](), tree
    while at.answers:
        given = next(left, None) if named is None else named.get(_folded(at.text))
        fitting = None if given is None else next((each for each in at.answers if fits(given, each)), None)
        if fitting is None:
            known = tuple(at.answers)
            unfit = None if given is None else f"{str(given)[:60]!r} is none of {', '.join(known)}"
            return TreeDecision(path=tuple(path), question=at.text, answers=known, unfit=unfit)
        path.append(AnsweredQuestion(question=at.text, given=str(given), answer=fitting))
        at = at.answers[fitting]
    return TreeDecision(path=tuple(path), conclusion=at.text)


def fits(given: Any, answer: str) -> bool:
    """Whether a given value matches an answer: the same word, a value in its range, or anything for `else`."""
    said, wanted = _word(given), _word(answer)
    # Words first: `10` is itself, though it may also lie in a range.
    if said == wanted or wanted in _ELSE:
        return True
    if bound := _BOUND.fullmatch(answer.strip()):
        sign = bound[1].lower()
        tests = [(SIGNS[_TABLE["bounds"].get(sign, sign)], bound[2])]
    elif span := _RANGE.fullmatch(answer.strip()):
        tests = [(Operator.GTE, span[1]), (Operator.LTE, span[2])]
    else:
        tests = [(Operator.EQ, answer)]
    try:
        return all(compare(str(given), operator, value) for operator, value in tests)
    except ComparisonError:
        return False


@dataclass(slots=True)
class _Node:
    """A bullet and the bullets below it."""

    indent: int
    text: str
    line: int
    below: list[_Node] = field(default_factory=list)


def read_tree(lines: Iterable[Line]) -> tuple[Branch | None, list[str]]:
    """Parse the tree in the lines of a section; returns it with the problems found."""
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
        # A bullet belongs to the nearest one above it that is less indented.
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
    if not tree.answers:
        problems.append(f"line {tree.line}: {tree.text[:60]!r} leads nowhere")
    return tree, [*problems, *_dead_ends(tree)]


def tree_lines(branch: Branch, indent: str = "") -> Iterator[str]:
    """A tree as the lines of a section."""
    if not indent:
        yield branch.text
    for answer, below in branch.answers.items():
        yield f"{indent}- {answer}: {below.text}".rstrip()
        yield from tree_lines(below, f"{indent}  ")


def _branch(node: _Node, problems: list[str]) -> Branch:
    """Build a branch from a node whose answer has been removed, leaving a question or a conclusion."""
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


def _dead_ends(branch: Branch) -> Iterator[str]:
    """Yield answers below a branch that lead neither to a conclusion nor to a question that has answers."""
    for below in branch.answers.values():
        if not below.answers and (not below.text or below.text.endswith("?")):
            yield f"line {below.line}: {below.text[:60] or 'an answer'!r} leads nowhere"
        yield from _dead_ends(below)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?!. ")


def _word(value: Any) -> str:
    folded = _folded(str(value))
    return str(_TABLE["answers"].get(folded, folded))


# Lines that an edit does not concern keep their bytes. What makes no sense is a problem with its line; the rest is
# read.

BETWEEN = " · "
LONGEST_STEP = 2000
"""Characters of a field of a step."""
HEADINGS: dict[str, str] = _TABLE["headings"]
_NAMES = {heading.casefold(): name for name, heading in HEADINGS.items()} | {
    alias: name for name, aliases in _TABLE["aliases"].items() for alias in aliases.split(", ")
}
_FORMS = {each.value: each for each in ProcedureForm}
_FORMS |= {name: _FORMS[form] for name, form in _TABLE["types"].items()}
_BOLD = re.compile(r"\*\*([^*:]+)(?::\*\*|\*\*:|\*\*$)[ \t]*(.*)")
_OWN = re.compile(rf"(?:({'|'.join(_FORMS)}):[ \t]*)?(.*?)(?:\.md)?", re.IGNORECASE)
_PAIR = re.compile(r"(?<![\w-])(type|version|status|timeout)[ \t]*:[ \t]*([^|]*)", re.IGNORECASE)
_ITEM = re.compile(r"(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_NUMBERED = re.compile(r"[ \t]{0,2}(\d{1,6})[.)](?:[ \t]+(.*)|)")
_FIELD = re.compile(
    r"[ \t]*[-*+][ \t]+(?:\*\*)?(action|if|expect|timeout|on error|undo|repeat)(?:\*\*)?[ \t]*:(?:\*\*)?"
    r"[ \t]*(.*)",
    re.IGNORECASE,
)
_ACTION = re.compile(r"([\w.-]+)[ \t]*(?:\((.*)\))?")
_ARGUMENT = re.compile(r"[ \t]*([\w.-]+)[ \t]*=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^,\"]*))[ \t]*(?:,|$)")
_ON_ERROR = re.compile(
    r"(?:retry(?: (\d{1,3}|once|twice))?(?: times?)?)?(?: ?,? ?(?:then|and then)? ?)"
    r"(skip|abort|(?:fallback|fall back)(?: ?:| to\b)? ?(.*))?",
    re.IGNORECASE,
)
_TIMES = {"once": 1, "twice": 2}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)[ \t]*(s|m|h|d)(?:ec|in|our|ay|econd|inute)?s?", re.IGNORECASE)
_REFINED = re.compile(rf"(\d{{4}}-\d\d-\d\d\S*){BETWEEN}(\S+){BETWEEN}(\w+){BETWEEN}(.+)")
_NUMBER = re.compile(r"^\d+\. ")
_OTHERS = frozenset({"description", "steps", "tree", "errors", "history"})
"""Sections that are no plain lists."""

Block = tuple[int, int]
"""The lines of one item, from the first to behind the last."""


def read(path: str, text: str) -> Procedure:
    """Read a procedure from its page."""
    return ProcedurePage(path, text).procedure


def render(procedure: Procedure) -> str:
    """A page that says this."""
    fields = [f"{name}: {value}" for name, value in _fields(procedure).items() if value and name != "title"]
    head = ["---", *fields, "---", f"# {procedure.title}"]
    for name, items in _parts(procedure).items():
        if items:
            head += ["", *([f"## {HEADINGS[name]}"] if HEADINGS[name] else []), *items]
    return "\n".join(head) + "\n"


class ProcedurePage:
    """The text of a page, the procedure it describes, and the positions of its parts."""

    def __init__(self, path: str, text: str) -> None:
        self._mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        self._page = PageText(text, _fences(text))
        self._lines = self._page.lines
        self._content: dict[str, list[Line]] = {name: [] for name in HEADINGS}
        self._headings: dict[str, int] = {}
        self._blocks: dict[str, list[Block]] = {name: [] for name in HEADINGS}
        self._spots: dict[str, tuple[int, int, int]] = {}
        self._found: dict[str, Any] = {}
        self._problems: list[str] = []
        start, end = front_matter(text)
        self._end = len(self._lines)
        self._front = self._page.line_at(end) if end else 0
        for number in range(self._page.line_at(start), self._front):
            self._pairs(number)
        self._arrange(self._front + 1 if end else 0)
        name = path.rpartition("/")[2].removesuffix(".md")
        parts = {"title": name.replace("-", " "), **self._found, **self._sections()}
        problems = tuple(sorted(self._problems, key=lambda each: int(each[5:].partition(":")[0])))
        self.procedure = Procedure(name=name, path=path, **parts, problems=problems)

    def editing(self, after: Procedure) -> str:
        """Return the text with only those lines changed that differ from `after`."""
        edits = [*self._field_edits(after)]
        before, wanted = _parts(self.procedure), _parts(after)
        for name in sorted(HEADINGS, key=lambda name: name not in self._headings):  # sections that are added come last
            if before[name] != wanted[name]:
                edits += self._section_edits(name, before[name], wanted[name])
        return self._mark + self._page.edited_lines(edits)

    def _field_edits(self, after: Procedure) -> Iterator[LineEdit]:
        """Yield edits that change the values of fields in place, and add missing fields."""
        before, wanted = _fields(self.procedure), _fields(after)
        changed = {name: value for name, value in wanted.items() if before[name] != value}
        added = [f"{name}: {value}" for name, value in changed.items() if name not in self._spots]
        lines = dict[int, str]()
        for name, (number, start, end) in sorted(self._spots.items(), key=lambda spot: spot[1], reverse=True):
            if name in changed:
                line = lines.get(number, self._lines[number].rstrip("\r"))
                lines[number] = line[:start] + changed[name] + line[end:]
        yield from ((number, number + 1, [line]) for number, line in lines.items())
        if added:
            yield (self._front, self._front, added) if self._front else (0, 0, ["---", *added, "---"])

    def _section_edits(self, name: str, before: Sequence[str], wanted: Sequence[str]) -> Iterator[LineEdit]:
        blocks, heading = self._blocks[name], self._headings.get(name)
        if not blocks:
            if heading is not None:
                yield heading + 1, heading + 1, ["", *wanted] if name == "description" else wanted
            else:
                end = self._end if self._lines[self._end - 1].strip() else self._end - 1
                yield end, end, ["", f"## {HEADINGS[name]}", *wanted]
            return
        # A step that only moved keeps its lines, whatever its new number.
        old, aims = ([_NUMBER.sub("", each) if name == "steps" else each for each in one] for one in (before, wanted))
        for tag, start, stop, first, last in SequenceMatcher(None, old, aims, autojunk=False).get_opcodes():
            new = wanted[first:last]
            if tag == "equal":
                yield from self._renumbering(blocks[start:stop], before[start:stop], new)
            elif start == stop:
                at = blocks[start][0] if start < len(blocks) else blocks[-1][1]
                yield at, at, new
            else:
                yield *blocks[start], [f"## {HEADINGS[name]}", *new] if blocks[start][0] == heading else new
                yield from ((*block, ()) for block in blocks[start + 1 : stop])

    def _renumbering(self, blocks: Sequence[Block], before: Sequence[str], wanted: Sequence[str]) -> Iterator[LineEdit]:
        for (first, _), old, new in zip(blocks, before, wanted, strict=True):
            if old != new:
                number = new.partition(".")[0]
                yield first, first + 1, [re.sub(r"\d+", number, self._lines[first].rstrip("\r"), count=1)]

    def _arrange(self, start: int) -> None:
        """Split the page into title, fields and sections."""
        section = "description"
        for number in range(start, len(self._lines)):
            line = self._lines[number].rstrip()
            heading, bold = self._page.headings.get(number), _BOLD.fullmatch(line)
            # Code belongs to its section; nothing in it is a heading or a field.
            if self._page.is_hidden_line(number):
                self._content.setdefault(section, []).append((number, line))
            elif line.startswith("<!--"):
                self._pairs(number)
            elif heading:
                is_first = heading.level == 1 and "title" not in self._found
                # The first heading is the title, though it be called Steps.
                known = None if is_first else _NAMES.get(heading.title.strip(": ").casefold() or " ")
                if known is None and not self._titled(heading):
                    # What follows is somebody else's, and edits stay above it.
                    self._end = number
                    return
                section = known or ("description" if self._spots.get("title", (-1,))[0] == number else "other")
                if known:
                    self._headings[known] = number
            elif bold and (known := _NAMES.get(bold[1].strip().casefold())):
                section, self._headings[known] = known, number
                self._content[known] += [(number, bold[2])] if bold[2] else []
            elif bold and section == "description":  # what somebody measured or noted above the sections
                self._pairs(number)
            else:
                self._content.setdefault(section, []).append((number, line))

    def _titled(self, heading: PageHeading) -> bool:
        """Take a heading as the title if there is none yet; False if a second procedure begins."""
        number, (form, title) = heading.line, _OWN.fullmatch(heading.title).groups()  # type: ignore[union-attr]
        if form and "title" in self._found and self._content["steps"]:
            self._problems.append(f"line {number + 1}: {title[:60]!r} begins here; a page holds one procedure")
            return False
        if title and (form or "title" not in self._found):
            self._found |= {"title": title} | ({"form": _FORMS[form.lower()]} if form else {})
            at = heading.column + heading.title.index(title)
            self._spots["title"] = (number, at, at + len(title))
            self._content["description"].clear()
            self._headings["description"] = number
        return True

    def _pairs(self, number: int) -> None:
        """Take the fields on a line of front matter, a comment, or in bold."""
        line = self._lines[number].rstrip().replace("**", "  ")
        for match in _PAIR.finditer(line):
            name, raw = match[1].lower(), match[2].partition("-->")[0].rstrip()
            if name in self._spots:
                self._problems.append(f"line {number + 1}: the {name} stands there twice; the first counts")
                continue
            # Where a value stands, so that an edit replaces these characters and no others.
            self._spots[name] = (number, match.start(2), match.start(2) + len(raw))
            try:
                self._found |= _value(name, raw.strip("\"'")) if raw else {}
            except InputError as error:
                self._problems.append(f"line {number + 1}: {error.message}")

    def _sections(self) -> dict[str, Any]:
        """Parse the sections."""
        told: dict[str, Any] = {name: tuple(self._listed(name)) for name in HEADINGS if name not in _OTHERS}
        told["errors"] = errors = dict[str, str]()
        for item in self._listed("errors"):
            name, _, text = item.replace("**", "").partition(":")
            errors[name.strip() if name.strip() not in errors else item] = text.strip()
        told["history"] = tuple(map(_refinement, self._listed("history")))
        told["steps"] = tuple(self._steps())
        told["description"] = " ".join(self._listed("description")[:1])
        # Only the first paragraph is the description; later ones stay untouched.
        del self._blocks["description"][1:]
        told["tree"], problems = read_tree(self._content["tree"])
        if numbers := [number for number, line in self._content["tree"] if line]:
            self._blocks["tree"] = [(numbers[0], numbers[-1] + 1)]
        self._problems += problems
        if not (told["steps"] or told["tree"]):
            self._problems.append(f"line {len(self._lines)}: there are no steps, and no tree")
        return told

    def _listed(self, name: str) -> list[str]:
        """The bullets of a section, or its paragraphs, each on one line."""
        items, is_open = list[list[str]](), False
        for number, line in self._content[name]:
            bare = line.strip()
            match = _ITEM.fullmatch(bare) if name != "description" else None
            if not bare.strip("-*+_ "):
                is_open = False
            elif is_open and (not match or line[:2].isspace()):
                items[-1].append(bare)
                self._blocks[name][-1] = (self._blocks[name][-1][0], number + 1)
            else:
                items.append([match[1] if match else bare.lstrip("> ")])
                self._blocks[name].append((number, number + 1))
                is_open = True
        return [" ".join(" ".join(item).split()) for item in items]

    def _steps(self) -> Iterator[Step]:
        found: list[tuple[str | None, list[Line]]] = []
        for number, line in self._content["steps"]:
            numbered = None if self._page.is_hidden_line(number) else _NUMBERED.fullmatch(line)
            # Bullets are steps only where no step has a number: below one they are its fields or its words.
            is_bullet = line[:1] in ("-", "*", "+") and _ITEM.match(line) and not _FIELD.fullmatch(line)
            if numbered:
                found.append((numbered[1], [(number, (numbered[2] or "").strip())]))
            elif is_bullet and all(given is None for given, _ in found):
                found.append((None, [(number, line[1:].strip())]))
            elif found:
                found[-1][1].append((number, line))
        for place, (given, lines) in enumerate(found, 1):
            if given != str(place):
                what = f"is numbered {given}, not {place}" if given else f"has no number: it is {place}"
                self._problems.append(f"line {lines[0][0] + 1}: the step {what}")
            self._blocks["steps"].append((lines[0][0], max(at for at, line in lines if line or at == lines[0][0]) + 1))
            yield self._step(place, lines)

    def _step(self, place: int, lines: Sequence[Line]) -> Step:
        words, fields = [re.sub(r"^\*\*([^*]+)\*\*$", r"\1", lines[0][1])], dict[str, Any]()
        if not words[0]:
            self._problems.append(f"line {lines[0][0] + 1}: the step has no words")
        for number, line in lines[1:]:
            match = _FIELD.fullmatch(line)
            try:
                fields |= _step_field(match[1].lower(), match[2]) if match else {}
            except InputError as error:
                self._problems.append(f"line {number + 1}: {error.message}")
                match = None
            words += [] if match else [re.sub(r"^[ \t]{1,3}", "", line)]
        if fields.get("fallback") and fields["fallback"] == fields.get("action"):
            self._problems.append(f"line {lines[0][0] + 1}: the fallback of step {place} leads back to it")
        return Step(number=place, text="\n".join(words).rstrip(), **fields)


def _fences(text: str) -> list[Span]:
    """Return the spans of code blocks that are not part of a step."""
    return [span for span in closed_fences(text) if not text[span[0] : span[0] + 3].isspace()]


def _value(name: str, raw: str) -> dict[str, Any]:
    """A field of the page as the procedure has it."""
    if name == "timeout":
        return {"timeout": read_span(raw)}
    if name == "version" and re.fullmatch(r"[\w.+-]{1,20}", raw):
        return {"version": raw}
    known: Mapping[str, Any] = _FORMS if name == "type" else _TABLE["retired"] if name == "status" else {}
    if raw.casefold() not in known:
        raise InputError(f"the {name} is {raw[:40]!r}", hint=f"write {', '.join(known) or 'it like 1.2'}")
    return {"form" if name == "type" else "is_retired": known[raw.casefold()]}


def _step_field(name: str, raw: str) -> dict[str, Any]:
    """A field of a step as the step has it."""
    if not 0 < len(raw) <= LONGEST_STEP:
        raise InputError(f"{name} says {'too much' if raw else 'nothing'}", hint="write it shorter, or take it out")
    match name:
        case "action":
            if (action := _ACTION.fullmatch(raw)) is None:
                raise InputError(f"{raw[:60]!r} is no action", hint="write it like notify(channel=deployments)")
            return {"action": action[1], "arguments": _arguments(action[2] or "")}
        case "if":
            read_condition(raw)
            return {"condition": raw}
        case "timeout":
            return {"timeout": read_span(raw)}
        case "on error":
            return _on_error(raw)
        case "repeat":
            if (answer := _word(raw)) not in ("yes", "no"):
                raise InputError(f"repeat is {raw[:40]!r}, not yes or no", hint="write yes or no")
            return {"repeatable": answer == "yes"}
    return {name: raw}


def _arguments(raw: str) -> dict[str, str]:
    found, raw = dict[str, str](), raw.strip()
    reader = Reader(raw, f"the arguments {raw[:60]!r}", 'write a=1, b="two words"')
    while match := reader.match(_ARGUMENT):
        found[match[1]] = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else match[3].strip()
    reader.end("key=value")
    return found


def _on_error(raw: str) -> dict[str, Any]:
    match = _ON_ERROR.fullmatch(" ".join(raw.split()))
    # `retry 3` with nothing behind it aborts in the end.
    deed = match[2].split()[0].lower() if match and match[2] else ""
    is_fallback = deed.startswith("fall")
    if match is None or (is_fallback and not match[3]):
        raise InputError(
            f"{raw[:60]!r} is nothing to do about an error", hint="write retry 3, then skip | abort | fallback: …"
        )
    retries = _TIMES.get((match[1] or "").lower()) or int(match[1] or 1) if raw.lower().startswith("retry") else None
    on_error = OnError.FALLBACK if is_fallback else OnError(deed or "abort")
    return {"retries": retries, "on_error": on_error, "fallback": match[3] if is_fallback else None}


def read_span(raw: str) -> timedelta:
    """A length of time: `30s`, `5 minutes` or `PT30S`."""
    short = _SHORT.fullmatch(raw)
    if short:
        unit = short[2].upper()
        raw = f"P{short[1]}D" if unit == "D" else f"PT{short[1]}{unit}"
    found = parse_duration(raw.upper())
    if not found:
        raise InputError(f"{raw[:40]!r} is no time at all", hint="write it like 30s or PT30S")
    return found


def _refinement(item: str) -> Refinement:
    match = _REFINED.fullmatch(item)
    at, version, kind, text = match.groups() if match else ("", "", "", item)
    return Refinement(at=at, version=version, kind=kind, text=text)


def _fields(procedure: Procedure) -> dict[str, str]:
    return {
        "title": procedure.title,
        "type": procedure.form.value,
        "version": procedure.version,
        "status": "retired" if procedure.is_retired else "active",
        "timeout": format_duration(procedure.timeout) if procedure.timeout else "",
    }


def _parts(procedure: Procedure) -> dict[str, list[str]]:
    """Return the items of each section."""
    lists = {name: [f"- {each}" for each in getattr(procedure, name)] for name in HEADINGS if name not in _OTHERS}
    told = lists | {
        "description": [procedure.description] if procedure.description else [],
        "steps": [*map(step_text, procedure.steps)],
        "tree": ["\n".join(tree_lines(procedure.tree))] if procedure.tree else [],
        "errors": [f"- {name}: {text}" if text else f"- {name}" for name, text in procedure.errors.items()],
        "history": [f"- {BETWEEN.join(filter(None, astuple(each)))}" for each in procedure.history],
    }
    return {name: told[name] for name in HEADINGS}


def step_text(step: Step) -> str:
    """Render a step as it is written on a page."""
    first, *further = step.text.split("\n")
    arguments = ", ".join(f"{name}={_quoted(value)}" for name, value in step.arguments.items())
    fields = {
        "action": f"{step.action}({arguments})" if arguments else step.action,
        "if": step.condition,
        "expect": step.expect,
        "timeout": format_duration(step.timeout) if step.timeout else None,
        "on error": _told_error(step),
        "undo": step.undo,
        "repeat": None if step.repeatable else "no",
    }
    lines = [*further, *(f"- {name}: {value}" for name, value in fields.items() if value)]
    return "\n".join([f"{step.number}. {first}", *(f"   {line}".rstrip() for line in lines)])


def _quoted(value: str) -> str:
    plain = " ".join(value.split("\n"))
    return plain if re.fullmatch(r"[\w.:/@+#-]+", plain) else '"' + re.sub(r'([\\"])', r"\\\1", plain) + '"'


def _told_error(step: Step) -> str | None:
    deed = f"fallback: {step.fallback}" if step.on_error is OnError.FALLBACK else step.on_error.value
    if step.retries is None:
        return None if step.on_error is OnError.ABORT else deed
    return f"retry {step.retries}, then {deed}"
