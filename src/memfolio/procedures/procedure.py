"""A way to do something, as its page tells it: a skill, a workflow or a decision tree. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class Form(StrEnum):
    """What a procedure is: something to be able to do, a fixed sequence, or questions that lead to an answer."""

    SKILL = "skill"
    WORKFLOW = "workflow"
    DECISION = "decision"


class OnError(StrEnum):
    """What happens when a step has failed as often as it may."""

    ABORT = "abort"
    SKIP = "skip"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: `text` for whoever does it, and what a page says about how it is done.

    `action` and `undo` name functions that a program has registered; a page never holds code that is run.
    """

    number: int
    text: str
    action: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    condition: str | None = None
    """When it is done, such as `urgent is yes`; always where there is none."""
    expect: str | None = None
    timeout: timedelta | None = None
    retries: int | None = None
    """How often it is tried again; None where the page does not say."""
    on_error: OnError = OnError.ABORT
    fallback: str | None = None
    """What is done instead: a registered function, or words for whoever does it."""
    undo: str | None = None
    """What takes it back when a later step aborts the run."""
    repeatable: bool = True
    """Whether it may be done again when nobody knows whether it was done, as after a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """One line of a procedure's history."""

    at: str
    version: str
    kind: str
    """`optimization`, `bugfix`, `adaptation`, `learned`, `retired` or `restored`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A question of a decision tree with where its answers lead, or a conclusion, which has no answers."""

    text: str
    answers: Mapping[str, Branch] = field(default_factory=dict)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A procedure as its page `memory/procedures/<name>.md` tells it."""

    name: str
    """The name of its page without the ending: `how-to-deploy`."""
    path: str
    title: str
    form: Form = Form.SKILL
    version: str = "1.0"
    is_retired: bool = False
    description: str = ""
    triggers: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    tree: Branch | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to do about which error, in words."""
    notes: tuple[str, ...] = ()
    learned_from: tuple[str, ...] = ()
    history: tuple[Refinement, ...] = ()
    timeout: timedelta | None = None
    """How long a whole run may take."""
    hash: str = field(default="", compare=False)
    problems: tuple[str, ...] = ()
    """What on its page makes no sense, with the lines where it stands."""
