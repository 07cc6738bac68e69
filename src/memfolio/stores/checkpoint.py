"""Checkpoints: an agent's work in progress when its context is cut, so that it can continue from there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from itertools import chain, count
from typing import Any, TypeVar

from memfolio.arguments import check_string
from memfolio.errors import ContentError, HomeError, InputError, PageChangedError
from memfolio.recall.context import CHECKPOINTS, TRIED, checkpoints, is_in_project, project_in
from memfolio.text import encoded
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.fields import check_content, local
from memfolio.vault.journal import to_text
from memfolio.vault.paths import agent_root
from memfolio.vault.sections import PageText
from memfolio.vault.vault import Vault

# Making a change of pages that others may change at the same time.

ATTEMPTS = 8
T = TypeVar("T")


def make(
    vault: Vault, compose: Callable[[], tuple[T, Change | None]], *, dry_run: bool
) -> tuple[T, str, Receipt | None]:
    """Compose against the current pages, and again if somebody else was faster.

    Returns the composed result, its diff, and its receipt, which is None for a dry run.
    """
    for left in reversed(range(ATTEMPTS)):
        composed, change = compose()
        if change is None:
            return composed, "", None
        try:
            diff = vault.preview(change)
            return composed, diff, None if dry_run else vault.apply(change)
        except PageChangedError:
            if not left:
                raise
    raise AssertionError("a change is made, or refused")


# Checkpoints: what an agent was at when its context was cut, so that it can go on from there.

BY = Attribution(actor="bot:checkpoint", trigger="checkpoint")
HEADINGS = {
    "context": "Current Task Context",
    "decisions": "Active Decisions",
    "findings": "Key Findings",
    "next_steps": "Next Steps",
    "open_questions": "Open Questions",
}
_FIELDS = {heading.casefold(): name for name, heading in HEADINGS.items()}
_MARKUP = r"(?=[ \t]*\\*(?:#|=+[ \t]*$|-+[ \t]*$|`{3}|~{3}|<!--))"
_TO_ESCAPE, _ESCAPED = (re.compile(rf"(?m)^{sign}{_MARKUP}") for sign in ("", r"\\"))
"""Lines that Markdown would take for a heading, a fence or a comment get a backslash in front."""


@frozen
class Checkpoint:
    """An agent's current work: its decisions, findings, plans and open questions."""

    context: str = ""
    decisions: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    project: str = ""
    """Its project, if known."""

    @classmethod
    def from_args(cls, context: object, **lists: object) -> Checkpoint:
        """The checkpoint that these arguments mean; blank items are left out, a blank context is refused."""
        found = _clean(check_string("the context", context))
        if not found:
            raise ContentError("a checkpoint needs a context", hint="say what the agent is working on")
        items: dict[str, Any] = {name: _items(name, value) for name, value in lists.items()}
        return cls(context=found, **items)

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in HEADINGS)


@frozen
class WrittenCheckpoint:
    """A checkpoint on disk, or its preview."""

    path: str
    diff: str
    receipt: Receipt | None


def compose(checkpoint: Checkpoint, now: datetime, zone: tzinfo) -> tuple[str, str]:
    """The name of the file below the agent's folder, and its text."""
    at = local(now, zone)
    parts = [f"# Session Checkpoint — {at:%Y-%m-%d %H:%M:%S %Z}".rstrip()]
    parts += [f"<!-- project: {checkpoint.project} -->"] if checkpoint.project else []
    for name, heading in HEADINGS.items():
        value = getattr(checkpoint, name)
        body = _TO_ESCAPE.sub(r"\\", value) if isinstance(value, str) else "\n".join(map(_bullet, value))
        if body:
            parts += [f"## {heading}", body]
    return f"{CHECKPOINTS}/{at:%Y-%m-%d-%H%M%S}.md", "\n\n".join(parts) + "\n"


def read(text: str) -> Checkpoint:
    """Read a checkpoint; unknown sections are skipped."""
    sections: dict[str, list[str]] = {}
    page = PageText(text.replace("\r\n", "\n"))
    for heading, end in page.sections():
        if name := _FIELDS.get(heading.title.strip().casefold()):
            sections.setdefault(name, []).extend(page.lines[heading.line + 1 : end])
    context = _ESCAPED.sub("", "\n".join(sections.pop("context", [])).strip("\n"))
    lists: dict[str, Any] = {name: tuple(_read_items(each)) for name, each in sections.items()}
    return Checkpoint(context=_clean(context), project=project_in(text), **lists)


def put(vault: Vault, agent: str, checkpoint: Checkpoint, now: datetime) -> PutPage:
    """The page that a checkpoint becomes; two of the same second have different names."""
    name, text = compose(checkpoint, now, vault.home.zone)
    # Refused here rather than by the writer, which would not say which text is too long.
    check_content(text, vault.config.max_content_bytes)
    stem = f"{agent_root(agent)}/{name}".removesuffix(".md")
    names = chain([f"{stem}.md"], (f"{stem}-{number}.md" for number in count(2)))
    return PutPage(next(path for path in names if vault.page(path) is None), encoded(text), None)


def write(
    vault: Vault, agent: str, checkpoint: Checkpoint, *, now: datetime, by: Attribution = BY, dry_run: bool = False
) -> WrittenCheckpoint:
    """Put a checkpoint beside the others of an agent."""

    def composed() -> tuple[str, Change]:
        page = put(vault, agent, checkpoint, now)
        return page.path, Change(operations=(page,), by=by, action=Action.CREATE)

    path, diff, receipt = make(vault, composed, dry_run=dry_run)
    return WrittenCheckpoint(path=path, diff=diff, receipt=receipt)


def latest(vault: Vault, agent: str, projects: tuple[str, ...] = ()) -> tuple[str, Checkpoint] | None:
    """The newest checkpoint of an agent that says anything, and its path; not of another project than these keys'."""
    root = agent_root(agent)
    # Newest first; what is broken or of another project is passed over.
    for inside in checkpoints(vault, root)[:TRIED]:
        with suppress(HomeError):  # one that cannot be read does not hide the others
            page = vault.page(f"{root}/{inside}")
            if page and not (found := read(to_text(page.content))).is_empty and is_in_project(found.project, projects):
                return page.path, found
    return None


def _items(name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a list of texts")
    found = (_clean(check_string(f"one of {name}", each)) for each in value)
    return tuple(each for each in found if each)


def _clean(text: str) -> str:
    """`text` with plain line ends, no blank ends, and nothing but that in blank lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line if line.strip() else "" for line in lines).strip()


def _bullet(text: str) -> str:
    first, *rest = _TO_ESCAPE.sub(r"\\", text).split("\n")
    return "\n".join([f"- {first}", *(f"  {line}" if line else "" for line in rest)])


def _read_items(lines: Sequence[str]) -> Iterator[str]:
    """Yield the items of a list; a line without a bullet is an item of its own."""
    item: list[str] = []
    for line in [*lines, "- "]:
        if line.startswith("  ") or not line.strip():
            item.append(line[2:])
            continue
        if text := _clean(_ESCAPED.sub("", "\n".join(item))):
            yield text
        item = [re.sub(r"^[-*+] ", "", line)]
