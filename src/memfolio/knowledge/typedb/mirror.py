"""A mirror of one agent's knowledge on a TypeDB server: synced best effort, and queried.

The files are the truth; nothing is ever read from the server into them. Keys and digests show how the mirror differs
from what is known, so a sync can be interrupted and repeated at any time.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import socket
import threading
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from memfolio.embed.post import in_time
from memfolio.errors import MemfolioError, MirrorError, RefusedError
from memfolio.index.database import get_meta, set_meta
from memfolio.index.facts import Fact
from memfolio.index.lookup import newest
from memfolio.index.search import Filter
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import FactFilter, find_facts
from memfolio.knowledge.model import ATTRIBUTES, NODES, PREDICATES, RELATIONS, kind_named
from memfolio.knowledge.ontology.document import Term, TermKind
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.knowledge.rule import Rule, render
from memfolio.knowledge.rules import Rules
from memfolio.recall.searcher import Searcher
from memfolio.text import counted, packaged_table, printable
from memfolio.types import Origin, frozen
from memfolio.vault.journal import Record
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.settings import Mirroring

MOST_BYTES = 16 << 20
"""How long an answer may be."""
_MOST_SAID = 300
_UNAUTHORIZED, _FORBIDDEN = 401, 403
Answer = dict[str, Any]


class TypeDBClient:
    """HTTP client for one TypeDB database; signs in when needed, and again when the token has expired."""

    def __init__(self, settings: Mirroring) -> None:
        self._settings = settings
        self._url = settings.url
        self._token = ""
        self._socket: socket.socket | None = None
        self._is_closed = False

    def version(self) -> str:
        """Return name and version of the server, which needs no sign-in."""
        answer = self._checked(*self._ask("GET", "/v1/version"))
        return f"{answer.get('distribution', 'TypeDB')} {answer.get('version', '')}".strip()

    def databases(self) -> list[str]:
        """The databases on the server."""
        found = self._call("GET", "/v1/databases").get("databases")
        if not isinstance(found, list):
            raise self._strange("no list of databases")
        return [str(each.get("name", "")) for each in found if isinstance(each, dict)]

    def make_database(self) -> bool:
        """Make the database unless it is there; whether it was made."""
        if self._settings.database in self.databases():
            return False
        self._call("POST", f"/v1/databases/{quote(self._settings.database)}")
        return True

    def ask(self, query: str, *, most: int = 1, kind: str = "read") -> list[Any]:
        """The rows or documents that a query finds, at most so many; `kind` is read, write or schema."""
        asked = {"query": query, "commit": kind != "read", "queryOptions": {"answerCountLimit": most}}
        found = self._call("POST", "/v1/query", self._transaction(kind) | asked).get("answers")
        return found if isinstance(found, list) else []

    def write(self, queries: Iterable[str]) -> None:
        """Run queries in one write transaction: all of them, or none."""
        opened = self._call("POST", "/v1/transactions/open", self._transaction("write"))
        path = f"/v1/transactions/{quote(str(opened.get('transactionId', '')), safe='')}"
        try:
            for query in queries:
                self._call("POST", f"{path}/query", {"query": query, "queryOptions": {"answerCountLimit": 1}})
            self._call("POST", f"{path}/commit")
        except MirrorError:
            with suppress(MirrorError):  # the server closes it by itself after a while
                self._call("POST", f"{path}/close")
            raise

    def close(self) -> None:
        """Break off a request that is under way, and make no other."""
        self._is_closed = True
        self._break_off()

    def _break_off(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _transaction(self, kind: str) -> Answer:
        return {"databaseName": self._settings.database, "transactionType": kind}

    def _call(self, method: str, path: str, body: Answer | None = None) -> Answer:
        """The answer to a request that needs a token; an old token is replaced once."""
        if self._token:
            status, answer = self._ask(method, path, body)
            # An expired token is told as 401; after signing in once more, any other refusal is an error.
            if status != _UNAUTHORIZED:
                return self._checked(status, answer)
        self._sign_in()
        return self._checked(*self._ask(method, path, body))

    def _sign_in(self) -> None:
        self._token = ""
        who = {"username": self._settings.username, "password": self._settings.password}
        if self._url and not all(who.values()):
            hint = "set typedb.username, and MEMFOLIO_TYPEDB_PASSWORD in the environment"
            raise self._failure("wants a user name and a password", hint)
        token = self._checked(*self._ask("POST", "/v1/signin", who)).get("token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise self._strange("no token")
        self._token = token

    def _ask(self, method: str, path: str, body: Answer | None = None) -> tuple[int, Any]:
        """Send a request and return its status and JSON document; None if the answer is not JSON."""
        from http.client import HTTPException

        if not self._url or self._is_closed:
            message = "the mirror is closed" if self._is_closed else "there is no TypeDB server"
            raise MirrorError(message, hint="set typedb.url in memfolio.toml")
        timeout = self._settings.timeout

        def late() -> MirrorError:
            self._break_off()  # or a server that sends a letter now and then would keep the thread for ever
            hint = "see how the server is doing, or raise typedb.timeout"
            return self._failure(f"did not answer within {timeout:g} seconds", hint)

        try:
            status, content = in_time(lambda: self._exchange(method, path, body), timeout, late)
        except (OSError, HTTPException, ValueError) as error:
            why = self._cleaned(str(error)) or type(error).__name__
            raise self._failure(f"cannot be reached: {why}", "start it, or check typedb.url") from error
        try:
            return status, json.loads(content, parse_constant=str) if content.strip() else {}
        except (ValueError, RecursionError):
            return status, None

    def _exchange(self, method: str, path: str, body: Answer | None) -> tuple[int, bytes]:
        from http.client import HTTPConnection, HTTPSConnection

        headers = {"Content-Type": "application/json", "User-Agent": "memfolio", "Connection": "close"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        # Half a surrogate pair would keep everything behind it from being sent.
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        place = urlsplit(self._url)
        if not place.hostname:
            raise ValueError("the address names no host")  # which http.client would take for this machine
        scheme = HTTPSConnection if place.scheme == "https" else HTTPConnection
        with closing(scheme(place.netloc, timeout=self._settings.timeout)) as connection:
            connection.connect()
            self._socket = connection.sock
            connection.request(method, place.path.rstrip("/") + path, sent, headers)
            with connection.getresponse() as response:
                content = response.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            hint = "ask for less: add `limit 100;` to the query"
            raise self._failure(f"answered with more than {MOST_BYTES:,} bytes", hint)
        if response.length:
            raise ConnectionError("the answer breaks off")
        return response.status, content

    def _checked(self, status: int, answer: Any) -> Answer:
        """Return a valid answer; raises MirrorError if the server redirects, refuses, or answers with something odd."""
        if 300 <= status < 400:
            hint = "put the address that it leads to into typedb.url"
            raise self._failure(f"answered {status}, a redirect, which is not followed", hint)
        fields: Answer = answer if isinstance(answer, dict) else {}
        if status >= 400:
            reason = self._cleaned(": ".join(str(fields[name]) for name in ("code", "message") if name in fields))
            is_locked = status in (_UNAUTHORIZED, _FORBIDDEN)
            hint = "check typedb.username and the password" if is_locked else "see the server's log"
            raise self._failure(f"answered {status}{reason and ': '}{reason}", hint)
        if not isinstance(answer, dict):
            raise self._strange("no JSON object")
        return fields

    def _strange(self, what: str) -> MirrorError:
        hint = "check that typedb.url is the address of its HTTP API, by default on port 8000"
        return self._failure(f"did not answer as TypeDB 3 does: {what}", hint)

    def _failure(self, what: str, hint: str) -> MirrorError:
        return MirrorError(f"{self._url} {what}", hint=hint)

    def _cleaned(self, text: str) -> str:
        """Words of others for a message: one short line, without secrets."""
        for secret in filter(None, (self._settings.password, self._token)):
            text = text.replace(secret, "…")
        return printable(text)[:_MOST_SAID]


# The TypeQL 3 schema of the copy: the base model, and the classes and properties of the ontology beside it. Pure.

NODE = "node"
"""The abstract supertype of all entities, with the attributes and roles that all of them have."""
KEYED = ("owns uid @key", "owns agent-id", "owns digest")
_TABLES = packaged_table("knowledge/data/typedb.toml")
RESERVED = frozenset(_TABLES["reserved"].split())
OWN: dict[str, str] = _TABLES["own"]
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_MOST = 60


class SchemaRelation(NamedTuple):
    """A relation with its roles, the subject's first, each with an entity type that plays it."""

    label: str
    roles: tuple[tuple[str, str], ...]


class Schema:
    """The TypeQL schema, and the mapping of predicates and kinds in facts to its types."""

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.attributes = {kebab(name): value for name, value in ATTRIBUTES.items()} | OWN
        self.entities: dict[str, str] = {kebab(kind): NODE for kind in NODES}
        """Each with the type above it."""
        self.relations: dict[str, SchemaRelation] = {}
        self._kinds = {kind: kebab(kind) for kind in NODES}
        """Names that `isA` may have as object, with their types."""
        self._named = {name: name for name in self.attributes}
        """Names of attributes in facts, in kebab case, with their labels."""
        self._can: defaultdict[str, set[str]] = defaultdict(set)
        """The attributes and roles of each entity type."""
        for kind, names in NODES.items():
            self._can[kebab(kind)] |= {_owns(kebab(name)) for name in names if name != "uid"}
        self._can["memory-item"].add(_owns("memory-kind"))
        for name, roles in RELATIONS.items():
            self._relate(SchemaRelation(kebab(name), tuple((role, kebab(kind)) for role, kind in roles)), name)
        self._extend(sorted(terms, key=lambda term: term.id))

    def kind(self, word: str) -> str | None:
        """The entity type that `isA` names with this word."""
        return self._kinds.get(word) or self._kinds.get(kind_named(word))

    def attribute(self, predicate: str, kind: str) -> str | None:
        """The attribute that a predicate gives to an entity of this type."""
        label = self._named.get(kebab(predicate.rpartition(":")[2]), "")
        return label if any(_owns(label) in self._can[each] for each in self._above(kind)) else None

    def relation(self, predicate: str, subject: str, object: str) -> SchemaRelation | None:
        """The relation that a predicate states between entities of these types, with the roles that they play."""
        found = self.relations.get(PREDICATES.get(predicate, predicate))
        if found is None or found.roles[0][1] not in self._above(subject):
            return None
        role = next((role for role, kind in found.roles[1:] if kind in self._above(object)), None)
        return SchemaRelation(found.label, ((found.roles[0][0], subject), (role, object))) if role else None

    def depth(self, kind: str) -> int:
        """Return the number of supertypes."""
        return len(list(self._above(kind)))

    def define(self) -> str:
        """The statement that adds all types to a database; it can be sent again and again."""
        lines = [f"attribute {label}, value {value};" for label, value in sorted(self.attributes.items())]
        lines.append(f"entity {NODE} @abstract, {', '.join((*KEYED, *sorted(self._can[NODE])))};")
        for label, parent in sorted(self.entities.items(), key=lambda each: (self.depth(each[0]), each[0])):
            inherited = set[str]().union(*(self._can[each] for each in self._above(parent)))
            own = sorted(self._can[label] - inherited)  # to say again what is inherited is an error on some servers
            lines.append(f"entity {', '.join((label, f'sub {parent}', *own))};")
        for relation in sorted(set(self.relations.values())):
            roles = dict.fromkeys(f"relates {role}" for role, _ in relation.roles)
            lines.append(f"relation {', '.join((relation.label, *roles, *KEYED))};")
        return "\n  ".join(("define", *lines)) + "\n"

    def _extend(self, terms: list[Term]) -> None:
        """Add the classes of an ontology, each below its first parent, then their properties."""
        classes = [term for term in terms if term.kind is TermKind.CLASS]
        base = set(self.entities)
        for term in classes:
            kind = kind_named(term.name)
            label = self._kinds[kind] if kind in NODES else self._fresh(term.name)
            self._kinds[term.id] = label
            self._kinds.setdefault(term.name, label)
            self.entities.setdefault(label, NODE)
        for term in classes:
            label, parent = self._kinds[term.id], self._type(next(iter(term.parents), ""))
            if label not in base and label not in self._above(parent):  # a circle is cut there
                self.entities[label] = parent
        for term in terms:
            start = self._type(term.domain_class)
            is_known = term.name in PREDICATES or term.name in RELATIONS  # the base model's own
            if term.kind is TermKind.OBJECT and not is_known:
                roles = (("subject", start), ("object", self._type(term.range)))
                self._relate(SchemaRelation(self._fresh(term.name), roles), term.id, term.name)
            elif term.kind is TermKind.DATATYPE:
                self._add_attribute(term, start)

    def _relate(self, relation: SchemaRelation, *names: str) -> None:
        for name in names:
            self.relations.setdefault(name, relation)
        for role, kind in relation.roles:
            self._can[kind].add(f"plays {relation.label}:{role}")

    def _add_attribute(self, term: Term, start: str) -> None:
        name = kebab(term.name)
        if name not in self._named:
            label = self._named[name] = self._fresh(name)
            self.attributes[label] = _TABLES["values"].get(term.range, "string")
        # Keys and digests are ours: an ontology cannot give them to its classes.
        if self._named[name] not in ("uid", *OWN):
            self._can[start].add(_owns(self._named[name]))

    def _type(self, id: str) -> str:
        return self._kinds.get(id, NODE)

    def _fresh(self, text: str) -> str:
        """A label that is no other's; the first of those that would be the same has no number."""
        # TypeQL has one namespace for all types.
        taken = {NODE, *self.attributes, *self.entities, *(each.label for each in self.relations.values())}
        name = label = kebab(text)
        number = 1
        while label in taken:
            number += 1
            label = f"{name}-{number}"
        return label

    def _above(self, kind: str) -> Iterator[str]:
        """A type and those above it."""
        at: str | None = kind
        while at is not None:
            yield at
            at = self.entities.get(at)


def _owns(attribute: str) -> str:
    return f"owns {attribute} @card(0..)"


def kebab(text: str) -> str:
    """A text as a TypeQL identifier: words in small letters with - between, and no word of the language."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = "-".join(filter(None, _WORDS.split(plain))).lower()[:_MOST].strip("-")
    name = name if name[:1].isalpha() else f"term-{name}".strip("-")
    return f"{name}-term" if name in RESERVED else name


# What is known as things and relations of the schema, and the statements that write them. Pure.

MOST_TEXT = 60_000
"""How many bytes of a text are sent."""
BATCH, MOST_SENT = 100, 1 << 20
"""The most rows and bytes per transaction: the server refuses requests of 2 MB."""
INT64 = 2**63
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"})


@dataclass(frozen=True, slots=True)
class TypeDBRow:
    """An entity or, with players, a relation: its type, its key on the server, its attributes as TypeQL literals."""

    label: str
    uid: str
    has: tuple[str, ...]
    players: tuple[tuple[str, TypeDBRow], ...] = ()
    """Who plays which role."""

    @property
    def digest(self) -> str:
        """Differs when anything differs, also in those whom it relates: they are replaced together."""
        parts = (self.label, *self.has, *(f"{role}:{row.uid}:{row.digest}" for role, row in self.players))
        return sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]

    def statement(self, variable: str, agent: str) -> str:
        """Return the insert statement; its players are called $p0, $p1 and so on."""
        roles = ", ".join(f"{role}: $p{number}" for number, (role, _) in enumerate(self.players))
        keys = f"has uid {quoted(self.uid)}, has agent-id {quoted(agent)}, has digest {quoted(self.digest)}"
        return ", ".join((f"${variable} isa {self.label}{f' ({roles})' if roles else ''}, {keys}", *self.has)) + ";"


class RowGroup:
    """Makes the rows of one sort: their keys begin with the agent and the sort."""

    def __init__(self, agent: str, sort: str, schema: Schema) -> None:
        self._prefix, self._sort, self._schema = f"{agent}/{sort}/", sort, schema

    def things(self, known: Iterable[Any]) -> Iterator[TypeDBRow]:
        """Facts, rules, cases or memories."""
        paths = dict(_TABLES["rows"][self._sort])
        label = paths.pop("type")
        for each in known:
            values = [(name, attrgetter(path)(each)) for name, path in paths.items()]
            values += [("condition-text", render(each))] if isinstance(each, Rule) else []
            yield TypeDBRow(label, self._prefix + each.id, tuple(self._has(values)))

    def _has(self, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
        for name, value in values:
            for each in dict.fromkeys(value if isinstance(value, tuple) else (value,)):
                if (found := literal(each, self._schema.attributes[name])) is not None:
                    yield f"has {name} {found}"

    def graph(self, facts: Sequence[Fact]) -> Iterator[TypeDBRow]:
        """Yield facts as a graph: an entity per subject with a known type, and the relations between those.

        Relations come last, and in reverse order their keys come before those of entities.
        """
        kinds = self._kinds(facts)
        values: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for fact in facts:
            if label := self._schema.attribute(fact.predicate, kinds.get(fact.subject, "")):
                values[fact.subject].add((label, fact.object))
        nodes = {
            name: TypeDBRow(kind, f"{self._prefix}node/{name}", tuple(self._has(sorted(values[name]))))
            for name, kind in sorted(kinds.items())
        }
        yield from nodes.values()
        for fact in facts:
            one, other = nodes.get(fact.subject), nodes.get(fact.object)
            if one and other and (found := self._schema.relation(fact.predicate, one.label, other.label)):
                (first, _), (second, _) = found.roles
                yield TypeDBRow(found.label, f"{self._prefix}tie/{fact.id}", (), ((first, one), (second, other)))

    def _kinds(self, facts: Iterable[Fact]) -> dict[str, str]:
        """The type of each subject that has one; of several the most special."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for fact in facts:
            if fact.predicate == "isA" and (kind := self._schema.kind(fact.object)):
                found[fact.subject].add(kind)
        return {name: max(kinds, key=lambda kind: (self._schema.depth(kind), kind)) for name, kinds in found.items()}


def quoted(text: str) -> str:
    """A text as a TypeQL string: whatever is in it, it does not end there."""
    whole = text.encode("utf-8", "replace")
    cut = whole.decode() if len(whole) <= MOST_TEXT else whole[: MOST_TEXT - 3].decode(errors="ignore") + "…"
    return f'"{cut.translate(_ESCAPED)}"'


def literal(value: Any, type: str) -> str | None:
    """Return a value as a TypeQL literal of a type; None if it is empty or of another type."""
    if value is None or value == "":
        return None
    with suppress(ValueError, OverflowError):
        match type:
            case "boolean":
                return {"true": "true", "false": "false"}.get(str(value).lower())
            case "integer":
                return str(int(str(value))) if abs(int(str(value))) < INT64 else None
            case "double":
                number = _number(str(value))
                return f"{number:.9f}" if math.isfinite(number) else None
            case "datetime":
                moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
                plain = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
                return plain.isoformat(timespec="microseconds")
            case _:
                return quoted(str(value))
    return None


def batches(rows: Iterable[TypeDBRow]) -> Iterator[list[TypeDBRow]]:
    """Rows in groups that fit into a transaction, in their order."""
    batch, size = list[TypeDBRow](), 0
    for row in rows:
        weight = sum(len(each.encode()) for each in row.has)
        if batch and (len(batch) >= BATCH or size + weight > MOST_SENT):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def insert_queries(rows: Sequence[TypeDBRow], agent: str) -> list[str]:
    """Return queries that insert new rows: all entities at once, then each relation between them."""
    things = [row.statement(f"n{number}", agent) for number, row in enumerate(rows) if not row.players]
    made = ["insert\n" + "\n".join(things)] if things else []
    for row in rows:
        if row.players:
            players = enumerate(player for _, player in row.players)
            found = " ".join(f"$p{number} isa {each.label}, has uid {quoted(each.uid)};" for number, each in players)
            made.append(f"match {found}\ninsert {row.statement('n0', agent)}")
    return made


def delete_query(uids: Iterable[str]) -> str:
    """Return a query that deletes the entities and relations with these keys, if they exist."""
    which = " or ".join(f"{{ $u == {quoted(uid)}; }}" for uid in uids)
    return f"match $x has uid $u; {which};\ndelete $x;"


def held_query(agent: str, sort: str, after: str, most: int) -> str:
    """Return a query for the keys and digests of a sort that follow `after`."""
    last = quoted(f"{agent}/{sort}0")
    return (
        f"match $x has uid $u, has digest $d; $u > {quoted(after or f'{agent}/{sort}/')}; $u < {last};\n"
        f'sort $u; limit {most}; fetch {{ "uid": $u, "digest": $d }};'
    )


def _number(text: str) -> float:
    """A number, or a percentage as the share that it is."""
    return float(text.rstrip("% ")) / 100 if text.endswith("%") else float(text)


logger = logging.getLogger("memfolio")
PAGE, MOST_ROWS = 5000, 10_000
"""How many keys are asked for at once, and how many rows a raw query may find."""
CALM, LAST_PAUSE = 0.5, 60.0
"""Seconds to wait after a change before it is sent, and the longest wait before a retry."""
SHARE = 10
"""How many times as long as a sync took the next one waits, so that a large home is not busy with it."""
ALL = -1  # as many as there are, to the index
Progress = Callable[[int, int], None]


@frozen
class Synced:
    """How many rows of each sort a sync added and removed, or would; a changed row counts as both."""

    added: Mapping[str, int]
    removed: Mapping[str, int]
    head: int
    """The change up to which the server has everything."""


@frozen
class MirrorStatus:
    """The state of the copy; `synced` is the last change it includes, None if nothing was sent yet."""

    url: str
    database: str
    is_reachable: bool
    version: str
    databases: tuple[str, ...]
    synced: int | None
    head: int
    trouble: str | None


@frozen
class QueryRows:
    """The rows of a raw query up to the size limit, and how many were cut."""

    rows: tuple[Any, ...]
    cut: int


class TypeDB:
    """The mirror of one agent. Without an address in the configuration it does nothing and contacts nobody."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str, *, background: bool = False) -> None:
        self._vault, self._searcher, self._agent = vault, searcher, agent
        self._settings = vault.config.typedb
        self._place = f"typedb {self._settings.url} {self._settings.database}"
        self._failure: str | None = None
        self._process = 0
        self._begin()
        if self._settings.url and background:
            vault.subscribe(self._note)
            self._note(None)  # for what was changed while nobody followed

    def _begin(self) -> None:
        """Start unless started; again in a forked process, which has no thread and may have inherited a held lock."""
        if self._process != os.getpid():
            self._process, self._client, self._defined = os.getpid(), TypeDBClient(self._settings), ""
            self._lock, self._woken, self._stopping = threading.Lock(), threading.Event(), threading.Event()
            self._thread: threading.Thread | None = None

    def schema(self) -> str:
        """The define statement for the base model and the ontology."""
        return self._schema().define()

    def _schema(self) -> Schema:
        return Schema(Ontology(self._vault, self._searcher, self._agent).terms())

    def status(self) -> MirrorStatus:
        """Return the state of the server and the mirror on it; a failing server is reported, not raised."""
        version, databases, trouble = "", list[str](), self.trouble()
        try:
            version = self._client.version()
            databases = self._client.databases()
        except MirrorError as error:
            trouble = error.message
        return MirrorStatus(
            url=self._settings.url,
            database=self._settings.database,
            is_reachable=bool(version),
            version=version,
            databases=tuple(databases),
            synced=self._synced(),
            head=self._vault.head,
            trouble=trouble,
        )

    def trouble(self) -> str | None:
        """Why the copy is not up to date, as far as that is known without asking the server; None when it is."""
        if not self._settings.url:
            return None
        if self._failure:
            return self._failure
        with suppress(MemfolioError):  # which is told as trouble of the index or the home
            synced = self._synced()
            if synced is None:
                return "nothing was sent yet; `memfolio typedb sync` sends it"
            if behind := self._vault.head - synced:
                return f"changes that were not sent yet: {behind:,}; `memfolio typedb sync` sends them"
        return None

    def sync_schema(self) -> bool:
        """Make the database unless it is there, and define the schema; whether the database was made."""
        made = self._client.make_database()
        self._client.ask(self.schema(), kind="schema")
        return made

    def sync_data(self, *, dry_run: bool = False, progress: Progress = lambda done, total: None) -> Synced:
        """Make the mirror equal to what is known; `dry_run` only counts. Raises MirrorError if the server fails."""
        self._begin()
        with self._lock:
            # Read before the data: what changes meanwhile is sent once more by the next sync.
            head, schema = self._vault.head, self._schema()
            defined, self._defined = self._defined, ""  # after a failure the database may be another one
            is_empty = dry_run and self._settings.database not in self._client.databases()
            if not dry_run and schema.define() != defined:
                self.sync_schema()
            added, removed = {}, {}
            for sort, rows in self._rows(schema):
                wanted = {row.uid: row for row in rows}
                # A dry run must not make the database that it looks into.
                held = {} if is_empty else dict(self._held(sort))
                gone = [uid for uid in held if uid not in wanted or wanted[uid].digest != held[uid]]
                new = [row for row in wanted.values() if held.get(row.uid) != row.digest]
                added[sort], removed[sort] = len(new), len(gone)
                if not dry_run:
                    self._send(new, gone, progress)
            if not dry_run:
                self._mark(head)
                self._defined = schema.define()
        return Synced(added=added, removed=removed, head=head)

    def _rows(self, schema: Schema) -> Iterator[tuple[str, Iterable[TypeDBRow]]]:
        place, group = (self._vault, self._searcher, self._agent), partial(RowGroup, self._agent, schema=schema)
        read, asserted = self._searcher.index.read, FactFilter(derived=False, limit=ALL)
        facts = read(lambda connection: find_facts(connection, asserted, self._agent))
        yield "fact", group("fact").things(facts)
        yield "graph", group("graph").graph(facts)
        yield "rule", group("rule").things(Rules(*place).list())
        cases = [case for case in Cases(*place).list() if case.origin != Origin.UNTRUSTED.value]
        yield "case", group("case").things(cases)
        memories = read(lambda connection: newest(connection, Filter(forms=("memory",)), ALL))
        yield "memory", group("memory").things(each.item for each in memories)

    def _held(self, sort: str) -> Iterator[tuple[str, str]]:
        """Yield the keys and digests of a sort that are on the server."""
        after = ""
        while True:
            page = self._client.ask(held_query(self._agent, sort, after, PAGE), most=PAGE)
            for each in page:
                uid, digest = (each.get("uid"), each.get("digest")) if isinstance(each, dict) else (None, None)
                # A page that does not go on would be asked for without end.
                if not isinstance(uid, str) or not isinstance(digest, str) or uid <= after:
                    hint = "delete the database there and sync again"
                    raise MirrorError(f"{self._settings.url} did not list what it holds in order", hint=hint)
                after = uid
                yield uid, digest
            if len(page) < PAGE:
                return

    def _send(self, new: list[TypeDBRow], gone: list[str], progress: Progress) -> None:
        """Delete, then insert. Relations are deleted before their players and inserted after them."""
        gone.sort(reverse=True)  # .../tie/... stands behind .../node/...
        new.sort(key=lambda row: bool(row.players))
        done, total = 0, len(gone) + len(new)
        for start in range(0, len(gone), BATCH):
            batch = gone[start : start + BATCH]
            self._client.write([delete_query(batch)])
            progress(done := done + len(batch), total)
        for rows in batches(new):
            self._client.write(insert_queries(rows, self._agent))
            progress(done := done + len(rows), total)

    def query(self, text: str) -> QueryRows:
        """Run a TypeQL query; answers are cut at `typedb.bytes`.

        The mirror holds the knowledge of every agent, so only a reader of all agents may query it.
        """
        readable = {index.agent for index in self._searcher.indexes()}
        if self._vault.scope is not None and not set(self._vault.agents()) <= readable:
            hint = "ask the owner; `fact query` answers from what this agent may read"
            raise RefusedError(f"the server holds every agent's memory, so {self._agent} may not ask it", hint=hint)
        rows = self._client.ask(text, most=MOST_ROWS)
        shown, left = list[Any](), self._settings.bytes - 2  # the brackets around the list
        for row in rows:
            line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")  # JSON can have half a character
            left -= len(line) + 2
            if left < 0:
                break
            shown.append(json.loads(line))
        return QueryRows(rows=tuple(shown), cut=len(rows) - len(shown))

    # Up to which change the server has everything: kept in the index, which is a cache. Without it all is compared.

    def _synced(self) -> int | None:
        found = self._searcher.index.read(lambda connection: get_meta(connection, self._place))
        return found if isinstance(found, int) else None

    def _mark(self, head: int) -> None:
        self._failure = None
        self._searcher.index.write(lambda connection: set_meta(connection, self._place, head))

    def _note(self, record: Record | None) -> None:
        """Wake the sending thread. Called under the write lock, so it must not do more."""
        self._begin()
        if self._stopping.is_set():
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="memfolio-typedb", daemon=True)
            self._thread.start()
        self._woken.set()

    def _run(self) -> None:
        pause = CALM
        while self._woken.wait() and not self._stopping.wait(pause):
            self._woken.clear()
            started = time.monotonic()
            try:
                if self._synced() != self._vault.head:
                    self.sync_data()
                # A sync compares everything; in a large home it must not run all the time.
                pause = max(CALM, SHARE * (time.monotonic() - started))
            except MemfolioError as error:
                pause = min(2 * pause, LAST_PAUSE)
                self._failure = error.message
                logger.debug("the mirror stays behind: %s", error.message)
                self._woken.set()

    def close(self) -> None:
        """Stop sending, and abort a running request."""
        self._vault.unsubscribe(self._note)
        if self._process == os.getpid():
            self._stopping.set()
            self._woken.set()
            self._client.close()
            if self._thread is not None:
                self._thread.join(timeout=CALM)


def catch_up(vault: Vault, searcher: Searcher, agent: str) -> str:
    """Send what changed since the last sync, if a server is configured; returns a short summary, or nothing."""
    mirror = TypeDB(vault, searcher, agent)
    if mirror.trouble() is None:
        return ""
    done = mirror.sync_data()
    sent, taken = sum(done.added.values()), sum(done.removed.values())
    return f"{counted(sent, 'row')} sent to TypeDB, {taken:,} removed there" if sent or taken else ""
