"""A small TypeQL 3 engine for tests: enough of the language to hold what is written, and strict about the rest."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

RESERVED = set(
    """with match fetch update define undefine redefine insert put delete end entity relation attribute role asc desc
    struct fun return alias sub owns as plays relates iid isa links has is or not try in true false of from first
    last""".split()
)
TOKEN = re.compile(
    r"""\s+|(?P<string>"(?:[^"\\]|\\.)*")|(?P<time>\d{4}-\d\d-\d\dT[\d:.]+)|(?P<number>-?\d+(?:\.\d+)?)
    |(?P<variable>\$[A-Za-z0-9][\w-]*)|(?P<mark>@\w+(?:\([^)]*\))?)|(?P<word>[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)?)
    |(?P<sign>[{}(),;:]|[<>=]=?)""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
Thing = dict[str, Any]
Binding = dict[str, Any]


class BadQueryError(Exception):
    pass


class Tokens:
    """The words of a query, read from left to right."""

    def __init__(self, text: str) -> None:
        self.list: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise BadQueryError(f"cannot read {text[at : at + 20]!r}")
            at = found.end()
            if found.lastgroup:
                self.list.append((found.lastgroup, found[found.lastgroup]))

    def peek(self) -> str:
        return self.list[0][1] if self.list and self.list[0][0] != "string" else ""

    def take(self, *wanted: str) -> str:
        if not self.list or (wanted and self.list[0][1] not in wanted):
            raise BadQueryError(f"expected {wanted}, found {self.list[:3]}")
        return self.list.pop(0)[1]

    def label(self) -> str:
        kind, word = self.list.pop(0)
        if kind != "word" or set(word.split(":")) & RESERVED:
            raise BadQueryError(f"{word!r} is no label")
        return word

    def value(self) -> Any:
        kind, word = self.list.pop(0)
        if kind == "string":
            return re.sub(r"\\(.)", lambda escape: ESCAPES[escape[1]], word[1:-1], flags=re.DOTALL)
        if kind == "number":
            return float(word) if "." in word else int(word)
        if kind == "variable" or kind == "time" or word in ("true", "false"):
            return {"true": True, "false": False}.get(word, word)
        raise BadQueryError(f"{word!r} is no value")

    def maybe(self, word: str) -> bool:
        return self.peek() == word and bool(self.take(word))


class Database:
    """Types and things of one database."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.parents: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.can: defaultdict[str, set[str]] = defaultdict(set)
        self.keys: set[tuple[str, str]] = set()
        self.things: list[Thing] = []

    def run(self, text: str, transaction: str) -> dict[str, Any]:
        tokens = Tokens(text)
        first, rows, answers = tokens.peek(), [Binding()], None
        if {"define": "schema", "match": "read"}.get(first, "write") == "schema" and transaction != "schema":
            raise BadQueryError("a schema transaction is needed")
        while tokens.list:
            stage = tokens.take("define", "match", "insert", "delete", "sort", "limit", "fetch")
            if stage in ("insert", "delete") and transaction == "read":
                raise BadQueryError("a write transaction is needed")
            if stage == "fetch":
                answers = list(self.fetch(tokens, rows))
            else:
                rows = getattr(self, stage)(tokens, rows)
        if first == "define":
            return {"queryType": "schema", "answerType": "ok", "answers": None}
        kind = "conceptRows" if answers is None else "conceptDocuments"
        if answers is None:
            data = ({name.lstrip("$"): shown(value) for name, value in row.items()} for row in rows)
            answers = [{"data": each, "involvedBlocks": [0]} for each in data]
        return {"queryType": transaction, "answerType": kind, "answers": answers, "query": None, "warning": None}

    def define(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        while tokens.list:
            kind, label = tokens.take("entity", "relation", "attribute"), tokens.label()
            if self.kinds.setdefault(label, kind) != kind:
                raise BadQueryError(f"{label} is {self.kinds[label]}")
            if tokens.peek() == "@abstract":
                tokens.take()
            while not tokens.maybe(";"):
                tokens.take(",")
                self.capability(tokens, label)
        known = {word for words in self.can.values() for word in words}
        for word in known:
            name = word.split(" ")[1].split(":")
            if word.startswith(("owns", "plays")) and name[0] not in self.kinds:
                raise BadQueryError(f"{name[0]} is not defined")
            if word.startswith("plays") and f"relates {name[1]}" not in self.can[name[0]]:
                raise BadQueryError(f"no role {word}")
        return []

    def capability(self, tokens: Tokens, label: str) -> None:
        word = tokens.take("sub", "owns", "plays", "relates", "value")
        if word == "value":
            wanted = tokens.take("string", "integer", "double", "boolean", "datetime")
            if self.values.setdefault(label, wanted) != wanted:
                raise BadQueryError(f"{label} has other values")
            return
        name = tokens.label()
        if word == "sub" and self.parents.setdefault(label, name) != name:
            raise BadQueryError(f"{label} is below {self.parents[label]}")
        if word != "sub":
            self.can[label].add(f"{word} {name}")
        if tokens.peek().startswith("@") and tokens.take() == "@key":
            self.keys.add((label, name))

    def above(self, label: str) -> Iterator[str]:
        at: str | None = label
        while at:
            yield at
            at = self.parents.get(at)

    def may(self, label: str, capability: str) -> bool:
        return any(capability in self.can[each] for each in self.above(label))

    def statement(self, tokens: Tokens) -> list[tuple[str, Any]]:
        """The constraints on a thing: `$x isa T (role: $p), has a "v";`."""
        found: list[tuple[str, Any]] = [("name", tokens.take())]
        while not tokens.maybe(";"):
            tokens.maybe(",")
            if tokens.take("isa", "has") == "has":
                found.append(("has", (tokens.label(), tokens.value())))
                continue
            found.append(("isa", tokens.label()))
            while tokens.peek() in ("(", ",") and (tokens.peek() == "(" or found[-1][0] == "plays"):
                if tokens.list[1][1] == "has":
                    break
                tokens.take("(", ",")
                found.append(("plays", (tokens.label(), (tokens.take(":"), tokens.take())[1])))
                tokens.maybe(")")
        return found

    def insert(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        statements = []
        while tokens.list:
            statements.append(self.statement(tokens))
        for row in rows:
            for statement in statements:
                self.add(statement, row)
        return rows

    def add(self, statement: list[tuple[str, Any]], row: Binding) -> None:
        label = next(value for what, value in statement if what == "isa")
        thing: Thing = {"type": label, "has": [], "plays": []}
        for what, value in statement:
            if what == "has":
                if self.kinds.get(label) is None or not self.may(label, f"owns {value[0]}"):
                    raise BadQueryError(f"{label} cannot own {value[0]}")
                self.check(label, *value)
                thing["has"].append(value)
            elif what == "plays":
                player = row[value[1]]
                if not self.may(player["type"], f"plays {label}:{value[0]}"):
                    raise BadQueryError(f"{player['type']} cannot play {label}:{value[0]}")
                thing["plays"].append((value[0], player))
        self.things.append(thing)
        row[statement[0][1]] = thing

    def check(self, label: str, name: str, value: Any) -> None:
        types = {"string": str, "integer": int, "double": float, "boolean": bool, "datetime": str}
        if type(value) is not types[self.values[name]]:
            raise BadQueryError(f"{name} {value!r} is no {self.values[name]}")
        owners = {(each, name) for each in self.above(label)} & self.keys
        if owners and any((name, value) in other["has"] for other in self.things):
            raise BadQueryError(f"[CNT9] the key {name} {value!r} is taken")

    def match(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        while tokens.peek() not in ("insert", "delete", "sort", "limit", "fetch", ""):
            if tokens.peek() == "{":
                rows = self.either(tokens, rows)
            elif tokens.list[1][1] in ("==", "<", ">"):
                rows = self.compare(tokens, rows)
            else:
                statement = self.statement(tokens)
                rows = [found for row in rows for thing in self.things for found in self.meets(thing, statement, row)]
        return rows

    def either(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        found: list[Binding] = []
        while tokens.maybe("{"):
            found += self.compare(tokens, rows)
            tokens.take("}")
            tokens.maybe("or")
        tokens.take(";")
        return found

    def compare(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        name, sign, value = tokens.take(), tokens.take("==", "<", ">"), tokens.value()
        tokens.take(";")
        tests = {"==": lambda a: a == value, "<": lambda a: a < value, ">": lambda a: a > value}
        return [row for row in rows if tests[sign](row[name])]

    def meets(self, thing: Thing, statement: list[tuple[str, Any]], row: Binding) -> Iterator[Binding]:
        found = [row | {statement[0][1]: thing}]
        for what, value in statement[1:]:
            if what == "isa":
                if value not in self.kinds:
                    raise BadQueryError(f"[INF2] type-inference was unable to find the type {value!r}")
                found = found if value in self.above(thing["type"]) else []
            elif what == "has" and value[0] not in self.kinds:
                raise BadQueryError(f"[INF2] type-inference was unable to find the type {value[0]!r}")
            elif what == "has" and str(value[1]).startswith("$"):
                found = [each | {value[1]: has[1]} for each in found for has in thing["has"] if has[0] == value[0]]
            elif what == "has":
                found = found if tuple(value) in thing["has"] else []
            else:
                players = [player for role, player in thing["plays"] if role == value[0]]
                found = [each | {value[1]: p} for each in found for p in players if each.get(value[1], p) is p]
        yield from found

    def delete(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        name = tokens.take()
        tokens.take(";")
        gone = [id(row[name]) for row in rows]
        self.things = [thing for thing in self.things if id(thing) not in gone]
        for thing in self.things:
            thing["plays"] = [(role, player) for role, player in thing["plays"] if id(player) not in gone]
        return []

    def sort(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        name = tokens.take()
        tokens.take(";")
        return sorted(rows, key=lambda row: str(row[name]))

    def limit(self, tokens: Tokens, rows: list[Binding]) -> list[Binding]:
        most = int(tokens.take())
        tokens.take(";")
        return rows[:most]

    def fetch(self, tokens: Tokens, rows: list[Binding]) -> Iterator[dict[str, Any]]:
        tokens.take("{")
        wanted = {}
        while not tokens.maybe("}"):
            tokens.maybe(",")
            key = tokens.value()
            tokens.take(":")
            wanted[key] = tokens.take()
        tokens.take(";")
        return ({key: row[name] for key, name in wanted.items()} for row in rows)


def shown(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kind": "entity", "iid": f"0x{id(value):x}", "type": {"kind": "entityType", "label": value["type"]}}
    return {"kind": "attribute", "value": value, "valueType": "string"}
