"""Proposals: calls of verbs that wait for approval, their pages, and the decisions on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache, partial
from inspect import Parameter
from itertools import dropwhile, takewhile
from operator import attrgetter
from typing import Any, TypeVar

from memfolio.arguments import CHECKS, check_known, choose, nearest
from memfolio.errors import (
    ConflictError,
    ContentError,
    InputError,
    NotFoundError,
    PageChangedError,
    PolicyError,
    RefusedError,
)
from memfolio.govern.gate import FOREIGN, OWNER, Gate
from memfolio.learn.resolve import LONG, Knowledge, KnownStatementAbout, about, plain_words
from memfolio.policy import Deed, Role
from memfolio.recall.searcher import Searcher
from memfolio.signature import fits, in_words, parameters_of, shape_of, signature_of, verb_rows
from memfolio.state import Op, moment
from memfolio.text import clip, encoded, printable
from memfolio.types import Action, Approval, Attribution, Kind, Origin, Store, check_token, frozen
from memfolio.vault.agents import PROPOSES
from memfolio.vault.change import AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.fields import (
    check_content,
    iso_of,
    normalise_content,
    read_confidence,
    read_importance,
    read_moment,
    read_tags,
)
from memfolio.vault.lines import new_id, plain, read_lines, split_lines
from memfolio.vault.paths import SHARED, agent_of, agent_root, check_agent, ledger_of, state_ledger
from memfolio.vault.vault import Vault

# A proposal: a call of a verb that waits for somebody's leave. Pure.

WORDS = 80
"""Characters of a text that its title shows."""
LEFT_OUT = ("self", "by", "dry_run", "on_progress")
"""Parameters that are no part of a call that waits."""


_LIKE_ID = re.compile(r"[A-Za-z]-[0-9a-f-]{4,}")


@dataclass(frozen=True, slots=True)
class ProposableVerb:
    """A verb whose call can be proposed: what its row in the table of verbs says, and the signature of its method.

    Its row `says` how the title begins, names the argument that is the `body` of the page, and those that a proposal
    `takes`, if not all: these are needed.
    """

    path: str
    """The method, such as "core.add"."""
    effect: str
    says: str
    body: str
    parameters: Mapping[str, Parameter]
    needed: frozenset[str]
    renamed: Mapping[str, str]
    """Other spellings of arguments."""

    @classmethod
    def of(cls, path: str, method: Callable[..., Any], row: Mapping[str, Any]) -> ProposableVerb:
        how, renamed = row["proposal"], row.get("renamed", {})
        given = parameters_of(signature_of(method), (*LEFT_OUT, *renamed))
        taken = {name: given[name] for name in how["takes"].split()} if "takes" in how else given
        needed = frozenset(name for name, each in taken.items() if "takes" in how or each.default is each.empty)
        return cls(path, row["effect"], how["says"], how.get("body", ""), taken, needed, renamed)

    @property
    def names(self) -> list[str]:
        """The arguments that are fields of a page, in their order there."""
        # What a person may want to change comes first.
        return sorted((each for each in self.parameters if each != self.body), key=lambda name: name not in LABELS)

    @property
    def names_memory(self) -> bool:
        return not {"id", "what"}.isdisjoint(self.names)

    def is_time(self, name: str) -> bool:
        return self.parameters[name].annotation is datetime or CHECKS.get(name) is CHECKS["at"]

    def checked(self, name: str, value: Any) -> Any:
        """An argument in its normal form, as JSON has it."""
        check_known(f"{self.path} has no", [name], self.parameters)
        value = self._read(name, value)
        if self.path == "forget" and not (isinstance(value, str) and _LIKE_ID.fullmatch(value)):
            raise InputError(
                "a description may mean something else by the time it is approved", hint="name it by its id"
            )
        if isinstance(value, datetime):
            return iso_of(value)
        value = plain(value.value if isinstance(value, StrEnum) else value, name)
        encoded(json.dumps(value, ensure_ascii=False))  # refuses what no file can hold
        return value

    def _read(self, name: str, value: Any) -> Any:
        shape = shape_of(self.parameters[name].annotation)
        if name == self.body:
            return _lines(value) if shape.get("type") == "array" else CHECKS["content"](name, value)
        if self.is_time(name):
            return CHECKS["at"](name, (read_moment(value, UTC) or value) if isinstance(value, str) else value)
        if name in CHECKS:
            return CHECKS[name](name, value)
        value = list(value) if isinstance(value, tuple | set | frozenset) else value
        if not fits(value, shape):
            raise InputError(f"{name} is {str(value)[:40]!r}", hint=f"pass {in_words(shape)}")
        return value


class ProposableVerbs:
    """The verbs whose calls can be proposed, by their paths; `method_named` finds the method at one."""

    def __init__(self, method_named: Callable[[str], Callable[..., Any]]) -> None:
        self._method_named = method_named
        self._known: dict[str, ProposableVerb] = {}

    def __getitem__(self, path: str) -> ProposableVerb:
        if path not in self._known:
            rows = self._rows()
            if path not in rows:
                raise InputError(f"{path[:40]!r} cannot be proposed", hint=nearest(path, list(rows)))
            # Each when it is asked for: its method's module may not be loaded yet.
            self._known[path] = ProposableVerb.of(path, self._method_named(path), rows[path])
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    @staticmethod
    def _rows() -> dict[str, Mapping[str, Any]]:
        found = ((name, row) for rows in verb_rows().values() for name, row in rows.items() if "proposal" in row)
        return {row.get("does", name): row for name, row in found}

    def call(self, path: str, arguments: Mapping[str, Any]) -> ProposedCall:
        """A call with its arguments checked, in the form a page can hold; raises InputError if invalid."""
        return _call(self[path], arguments)


def _call(how: ProposableVerb, arguments: Mapping[str, Any]) -> ProposedCall:
    given = {how.renamed.get(name, name): value for name, value in arguments.items() if value is not None}
    checked = {name: how.checked(name, value) for name, value in given.items()}
    if missing := how.needed - checked.keys():
        raise InputError(f"{how.path} lacks its {min(missing)}", hint="say what is meant")
    told = {name: value for name, value in checked.items() if value != [] or name == how.body}
    return ProposedCall(how.path, told, how)


_TRIPLE = ("subject", "predicate", "object")


class ProposalStatus(StrEnum):
    """The status of a proposal that is still open."""

    PENDING = "pending"
    DEFERRED = "deferred"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A call of a verb, with arguments as JSON has them; `ProposableVerbs.call` makes and checks it."""

    verb: str
    arguments: Mapping[str, Any]
    how: ProposableVerb = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """What it is about, in words."""
        given = (self.how.body, "text", "what", "id", "keep")
        # The body first; a call without one is told by what it names.
        value = next((self.arguments[name] for name in given if self.arguments.get(name)), "")
        return "\n".join(value) if isinstance(value, list) else str(value)

    @property
    def named(self) -> str:
        """The term or triple that it is about; empty if it is about neither."""
        term = self.arguments.get("node_id")
        return str(term) if term else " ".join(str(self.arguments[name]) for name in _TRIPLE if name in self.arguments)


@frozen
class Proposal:
    """A proposal, as read from its page."""

    id: str
    to: str
    proposer: str
    at: datetime
    intent: ProposedCall
    trigger: str = "propose"
    about: str = ""
    """The text of the memory that it is about."""
    row: str = ""
    """The policy row that required approval."""
    status: ProposalStatus = ProposalStatus.PENDING
    conflicts: tuple[str, ...] = ()
    note: str = ""
    expires: datetime | None = None
    hash: str = field(default="", compare=False)
    """That of its page as it was read."""
    made: object = field(default=None, compare=False)
    """The result, if it was committed at once."""

    @property
    def path(self) -> str:
        return f"{agent_root(self.to)}/memory/meta/proposals/{self.id}.md"

    @property
    def shown(self) -> str:
        """The hash that an approval must name, so that nobody approves what they have not seen."""
        return self.hash[:16]

    @property
    def title(self) -> str:
        return f"{self.intent.how.says}: {first_words(self.about or self.intent.named or self.intent.text)}"


def first_words(text: str) -> str:
    """The beginning of a text, on one line that can be printed."""
    return clip(printable(text[: 4 * WORDS]), WORDS)


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else "\n".join(map(str, value))
    return [line for each in text.split("\n") if (line := " ".join(each.split()))]


# The page of a proposal, which people read and edit: a title, a field a line, a rule, and below it the memory that is
# meant, as a quote, and the text. Pure.

RULE = "---"
QUOTE = ">"
_ID = r"P-\d{1,15}-[0-9a-f]{8}"
PATH = re.compile(rf"(?:agents/[^/]+|shared)/memory/meta/proposals/({_ID})\.md")
LABELS = {"id": "Memory"} | {name: f"Suggested {name}" for name in ("store", "kind", "type")}
LEVELS: Mapping[str, Callable[[str], float | None]] = {"confidence": read_confidence, "importance": read_importance}
_FIELD = re.compile(r"[-*] \*\*([^*]+)\*\*:[ \t]*(.*?)[ \t]*")
_LINK = re.compile(rf"\[\[({_ID})\]\]")


def _moment(text: str) -> datetime:
    moment = read_moment(text, UTC)
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint="write it like 2026-11-15T14:30:00+00:00")
    return moment


FIELDS: Mapping[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "From": ("proposer", str, check_agent),
    "Timestamp": ("at", iso_of, _moment),
    "Trigger": ("trigger", str, partial(check_token, "trigger")),
    "Policy": ("row", str, str),
    "Status": ("status", str, partial(choose, ProposalStatus, "status")),
    "Conflicts": (
        "conflicts",
        lambda ids: ", ".join(f"[[{each}]]" for each in ids),
        lambda text: tuple(_LINK.findall(text)),
    ),
    "Note": ("note", str, str),
    "Expires": ("expires", iso_of, _moment),
}
"""The fields after those of the verb: the attribute of the proposal, and how it is written and read."""


def render(proposal: Proposal) -> str:
    """The page of a proposal."""
    intent, how = proposal.intent, proposal.intent.how
    fields = {_label(name): _say(name, intent.arguments[name]) for name in how.names if name in intent.arguments}
    fields |= {label: say(value) for label, (name, say, _) in FIELDS.items() if (value := getattr(proposal, name))}
    lines = "\n".join(f"- **{label}**: {value}" for label, value in {"Do": intent.verb, **fields}.items())
    text = intent.text if how.body else ""
    # Where no memory is known, an empty quote keeps a text that begins with one from being taken for it.
    has_quote = proposal.about or (how.names_memory and text.startswith(QUOTE))
    below = f"{_quoted(proposal.about)}\n\n{text}" if has_quote else text
    return f"# {proposal.title}\n\n{lines}\n\n{RULE}\n\n{below}".rstrip("\n") + "\n"


def _quoted(text: str) -> str:
    return "\n".join(f"{QUOTE} {line}" if line else QUOTE for line in text.split("\n"))


def _unquoted(lines: list[str]) -> tuple[str, list[str]]:
    """Return the leading quote, and the lines after it."""
    lines = list(dropwhile(lambda line: not line.strip(), lines))
    quote = list(takewhile(lambda line: line.startswith(QUOTE), lines))
    return "\n".join(line[1:].removeprefix(" ") for line in quote), lines[len(quote) :]


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " ").capitalize())


def _say(name: str, value: Any) -> str:
    """Render a value as a person would write it if that can be read back, else as JSON."""
    plain = ", ".join(value) if name == "tags" else value
    is_plain = isinstance(plain, str) and plain.isprintable() and plain == plain.strip() != ""
    return plain if is_plain and read_value(name, plain) == value else json.dumps(value, ensure_ascii=False)


def read_value(name: str, text: str) -> Any:
    """The value of an argument as a person wrote it."""
    if name in LEVELS and LEVELS[name](text) is not None:
        return LEVELS[name](text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return list(read_tags(text)) if name == "tags" and not isinstance(value, list) else value


def parse(verbs: ProposableVerbs, path: str, content: bytes) -> Proposal:
    """The proposal on a page; ContentError names the line that makes no sense."""
    match, to = PATH.fullmatch(path), agent_of(path)
    with _line(path, content.count(b"\n")):
        try:
            lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError("it is not UTF-8 text") from error
        if match is None or to is None or RULE not in lines:
            raise InputError(f"a line {RULE} between its fields and its text is missing")
    rule = lines.index(RULE)
    fields = _fields(path, lines[:rule])
    take = partial(_take_field, path, fields)
    how = take("Do", verbs.__getitem__)
    given = {name: take(_label(name), partial(_argument, how, name)) for name in how.names}
    fields_read = {name: take(label, read) for label, (name, _, read) in FIELDS.items()}
    for label, (number, _) in fields.items():
        with _line(path, number):
            raise InputError(f"there is no field {label[:40]!r} here")
    with _line(path, rule + 2):
        about, below = _unquoted(lines[rule + 1 :]) if how.names_memory else ("", lines[rule + 1 :])
        text = normalise_content("\n".join(below))
        if text and not how.body:
            raise InputError(f"{how.path} takes no text")
        intent = _call(how, {**given, how.body: text} if how.body else given)
    known = {name: each for name, each in fields_read.items() if each is not None}
    return Proposal(id=match[1], to=to, intent=intent, about=about, **known)


def _argument(how: ProposableVerb, name: str, text: str) -> Any:
    return how.checked(name, read_value(name, text))


def _fields(path: str, lines: list[str]) -> dict[str, tuple[int, str]]:
    """The fields of a page by their labels, with their lines."""
    fields: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            with _line(path, number):
                match = _FIELD.fullmatch(line)
                if match is None or match[1] in fields:
                    raise InputError("this field stands here twice" if match else "this is no field")
                fields[match[1]] = number, match[2]
    return fields


def _take_field(path: str, fields: dict[str, tuple[int, str]], label: str, read: Callable[[str], Any]) -> Any:
    """Remove a field from the others and return its value; None if it is empty and may be."""
    number, text = fields.pop(label, (1, ""))
    with _line(path, number):
        if not text and label in ("Do", "From", "Timestamp"):
            raise InputError(f"the field {label} is missing")
        return read(text) if text else None


@contextmanager
def _line(path: str, number: int) -> Iterator[None]:
    """Add the line number to an InputError raised inside."""
    try:
        yield
    except InputError as error:
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        raise ContentError(f"{path}, line {number}: {why}", hint="correct that line, or delete the file") from error


# Which proposals cannot both be carried out. Pure.

CLAIMS = frozenset({"remember", "correct", "core.add", "core.replace", "core.pin"})
KEEPING = frozenset({"confirm", "pin"})
_IS = re.compile(
    r"(?:[Tt]he )?(?P<subject>\w[^.,;]{2,60}?) (?:is|are|will be) (?:on |at |due )?(?P<object>[A-Z\d][^.;]*)\.?"
)
"""A thing and its value, which begins with a capital or a digit."""


def content_of(intent: ProposedCall) -> str:
    """Return the content of a call without confidence and importance, for comparing proposals."""
    compared = {name: value for name, value in intent.arguments.items() if intent.verb != "remember" or name == "text"}
    alike = {name: plain_words(value) or value if isinstance(value, str) else value for name, value in compared.items()}
    return json.dumps([intent.verb, alike], ensure_ascii=False, sort_keys=True)


def rivals(proposal: Proposal, pending: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals to the same agent that contradict this one."""
    return [each for each in pending if each.to == proposal.to and _clash(proposal.intent, each.intent)]


def _clash(one: ProposedCall, other: ProposedCall) -> bool:
    if content_of(one) == content_of(other):
        return False
    if one.verb != other.verb and {one.verb, other.verb} <= KEEPING:
        return False
    return bool(_things(one, other) & _things(other, one)) or _contradict(one, other)


def _things(intent: ProposedCall, other: ProposedCall) -> set[tuple[str, ...]]:
    """What is touched: a memory, an entity that goes, a line of core memory, or its block where that is rewritten."""
    given = intent.arguments
    if "block" not in given:
        return {(given[name],) for name in ("id", "what", "other") if name in given}
    block = plain_words(given["block"])
    if "core.rewrite" in (intent.verb, other.verb):
        return {(block,)}
    line = given.get("text" if intent.verb == "core.remove" else "old")
    return {(block, plain_words(line))} if line else set()


def _contradict(one: ProposedCall, other: ProposedCall) -> bool:
    """Whether two texts give one thing two values."""
    return {one.verb, other.verb} <= CLAIMS and bool(Knowledge([_claim(one.text)]).detect(_claim(other.text)))


@lru_cache(maxsize=1024)
def _claim(text: str) -> KnownStatementAbout:
    """Return the claim of a text by the rules or, if they find none, as `this is that`."""
    found: dict[str, Any] = about(text[:LONG])
    match = _IS.fullmatch(text[:LONG])
    if match and not found.get("is_single"):
        found = {**match.groupdict(), "predicate": "is", "is_single": True}
    return KnownStatementAbout(ref="", text=text, at=datetime.min.replace(tzinfo=UTC), **found)


def carry_out(memory: object, intent: ProposedCall) -> object:
    """Call the verb of a `Memory` that an intent names."""
    given = {name: moment(value) if intent.how.is_time(name) else value for name, value in intent.arguments.items()}
    return attrgetter(intent.verb)(memory)(**given)


# The proposals of a home as one agent sees them: made, looked at, and decided on.
#
# A decision is one change with all that follows from it: what was proposed is done, its page goes, the verdict stands
# in the state lines of the agent that it was for, and what contradicted it is told so.

T = TypeVar("T")
Act = Callable[["Proposals", Proposal], T]
COMMITTED, REJECTED, EXPIRED = "committed", "rejected", "expired"
TENDER = Attribution(actor="system:tend", trigger="expire")
REVIEWER = Attribution(actor="system:review", trigger="review")
PROPOSER = Attribution(actor="bot:propose", approval=Approval.PENDING, trigger="propose")
DEFAULT_CONFIDENCE = 0.7
"""How sure an agent counts as that does not say."""
MOST = 100
"""How many proposals of one agent may wait at a time."""
MOST_SHOWN = 20
"""The most proposals shown at the start of a session."""
HOW = "Decide on each with its hash: proposals.commit(id, shown=hash), .reject(id, reason) or .defer(id)."


def propose_instead(proposals: Proposals, searcher: Searcher, intent: ProposedCall, error: PolicyError) -> Proposal:
    """Propose a call that the policy refused, to the agent whose memory it is about."""
    named = intent.arguments.get("id") or intent.arguments.get("what")
    found = searcher.find(named) if named else None
    is_own = intent.verb.startswith(("core.", "graph."))
    mine = searcher.agent if is_own or not found else found.agent
    # What is added is for the agent that decides on it.
    to = None if (intent.how.effect == "add" and not is_own) or mine == SHARED else mine
    return proposals.add(intent, by=replace(PROPOSER, trigger=intent.verb), row=error.row, to=to)


class Proposals:
    """The proposals to and from an agent. `do` carries out a call, `elsewhere` opens another agent's proposals."""

    def __init__(
        self,
        vault: Vault,
        searcher: Searcher,
        agent: str,
        *,
        gate: Gate,
        do: Callable[[ProposedCall], object],
        elsewhere: Callable[[str], AbstractContextManager[Proposals]] | None = None,
    ) -> None:
        self._vault, self._searcher, self._agent, self._gate = vault, searcher, agent, gate
        self._do, self._elsewhere, self._settings = do, elsewhere, vault.config.proposals

    def call(self, verb: str, arguments: Mapping[str, Any]) -> ProposedCall:
        """A call that can be proposed, with its arguments checked; InputError says why this one cannot."""
        return self._gate.proposable.call(verb, arguments)

    def add(
        self, intent: ProposedCall, *, by: Attribution, row: str = "", to: str | None = None, note: str = ""
    ) -> Proposal:
        """Propose something to the agent that decides on it, once; raises RefusedError if it was rejected before.

        `note` is for whoever decides.
        """
        intent, role, target = _call(intent.how, intent.arguments), self._gate.role_of(by), self._target(to)
        is_lesser = role is not Role.OWNER and (self._gate.is_lesser or target != self._agent)
        by = replace(by, actor=f"subagent:{self._agent}" if is_lesser else by.actor, approval=Approval.PENDING)
        now, lasts = self._vault.home.now(), self._settings.expire
        at = now.replace(microsecond=0)
        proposal = Proposal(
            id=new_id("P", now, ()),
            to=target,
            proposer=self._agent,
            at=at,
            intent=intent,
            trigger=by.trigger,
            about=self._content_named(intent),
            row=" ".join(row.split()),
            expires=at + lasts if lasts else None,
            note=" ".join(note.split()),
        )
        # What the memory says that is meant was checked when that was written.
        check_content(render(replace(proposal, about="")), self._vault.config.max_content_bytes)
        with self._vault.exclusive():  # so that nobody adds the same, or what contradicts it, meanwhile
            # A person may change their mind, an agent may not ask again and again.
            if role is not Role.OWNER:
                self._check_not_rejected(target, self._mark(intent))
            proposal = self._put(proposal, by)
        if self._settings.review != "automatic" or target == self._agent or self._elsewhere is None:
            return proposal
        with self._elsewhere(target) as other:
            return replace(proposal, made=other.review().get(proposal.id))

    def _target(self, to: str | None) -> str:
        settings = self._gate.settings
        if to and to not in (*self._vault.agents(), self._agent, settings.proposes_to):
            raise NotFoundError(f"there is no agent {to[:40]!r}", hint="name one of this home")
        return to or (settings.proposes_to if settings.policy == PROPOSES else self._agent)

    def _content_named(self, intent: ProposedCall) -> str:
        """Return the content of the memory that a call names."""
        named = intent.arguments.get("id") or intent.arguments.get("what")
        found = self._searcher.locate(named) if named else None
        return found[1].item.content if found else ""

    def _put(self, proposal: Proposal, by: Attribution) -> Proposal:
        """Write the page, linked with those of its rivals; an equal proposal that waits is returned instead."""
        waiting = self._read_all(everything=True)[0]
        mine = [each for each in waiting if each.proposer == self._agent]
        # An agent that repeats itself gets the proposal that waits.
        for each in mine:
            if (each.to, each.intent) == (proposal.to, proposal.intent):
                return each
        if len(mine) >= MOST:
            why = f"{MOST} proposals of {self._agent} wait already"
            raise RefusedError(why, hint="have some of them decided first")
        conflict, others = ProposalStatus.CONFLICT, rivals(proposal, waiting)
        if others:
            proposal = replace(proposal, status=conflict, conflicts=tuple(each.id for each in others))
        links = [_edit(each, status=conflict, conflicts=(*each.conflicts, proposal.id)) for each in others]
        page = PutPage(proposal.path, render(proposal).encode(), None)
        self._vault.apply(Change(operations=(page, *links), by=by, action=Action.PROPOSE))
        return self._read(proposal.path) or proposal

    def _check_not_rejected(self, target: str, mark: str) -> None:
        past = [each for each in self._reviews(target) if each.get("mark") == mark and each["verdict"] != EXPIRED]
        if past and past[-1]["verdict"] == REJECTED:
            raise RefusedError(f"this was {_verdict_of(past[-1])}", hint="a person may propose it again")

    def pending(self, *, all: bool = False) -> list[Proposal]:
        """What waits for a decision, the oldest first; with `all`, also what was put off or is for others to decide."""
        found = self._read_all()[0]
        waiting = [each for each in found if each.status is not ProposalStatus.DEFERRED]
        return found if all else [each for each in waiting if self._gate.is_lesser or self._decides(each.to)]

    def broken(self) -> list[ContentError]:
        """Return the errors of pages that cannot be read; the pages stay unchanged."""
        return self._read_all()[1]

    def get(self, id: str) -> Proposal:
        """One proposal; ConflictError where it was decided on, NotFoundError where this agent has none such."""
        found, broken = self._read_all()
        for each in found:
            if each.id == id:
                return each
        for error in broken:
            if f"/{id}.md," in error.message:
                raise error
        for agent in (self._agent, self._gate.settings.proposes_to):
            for line in self._reviews(agent):
                if line["proposal"] == id and (self._decides(agent) or line.get("from") == self._agent):
                    raise ConflictError(
                        f"{id} was {_verdict_of(line)}", hint="it is decided; `memfolio log` tells more"
                    )
        raise NotFoundError(f"agent {self._agent} has no proposal {id[:40]!r}", hint="`memfolio proposals` lists them")

    def commit(
        self, id: str, *, shown: str, by: Attribution, store: Store | str | None = None, kind: Kind | str | None = None
    ) -> object:
        """Do what is proposed, as it was `shown`, and return what was made; a memory may get another store or kind."""
        overrides = {name: value for name, value in (("store", store), ("kind", kind)) if value is not None}
        return self._decide(id, by, partial(Proposals._commit, shown=shown, by=by, overrides=overrides))

    def _commit(self, proposal: Proposal, *, shown: str, by: Attribution, overrides: Mapping[str, Any]) -> object:
        if shown != proposal.shown:
            hint = f"look at it again; its hash is {proposal.shown}"
            raise ConflictError(f"{proposal.id} was changed since it was shown", hint=hint)
        # The person approved what they saw of the memory, too.
        if proposal.about != self._content_named(proposal.intent):
            why = f"{proposal.id} is about a memory that says something else than it shows"
            raise ConflictError(why, hint="reject it")
        actor, leaving = f"bot:commit-from:{proposal.proposer}", self._closing(proposal, by, COMMITTED)
        deciding = partial(self._gate.deciding, by, as_actor=actor, action=Action.COMMIT, extra=leaving)
        with deciding():
            made = self._do(_approved(proposal, overrides))
        there = self._vault.page(proposal.path)
        if there and there.hash == proposal.hash:  # nothing had to be changed
            with deciding():
                self._vault.apply(Change(operations=(), by=by, action=Action.COMMIT))
        return made

    def reject(self, id: str, reason: str = "", *, by: Attribution) -> Proposal:
        """Drop a proposal; the same is not proposed again, except by a person."""
        return self._decide(id, by, partial(Proposals._drop, verdict=REJECTED, reason=reason, by=by))

    def _drop(self, proposal: Proposal, *, verdict: str, reason: str, by: Attribution) -> Proposal:
        operations = self._closing(proposal, by, verdict, reason)
        with self._gate.deciding(by, approval=Approval.REJECTED):
            self._vault.apply(Change(operations=operations, by=by, action=Action.REJECT))
        return proposal

    def defer(self, id: str, *, by: Attribution) -> Proposal:
        """Put a decision off: the proposal is not shown at the start of a session any more."""

        def put_off(self: Proposals, proposal: Proposal) -> Proposal:
            edit = _edit(proposal, status=ProposalStatus.DEFERRED)
            self._vault.apply(Change(operations=(edit,), by=by, action=Action.EDIT))
            return self.get(id)

        return self._decide(id, by, put_off)

    def expire(self, now: datetime) -> list[Proposal]:
        """Drop proposals that nobody decided on in time; they may be made again."""
        waiting = self.pending(all=True) if self._gate.lets(Deed.REVIEW, TENDER) else []
        late = [each for each in waiting if each.to == self._agent and each.expires and each.expires <= now]
        for each in late:
            with suppress(PageChangedError):  # somebody is at it
                self._drop(each, verdict=EXPIRED, reason="", by=TENDER)
        return late

    def review(self, by: Attribution = REVIEWER) -> dict[str, object]:
        """Commit what needs nobody's leave: where that is automatic, what trusted agents are sure of."""
        made: dict[str, object] = {}
        for each in self.pending() if self._settings.review == "automatic" else []:
            if each.to == self._agent and self._is_sure(each):
                with suppress(PolicyError, ConflictError, NotFoundError):  # somebody has to look at it, or did
                    commit = partial(Proposals._commit, shown=each.shown, by=by, overrides={})
                    made[each.id] = self._act(each.id, commit)
        return made

    def _is_sure(self, proposal: Proposal) -> bool:
        """Whether a trusted agent is sure of an addition, and its page is, by the trail, as that agent wrote it."""
        settings, intent = self._vault.settings(proposal.proposer), proposal.intent
        if not settings.trusted or settings.retired or proposal.proposer == self._agent or intent.verb != "remember":
            return False
        sure = intent.arguments.get("confidence", DEFAULT_CONFIDENCE)
        if proposal.status is ProposalStatus.CONFLICT or sure < self._settings.confidence:
            return False
        # Somebody else may have edited the page: only the trail says whose words these are.
        line = next(self._vault.changes(containing=[proposal.hash.encode()], newest_first=True), None)
        return line is not None and (line.action, line.by.actor) == (Action.PROPOSE, f"subagent:{proposal.proposer}")

    def for_context(self) -> tuple[str, ...]:
        """What waits for the agent's decision, for the start of a session; nothing where a person decides."""
        waiting = self.pending() if self._decides(self._agent) and self._settings.review != "manual" else []
        listed = [f"{each.id} from {each.proposer} ({each.status}, hash {each.shown}) {each.title}" for each in waiting]
        more = [f"and {len(listed) - MOST_SHOWN} more"] if len(listed) > MOST_SHOWN else []
        return (HOW, *listed[:MOST_SHOWN], *more) if listed else ()

    def _decide(self, id: str, by: Attribution, act: Act[T]) -> T:
        """Act on a proposal as somebody who may: memfolio itself decides in `review` only, the owner everywhere."""
        # The policy may let memfolio review, which is meant for `review` alone.
        row = self._gate.check(Deed.REVIEW, by)
        if self._gate.role_of(by) is Role.SYSTEM:
            raise PolicyError(f"{by.actor} decides on no proposals", row=str(row), hint="act as yourself")
        to = self.get(id).to
        if to == self._agent or self._vault.speaker != OWNER or self._elsewhere is None:
            return self._act(id, act)
        with self._elsewhere(to) as other:
            return other._act(id, act)

    def _act(self, id: str, act: Act[T]) -> T:
        """Act on a proposal to this agent while nobody else can decide on it or its rivals."""
        with self._vault.exclusive():
            proposal = self.get(id)
            if proposal.to != self._agent:
                raise PolicyError(f"{id} is for {proposal.to} to decide", row=FOREIGN, hint=f"act as {proposal.to}")
            return act(self, proposal)

    def _closing(self, proposal: Proposal, by: Attribution, verdict: str, reason: str = "") -> tuple[Operation, ...]:
        """Return the operations that close a proposal: delete its page, record the verdict, and update its rivals."""
        line = {"op": Op.REVIEW, "proposal": proposal.id, "from": proposal.proposer, "verdict": verdict}
        line |= {"mark": self._mark(proposal.intent), "reviewer": self._gate.named(by).actor}
        lines: list[Mapping[str, Any]] = [line | ({"reason": reason} if reason else {})]
        if verdict == COMMITTED and proposal.intent.arguments.get("origin") == Origin.UNTRUSTED:
            lines.append({"op": Op.CONFIRM, "memory": NewId(0)})  # who approves a stranger's words believes them
        # Rivals may be of agents that this one does not see.
        others = [each for each in self._read_all(everything=True)[0] if each.id in proposal.conflicts]
        links = [_unlinked(each, proposal.id, verdict) for each in others]
        return PutPage(proposal.path, None, proposal.hash), AddLines(state_ledger(proposal.to), tuple(lines)), *links

    def _read_all(self, *, everything: bool = False) -> tuple[list[Proposal], list[ContentError]]:
        """What this agent may see, and what is wrong with the pages that it decides on but that cannot be read."""
        found: list[Proposal] = []
        broken: list[ContentError] = []
        for path in filter(PATH.fullmatch, sorted(self._vault.states())):
            try:
                proposal = self._read(path)
            except ContentError as error:
                broken += [error] if self._decides(agent_of(path)) else []
                continue
            if proposal and (everything or proposal.proposer == self._agent or self._decides(proposal.to)):
                found.append(proposal)
        return found, broken

    def _decides(self, agent: str | None) -> bool:
        """Whether this agent, or the owner, decides on proposals to an agent."""
        return self._vault.speaker == OWNER or (agent == self._agent and not self._gate.is_lesser)

    def _read(self, path: str) -> Proposal | None:
        page = self._vault.page(path)
        return replace(parse(self._gate.proposable, path, page.content), hash=page.hash) if page else None

    def _mark(self, intent: ProposedCall) -> str:
        """A hash that identifies a content without revealing it."""
        return self._vault.home.hash(content_of(intent).encode())[:16]

    def _reviews(self, agent: str) -> list[Mapping[str, Any]]:
        """Return the verdicts on proposals to an agent, oldest first."""
        return [line for line in state_lines(self._vault, agent, Op.REVIEW) if {"proposal", "verdict"} <= line.keys()]


def state_lines(vault: Vault, agent: str, op: Op) -> Iterator[Mapping[str, Any]]:
    """The state lines of an operation, oldest first; asked of the files, since they cannot be behind."""
    vault.refresh()
    word, folder = f':"{op}"'.encode(), f"{state_ledger(agent).base}/"
    known = (path for path in vault.states() if path.startswith(folder))
    for _, path in sorted((part[1], path) for path in known if (part := ledger_of(path))):
        content = vault.content(path) or b""
        if word in content:  # nearly all files have only lines about something else: they need not be read
            matching = b"".join(raw for raw in split_lines(content) if word in raw)
            yield from (line for line in read_lines(matching).records if line.get("op") == op)


def _verdict_of(line: Mapping[str, Any]) -> str:
    reason = f": {line['reason']}" if line.get("reason") else ""
    return f"{line['verdict']} by {line.get('reviewer')} on {str(line.get('at'))[:10]}{reason}"


def _edit(proposal: Proposal, **changes: Any) -> PutPage:
    return PutPage(proposal.path, render(replace(proposal, **changes)).encode(), proposal.hash)


def _unlinked(rival: Proposal, id: str, verdict: str) -> PutPage:
    """Return the page of a rival whose conflict is resolved."""
    left = tuple(each for each in rival.conflicts if each != id)
    status = ProposalStatus.PENDING if rival.status is ProposalStatus.CONFLICT and not left else rival.status
    return _edit(rival, status=status, conflicts=left, note=f"{id}, which says otherwise, was {verdict}")


def _approved(proposal: Proposal, overrides: Mapping[str, Any]) -> ProposedCall:
    """The intent as it is carried out: a memory says who proposed it, and is never more than an agent's word."""
    intent = proposal.intent
    if intent.verb != "remember":
        if overrides:
            raise InputError(f"{intent.verb} has neither store nor kind", hint="leave them out")
        return intent
    is_untrusted = intent.arguments.get("origin") == Origin.UNTRUSTED
    attributes = {**intent.arguments.get("attributes", {}), "proposed_by": proposal.proposer}
    origin = Origin.UNTRUSTED if is_untrusted else Origin.AGENT
    return _call(intent.how, {**intent.arguments, **overrides, "origin": origin, "attributes": attributes})
