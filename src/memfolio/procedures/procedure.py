"""A procedure as described by its page, and the conditions of its steps. Values only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from memfolio.clock import format_duration
from memfolio.errors import ComparisonError
from memfolio.expression import Expressions, Infix
from memfolio.knowledge.literal import SIGNS, Operator, compare
from memfolio.types import frozen

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
        return self._holds({_folded(str(name)): value for name, value in values.items()})

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
        name = _folded(self._words("a name"))
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


def _folded(name: str) -> str:
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
