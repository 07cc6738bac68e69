"""Every form that is known: where its parts go, and that dates, names and ids stay with them."""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.exchange.export import export
from memfolio.exchange.sources import source_named, source_of
from memfolio.exchange.take_in import ImportReport, take_in
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.import_ import import_
from memfolio.types import MemoryItem
from tests.exchange import layouts

MADE: dict[str, Callable[[Path], Path]] = {
    "openclaw": layouts.openclaw,
    "mabos": layouts.mabos,
    "moltbot": layouts.moltbot,
    "spec": layouts.spec,
    "claude-code": layouts.claude_code,
    "obsidian": layouts.obsidian,
}


def taken(memory: Memory, name: str, root: Path) -> ImportReport:
    return take_in(memory, source_of(MADE[name](root)), MADE[name](root))


def page(memory: Memory, path: str) -> str:
    return (memory.vault.content(f"agents/main/{path}") or b"").decode()


def memories(memory: Memory) -> dict[str, MemoryItem]:
    return {item.content: item for item in memory.vault.entries("main")}


@pytest.mark.parametrize("name", MADE)
def test_a_form_is_found_out_and_its_second_import_changes_nothing(memory: Memory, quick_path: Path, name: str) -> None:
    first = taken(memory, name, quick_path / "there")
    head = memory.vault.head
    second = taken(memory, name, quick_path / "there")
    assert first.source == second.source == name
    assert first.taken + first.pages > 1
    assert (second.taken, second.pages, second.facts, second.lore, memory.vault.head) == (0, 0, 0, 0, head)
    assert second.known == first.taken + first.pages + first.facts + first.lore


@pytest.mark.parametrize("name", MADE)
def test_a_dry_run_counts_the_same_and_writes_nothing(memory: Memory, quick_path: Path, name: str) -> None:
    path = MADE[name](quick_path / "there")
    head = memory.vault.head
    would = take_in(memory, source_of(path), path, dry_run=True)
    assert memory.vault.head == head
    did = take_in(memory, source_of(path), path)
    assert (would.taken, would.pages, would.facts, would.lore) == (did.taken, did.pages, did.facts, did.lore)
    assert would.shown == did.shown


def test_an_openclaw_workspace_keeps_its_files_and_its_days_become_memories(memory: Memory, quick_path: Path) -> None:
    report = taken(memory, "openclaw", quick_path / "there")
    assert not report.flaws
    assert page(memory, "SOUL.md") == "# Soul\n\nBe kind.\n"
    assert page(memory, "memory/projects.md") == "# Projects\n\nThe greenhouse\n"
    assert not page(memory, "code/README.md")
    found = memories(memory)
    lathe = next(item for content, item in found.items() if "lathe" in content)
    assert lathe.event_time == datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
    assert lathe.importance == 0.7
    assert lathe.source == "import:openclaw"
    assert lathe.origin == "owner"
    assert found["Fixed the login with a retry."].event_time == datetime(2026, 1, 16, tzinfo=UTC)
    assert [hit.memory.content for hit in memory.recall("Which tool did I buy, a lathe?", limit=1)] == [lathe.content]


def test_a_mabos_agent_comes_with_stores_facts_rules_cases_mind_and_playbooks(memory: Memory, quick_path: Path) -> None:
    report = taken(memory, "mabos", quick_path / "there")
    assert [flaw.ref for flaw in report.flaws] == ["facts.json#F-2-bbbb"]
    lesson = memories(memory)["Cash flow is reviewed weekly"]
    assert (lesson.type, lesson.importance, lesson.store, lesson.tags) == ("lesson", 0.9, "long_term", ("finance",))
    assert lesson.event_time == datetime(2026, 2, 20, 9, 30, tzinfo=UTC)
    assert lesson.attributes["id"] == "M-1708700000000-b1c2"
    assert memories(memory)["Looking at the Q1 budget"].attributes["source"] == "bdi-cycle"
    fact = memory.facts.query("acme", include_derived=False)[0]
    assert (fact.object, fact.confidence, fact.source) == ("50000", 0.9, "cfo-report")
    assert [rule.name for rule in memory.rules.list()] == ["big"]
    assert memory.cases.list()[0].situation.context == "late invoice"
    assert [item.title for item in memory.mind.items("belief")] == ["Cash is short"]
    month = memory.procedures.get("close-the-month")
    assert [step.text for step in month.steps] == ["Collect receipts", "Post them"]
    assert [step.text for step in memory.procedures.get("onboard-a-vendor").steps] == [
        "Check the tax number",
        "Create the record",
    ]
    assert page(memory, "memory/knowledge/taxes.md") == "# Taxes\n\nDue in May.\n"
    assert page(memory, "memory/knowledge/taxes-2.md") == "# Taxes\n\nPaid.\n"
    assert '"derived_from":["F-0-cccc"]' in page(memory, "knowledge/facts/0001.jsonl")
    assert "Kept by hand" in page(memory, "memory/Knowledge.md")
    assert page(memory, "memory/conflicts/2026-02-24.md")
    assert '"cfo"' in page(memory, "memory/imported/mabos/agent.json.md")


def test_each_agent_of_a_mabos_workspace_gets_its_own_memory(home: Path, quick_path: Path) -> None:
    path = layouts.mabos(quick_path / "there")
    layouts.write(path / "agents/ceo", {"memory-store.json": layouts.STORE, "Beliefs.md": "# Beliefs\n"})
    report = import_(Options(home=str(home)), path).document
    assert {name: each["taken"] for name, each in report.items()} == {"ceo": 2, "cfo": 3}
    with Memory.open(home, "ceo", background=False) as memory:
        assert len(memory.vault.entries("ceo")) == 2
        assert not memory.vault.entries("main")
        with pytest.raises(InputError, match="several agents"):
            take_in(memory, source_of(path), path)
    with pytest.raises(InputError, match="several agents"):
        import_(Options(home=str(home), agent="main"), path)


def test_a_moltbot_workspace_keeps_its_graph_procedures_and_vault(memory: Memory, quick_path: Path) -> None:
    report = taken(memory, "moltbot", quick_path / "there")
    assert not report.flaws
    chose = memories(memory)["Chose the hybrid approach with the user."]
    assert (chose.type, chose.tags) == ("decision", ("memory", "architecture"))
    assert chose.event_time == datetime(2026, 2, 2, 14, 30, tzinfo=UTC)
    prefers = memories(memory)["User prefers brainstorming before implementation."]
    assert (prefers.confidence, prefers.attributes["source"]) == (0.6, "user-explicit")
    assert memory.graph.entity("person--alex").type == "person"
    assert len(memory.procedures.get("how-to-deploy").steps) == 2
    assert page(memory, "memory/vault/wedding.md")
    assert page(memory, "memory/meta/evolution.md")
    assert page(memory, "memory/imported/moltbot/memory/meta/reflection-log.md")
    assert page(memory, "memory/imported/moltbot/memory/meta/decay-scores.json.md")


def test_edges_of_a_graph_become_facts_and_proposals_wait_in_quarantine(memory: Memory, quick_path: Path) -> None:
    taken(memory, "moltbot", quick_path / "there")
    [edge] = memory.facts.query("person--alex")
    assert (edge.predicate, edge.object, edge.confidence) == ("prefers", "concept--brainstorm-first", 0.9)
    assert edge.valid_from == datetime(2026, 2, 2, tzinfo=UTC)
    proposed = memories(memory)["User prefers academic sources"]
    assert (proposed.origin, proposed.attributes["author"]) == ("untrusted", "researcher")
    assert proposed.event_time == datetime(2026, 2, 3, 10, tzinfo=UTC)
    assert memories(memory)["User wants tests written first"].origin == "untrusted"
    assert not any("academic" in hit.memory.content for hit in memory.recall("academic sources"))


def test_skills_become_procedures_and_episodes_memories(memory: Memory, quick_path: Path) -> None:
    report = taken(memory, "spec", quick_path / "there")
    assert not report.flaws
    gmail = memory.procedures.get("process-gmail-inbox")
    assert (gmail.version, len(gmail.steps)) == ("1.2", 2)
    assert memory.procedures.get("handle-incoming-twilio-call").steps
    episode = next(item for content, item in memories(memory).items() if "Check my calendar" in content)
    assert episode.event_time == datetime(2025, 1, 16, 14, 15, 23, tzinfo=UTC)
    assert (episode.importance, episode.attributes["id"]) == (0.8, "2025-01-16-001")
    assert "| 2025-01-16 | 001 |" in page(memory, "memory/EPISODIC.md")
    assert not any("Episode Index" in content for content in memories(memory))
    assert memories(memory)["Fireworks"].event_time == datetime(2024, 12, 31, tzinfo=UTC)
    assert page(memory, "sessions/2025-01-16-morning-check.md")
    assert page(memory, "MEMORY.md")
    assert not any("cache.json" in path for path in memory.vault.states())


def test_notes_of_a_vault_keep_their_folders_links_tags_and_dates(memory: Memory, quick_path: Path) -> None:
    there = quick_path / "there"
    path = layouts.obsidian(there)
    os.utime(path / "Garden/Compost: how?.md", (1_700_000_000, 1_700_000_000))
    report = take_in(memory, source_of(path), path)
    assert not report.flaws
    assert page(memory, "memory/notes/Garden/Tomatoes.md") == (there / "Garden/Tomatoes.md").read_text()
    assert page(memory, "memory/notes/Garden/Compost- how-.md") == (there / "Garden/Compost: how?.md").read_text()
    assert memory.recall("turn weekly")[0].memory.created_at == datetime(2023, 11, 14, tzinfo=UTC)
    assert page(memory, "memory/notes/Daily/2024-03-09.md") == (there / "Daily/2024-03-09.md").read_text()
    rain = memory.recall("rain")[0].memory
    assert (rain.content, rain.tags) == ("[18:20] Rain at last", ("day",))
    assert rain.created_at == datetime(2024, 3, 9, 18, 20, tzinfo=UTC)
    assert memory.recall("tomatoes compost", tags=["garden"])


def test_attachments_of_a_vault_are_told(memory: Memory, quick_path: Path) -> None:
    path = layouts.write(layouts.obsidian(quick_path / "there"), {"odd\nname.md": "x", "a/pic.png": "x"})
    report = take_in(memory, source_of(path), path)
    assert page(memory, "memory/notes/odd-name.md")
    assert [(flaw.ref, "a/pic.png" in flaw.why) for flaw in report.flaws] == [("1 other file", True)]


def test_only_the_project_that_is_named_is_taken_over(memory: Memory, quick_path: Path) -> None:
    path = layouts.claude_code(quick_path / "there")
    layouts.write(path / "projects/-home-alex-private/memory", {"MEMORY.md": "Secret\n"})
    one = path / "projects/-home-alex-shop"
    assert take_in(memory, source_of(one), one).pages == 2
    assert not page(memory, "memory/claude-code/-home-alex-private/MEMORY.md")
    assert take_in(memory, source_of(path), path).pages == 1


@pytest.mark.parametrize("inside", ["", "projects", "projects/-home-alex-shop", "projects/-home-alex-shop/memory"])
def test_what_claude_code_remembers_is_found_from_any_of_its_folders(
    memory: Memory, quick_path: Path, inside: str
) -> None:
    path = layouts.claude_code(quick_path / "there") / inside
    report = take_in(memory, source_of(path), path)
    assert report.source == "claude-code"
    assert "make quick" in page(memory, "memory/claude-code/-home-alex-shop/testing.md")
    assert report.pages == 2


def test_one_markdown_file_is_enough(memory: Memory, quick_path: Path) -> None:
    file = layouts.write(quick_path / "there", {"plan.md": "# Plan\n\nPaint the fence\n", "b.md": "no"}) / "plan.md"
    assert take_in(memory, source_of(file), file).pages == 1
    assert "Paint the fence" in page(memory, "memory/notes/plan.md")
    assert take_in(memory, source_named("markdown"), file.parent).pages == 1


NOTES = {
    "Daily/2024-03-09.md": b"- Sowed the tomatoes\n- Rain at last\n- Called Sam about the roof\n- Slept badly\n",
    "Windows.md": b"\xef\xbb\xbf# Lines\r\n\r\nThat end as they do on Windows.\r\n",
    "Plain.md": b"No end of line",
    "Blanks.md": b"\n\n  Indented, with blanks behind  \n\n\n",
    "Kim.md": b"---\naliases: [Bee-keeper]\n---\nKim keeps bees on the roof. ^bees\n",
}


def given(folder: Path) -> Path:
    for name, data in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_notes_are_kept_whole_and_an_export_gives_their_bytes_back(memory: Memory, tmp_path: Path) -> None:
    notes = given(tmp_path / "notes")
    report = take_in(memory, source_of(notes), notes)
    assert (report.pages, report.taken, report.flaws) == (5, 0, [])
    export(memory, tmp_path / "all.tar.gz", "archive")
    with tarfile.open(tmp_path / "all.tar.gz") as tar:
        files = {name: tar.extractfile(f"agents/main/memory/notes/{name}") for name in NOTES}
        assert {name: file.read() if file else None for name, file in files.items()} == NOTES
    assert [hit.memory.content for hit in memory.recall("rain")][:1] == ["Rain at last"]
    assert memory.recall("insects on the roof", entity="bee-keeper")
    again = take_in(memory, source_of(notes), notes)
    assert (again.pages, again.known, again.gone) == (0, 5, [])


def test_note_that_is_changed_or_gone_at_its_source_is_replaced_or_told(memory: Memory, tmp_path: Path) -> None:
    notes = given(tmp_path / "notes")
    take_in(memory, source_of(notes), notes)
    (notes / "Windows.md").write_bytes(b"# Lines\r\n\r\nThat were changed.\r\n")
    (notes / "Plain.md").unlink()
    other = tmp_path / "other"
    other.mkdir()
    (other / "Else.md").write_text("Something else\n")
    assert take_in(memory, source_of(other), other).gone == []  # which says nothing about the first place
    for dry_run in (True, False):
        report = take_in(memory, source_of(notes), notes, dry_run=dry_run)
        assert (report.pages, report.gone) == (1, ["agents/main/memory/notes/Plain.md"])
    assert (memory.vault.content("agents/main/memory/notes/Windows.md") or b"").endswith(b"That were changed.\r\n")
    assert memory.vault.content("agents/main/memory/notes/Plain.md") == NOTES["Plain.md"]
    (notes / "Kim.md").chmod(0)
    (notes / "Plain.md").write_bytes(NOTES["Plain.md"])
    assert take_in(memory, source_of(notes), notes).gone == []


def test_memory_whose_line_is_gone_at_its_source_is_told_by_its_id(memory: Memory, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n")
    (workspace / "USER.md").write_text("# Alex\n")
    log = workspace / "memory/2026-01-15.md"
    log.write_text("- Bought a lathe\n- Sold a drill\n")
    take_in(memory, source_of(workspace), workspace)
    log.write_text("- Bought a lathe\n")
    drill = next(item.id for content, item in memories(memory).items() if "drill" in content)
    assert take_in(memory, source_of(workspace), workspace).gone == [drill]


@pytest.mark.serial
@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.long)])
def test_a_hundred_notes_come_in_a_second(memory: Memory, tmp_path: Path, count: int) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for nth in range(count):
        text = "\n\n".join(
            f"Paragraph {part} of note {nth} tells of [[Note {nth + part}]] at length." for part in range(8)
        )
        (notes / f"Note {nth}.md").write_text(f"# Note {nth}\n\n{text}\n")
    started = time.process_time()  # of this process alone, since the machine may have more to do
    report = take_in(memory, source_of(notes), notes)
    memory.sync(embed=True)
    assert time.process_time() - started < count / 100
    assert report.pages == count
    assert memory.recall("paragraph of note 271")[0].memory.content.startswith("Paragraph")
