"""Conversations: which have turns that nobody has learned from, what was said in them, and what is known already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw

from memfolio.index.filter import Filter
from memfolio.index.lookup import Located, located
from memfolio.index.rows import clean
from memfolio.sources import OVERHEARD
from memfolio.text import match_expression, terms
from memfolio.types import Kind

SPOKEN = Filter(forms=("memory",))
_TURNS = "m.session IS NOT NULL AND m.role IS NOT NULL AND m.id < 'M-:' AND m.id > 'M-'"
MARK = 8
"""With how many characters, the last of its id, a turn is marked as read: they depend on its text, time and agent."""
MOST = 1000
"""How many memories are looked at beside what was said, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation with turns that nobody has learned from."""

    session: str
    unread: frozenset[str]
    """The ids of these turns."""
    last_us: int
    """When its last turn was written down."""
    page: str | None = None
    """Where the page about it lies, if there is one."""


class About(NamedTuple):
    """What a statement says, to find what says the same or the opposite."""

    text: str
    subject: str
    predicate: str
    object: str
    is_single: bool


def marks(ids: Iterable[str]) -> str:
    """Turns that were read, in short; neither a clock that goes back nor a turn that is cut out makes it untrue."""
    return "".join(each[-MARK:] for each in ids)


def unheard(connection: apsw.Connection, only: Collection[str] = ()) -> list[Conversation]:
    """The conversations with turns that nobody has learned from, the one that fell silent first before the others.

    All of them, or those that are named.
    """
    named = clean(tuple(only))
    read, pages = _read(connection, named)
    condition, values = SPOKEN.where()
    sql = f"""SELECT m.session, group_concat(m.id, ' '), max(m.created_at) FROM memories m
        WHERE {_TURNS} AND {_among("m.session", named)} AND {condition} GROUP BY m.session ORDER BY 3, 1"""
    found = []
    for session, ids, last_us in connection.execute(sql, (*named, *values)):
        known = read.get(session, ())
        if unread := frozenset(each for each in ids.split() if each[-MARK:] not in known):
            found.append(Conversation(session=session, unread=unread, last_us=last_us, page=pages.get(session)))
    return found


def _read(connection: apsw.Connection, named: Sequence[str]) -> tuple[dict[str, set[str]], dict[str, str]]:
    """The marks of the turns that were read in each conversation, and where the pages about them lie."""
    session = "json_extract(s.line, '$.session')"
    sql = f"""SELECT {session}, json_extract(s.line, '$.read'), json_extract(s.line, '$.page')
        FROM states s JOIN files f ON f.number = s.file
        WHERE s.op = 'session' AND {_among(session, named)} ORDER BY length(f.path), f.path, s.ordinal"""
    read, pages = dict[str, set[str]](), dict[str, str]()
    for name, mark, page in connection.execute(sql, named):
        if isinstance(mark, str):
            read.setdefault(name, set()).update(mark[at : at + MARK] for at in range(0, len(mark), MARK))
        if isinstance(page, str):
            pages[name] = page
    return read, pages


def _among(column: str, named: Sequence[str]) -> str:
    return f"{column} IN ({', '.join('?' * len(named))})" if named else "1"


def turns_of(connection: apsw.Connection, session: str) -> list[Located]:
    """What was said in a conversation, in order."""
    condition, values = SPOKEN.where()
    rest = f"WHERE {_TURNS} AND {condition} AND m.session = ? ORDER BY m.happened_at, m.file, m.ordinal"
    return list(located(connection, rest, (*values, session)))


_KNOWN = f"""m.form = 'memory' AND (m.kind <> '{Kind.EPISODIC.value}' OR m.source IN {OVERHEARD}) AND (
    m.origin <> 'untrusted' OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm'))"""
_MATCHING = "m.row IN (SELECT rowid FROM words WHERE words MATCH ?)"
_HOLDS = "m.superseded_by IS NULL AND m.forgotten_at IS NULL"
_PREDICATE = "json_extract(m.more, '$.attributes.predicate')"


def known_about(connection: apsw.Connection, said: Iterable[About]) -> list[Located]:
    """What is held as more than an event and may say the same as one of these, or the opposite, oldest first.

    Also what was replaced, archived or forgotten; not what strangers wrote and nobody confirmed.
    """
    found: dict[int, Located] = {}
    for condition, values in _conditions(list(said)):
        rest = f"WHERE {condition} AND {_KNOWN} ORDER BY m.row DESC LIMIT ?"
        found.update((each.row, each) for each in located(connection, rest, (*values, MOST)))
    return sorted(found.values(), key=lambda each: (each.item.event_time or each.item.created_at, each.item.id))


def _conditions(said: list[About]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What has the words of a statement or of its object; and where only one object can be true, of the rest of it.

    A memory may say "I" where its attributes say who that is, so the subject alone is not asked for.
    """
    same = {_all(each.text) for each in said}
    same |= {f"({_all(each.object)}) AND ({_rest(each, each.object)})" for each in said if each.object}
    if same:
        yield _MATCHING, (_any(same),)
    single = [each for each in said if each.is_single and each.subject and each.predicate]
    if single:
        rest = {_rest(each, each.subject) for each in single}
        predicates = sorted({each.predicate for each in single})
        yield f"{_MATCHING} AND {_PREDICATE} IS NULL AND {_HOLDS}", (_any(rest),)
        listed = ", ".join("?" * len(predicates))
        expression = _any(rest | {_all(each.subject) for each in single})
        yield f"{_MATCHING} AND {_PREDICATE} IN ({listed}) AND {_HOLDS}", (expression, *predicates)


def _all(text: str) -> str:
    return match_expression(terms(text), all_of=True)


def _rest(about: About, part: str) -> str:
    """Any word of a statement that this part of it has not."""
    return match_expression([word for word in terms(about.text) if word not in terms(part)])


def _any(expressions: Iterable[str]) -> str:
    return " OR ".join(f"({each})" for each in sorted(expressions))
