"""The pages of an agent: which files are searched as pages, what they are, and what their names and links say."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from types import MappingProxyType

from memfolio.index.passages import body_text, front_matter
from memfolio.types import AGENT_PATTERN, Kind, Store, Type
from memfolio.vault.format.notes import closed_fences
from memfolio.vault.paths import SHARED, Form, agent_of, form_of, is_tracked

MAX_VALUES = 64
MAX_VALUE = 200
MAX_SUMMARY = 1000

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})(?![0-9])")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])(?![0-9])")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})(?![0-9])")
_ENTITY_ID = re.compile(r"(?P<type>\w+(?:-\w+)*)--(?P<slug>\w[\w.-]*)")
_LINK = re.compile(rf"\[\[([^\[\]|#\n]{{1,{MAX_VALUE}}})(?=[\]|#])")
_KEY = re.compile(r"([\w-]{1,64})[ \t]*:(?:[ \t]+|$)(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
FLOW = re.compile(r"\[(.*)\]([ \t]+#.*)?")
"""A list on one line of front matter, and the comment behind it."""
_LISTED = re.compile(r"""\s*"[^"]*"|\s*'[^']*'|[^,]+""")
_ALIASES = re.compile(r"(?:[-*+] +)?[*_]{0,2}aliases[*_]{0,2}:[*_]{0,2}(.*)", re.IGNORECASE)
_SIGNS = re.compile(r"#{1,6}(?:\s|$)|(?:```|~~~)|[-*_=]{3,}$")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_ASIDE = frozenset({"history", "learned from"})
"""Sections of a procedure that say how it came to be."""
_WHEN = re.compile(r"(?:triggers?|when(?: to use)?)\Z", re.IGNORECASE)
_PAIRS = re.compile(r"\*\*(?:[\s*]*(?:type|version|status|timeout)[\s*]*:[^|]*(?:\||\Z))+", re.IGNORECASE)
_DATES = ("date", "created", "created_at", "updated", "modified")
OWN_KEYS = frozenset({"name", "title", "type", "alias", "aliases"})
"""Fields of an entity's page that say what it is and what it is called."""
BOOKKEEPING = frozenset({"first_seen", "last_updated", "mentions", "summarised"})
"""Properties of an entity that say something about its page."""
_CITED = re.compile(r"^[ \t]*[-*+][ \t][^\n]*\((M-\d{1,15}-[0-9a-f]{8})\)[ \t\r]*$", re.MULTILINE)
_RELATION_LINE = re.compile(r"[-*+][ \t]+([^:\[\]]{1,64}?)[ \t]*:[ \t]*(\[\[.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageKind:
    """What a page is, and so what its passages are as memories."""

    name: str
    kind: Kind = Kind.SEMANTIC
    type: Type = Type.OBSERVATION
    store: Store = Store.LONG_TERM
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPage:
    """An entity as its page describes it; `id` is what links name."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    relations: tuple[tuple[str, str], ...] = ()
    """Predicates and the ids of the entities they lead to."""
    cites: tuple[str, ...] = ()
    """The memories that its lines were taken from."""


_PAGE = PageKind(name="page")
_ENTITY = PageKind(name="entity", type=Type.FACT, importance=0.6)
_DIGEST = PageKind(name="digest", kind=Kind.EPISODIC, type=Type.EVENT)
_MIND = PageKind(name="mind", type=Type.FACT, importance=0.7)
_FILES = {
    "MEMORY.md": PageKind(name="core", type=Type.FACT, importance=0.9),
    "USER.md": PageKind(name="user", type=Type.FACT, importance=0.9),
    "SOUL.md": PageKind(name="soul", type=Type.FACT, importance=0.8),
    "IDENTITY.md": PageKind(name="identity", type=Type.FACT, importance=0.8),
    "AGENTS.md": PageKind(name="agents", type=Type.FACT, importance=0.6),
    "TOOLS.md": PageKind(name="tools", type=Type.FACT, importance=0.6),
    "memory/graph/index.md": None,
    "memory/graph/relations.md": None,
    "memory/meta/evolution.md": _PAGE,
    "mind/Learnings.md": replace(_MIND, type=Type.LESSON),
    "mind/Desires.md": replace(_MIND, type=Type.PREFERENCE),
    **{f"mind/{name}.md": replace(_MIND, type=Type.TASK) for name in ("Goals", "Intentions", "Plans", "Commitments")},
}
_FOLDERS = {
    "mind": _MIND,
    "sessions": PageKind(name="session", kind=Kind.EPISODIC, type=Type.EVENT, importance=0.4),
    "memory/weekly": _DIGEST,
    "memory/monthly": _DIGEST,
    "memory/quarterly": _DIGEST,
    "memory/checkpoints": PageKind(name="checkpoint", kind=Kind.EPISODIC, type=Type.EVENT, importance=0.4),
    "memory/conflicts": PageKind(name="conflict", kind=Kind.EPISODIC, importance=0.6),
    "memory/procedures": PageKind(name="procedure", kind=Kind.PROCEDURAL, type=Type.LESSON, importance=0.7),
    "memory/vault": PageKind(name="vault", type=Type.FACT, store=Store.VAULT, importance=0.9),
    "memory/archive": PageKind(name="archive", importance=0.2),
    "memory/meta": None,
}


def page_kind(path: str) -> PageKind | None:
    """What the file at `path`, relative to the home, is as a page; None when it is not searched as one."""
    inside = _inside_agent(path)
    if inside is None or not inside.endswith(".md") or form_of(path) is not Form.PAGE:
        return None
    if inside in _FILES:
        return _FILES[inside]
    if entity_id(path):
        return _ENTITY
    return next((_FOLDERS[folder] for folder in _parents(inside) if folder in _FOLDERS), _PAGE)


def page_date(path: str) -> date | None:
    """The day in a page's name; of a week, month or quarter, which the name must begin with, its last day."""
    name = path.rpartition("/")[2]
    try:
        return _date_in(name)
    except (ValueError, OverflowError):
        return None


def told_date(fields: Mapping[str, list[str]]) -> date | None:
    """The day that the front matter of a page names as its own."""
    for value in (value for name in _DATES for value in fields.get(name, ())):
        try:
            if found := _DAY.match(value):
                return date(*map(int, found.groups()))
        except ValueError:
            continue
    return None


def page_period(path: str) -> tuple[date, date] | None:
    """The first and the last day that a digest is about, by its name; None for any other page."""
    last = page_date(path)
    name = path.rpartition("/")[2]
    if last is None or _DAY.search(name):
        return None
    if _WEEK.match(name):
        return last - timedelta(days=6), last
    return last.replace(day=1, month=last.month - 2 if _QUARTER.match(name) else last.month), last


def read_entity(path: str, text: str) -> EntityPage | None:
    """The entity that `memory/graph/entities/<type>--<slug>.md` describes; None for any other page."""
    match = _ENTITY_ID.fullmatch(entity_id(path) or "")
    if match is None:
        return None
    fields = page_fields(text)
    body = body_text(text)
    lines = [line.strip() for line in without_cited(body).splitlines()]
    name = _name(fields, lines, match)
    return EntityPage(
        id=match[0],
        type=match["type"],
        name=name,
        aliases=tuple(_unique(_aliases(fields, lines), besides=name)),
        summary=_summary(lines),
        properties=MappingProxyType(
            {key: ", ".join(values) for key, values in fields.items() if key not in OWN_KEYS and values}
        ),
        relations=tuple(_relations(lines, besides=match[0])),
        cites=tuple(dict.fromkeys(_CITED.findall(body))),
    )


def without_cited(text: str) -> str:
    """A page's text without the lines that end with the id of a memory, which says the same and is found itself."""
    return _CITED.sub("", text) if "(M-" in text else text


def predicate_key(words: str) -> str:
    """A predicate as edges have it: `Developed by` is `developed-by`."""
    return "-".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", words).casefold()))


def _relations(lines: Iterable[str], *, besides: str) -> list[tuple[str, str]]:
    """What `- predicate: [[target]]` lines say, each once."""
    found = (match for line in lines if "[[" in line and (match := _RELATION_LINE.match(line)))
    drawn = ((predicate_key(match[1]), target) for match in found for target in mentions(match[2]))
    return [each for each in dict.fromkeys(drawn) if each[0] and each[1] != besides]


def entity_id(path: str) -> str | None:
    """The id of the entity whose page stands at `path`."""
    folder, _, name = (_inside_agent(path) or "").rpartition("/")
    return _as_id(name) if folder == "memory/graph/entities" and name.endswith(".md") else None


def name_key(name: str) -> str:
    """A name as it is looked up: without regard to case, blanks and ways to write the same letters."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def mentions(text: str) -> list[str]:
    """The ids of the entities that `text` links to, as in `[[person--alex|Alex]]`, each once, in order."""
    if "[[" not in text:
        return []
    ids = (_as_id(target.strip().rpartition("/")[2]) for target in _LINK.findall(text))
    return list(dict.fromkeys(filter(None, ids)))


def _inside_agent(path: str) -> str | None:
    """`path` relative to its agent's folder; None for what belongs to no agent or to an editor."""
    agent = agent_of(path)
    if agent is None or not AGENT_PATTERN.fullmatch(agent) or not is_tracked(path):
        return None
    if agent == SHARED:
        return path.removeprefix(f"{SHARED}/") if path.startswith(f"{SHARED}/") else None
    return path.removeprefix(f"agents/{agent}/")


def _parents(path: str) -> Iterator[str]:
    """The folders that hold `path`, from the outermost."""
    return (path[:at] for at, character in enumerate(path) if character == "/")


def _as_id(name: str) -> str | None:
    """The id that a file's or a link's name stands for; None unless it has the form `type--slug`."""
    stem = unicodedata.normalize("NFC", name.removesuffix(".md")).lower()
    return stem if _ENTITY_ID.fullmatch(stem) else None


def _date_in(name: str) -> date | None:
    if match := _DAY.search(name):
        return date(int(match[1]), int(match[2]), int(match[3]))
    if match := _WEEK.match(name):
        return date.fromisocalendar(int(match[1]), int(match[2]), 7)
    if match := _QUARTER.match(name):
        return _month_end(int(match[1]), 3 * int(match[2]))
    match = _MONTH.match(name)
    return _month_end(int(match[1]), int(match[2])) if match else None


def _month_end(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first.replace(day=monthrange(year, month)[1])


def page_fields(text: str) -> dict[str, list[str]]:
    """The simple fields of a page's front matter: `key: value`, `key: [a, b]`, and lists of `- item`."""
    start, end = front_matter(text)
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in text[start:end].splitlines():
        if match := _KEY.fullmatch(line.rstrip()):
            values = _values(match[2])
            if len(fields) < MAX_VALUES:
                fields.setdefault(match[1].lower(), values)
        elif (item := _ITEM.fullmatch(line)) and values is not None and len(values) < MAX_VALUES:
            values.extend(_plain([item[1]]))
    return fields


def _values(raw: str) -> list[str]:
    raw = raw.strip()
    if flow := FLOW.fullmatch(raw):
        return _plain(_LISTED.findall(flow[1]))
    return [] if raw[:1] in ("|", ">", "{", "&", "[") or raw.startswith("# ") else _plain([raw])


def _plain(values: Iterable[str]) -> list[str]:
    """Values without quotes and white space, as many and as long as a page may have."""
    stripped = (value.strip().strip("\"'").strip()[:MAX_VALUE] for value in values)
    return [value for value in stripped if value][:MAX_VALUES]


def _name(fields: Mapping[str, list[str]], lines: list[str], id: re.Match[str]) -> str:
    """What the entity is called: its front matter says so, else its title, else its id."""
    titles = (line[2:].strip()[:MAX_VALUE] for line in lines if line.startswith("# "))
    title = next((title for title in titles if title and _as_id(title) != id[0]), "")
    given = fields.get("name") or fields.get("title") or ([title] if title else [])
    return given[0] if given else " ".join(id["slug"].split("-")).strip().title() or id["slug"]


def _aliases(fields: Mapping[str, list[str]], lines: list[str]) -> Iterator[str]:
    yield from fields.get("aliases", ())
    yield from fields.get("alias", ())
    for line in lines:
        if match := _ALIASES.fullmatch(line):
            yield from _values(f"[{match[1].strip().strip('[]')}]")


def _unique(values: Iterable[str], *, besides: str) -> list[str]:
    """`values` without repeats in any spelling of case, and without the name itself."""
    unique: dict[str, str] = {}
    for value in values:
        unique.setdefault(value.casefold(), value)
    unique.pop(besides.casefold(), None)
    return list(unique.values())[:MAX_VALUES]


def _summary(lines: list[str]) -> str:
    """The first paragraph, on one line."""
    words: list[str] = []
    for line in lines:
        if line and not _SIGNS.match(line) and not _ALIASES.fullmatch(line) and not _RELATION_LINE.match(line):
            words.append(line)
        elif words:
            break
    return " ".join(words)[:MAX_SUMMARY].strip()


def procedure_text(path: str, text: str) -> tuple[str, str]:
    """The title of a procedure's page, and what the page tells whoever follows it, each line where it stands.

    Headings are told as words; the fields, the history and what it was learned from are left out.
    """
    title, lines, aside, at = "", list[str](), 0, 0
    fences = closed_fences(text)
    for line in text.splitlines(keepends=True):
        nth = bisect_right(fences, at, key=lambda fence: fence[0]) - 1
        is_code = nth >= 0 and at < fences[nth][1]
        at += len(line)
        if not is_code and (heading := _HEADING.match(line)):
            level, name = len(heading[1]), heading[2].strip()
            aside = 0 if level <= aside else aside
            aside = aside or (level if name.casefold() in _ASIDE else 0)
            is_title = level == 1 and not title
            title = name if is_title else title
            line = "\n" if is_title or not name else f"{_WHEN.sub('When to use', name).rstrip(':')}:\n"
        lines.append("\n" if aside or (not is_code and _PAIRS.fullmatch(line.strip())) else line)
    return title or path.rpartition("/")[2].removesuffix(".md").replace("-", " "), "".join(lines)


def page_tags(fields: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The tags that a page's front matter names, as Obsidian writes them: a list, or words with commas or spaces."""
    found = [*fields.get("tags", ()), *fields.get("tag", ())]
    words = re.split(r"[,\s]+", found[0]) if len(found) == 1 else found
    return tuple(dict.fromkeys(word for each in words if (word := each.strip().lstrip("#"))))


def page_names(fields: Mapping[str, list[str]]) -> tuple[str, ...]:
    """What a page's front matter calls it."""
    return tuple(dict.fromkeys([*fields.get("title", ()), *fields.get("aliases", ()), *fields.get("alias", ())]))
