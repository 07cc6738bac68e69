"""Export: one state of a home as an archive, JSON lines, an Obsidian vault or the layout of MABOS."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.exchange.archive import Contents, memory_record, plain, write_archive, write_folder, write_jsonl
from memfolio.exchange.reading import shifted
from memfolio.index.facts import Fact
from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.index.read_files import body_text, mentions
from memfolio.index.search import ARCHIVED
from memfolio.intake import nearest
from memfolio.knowledge.cases import Case
from memfolio.knowledge.facts import fact_json
from memfolio.knowledge.rule import render, rule_record
from memfolio.memory import Memory
from memfolio.types import Store
from memfolio.vault.disk import Disk, disk_errors
from memfolio.vault.paths import Form, agent_of, agent_root, form_of
from memfolio.vault.vault import Vault

# The layout of MABOS: three stores, facts, rules and cases as JSON files, and the pages of the mind beside them.

TYPES = frozenset({"event", "decision", "outcome", "lesson", "fact", "observation"})
"""What a memory can be about there; whatever else is an observation."""
TOLD: tuple[str, ...] = ("id", "content", "importance", "source", "derived_from")
MOVED = {"mind/": "", "memory/conflicts/": "memory/bdi-conflicts/"}
KEPT = ("memory/checkpoints/", "memory/weekly/", "memory/monthly/", "memory/quarterly/")
PROCEDURES = "memory/procedures/"
OURS = ("sessions/", "memory/graph/index.md", "memory/graph/relations.md")
"""Pages that are made from others."""


def mabos_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The files of each agent."""
    for agent in contents.agents:
        for name, content in _files(contents, agent):
            said = content if isinstance(content, str) else _json(content)
            yield f"agents/{agent}/{name}", said.encode("utf-8", "replace")


def _files(contents: Contents, agent: str) -> Iterator[tuple[str, Any]]:
    version = contents.vault.head
    memories = contents.memories(agent, ARCHIVED)
    settings = contents.vault.settings(agent)
    yield "agent.json", {"id": agent, "role": settings.role, "commitment_strategy": settings.commitment}
    yield "memory-store.json", {**_stores(memories), "version": version}
    yield "facts.json", {"facts": [_fact(fact_json(each)) for each in contents.facts(agent)], "version": version}
    rules = [{"id": each.id, "description": "", **rule_record(each)} for each in contents.rules(agent)]
    yield "rules.json", {"rules": rules, "version": version}
    yield "cases.json", [*map(_mabos_case, contents.cases(agent))]
    yield from _mabos_pages(contents, agent)


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, default=plain) + "\n"


def _stores(memories: list[Located]) -> dict[str, list[dict[str, Any]]]:
    stores: dict[str, list[dict[str, Any]]] = {"working": [], "short_term": [], "long_term": []}
    for each in memories:
        kept = each.item.store if each.item.store is not Store.VAULT else Store.LONG_TERM
        stores[kept.value].append(_item(each))
    return stores


def _item(found: Located) -> dict[str, Any]:
    item, record = found.item, memory_record(found)
    happened = item.event_time or item.created_at
    own = {"type": record["type"] if record["type"] in TYPES else "observation", "created_at": happened}
    own |= {"accessed_at": item.accessed_at or happened, "access_count": item.access_count}
    told = {name: record[name] for name in TOLD if name in record}
    return {**told, **own, "tags": list(item.tags)}


def _fact(record: dict[str, Any]) -> dict[str, Any]:
    renamed = {"rule": "rule_id"}
    left = ("derived", "verification_count", "last_verified", "memories")
    return {renamed.get(name, name): value for name, value in record.items() if name not in left and value is not None}


def _mabos_case(case: Case) -> dict[str, Any]:
    parts = {name: getattr(case, name) for name in ("situation", "solution", "outcome")}
    return {"case_id": case.id, **parts, "stored_at": case.created_at}


def _mabos_pages(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    """Days and pages at their places; those that have none are sections of two pages."""
    joined: dict[str, list[str]] = {"Playbooks": [], "Knowledge": []}
    for path, data in contents.pages(agent):
        text, whole = data.decode("utf-8", "replace"), f"{agent_root(agent)}/{path}"
        moved = next((f"{to}{path.removeprefix(start)}" for start, to in MOVED.items() if path.startswith(start)), None)
        if not path.endswith(".md"):
            contents.left_out[whole] = "has no place in this layout"
        elif moved or path.startswith(KEPT) or "/" not in path or form_of(whole) is Form.LOG:
            yield moved or path, text
        elif not path.startswith(OURS):
            joined["Playbooks" if path.startswith(PROCEDURES) else "Knowledge"].append(_section(path, text))
    yield from ((f"{name}.md", "\n\n".join((f"# {name}", *texts)) + "\n") for name, texts in joined.items() if texts)


def _section(path: str, text: str) -> str:
    """A page as a section of another one, which has a title."""
    said, name = body_text(text).strip(), path.rpartition("/")[2].removesuffix(".md")
    return shifted(said if said.startswith("# ") else f"# {name}\n\n{said}", 1)


# A vault for Obsidian: pages, days and attachments as they are, and facts, rules and cases as pages to be read.

ENTITIES = "memory/graph/entities"
COLUMNS = ("subject", "predicate", "object", "from", "until", "confidence", "source")


def obsidian_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The files of the vault; of a whole home each agent has a folder."""
    yield ".obsidian/app.json", b"{}\n"
    for agent in contents.agents:
        folder = f"{agent}/" if contents.whole_home else ""
        yield from ((f"{folder}{path}", data) for path, data in _obsidian_pages(contents, agent))
        yield from ((f"{folder}knowledge/{name}.md", text.encode()) for name, text in _knowledge(contents, agent))


def _obsidian_pages(contents: Contents, agent: str) -> Iterator[tuple[str, bytes]]:
    linked, there = dict[str, None](), set[str]()
    for path, data in contents.pages(agent):
        if path.endswith(".md"):
            there.add(path.rpartition("/")[2].removesuffix(".md"))
            linked |= dict.fromkeys(mentions(data.decode("utf-8", "replace")))
        yield path, data
    for name in linked:  # every link to an entity leads somewhere
        if name not in there:
            title = name.partition("--")[2].replace("-", " ")
            yield f"{ENTITIES}/{name}.md", f"# {title}\n\nNothing is written about this yet.\n".encode()


def _knowledge(contents: Contents, agent: str) -> Iterator[tuple[str, str]]:
    if rows := "".join(map(_row, contents.facts(agent))):
        yield "Facts", f"# Facts\n\n{_line(COLUMNS)}{_line('---' for _ in COLUMNS)}{rows}"
    if rules := contents.rules(agent):
        listed = "".join(f"## {rule.name or rule.id}\n\n`{render(rule)}`\n\n" for rule in rules)
        yield "Rules", f"# Rules\n\n{listed}"
    if cases := contents.cases(agent):
        yield "Cases", "# Cases\n\n" + "".join(map(_obsidian_case, cases))


def _row(fact: Fact) -> str:
    held = (_day(fact.valid_from), _day(fact.valid_until), f"{fact.confidence:.2f}")
    return _line((*fact.triple, *held, fact.source))


def _day(at: datetime | None) -> str:
    return at.date().isoformat() if at else ""


def _line(cells: Iterable[str]) -> str:
    escaped = (" ".join(each.replace("|", "\\|").split()) for each in cells)
    return f"| {' | '.join(escaped)} |\n"


def _obsidian_case(case: Case) -> str:
    outcome = "worked" if case.outcome.success else "did not work"
    done = "".join(f"- {each}\n" for each in case.solution.actions)
    lessons = f"\n{case.outcome.lessons}\n" if case.outcome.lessons else ""
    return f"## {case.id}\n\n{case.situation.context}\n\n{done}\nIt {outcome}.\n{lessons}\n"


# Export: a read of one state of a home into a file or folder that is there whole, or not at all.

Told = Callable[[int, int], None]
Write = Callable[[Contents, Path, Disk], None]
FORMS: Mapping[str, Write] = {
    "archive": write_archive,
    "jsonl": write_jsonl,
    "obsidian": lambda contents, target, disk: write_folder(obsidian_files(contents), target, disk, contents.check),
    "mabos": lambda contents, target, disk: write_folder(mabos_files(contents), target, disk, contents.check),
}
FOLDERS = ("obsidian", "mabos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was exported, or would be: where to, whose, how many files of the home, and why some could not be."""

    target: Path
    agents: tuple[str, ...]
    files: int
    left_out: Mapping[str, str]


def export(
    memory: Memory,
    target: Path,
    form: str,
    *,
    whole_home: bool = False,
    dry_run: bool = False,
    told: Told = lambda done, total: None,
) -> Exported:
    """Export one agent, or all whose memory whoever speaks may read; the target must not be there, or be empty."""
    if form not in FORMS:
        raise InputError(f"{form[:40]!r} is no form of export", hint=nearest(form, [*FORMS]))
    vault, target = memory.vault, Path(os.path.abspath(target))
    _check_target(vault, target, is_folder=form in FOLDERS)
    if vault.can_write:  # what takes long is done before nobody may write
        vault.try_survey()  # a home on a full disk is exported as it is
    if vault.can_write and form != "archive":
        memory.sync()
    with _still(vault) as check:
        contents = _contents(memory, check, told, whole_home=whole_home)
        if not dry_run:
            disk = Disk()
            disk.private = target.parent  # a memory is its owner's alone
            with disk_errors(target.parent):
                disk.sweep(target)
                FORMS[form](contents, target, disk)
    files = sum(path not in contents.left_out for path in contents.files)
    return Exported(target=target, agents=contents.agents, files=files, left_out=contents.left_out)


def _check_target(vault: Vault, target: Path, *, is_folder: bool) -> None:
    root = vault.config.home.resolve()
    if target.resolve().is_relative_to(root) or root.is_relative_to(target.resolve()):
        raise InputError(f"{target} and the home lie in one another", hint="export to a place outside of the home")
    if is_folder and target.is_dir() and not target.is_symlink() and next(target.iterdir(), None) is None:
        return
    if os.path.lexists(target):
        hint = "name a folder that is empty or not there" if is_folder else "name a file that is not there"
        raise InputError(f"{target} is there already", hint=hint)


@contextmanager
def _still(vault: Vault) -> Iterator[Callable[[], None]]:
    """Let nobody write meanwhile; where only reading is possible, the check tells whether somebody did."""
    if vault.can_write or vault.is_full:
        with vault.exclusive(to_copy=True):
            yield lambda: None
        return
    vault.refresh()
    before = vault.head, vault.epoch

    def check() -> None:
        vault.refresh()
        if (vault.head, vault.epoch) != before:
            raise ConflictError("the home was changed during the export", hint="export it again")

    yield check


def _contents(memory: Memory, check: Callable[[], None], told: Told, *, whole_home: bool) -> Contents:
    """What whoever speaks may see of what is asked for: the owner everything, an agent what it reads."""
    vault = memory.vault
    indexes = {index.agent: index for index in memory.library.indexes()}
    if whole_home and vault.scope is None:
        indexes = {name: indexes.get(name) or Index(vault, name) for name in vault.agents()}
    chosen = dict(sorted(indexes.items())) if whole_home else {memory.agent: memory.library.index}
    owners = {*chosen, *([None] if whole_home else [])}
    files = [path for path in sorted(vault.states()) if agent_of(path) in owners and vault.shows(path)]
    done = count(1)
    if not files:
        raise NotFoundError(f"the agent {memory.agent} has nothing to export", hint="`memfolio agent list` names all")
    return Contents(
        vault=vault,
        indexes=chosen,
        files=tuple(files),
        whole_home=whole_home,
        now=vault.home.now(),
        check=check,
        left_out={path: why for path, why in vault.problems.items() if agent_of(path) in owners and path not in files},
        step=lambda: told(next(done), len(files)),
    )
