"""Rules as a person writes them, and back. Pure.

taxable: ?x hasRevenue ?y and ?y > 50000 and not ?x isExempt true => ?x isTaxable true [factor 0.8]
?x isA Employee and not ?x hasManager ?m => ERROR: ?x has no manager
?x hasDebt ?d and ?d > $1m => DO notify-cfo about ?x [escalate, domain finance]
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn
from unicodedata import combining, east_asian_width

from memfolio.errors import RuleError
from memfolio.knowledge.literal import LiteralKind, Operator, read_literal
from memfolio.knowledge.rule import FACTOR, MOST_CHARACTERS, Comparison, Condition, Part, Rule, RuleType, Severity

_OPERATORS = {
    "=": Operator.EQ,
    "!=": Operator.NE,
    ">=": Operator.GTE,
    "<=": Operator.LTE,
    ">": Operator.GT,
    "<": Operator.LT,
    "contains": Operator.CONTAINS,
}
SYMBOLS = {operator: symbol for symbol, operator in _OPERATORS.items()}
_OPERATORS |= {"==": Operator.EQ, "≠": Operator.NE, "≥": Operator.GTE, "≤": Operator.LTE}
_KEYWORDS = frozenset({"and", "not", "contains", "do"})
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# A comma joins conditions, except within a number such as 50,000.
_BARE = r'(?:[^\s",\[\]=<>!≠≥≤]|(?<=[0-9]),(?=[0-9]))+(?<!:)'
_TOKEN = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<symbol>=>|[=!<>]=|[=<>≠≥≤,\[\]])|(?P<bare>{_BARE})", re.DOTALL)
_PLAIN_NAME = r"\w(?:[\w.'/()-]| (?! ))*(?<! )"
_NAME = re.compile(rf"(?P<name>{_QUOTED}|{_PLAIN_NAME})\s*:(?=\s)", re.DOTALL)
_SEVERITY = re.compile(rf"({'|'.join(Severity)})\s*(?::|(?=\[|$))", re.IGNORECASE)
_QUOTED_WORDS = re.compile(rf"{_QUOTED}(?=\s*(?:\[|\Z))", re.DOTALL)
_DO = re.compile(r"do\s", re.IGNORECASE)
_OPTIONS: dict[str, tuple[str, Any]] = {
    "escalate": ("escalate", True),
    "off": ("enabled", False),
    "factor": ("factor", float),
    "domain": ("domain", str),
    "about": ("description", str),
}
"""The fields that options give a value, or a kind of value that stands behind them."""
_OPTION_HINT = (
    'there are factor 0.8, escalate, off, domain NAME and about "a description"; put a message that has [ in quotes'
)
_TERM_HINT = 'put terms with spaces or signs in quotes, such as "New York"'
_SIGN_HINTS = {
    "or": "there is no `or`: make two rules",
    "->": "write `=>` before what follows",
    "&": "write `and` between conditions",
}
_SIGN_HINTS |= {"||": _SIGN_HINTS["or"], "→": _SIGN_HINTS["->"], "then": _SIGN_HINTS["->"], "&&": _SIGN_HINTS["&"]}
_PREDICATE_HINT = "a predicate is one word, such as hasRevenue; " + _TERM_HINT
_EMPTY_HINT = "write a rule such as: ?x hasRevenue ?y and ?y > 50000 => ?x isTaxable true"
MOST_WRITTEN = 10 * MOST_CHARACTERS
"""Characters of a text that is read; escapes in quotes take several for one."""


def parse(text: str) -> Rule:
    """The rule that a text says, not yet checked for safety; RuleError says where it cannot be read."""
    if len(text) > MOST_WRITTEN:
        raise RuleError(f"a text of {len(text):,} characters is no rule", hint="write each rule on a line of its own")
    return _Parser(text).rule()


def render(rule: Rule) -> str:
    """The text of a rule: all but its id, its times, and whether its conclusions are kept."""
    name = f"{_name(rule.name)}: " if rule.name else ""
    return f"{name}{' and '.join(map(render_part, rule.conditions))} => {_outcome(rule)}{_options(rule)}"


def render_part(part: Part) -> str:
    """One condition, comparison or conclusion as text."""
    if isinstance(part, Comparison):
        return f"{_term(part.left)} {SYMBOLS[part.operator]} {_term(part.right)}"
    return f"{'not ' * part.negated}{_term(part.subject)} {_term(part.predicate)} {_term(part.object)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _term(term: str) -> str:
    is_bare = re.fullmatch(_BARE, term) and term.isprintable() and term.casefold() not in _KEYWORDS
    # At the start of a line, { begins JSON and # a comment.
    return term if is_bare and term[0] not in "{#" and not _SEVERITY.match(term) else _quoted(term)


def _name(name: str) -> str:
    return name if re.fullmatch(_PLAIN_NAME, name) else _quoted(name)


def _words(text: str) -> str:
    is_plain = text == text.strip() and text.isprintable() and text[:1] != '"' and "[" not in text
    return text if is_plain else _quoted(text)


def _outcome(rule: Rule) -> str:
    if rule.type is RuleType.POLICY:
        return f"DO {_words(rule.action)}"
    if rule.type is RuleType.CONSTRAINT:
        return f"{rule.severity.upper()}{': ' * bool(rule.message)}{_words(rule.message)}"
    return render_part(rule.conclusion) if rule.conclusion else ""


def _options(rule: Rule) -> str:
    given = {
        f"factor {rule.factor!r}": rule.factor != FACTOR,
        "escalate": rule.escalate,
        "off": not rule.enabled,
        f"domain {_term(rule.domain)}": rule.domain,
        f"about {_quoted(rule.description)}": rule.description,
    }
    chosen = ", ".join(option for option, is_given in given.items() if is_given)
    return f" [{chosen}]" if chosen else ""


class _Parser:
    """Reads one rule from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._skip()

    def rule(self) -> Rule:
        match = _NAME.match(self._text, self._at)
        name = self._unquoted(match["name"]) if match else ""
        self._skip(match.end() if match else self._at)
        parts = [self._part()]
        while self._takes("and", ","):
            parts.append(self._part())
        if not self._takes("=>"):
            self._fail("`and` or `=>`", self._hint())
        outcome = self._outcome() | self._options()
        if self._at < len(self._text):
            self._fail("the end of the rule", self._hint())
        return Rule(id="", name=name, conditions=tuple(parts), **outcome)

    def _part(self) -> Part:
        negated, start = bool(self._takes("not")), self._at
        left = self._term("a subject, such as ?x")
        operator = _OPERATORS.get(self._takes(*_OPERATORS))
        if operator is None:
            return Condition(left, self._term("a predicate or an operator"), self._term("an object"), negated)
        if negated:
            self._at = start
            self._fail("a condition, as `not` is for facts", "turn the comparison round: `?y <= 5` for `not ?y > 5`")
        return Comparison(left, operator, self._term("a value to compare with"))

    def _outcome(self) -> dict[str, Any]:
        if match := _SEVERITY.match(self._text, self._at):
            self._skip(match.end())
            severity = Severity(match[1].lower())
            return {"type": RuleType.CONSTRAINT, "severity": severity, "message": self._words()}
        if match := _DO.match(self._text, self._at):
            self._skip(match.end())
            return {"type": RuleType.POLICY, "action": self._words()}
        subject = self._term("a conclusion such as `?x isTaxable true`, `ERROR: a message`, or `DO an action`")
        conclusion = Condition(subject, self._term("a predicate"), self._term("an object"))
        return {"type": RuleType.INFERENCE, "conclusion": conclusion}

    def _words(self) -> str:
        """A message or an action: in quotes, or all up to the options."""
        if _QUOTED_WORDS.match(self._text, self._at):
            return self._term("a text")
        words = self._text[self._at :].partition("[")[0]
        self._skip(self._at + len(words))
        return words.strip()

    def _options(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        sign = self._takes("[")
        while sign in ("[", ","):
            name = self._takes(*_OPTIONS)
            if not name:
                self._fail("an option", _OPTION_HINT)
            field, value = _OPTIONS[name]
            found[field] = value if isinstance(value, bool) else self._value(value)
            sign = self._takes(",", "]")
            if not sign:
                self._fail("`,` or `]`", _OPTION_HINT)
        return found

    def _value(self, kind: type[str] | type[float]) -> str | float:
        start = self._at
        try:
            return kind(self._term("a value"))
        except ValueError:
            self._at = start
            self._fail("a number", _OPTION_HINT)

    def _term(self, expected: str) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match["symbol"] or match[0].casefold() in _KEYWORDS:
            self._fail(expected, self._hint() if self._text.strip() else _EMPTY_HINT)
        term = self._unquoted(match[0]) if match["quoted"] else match[0]
        self._skip(match.end())
        return term

    def _unquoted(self, text: str) -> str:
        if text[0] != '"':
            return text
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            self._fail("a text in quotes as in JSON", r"write \" for a quote and \\ for a backslash in it")

    def _takes(self, *wanted: str) -> str:
        """Go on behind one of these words or signs and say which it was; otherwise nothing."""
        match = _TOKEN.match(self._text, self._at)
        if match is None or match[0].lower() not in wanted:
            return ""
        self._skip(match.end())
        return match[0].lower()

    def _skip(self, at: int = 0) -> None:
        self._at = at
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _hint(self) -> str:
        """What is probably meant by the word or sign at which something else was expected."""
        found = _TOKEN.match(self._text, self._at)
        word = found[0].lower() if found else ""
        sign = "->" if self._text[max(0, self._at - 1) : self._at + 2].strip().startswith("->") else word
        is_value = bool(word) and (word[0] == "?" or read_literal(word).kind is not LiteralKind.TEXT)
        return _SIGN_HINTS.get(sign) or (_PREDICATE_HINT if is_value else _TERM_HINT)

    def _fail(self, expected: str, hint: str) -> NoReturn:
        """Say what was expected, and show where with a caret below the line."""
        start = max(self._text.rfind("\n", 0, self._at) + 1, self._at - 60)
        line = self._text[start : start + 100].partition("\n")[0].replace("\t", " ")
        before = (sign for sign in line[: self._at - start] if not combining(sign))
        margin = "".join("\u3000" if east_asian_width(sign) in "WF" else " " for sign in before)
        found, sign = _TOKEN.match(self._text, self._at), self._text[self._at : self._at + 1]
        rest = "a quote that is not closed" if sign == '"' else repr(sign) if sign else "the end"
        instead = repr(found[0][:40]) if found else rest
        where = f"at character {self._at + 1}, not {instead}:\n{line}\n{margin}^"
        raise RuleError(f"expected {expected} {where}", hint=hint)
