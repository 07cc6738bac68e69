"""The rules of one agent as a small object: made, listed, switched, kept and given away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

from memfolio.errors import InputError, NotFoundError, RuleError
from memfolio.graph.making import Shelf
from memfolio.index.meta import head_of
from memfolio.index.records import records
from memfolio.knowledge.rule import Rule, RuleType, check_rule
from memfolio.knowledge.rule_line import read_rule, rule_record
from memfolio.knowledge.rule_text import parse, render
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.change import AddLines, Change, Receipt
from memfolio.vault.format.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

RULER = Attribution(actor="bot:rules", approval=Approval.AUTO, trigger="rule")
MOST_PROBLEMS = 20
"""Of a file to import that are told at once."""
_SWITCHES = {"toggle": "enabled", "keep": "kept"}
Said = str | Mapping[str, Any] | Rule
Listed = list[Rule]
Seen = tuple[tuple[int, int] | None, Sequence[Mapping[str, Any]], dict[str, Rule], Sequence[str]]
"""At which change, which lines, and what they mean."""


class Rules:
    """The rules that an agent reasons with; each is named by its id or its name."""

    def __init__(self, vault: Vault, library: Shelf, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._ledger = Ledger(f"{agent_root(agent)}/knowledge/rules", Form.LINES)
        self._seen: Seen = (None, [], {}, [])

    def create(
        self,
        rule: Said,
        *,
        name: str | None = None,
        description: str | None = None,
        domain: str | None = None,
        factor: float | None = None,
        enabled: bool | None = None,
        by: Attribution = RULER,
        dry_run: bool = False,
    ) -> Rule:
        """Store a rule, given as text, as fields or whole; what is named beside it counts before what it says."""
        beside = {"name": name, "description": description, "domain": domain, "factor": factor, "enabled": enabled}
        given: dict[str, Any] = {field: value for field, value in beside.items() if value is not None}
        made = _Known(self._rules().values()).admit(replace(as_rule(rule), **given))
        return self._store([made], by, dry_run=dry_run)[0]

    def list(
        self, type: RuleType | str | None = None, domain: str | None = None, enabled: bool | None = None
    ) -> Listed:
        """All rules, or those of a type, of a domain, or that are switched on or off."""
        if type is not None and type not in set(RuleType):
            raise InputError(f"{type[:40]!r} is no type of rule", hint=f"there are {', '.join(RuleType)}")
        wanted = {"type": type, "domain": domain, "enabled": enabled}
        asked = {field: value for field, value in wanted.items() if value is not None}
        found = self._rules().values()
        return [each for each in found if all(getattr(each, field) == value for field, value in asked.items())]

    def get(self, id: str) -> Rule:
        """The rule with an id or a name."""
        return _find(self._rules(), id)

    def problems(self) -> Sequence[str]:
        """What in the ledger was passed over, and why."""
        self._rules()
        parts = takewhile(self._vault.content, map(self._ledger.part, count(1)))
        broken = [f"{path}, {each}" for path in parts for each in read_lines(self._vault.content(path) or b"").problems]
        return [*broken, *self._seen[3]]

    def toggle(self, id: str, enabled: bool | None = None, *, by: Attribution = RULER, dry_run: bool = False) -> Rule:
        """Switch a rule on or off; without a word, to what it is not."""
        rule = self.get(id)
        changed = replace(rule, enabled=not rule.enabled if enabled is None else enabled)
        if changed.enabled:
            _check_strata({**self._rules(), rule.id: changed}.values())
        if changed == rule or dry_run:
            return changed
        self._write([{"op": "toggle", "rule": rule.id, "enabled": changed.enabled}], by)
        return self.get(rule.id)

    def keep(self, ids: Iterable[str], *, by: Attribution = RULER) -> Listed:
        """Keep what inference rules conclude among the facts, for as long as it follows from them."""
        return self._keep(ids, True, by)

    def unkeep(self, ids: Iterable[str], *, by: Attribution = RULER) -> Listed:
        """Keep no longer what these rules conclude."""
        return self._keep(ids, False, by)

    def delete(self, id: str, *, by: Attribution = RULER, dry_run: bool = False) -> Rule:
        """Delete a rule; undoing the change brings it back."""
        rule = self.get(id)
        if not dry_run:
            self._write([{"op": "delete", "rule": rule.id}], by)
        return rule

    def import_(self, text: str, *, by: Attribution = RULER, dry_run: bool = False) -> Listed:
        """Store all rules of a file, or none: one a line as text or JSON, or a JSON array."""
        known, made, problems = _Known(self._rules().values()), [], []
        for where, said in _entries(text):
            try:
                made.append(known.admit(as_rule(said), where))
            except InputError as error:
                problems.append(f"{where}: {error.message}")
        if problems:
            told = "\n".join(problems[:MOST_PROBLEMS])
            raise RuleError(f"nothing was imported, for {len(problems)} reasons:\n{told}", hint="mend these first")
        return self._store(made, by, dry_run=dry_run) if made else []

    def export(self, form: str = "text") -> str:
        """All rules as `import_` reads them: as `text`, one a line, or as a `json` array."""
        if form not in ("text", "json"):
            raise InputError(f"{form[:40]!r} is no form of rules", hint="there are text and json")
        rules = self._rules().values()
        if form == "text":
            return "".join(f"{render(each)}\n" for each in rules)
        return json.dumps(list(map(rule_record, rules)), ensure_ascii=False, indent=2) + "\n"

    @staticmethod
    def as_json(rule: Rule) -> dict[str, Any]:
        """A rule with all its fields and its text, as `create` takes it too."""
        return {**rule_record(rule), "text": render(rule)}

    def _rules(self) -> dict[str, Rule]:
        """The rules by their ids; read again where a file has changed, understood again where these lines have."""
        known, lines, rules, problems = self._seen
        epoch, index = self._vault.epoch, self._library.index
        (head, found) = index.read(
            lambda db: ((at := head_of(db)), records(db, "rules") if (at, epoch) != known else None)
        )
        if found is not None:
            rules, problems = (rules, problems) if found == lines else fold(found)
            self._seen = (head, epoch), found, rules, problems
        return rules

    def _store(self, made: Sequence[Rule], by: Attribution, *, dry_run: bool) -> Listed:
        _check_strata([*self._rules().values(), *made])
        if dry_run:
            return [*made]
        receipt = self._write([{"op": "create", **rule_record(each)} for each in made], by)
        rules = self._rules()
        return [rules[each] for each in receipt.ids if each in rules]

    def _keep(self, ids: Iterable[str], kept: bool, by: Attribution) -> Listed:
        known = self._rules()
        rules = dict.fromkeys(_find(known, each) for each in ids)
        if idle := next((each for each in rules if each.conclusion is None), None):
            raise RuleError(f"the rule {idle.name or idle.id} concludes nothing", hint="keep inference rules only")
        lines = [{"op": "keep", "rule": each.id, "kept": kept} for each in rules if each.kept is not kept]
        if lines:
            self._write(lines, by)
        known = self._rules()
        return [known[each.id] for each in rules]

    def _write(self, lines: Iterable[Mapping[str, Any]], by: Attribution) -> Receipt:
        operation = AddLines(self._ledger, tuple(lines), "R")
        return self._vault.apply(Change(operations=(operation,), by=by, action=Action.APPEND))


def _find(rules: Mapping[str, Rule], id: str) -> Rule:
    """The rule with an id or a name."""
    name = id.casefold()
    found = rules.get(id) or next((each for each in rules.values() if name and _named(each) == name), None)
    if found is None:
        raise NotFoundError(f"there is no rule {id[:80]!r}", hint="`memfolio rule list` shows all")
    return found


def as_rule(said: Said) -> Rule:
    """A rule, however it is said, as if nobody had stored it; not yet checked."""
    if isinstance(said, str):
        said = read_rule(_json(said)) if said.lstrip().startswith("{") else parse(said)
    elif not isinstance(said, Rule):
        said = read_rule(said)
    return replace(said, id="", kept=False, created_at=None, updated_at=None)


def fold(lines: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Rule], list[str]]:
    """The rules that the lines of a ledger leave, and what is wrong with lines that were passed over."""
    rules: dict[str, Rule] = {}
    problems = []
    for number, line in enumerate(lines, start=1):
        try:
            _take(rules, line)
        except InputError as error:
            problems.append(f"rules, entry {number} ({line.get('id')}): {error.message}")
    return rules, problems


def _take(rules: dict[str, Rule], line: Mapping[str, Any]) -> None:
    op, meant = line.get("op", "create"), str(line.get("rule", ""))
    if op == "create":
        rule = check_rule(read_rule({"created_at": line.get("at"), **line}))
        rules.setdefault(rule.id, rule)
    elif op not in ("delete", *_SWITCHES):
        raise RuleError(f"the op {str(op)[:40]!r} is unknown")
    elif meant not in rules:
        raise RuleError(f"there is no rule {meant[:80]!r} to {op}")
    elif op == "delete":
        del rules[meant]
    else:
        switch = _SWITCHES[op]
        switched = {switch: line.get(switch, True), "updated_at": line.get("at")}
        rules[meant] = read_rule({**rule_record(rules[meant]), **switched})


class _Known:
    """Which names and contents rules have, so that none comes twice."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._names = {_named(each): each.id for each in rules if each.name}
        self._contents = {_content(each): each.id for each in rules}

    def admit(self, rule: Rule, where: str = "") -> Rule:
        """`rule` if it is safe and says something that no other does."""
        check_rule(rule)
        if rule.name and (owner := self._names.setdefault(_named(rule), where)) != where:
            raise RuleError(f"{owner} has the name {rule.name[:80]!r}", hint="choose another name, or delete that rule")
        if (owner := self._contents.setdefault(_content(rule), where)) != where:
            raise RuleError(f"{owner} says the same", hint="delete that rule first to change its name or its factor")
        return rule


def _named(rule: Rule) -> str:
    return rule.name.casefold()


def _content(rule: Rule) -> tuple[object, ...]:
    return rule.type, frozenset(rule.conditions), rule.conclusion, rule.message, rule.action


def _check_strata(rules: Iterable[Rule]) -> None:
    """Refuse rules of which one negates what it leads to; those that are off do not count."""
    from memfolio.knowledge.strata import strata

    strata(each for each in rules if each.enabled)


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    """The rules of a file, each with its place: of a JSON array, of an object that has one, or of lines."""
    text = text.removeprefix("\ufeff")
    if (whole := _whole(text)) is not None:
        yield from ((f"rule {number}", each) for number, each in enumerate(whole, start=1))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"line {number}", line


def _whole(text: str) -> list[Any] | None:
    """What a JSON file has; None for lines, of which each may be an object."""
    start = text.lstrip()[:1]
    try:
        found = _json(text) if start in ("[", "{") else None
    except RuleError:
        if start == "[":
            raise
        return None
    held = found.get("rules", found) if isinstance(found, dict) else found
    return held if isinstance(held, list | None) else [held]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"this is no JSON: {error}", hint="mend it, or write rules as text, one a line") from error
