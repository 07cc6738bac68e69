"""The rules of one agent: create, list, toggle, keep, delete, import and export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memfolio.errors import InputError, NotFoundError, RuleError
from memfolio.graph.grow import Readable
from memfolio.index.database import head_of
from memfolio.index.lookup import records
from memfolio.knowledge.facts import unreadable_lines
from memfolio.knowledge.rule import (
    VARIABLE,
    Rule,
    RuleType,
    check_fields,
    check_rule,
    parse,
    read_rule,
    render,
    rule_record,
    strata,
)
from memfolio.text import counted
from memfolio.types import Action, Attribution
from memfolio.vault.change import AddLines, Change
from memfolio.vault.fields import read_moment
from memfolio.vault.paths import knowledge_ledger
from memfolio.vault.vault import Vault

RULER = Attribution(actor="bot:rules", trigger="rule")
MOST_PROBLEMS = 20
"""How many problems of an imported file are reported at once."""
_TERM = re.compile(rf"'{VARIABLE.pattern}'")
"""A term that is a variable, as `repr` writes it."""
_SWITCHES = {"toggle": "enabled", "keep": "kept"}
RuleInput = str | Mapping[str, Any] | Rule
Listed = list[Rule]
Folded = tuple[dict[str, Rule], list[str]]
"""The rules after applying lines, and the problems of the lines that were skipped."""


class Rules:
    """The rules that an agent reasons with; each is named by its id or its name."""

    def __init__(self, vault: Vault, searcher: Readable, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._ledger = knowledge_ledger(agent, "rules")
        self._seen: tuple[object, Sequence[Mapping[str, Any]], Folded] = None, [], ({}, [])
        """The change, the lines, and the rules read from them; a single value, since threads share it."""

    def create(
        self,
        rule: RuleInput,
        *,
        name: str | None = None,
        description: str | None = None,
        domain: str | None = None,
        factor: float | None = None,
        enabled: bool | None = None,
        by: Attribution = RULER,
        dry_run: bool = False,
    ) -> Rule:
        """Store a rule, given as text, as fields or as a `Rule`; keyword arguments override its own fields."""
        beside = {"name": name, "description": description, "domain": domain, "factor": factor, "enabled": enabled}
        given: dict[str, Any] = {field: value for field, value in beside.items() if value is not None}
        made = replace(as_rule(rule), **given)
        with self._alone(dry_run):
            return self._store([_admit(made, _taken(self._rules().values()))], by, dry_run=dry_run)[0]

    def list(
        self, type: RuleType | str | None = None, domain: str | None = None, enabled: bool | None = None
    ) -> Listed:
        """All rules, or those of a type, of a domain, or that are switched on or off."""
        if type is not None and type not in set(RuleType):
            raise InputError(f"{type[:40]!r} is no type of rule", hint=f"there are {', '.join(RuleType)}")
        wanted = {"type": type, "domain": domain, "enabled": enabled}
        return [
            each
            for each in self._rules().values()
            if all(value in (None, getattr(each, field)) for field, value in wanted.items())
        ]

    def get(self, id: str) -> Rule:
        """The rule with an id or a name."""
        rules, name = self._rules(), id.casefold()
        found = rules.get(id) or next((each for each in rules.values() if name and each.name.casefold() == name), None)
        if found is None:
            raise NotFoundError(f"there is no rule {id[:80]!r}", hint="`memfolio rule list` shows all")
        return found

    def problems(self) -> Sequence[str]:
        """Return problems of skipped lines, and why the rules cannot be applied, if so."""
        rules, broken = self._rules().values(), self._searcher.index.read(lambda db: unreadable_lines(db, "rules"))
        try:
            _check_strata(rules)
        except RuleError as error:
            broken.append(f"rules: {error.message}; switch one of them off")
        return [*broken, *self._seen[2][1]]

    def toggle(self, id: str, enabled: bool | None = None, *, by: Attribution = RULER, dry_run: bool = False) -> Rule:
        """Enable or disable a rule; without `enabled`, switch it to the other state."""
        with self._alone(dry_run):
            rule = self.get(id)
            changed = replace(rule, enabled=not rule.enabled if enabled is None else enabled)
            # Only switching on can close a loop through a negation.
            if changed.enabled:
                _check_strata({**self._rules(), rule.id: changed}.values())
            if changed == rule or dry_run:
                return changed
            self._write([{"op": "toggle", "rule": rule.id, "enabled": changed.enabled}], by)
            return self.get(rule.id)

    def keep(self, ids: Iterable[str], kept: bool = True, *, by: Attribution = RULER) -> Listed:
        """Store the conclusions of inference rules with the facts, as long as they follow; or stop doing so."""
        rules = {found.id: found for found in map(self.get, ids)}
        if idle := next((each for each in rules.values() if each.conclusion is None), None):
            raise RuleError(f"the rule {idle.name or idle.id} concludes nothing", hint="keep inference rules only")
        lines = [{"op": "keep", "rule": each.id, "kept": kept} for each in rules.values() if each.kept is not kept]
        if lines:
            self._write(lines, by)
        return list(map(self.get, rules))

    def delete(self, id: str, *, by: Attribution = RULER, dry_run: bool = False) -> Rule:
        """Delete a rule; undoing the change brings it back."""
        with self._alone(dry_run):
            rule = self.get(id)
            if not dry_run:
                self._write([{"op": "delete", "rule": rule.id}], by)
        return rule

    def import_(self, text: str, *, by: Attribution = RULER, dry_run: bool = False) -> Listed:
        """Store all rules of a file that are not there yet, or none: one a line as text or JSON, or a JSON array."""
        with self._alone(dry_run):
            there = self._rules().values()
            taken, texts, made, problems = _taken(there), set(map(render, there)), [], []
            for where, entry in _entries(text):
                try:
                    rule = as_rule(entry)
                    if render(rule) not in texts:
                        made.append(replace(_admit(rule, taken, where), created_at=_created(entry)))
                except InputError as error:
                    problems.append(f"{where}: {error.message}")
            if problems:
                shown, reasons = "\n".join(problems[:MOST_PROBLEMS]), counted(len(problems), "reason")
                raise RuleError(f"nothing was imported, for {reasons}:\n{shown}", hint="mend that first")
            return self._store(made, by, dry_run=dry_run) if made else []

    def export(self, form: str = "text") -> str:
        """All rules as `import_` reads them: as `text`, one a line, or as a `json` array; without ids and times."""
        if form not in ("text", "json"):
            raise InputError(f"{form[:40]!r} is no form of rules", hint="there are text and json")
        rules = [as_rule(each) for each in self._rules().values()]
        if form == "text":
            return "".join(f"{render(each)}\n" for each in rules)
        return json.dumps(list(map(rule_record, rules)), ensure_ascii=False, indent=2) + "\n"

    @staticmethod
    def as_json(rule: Rule) -> dict[str, Any]:
        """A rule with all its fields and its text, as `create` takes it too."""
        return {**rule_record(rule), "text": render(rule)}

    def _rules(self) -> dict[str, Rule]:
        """Return the rules by id; read again if a file has changed, and parsed again if their lines have."""
        known, lines, folded = self._seen
        epoch = self._vault.epoch
        moment, found = self._searcher.index.read(
            lambda db: ((at := (head_of(db), epoch)), records(db, "rules") if at != known else lines)
        )
        if moment != known:
            self._seen = moment, found, folded if found == lines else fold(found)
        return self._seen[2][0]

    def _alone(self, dry_run: bool) -> AbstractContextManager[None]:
        """Block other writers, so that a check still holds when its change is written."""
        return nullcontext() if dry_run else self._vault.exclusive()

    def _store(self, made: Listed, by: Attribution, *, dry_run: bool) -> Listed:
        _check_strata([*self._rules().values(), *made])
        if dry_run:
            return made
        ids = self._write([{"op": "create", **rule_record(each)} for each in made], by)
        rules = self._rules()
        return [rules[each] for each in ids if each in rules]

    def _write(self, lines: Sequence[Mapping[str, Any]], by: Attribution) -> tuple[str, ...]:
        """Add lines to the ledger; refuses rules that make no sense any more without the secrets in them."""
        change = Change(operations=(AddLines(self._ledger, tuple(lines), "R"),), by=by, action=Action.APPEND)
        # Redaction may cut a secret out of a rule; what is left must still be one.
        clean = self._vault.clean(change)
        for operation in clean.operations if clean is not change else ():
            for line in operation.records if isinstance(operation, AddLines) else ():
                check_rule(read_rule(line))
        return self._vault.apply(change).ids  # with those of other lines, where the change carries out a proposal


def as_rule(given: RuleInput) -> Rule:
    """A rule, however it is given, as if nobody had stored it; not yet checked."""
    if isinstance(given, str):
        given = _json(given) if given.lstrip().startswith("{") else parse(given)
    if not isinstance(given, Rule):
        check_fields(given)
        given = read_rule(given)
    return replace(given, id="", kept=False, created_at=None, updated_at=None)


def _created(given: RuleInput) -> datetime | None:
    """When a rule that comes from elsewhere was made there."""
    return read_moment(str(given.get("created_at")), UTC) if isinstance(given, Mapping) else None


def fold(lines: Iterable[Mapping[str, Any]]) -> Folded:
    """Apply the lines of a ledger."""
    rules: dict[str, Rule] = {}
    problems = []
    for number, line in enumerate(lines, start=1):
        try:
            _take(rules, line)
        except InputError as error:
            problems.append(f"rules, entry {number} ({str(line.get('id'))[:40]!r}): {error.message}")
    return rules, problems


def _take(rules: dict[str, Rule], line: Mapping[str, Any]) -> None:
    op, meant = line.get("op", "create"), str(line.get("rule", ""))
    if op == "create":
        rule = check_rule(read_rule({"created_at": line.get("at"), **line}))
        if not rule.id or rule.id in rules:
            raise RuleError(f"the id {rule.id[:80]!r} is {'taken' if rule.id else 'none'}")
        rules[rule.id] = rule
    elif op not in ("delete", *_SWITCHES):
        raise RuleError(f"the op {str(op)[:40]!r} is unknown")
    elif meant not in rules:
        raise RuleError(f"there is no rule {meant[:80]!r} to {op}")
    elif op == "delete":
        del rules[meant]
    else:
        value = line.get(_SWITCHES[op], True)
        if not isinstance(value, bool):
            raise RuleError(f"the field {_SWITCHES[op]} is neither true nor false")
        changed: Any = {_SWITCHES[op]: value, "updated_at": read_moment(str(line.get("at")), UTC)}
        rules[meant] = replace(rules[meant], **changed)


def _taken(rules: Iterable[Rule]) -> dict[str, str]:
    """The names and contents that rules have, with their ids."""
    return {key: each.id for each in rules for key in (each.name.casefold(), _content(each))}


def _admit(rule: Rule, taken: dict[str, str], where: str = "") -> Rule:
    """`rule` if it is safe and says something that no other does; its name and content are taken then."""
    name, content = check_rule(rule).name.casefold(), _content(rule)
    if name and name in taken:
        raise RuleError(
            f"{taken[name]} has the name {rule.name[:80]!r}", hint="choose another name, or delete that rule"
        )
    if content in taken:
        raise RuleError(
            f"{taken[content]} says the same", hint="delete that rule first to change its name or its factor"
        )
    taken |= {name: where, content: where}
    return rule


def _content(rule: Rule) -> str:
    """A normal form of a rule that does not depend on the names of variables or the order of conditions."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0].strip("'"), f"?{len(numbers)}")

    # Numbered from the outcome on, so that only conditions that differ in nothing else keep their order.
    conclusion, text = _TERM.sub(number, repr(rule.conclusion)), VARIABLE.sub(number, f"{rule.message}\n{rule.action}")
    # Sorted without their variables, whose numbers depend on the order.
    conditions = sorted(rule.conditions, key=lambda part: _TERM.sub("?", repr(part)))
    return f"{rule.type} {conclusion} {text} {_TERM.sub(number, repr(conditions))}"


def _check_strata(rules: Iterable[Rule]) -> None:
    """Reject rules of which one negates its own consequence; disabled rules do not count."""
    strata(each for each in rules if each.enabled)


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    """The rules of a file, each with its place: of a JSON array, of an object that has one, or of lines."""
    text = text.removeprefix("\ufeff")
    start = text.lstrip()[:1]
    try:
        whole = _json(text) if start in ("[", "{") else None
    except RuleError:
        if start == "[":
            raise
        whole = None  # an object a line
    held = whole.get("rules", [whole]) if isinstance(whole, dict) else whole
    if isinstance(held, list):
        yield from ((f"rule {number}", each) for number, each in enumerate(held, start=1))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"line {number}", line


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"this is no JSON: {error}", hint="mend it, or write rules as text, one a line") from error
