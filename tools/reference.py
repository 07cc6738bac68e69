"""The table of settings in docs/configuration.md, made from the one in the code.

`python -m tools.reference` writes it; a test checks that it is up to date.
"""

from __future__ import annotations

from pathlib import Path

from memfolio.settings import KEYS, RETIRED, Key, toml

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->\n"


def row(key: Key) -> str:
    name = f"`{key.name}`" if key.in_file else "–"
    variable = f"`{key.variable}`" if key.in_environment else "–"
    default = "–" if key.default is None else f"`{toml(key.default)}`"
    return f"| {name} | {variable} | {default} | {key.wants} | {key.doc} |\n"


def table() -> str:
    head = "| in the file | in the environment | default | accepts | what it is for |\n|---|---|---|---|---|\n"
    return head + "".join(map(row, KEYS))


def retired() -> str:
    names = ", ".join(f"`{name}`" for name in sorted(RETIRED))
    return f"Keys of earlier versions, which are accepted and have no effect: {names}.\n"


def updated(text: str) -> str:
    """The page's text with a current table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{retired()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
