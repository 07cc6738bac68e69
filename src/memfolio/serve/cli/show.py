"""What people see of an answer, as the command's row in `commands.toml` words it.

A row may have, shown in this order:

- `prints`: the name of a text in the document, which is shown as it is;
- `fields`: every field of the document that says something, a line each, with so many columns for its name;
- `lines`: lines that are shown where every value in them says something;
- `each`: for a list in the document, a line for each of its things: `{ summaries = "{id}  {content}" }`; what is no
  document itself is `{0}`, and of things by their names `{0[0]}` is the name and `{0[1]}` the thing;
- `table`: for a list in the document, the columns of a table, of which the last gives way on a narrow terminal;
- `done`, the last line; `would` in its place where nothing was changed, and `none` where no list above has anything.

Differences come first (unless `diff = false`). What should be looked at (problems, notes, that there is more) stands
before the last line. In a line stands `{files:file|files}` for the number of files with its word, and for what holds or
not `{enabled:on|off}`; `{bytes:size}` is a size in words, and `{title/name}` the first of them that says something.
Names are those of the document and of what was typed; `value` is what the method returned, with its own attributes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from string import Formatter
from typing import Any

from memfolio.serve.cli.output import Line, diff, for_people, page, readable, table, yellow
from memfolio.text import counted

NOTES = ("problems", "notes", "broken")
CUT = ("is_cut", "truncated", "cut")
"""Fields that say that an answer is not whole."""
MOST = 20
"""How many things of a list are named in a line."""
EMPTY: tuple[Any, ...] = (None, "", [], (), {})


class Words(Formatter):
    """Formats values as people say them."""

    def get_value(self, key: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(key) if isinstance(key, str) else args[key]

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        """The value of a field; of several with a / between, the first that says something."""
        found = [super(Words, self).get_field(name, args, kwargs) for name in field_name.split("/")]
        return next((each for each in found if cell(each[0])), found[0])

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "size":
            return readable(value)
        if "|" in format_spec:
            first, second = format_spec.split("|")
            if value is None or isinstance(value, bool):
                return first if value else second
            return counted(value if isinstance(value, int) else len(value), first, second)
        return format(cell(value) if not format_spec else value, format_spec)


WORDS = Words()


def cell(value: Any) -> str:
    """A value in a few words."""
    if value in EMPTY or value is False:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes")
    if isinstance(value, list | tuple):
        more = f" and {len(value) - MOST:,} more" if len(value) > MOST else ""
        return ", ".join(map(str, value[:MOST])) + more
    return "yes" if value is True else f"{value:.4g}" if isinstance(value, float) else str(value)


def shown(
    document: Mapping[str, Any], row: Mapping[str, Any], given: Mapping[str, Any], value: Any = None
) -> Iterator[Line]:
    """Yield the lines of an answer as its row defines them; `given` are the arguments of the command."""
    values = {**given, **document, "value": value}
    lists = {name: _things(values, name) for kind in ("each", "table") for name in row.get(kind, ())}
    if values.get("diff") and row.get("diff", True):
        yield diff(for_people(values["diff"]))
    if "prints" in row:
        yield page(f"{values[row['prints']].rstrip()}\n")
    if width := row.get("fields"):
        said = {name.replace("_", " "): cell(value) for name, value in document.items() if name not in lists}
        yield from (f"{name:<{width}} {words}" for name, words in said.items() if words)
    for template in row.get("lines", ()):
        named = [name for _, name, words, _ in WORDS.parse(template) if name and "|" not in (words or "")]
        if all(cell(WORDS.get_field(name, (), values)[0]) not in ("", "0") for name in named):
            yield _line(template, values)
    for name, template in row.get("each", {}).items():
        yield from (_line(template, values, each) for each in lists[name])
        # Where a method counts all and shows the first, the rest is told of and never left out in silence.
        if (more := values.get("total", 0) - len(lists[name])) > 0:
            yield f"… and {more:,} more"
    for name, columns in row.get("table", {}).items():
        if lists[name] or (name in values and "none" not in row):
            yield _table(columns, lists[name])
    yield from noted(values)
    is_unchanged = values.get("seq", 1) is None or bool(values.get("dry_run"))
    last = "would" if is_unchanged and "would" in row else "done"
    last = "none" if "none" in row and not any(lists.values()) else last
    if last in row:
        yield _line(row[last], values), "bold"


def noted(values: Mapping[str, Any]) -> Iterator[Line]:
    """What should be looked at in an answer."""
    yield from yellow(str(each) for name in NOTES for each in values.get(name) or ())
    if any(values.get(name) for name in CUT):
        yield "There is more than is shown.", "yellow"


def _things(values: Mapping[str, Any], name: str) -> Sequence[Any]:
    things = _value(values, name) or ()
    return list(things.items()) if isinstance(things, Mapping) else things


def _table(columns: Sequence[str], things: Sequence[Any]) -> Line:
    """A table with those of its columns that say something; `fact.source` is the source of the fact in a thing."""
    # A column in which nothing stands would only take room from those that say something.
    cells = {column: [cell(_value(each, column)) for each in things] for column in columns}
    said = {_head(column): values for column, values in cells.items() if any(values) or not things}
    return table(list(said), list(zip(*said.values(), strict=True)), wide=_head(columns[-1]))


def _head(column: str) -> str:
    return column.rpartition(".")[2].replace("_", " ")


def _value(thing: Any, path: str) -> Any:
    for name in path.split("."):
        thing = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return thing


def _line(template: str, values: Mapping[str, Any], thing: Any = None) -> str:
    """Fill in a line about an answer, or about one of its items."""
    own = thing if isinstance(thing, Mapping) else {}
    return WORDS.vformat(template, (thing,), {**values, **own})
