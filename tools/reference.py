"""The tables of settings, routes, tools and commands in docs, made from those in the code.

`python -m tools.reference` writes them; tests check that they are up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from memfolio.serve.cli.derive import below, command, listed
from memfolio.settings import KEYS, RETIRED, Key, toml
from memfolio.verbs.verb import TOOL_SETS, Verb, tools_of, verbs_at

DOCS = Path(__file__).parent.parent / "docs"
FURTHER = {"read": "`GET /v1/events`", "admin": "`GET /metrics`"}

PAGES = {
    "context": "context.md",
    "open": "page.md",
    "consolidate": "tend.md#consolidation",
    "tend": "tend.md",
    "digest": "digests.md",
    "checkpoint": "core.md",
    "core": "core.md",
    "weak": "retention.md",
    "archive": "retention.md",
    "purge": "purge.md",
    "reflect": "reflection.md",
    "approve": "proposals.md",
    "agent": "agents.md",
    "entity": "graph.md",
    "fact": "facts.md",
    "rule": "rules.md",
    "infer": "inference.md",
    "case": "cases.md",
    "ontology": "ontology.md",
    "reason": "reasoning.md",
    "mind": "mind.md",
    "heartbeat": "heartbeat.md",
    "procedure": "procedures.md",
    "workflow": "workflows.md",
    "goal": "typedb.md",
    "typedb": "typedb.md",
    "import": "import.md",
    "export": "export.md",
    "mcp": "mcp.md",
    "serve": "http.md",
    "hook": "hooks.md",
    "install": "hosts.md",
    "service": "service.md",
    "undo": "update.md",
    "doctor": "hosts.md",
    "alerts": "alerts.md",
    "bench": "bench.md",
    "uninstall": "hosts.md",
}
"""The page that says more about a command."""


def row(key: Key) -> str:
    name = f"`{key.name}`" if key.in_file else "–"
    variable = f"`{key.variable}`" if key.in_environment else "–"
    default = "–" if key.default is None else f"`{toml(key.default)}`"
    return f"| {name} | {variable} | {default} | {key.wants} | {key.doc} |\n"


def settings() -> str:
    head = "| in the file | in the environment | default | accepts | what it is for |\n|---|---|---|---|---|\n"
    return f"{head}{''.join(map(row, KEYS))}\n{retired()}"


def retired() -> str:
    names = ", ".join(f"`{name}`" for name in sorted(RETIRED))
    return f"Keys of earlier versions, which are accepted and have no effect: {names}.\n"


def routes() -> str:
    """The routes by the scope that a token needs for them."""
    lines = ["| scope | routes |", "|---|---|"]
    for scope in ("read", "write", "admin"):
        names = [each.route.removeprefix("/v1/") for each in verbs_at("http").values() if each.scope == scope]
        told = [f"`{' '.join(names)}`", *([FURTHER[scope]] if scope in FURTHER else [])]
        lines.append(f"| {scope} | {', '.join(told)} |")
    return "\n".join([*lines, "| none needed | `GET /health`, `GET /openapi.json` |", ""])


def tools() -> str:
    """The tools of every day, and the names of the others by set."""
    core = tools_of("core")
    lines = ["| tool | what it does |", "|---|---|", *(f"| `{each.name}` | {_first(each)} |" for each in core.values())]
    lines += ["", "`--tools SET` offers more, always beside these:", "", "| set | tools |", "|---|---|"]
    for name in TOOL_SETS:
        if name not in ("core", "all"):
            lines.append(f"| `{name}` | {', '.join(f'`{each}`' for each in tools_of(name) if each not in core)} |")
    return "\n".join([*lines, "| `all` | all of them |", ""])


def commands() -> str:
    """The commands in the order of `memfolio --help`: what each takes, or what is below it, and the page about it."""
    lines = ["| command | what it does | options, or what is below it |", "|---|---|---|"]
    for name, row in listed().items():
        further = [path.split()[-1] for path in below(name)]
        arguments, options = ([], further) if further else _taken(name)
        said = row.help.rstrip(".") + (f" ([more]({PAGES[name]}))" if name in PAGES else "")
        lines.append(f"| `{' '.join([name, *arguments])}` | {said} | {_code(options)} |")
    return "\n".join([*lines, ""])


def _taken(name: str) -> tuple[list[str], list[str]]:
    """The arguments and the options of a command, without those that every command has."""
    taken = [each for each in command(name).params if each.opts[0] not in ("--home", "--agent", "--json")]
    arguments = [each for each in taken if each.param_type_name == "argument"]
    told = [f"{each.metavar}" if each.required else f"[{str(each.metavar).strip('[]')}]" for each in arguments]
    return [each.replace("|", "\\|") for each in told], [each.opts[0] for each in taken if each not in arguments]


def _code(words: list[str]) -> str:
    return f"`{' '.join(words)}`" if words else ""


def _first(verb: Verb) -> str:
    """The first sentence of what a verb says of itself."""
    return verb.description.partition("\n")[0].partition(". ")[0].rstrip(".")


TABLES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "configuration.md": ("settings", settings),
    "http.md": ("routes", routes),
    "mcp.md": ("tools", tools),
    "serve.md": ("commands", commands),
}
"""The page of each table, and what its marks are called."""


def updated(page: str) -> str:
    """The page's text with a current table between its two marks."""
    mark, table = TABLES[page]
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->\n"
    before, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(begin)
    return f"{before}{begin}\n{table()}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    for page in TABLES:
        (DOCS / page).write_text(updated(page), encoding="utf-8")
