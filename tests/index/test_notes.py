"""Notes outside of the home: searched in place, as they are, and never written to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import ConflictError, InputError, NotFoundError, PolicyError, RefusedError
from memfolio.index.notes import read_note
from memfolio.index.read_files import Searchable
from memfolio.types import HUMAN
from memfolio.vault.paths import MAX_TRACKED_BYTES
from tests.index.proof import assert_index_equals_rebuilt

NOW = datetime(2026, 11, 18, tzinfo=UTC)
ALEX = """---
aliases: [Lexi, "Alex K"]
tags: [people]
phone: "5512"
---
# Alex Kim

Alex runs the print shop and drinks green tea. ^abc123

She moved from Oslo to Bergen in March because of the sea.
"""
DAY = """- Dentist at ten with [[Alex Kim|Lexi]]
- Bought a lathe for the #workshop/tools
- Ran five kilometres
"""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes."""
    return notes_in(tmp_path / "notes", {"people/Alex Kim.md": ALEX, "daily/2026-11-03.md": DAY})


@pytest.fixture
def memory(home: Path, vault: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False, speaker="owner") as opened:
        opened.notes.watch(vault)
        yield opened


def notes_in(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(name: str, text: str) -> list[Searchable]:
    return list(read_note(f"/notes/{name}", text.encode(), zone=UTC, modified=NOW).found)


def contents(memory: Memory, question: str, **filters: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(question, **filters)]  # type: ignore[arg-type]


def id_of(memory: Memory, question: str) -> str:
    return memory.recall(question)[0].memory.id


def soon(check: Callable[[], bool], *, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.02)
    return False


def picture(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file of a folder with its bytes and times."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return {str(each): (each.read_bytes(), each.stat().st_mtime_ns, each.stat().st_ctime_ns) for each in files}


# What a note says


def test_note_of_obsidian_is_read_in_blocks_with_names_tags_and_block_ids() -> None:
    properties, first, second = read("Alex Kim.md", ALEX)
    assert properties.item.content == "phone: 5512"
    assert first.item.content == "Alex runs the print shop and drinks green tea."
    assert first.heading == ("Alex Kim", "Lexi", "Alex K")
    assert (second.item.tags, second.item.attributes["line"]) == (("people",), 10)
    edited = read("Other name.md", ALEX.replace("green tea", "coffee"))
    assert edited[1].item.id == first.item.id  # by the id that Obsidian gave the block
    assert edited[2].item.id != second.item.id


def test_block_id_behind_a_table_names_the_table_and_a_link_to_it_leads_there() -> None:
    table, link = read("Prices.md", "| a | b |\n|---|---|\n| 1 | 2 |\n\n^totals\n\nSee [[Prices#^totals|there]]\n")
    assert table.item.content.endswith("| 1 | 2 |")
    assert link.item.attributes["refers_to"] == [table.item.id]


def test_tags_in_text_are_tags_and_code_and_numbers_and_links_are_not() -> None:
    [found] = read("x.md", "A #trip/oslo and #two-words, not `#code`, #123, https://a.b/#part or [[Note#Heading]]\n")
    assert found.item.tags == ("trip/oslo", "trip", "two-words")


def test_day_is_read_item_by_item_and_a_list_of_words_elsewhere_is_one_block() -> None:
    assert [each.item.content for each in read("2026-11-03.md", DAY)][2] == "Ran five kilometres"
    assert {each.item.created_at for each in read("2026-11-03.md", DAY)} == {datetime(2026, 11, 3, tzinfo=UTC)}
    [flour] = read("Pancakes.md", "Ingredients:\n- flour\n- eggs\n- milk\n")
    assert flour.item.content == "- flour\n- eggs\n- milk"
    assert flour.heading == ("Pancakes", "Ingredients:")


SOUP = "Bring the stock to the boil, then add the cod."


@pytest.mark.parametrize("title", ["Fish soup", "**Fish soup**", "Fish soup\n========="])
def test_title_without_a_mark_stands_with_what_is_below_it_and_is_above_the_rest(title: str) -> None:
    first, second, third = read("food.md", f"{title}\n\n{SOUP}\n\nServe it hot.\n\n## Waffles\n\nMix flour.\n")
    assert first.item.content == f"{title.splitlines()[0]}\n\n{SOUP}"
    assert second.heading == ("food", "Fish soup")
    assert third.heading == ("food", "Waffles")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Alex likes tea\n\nSam likes coffee\n\nKim likes milk\n", "Alex likes tea\n\nSam likes coffee"),
        ("Alex likes tea.\n\nSam likes coffee.\n", "Alex likes tea."),
        ("- Call Marta\n\nThe harbour is closed on Mondays.\n", "Call Marta"),
        ("Fish soup\n\n# Waffles\n\nMix flour and eggs.\n", "Fish soup"),
        ("Fish soup ^soup\n\nBring it to the boil.\n", "Fish soup"),
    ],
)
def test_what_a_note_tells_in_its_first_line_is_told_of_nothing_else(text: str, first: str) -> None:
    found = read("food.md", text)
    assert found[0].item.content == first
    assert all(each.heading in (("food",), ("food", "Waffles")) for each in found)


def test_lines_of_a_day_stand_for_themselves() -> None:
    assert read("2026-11-15.md", "Water plants\n\nMarta came.\n")[0].item.content == "Water plants"


def test_what_is_below_a_title_is_told_with_it(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "recipes"
    notes.mkdir()
    notes_in(notes, {"food.md": f"Fish soup\n\n{SOUP}\n\nServe it hot.\n"})
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(notes)
        assert SOUP in memory.recall("fish soup")[0].memory.content
        assert SOUP in (memory.context("How do I make fish soup?") or "")


@pytest.mark.parametrize("name", ["Release.md", "2026-11-03.md"])
def test_numbered_list_is_one_block_in_its_order_however_long_its_items_are(name: str) -> None:
    steps = [f"{nth}. {what} and wait until everything about that is green again" for nth, what in enumerate("abc", 1)]
    before, found, after = read(name, "Careful.\n\n" + "\n".join(steps) + "\n\nThen rest.\n")
    assert found.item.content == "\n".join(steps)
    assert (before.item.content, after.item.content) == ("Careful.", "Then rest.")


def test_items_of_a_numbered_list_that_have_ids_are_blocks_that_links_lead_to() -> None:
    long = "Open the valve behind the boiler and wait for a minute"
    first, second, link = read("Steps.md", f"1. {long} ^open\n2. Close it\n\nSee [[#^open]]\n")
    assert [first.item.content, second.item.content] == [long, "Close it"]
    assert link.item.attributes["refers_to"] == [first.item.id]


def test_outline_of_logseq_is_read_with_its_properties_ids_and_references() -> None:
    block, inner = "6511e6a2-1111-4222-8333-abcdefabcdef", "6511e6a2-1111-4222-8333-abcdefabcd00"
    text = (
        "title:: Projects\nalias:: Pj\ntags:: work, [[big things]]\n\n"
        f"- Meeting about the harbour\n  id:: {block}\n  collapsed:: true\n"
        f"\t- decided to go north\n\t  id:: {inner}\n\t\t- with two boats\n\t- nothing else\n"
        f"- See (({inner})) for all of it\n"
    )
    meeting, decided, see = read("pages/Projects.md", text)
    assert (
        meeting.item.content == "Meeting about the harbour\n- decided to go north\n\t- with two boats\n- nothing else"
    )
    assert meeting.item.tags == ("work", "big things")
    assert meeting.heading == ("Projects", "Pj")
    assert decided.item.content == "decided to go north\n- with two boats"
    assert see.item.attributes["refers_to"] == [decided.item.id]
    assert read("journals/2026_11_03.md", "- went out\n")[0].item.created_at.day == 3


def test_long_block_is_cut_and_nothing_of_it_is_lost() -> None:
    words = [f"word{nth}" for nth in range(3000)]
    found = read("Long.md", " ".join(words))
    assert len(found) > 5
    assert " ".join(each.item.content for each in found).split() == words


@pytest.mark.parametrize(
    "text", ["", "\n\n", "---\n---\n", "# Only a title\n", "```\n", "^abc\n", "- \n-\n", "[[", "::"]
)
def test_odd_note_is_read_without_complaint(text: str) -> None:
    assert read_note("/notes/odd.md", text.encode(), zone=UTC, modified=NOW).problems == ()


# Found like the rest


def test_notes_are_found_by_words_tags_entities_and_in_a_context(memory: Memory, vault: Path) -> None:
    hit = memory.recall("Where does Alex live?")[0]
    assert hit.memory.content.startswith("She moved from Oslo to Bergen")
    assert (hit.path, hit.agent) == (str(vault / "people/Alex Kim.md"), "main")
    assert contents(memory, "what was bought", tags="workshop") == ["Bought a lathe for the #workshop/tools"]
    assert "Dentist at ten with [[Alex Kim|Lexi]]" in contents(memory, "dentist", entity="Lexi")
    assert "Dentist at ten with [[Alex Kim|Lexi]]" in contents(memory, "dentist", entity="alex k")
    assert "green tea" in (memory.context("What does Alex drink?") or "")
    explained = memory.explain(hit.memory.id)
    assert explained.places == (str(vault / "people/Alex Kim.md"),)
    assert [each.notes for each in memory.notes.folders()] == [2]


@pytest.mark.parametrize("question", ["What do I have to do today?", "what happened today?"])
def test_question_for_a_day_finds_notes_that_tell_it_and_none_that_were_only_copied_on_it(
    home: Path, tmp_path: Path, question: str
) -> None:
    notes = tmp_path / "cloned"
    notes.mkdir()
    (notes / "Bread.md").write_text("# Bread\n\nBake at 240 degrees for 40 minutes.\n")
    (notes / "Router.md").write_text("The sticker with the password is below.\n")
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(notes)
        assert not memory.recall(question).fits
    today = datetime.now(UTC).date()
    (notes / f"{today}.md").write_text("Water the plants.\n")
    (notes / "Dentist.md").write_text(f"---\ndate: {today}\n---\nDentist at 15:00.\n")
    with Memory.open(home, background=False) as memory:
        assert {hit.memory.content for hit in memory.recall(question)} == {"Water the plants.", "Dentist at 15:00."}


def test_note_belongs_to_no_project_and_to_nobody_in_particular(memory: Memory) -> None:
    assert contents(memory, "lathe")
    assert contents(memory, "lathe", project="other") == []
    memory.remember("Sam is to get a present", audience="alex")
    assert contents(memory, "lathe", audience="sam") == []  # as all pages, once something is for some alone


def test_notes_are_found_by_the_agent_that_watches_and_shared_ones_by_all(home: Path, vault: Path) -> None:
    with Memory.open(home, "main", background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
    with Memory.open(home, "other", background=False) as other:
        assert contents(other, "lathe") == []
    with (
        Memory.open(home, "main", background=False, speaker="owner") as memory,
        Memory.open(home, "shared", background=False, speaker="owner") as shared,
    ):
        memory.notes.stop(vault)
        shared.notes.watch(vault)
    with Memory.open(home, "other", background=False) as other:
        assert contents(other, "lathe") == ["Bought a lathe for the #workshop/tools"]
        assert other.recall("lathe")[0].agent == "shared"


def test_same_files_give_the_same_index_whatever_happened_on_the_way(memory: Memory, vault: Path) -> None:
    memory.forget(id_of(memory, "Oslo Bergen"))
    memory.correct(id_of(memory, "lathe"), "Bought a drill for the workshop, not a lathe")
    memory.pin(id_of(memory, "print shop"))
    (vault / "copy.md").write_text(ALEX)
    (vault / "daily/2026-11-03.md").write_text(DAY + "- Slept until noon\n")
    memory.searcher.index.notes.mark_behind()
    assert_index_equals_rebuilt(memory, ["Where does Alex live?", "lathe", "slept"])
    (vault / "people/Alex Kim.md").unlink()
    memory.searcher.index.notes.mark_behind()
    assert_index_equals_rebuilt(memory, ["Where does Alex live?", "green tea"])
    memory.audit.undo([memory.vault.head - 2], by=HUMAN)
    assert_index_equals_rebuilt(memory, ["Where does Alex live?"])
    memory.notes.stop(vault)
    assert_index_equals_rebuilt(memory, ["Where does Alex live?"])
    assert contents(memory, "green tea") == []


def test_edits_made_while_nothing_ran_are_found_at_the_next_opening(home: Path, vault: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
    (vault / "people/Alex Kim.md").write_text(ALEX.replace("Bergen", "Trondheim"))
    (vault / "daily/2026-11-03.md").unlink()
    notes_in(vault, {"new/Boats.md": "The red boat leaks at the stern.\n"})
    with Memory.open(home, background=False, speaker="owner") as memory:
        assert "Trondheim" in contents(memory, "Where does Alex live?")[0]
        assert contents(memory, "lathe") == []
        assert contents(memory, "leaks") == ["The red boat leaks at the stern."]


def test_opening_without_changes_writes_nothing(home: Path, vault: Path, tmp_path: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
        memory.sync(embed=True)
        contents(memory, "lathe")
    before, head = picture(tmp_path / "cache"), picture(home / "audit")
    with Memory.open(home, background=False, speaker="owner") as memory:
        assert contents(memory, "lathe")
    files = [name for name in picture(tmp_path / "cache") if name.endswith(".db")]
    assert [before[name][0] for name in files] == [picture(tmp_path / "cache")[name][0] for name in files]
    assert picture(home / "audit") == head


def test_write_does_not_wait_for_notes_that_no_index_has(home: Path, vault: Path, tmp_path: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
    for file in (tmp_path / "cache").rglob("*.db*"):
        file.unlink()
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("The harbour freezes in January")
        assert not memory.searcher.index.is_open
        assert contents(memory, "harbour") == ["The harbour freezes in January"]
        assert contents(memory, "lathe")


def test_edit_is_found_within_a_moment_by_a_process_that_watches(home: Path, vault: Path) -> None:
    with Memory.open(home, speaker="owner") as memory:
        memory.notes.watch(vault)
        assert contents(memory, "lathe")
        time.sleep(1)
        for name, text in (("daily/2026-11-03.md", "zebras eat grass"), ("new/deep/Note.md", "otters hold hands")):
            notes_in(vault, {name: f"{text}\n"})
            assert soon(lambda text=text: contents(memory, text)[:1] == [text])  # type: ignore[misc]
        (vault / "new/deep/Note.md").write_text("otters sleep on their backs\n")
        assert soon(lambda: "otters sleep on their backs" in contents(memory, "otters"))
        (vault / "new/deep/Note.md").unlink()
        assert soon(lambda: contents(memory, "otters backs") == [] or "otters" not in contents(memory, "otters")[0])


# Forgotten, corrected, purged


def test_forgotten_part_of_a_note_stays_forgotten_and_what_is_written_anew_is_found(
    memory: Memory, vault: Path
) -> None:
    note, before = vault / "people/Alex Kim.md", picture(vault)
    done = memory.forget(id_of(memory, "Oslo Bergen"))
    assert [each.content for each in done.memories] == ["She moved from Oslo to Bergen in March because of the sea."]
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    assert picture(vault) == before
    note.write_text(f"A new line above.\n\n{ALEX}\nAnd one below.\n")
    memory.searcher.index.notes.mark_behind()
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    note.rename(vault / "Alexandra.md")
    memory.searcher.index.notes.mark_behind()
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    memory.reindex()
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    memory.consolidate()
    (vault / "Alexandra.md").write_text("She moved from Oslo to Tromsø in April.\n")
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "Oslo")[:1] == ["She moved from Oslo to Tromsø in April."]


def test_block_with_an_id_stays_forgotten_when_it_is_rewritten(memory: Memory, vault: Path) -> None:
    memory.forget(id_of(memory, "green tea"))
    (vault / "people/Alex Kim.md").write_text(ALEX.replace("green tea", "black coffee"))
    memory.searcher.index.notes.mark_behind()
    assert "coffee" not in " ".join(contents(memory, "coffee print shop"))


def test_forgotten_note_comes_back_by_restore_and_by_undo(memory: Memory, vault: Path) -> None:
    moved = id_of(memory, "Oslo Bergen")
    memory.forget(moved)
    memory.restore(moved)
    assert id_of(memory, "Oslo Bergen") == moved
    done = memory.forget("moved from Oslo")
    (vault / "people/Alex Kim.md").rename(vault / "Alexandra.md")
    memory.searcher.index.notes.mark_behind()
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    assert done.receipt is not None
    memory.audit.undo([done.receipt.seq], by=HUMAN)
    assert "Oslo" in contents(memory, "Oslo Bergen sea")[0]


def test_correction_of_a_note_is_a_memory_of_the_home_that_takes_its_place(memory: Memory, vault: Path) -> None:
    before, moved = picture(vault), id_of(memory, "Oslo Bergen")
    made = memory.correct(moved, "She moved from Oslo to Stavanger in March.")
    assert made.id.startswith("M-")
    assert contents(memory, "Oslo") == ["She moved from Oslo to Stavanger in March."]
    assert [each.id for each in memory.explain(made.id).supersedes] == [moved]
    assert "page" not in made.attributes
    (vault / "people/Alex Kim.md").rename(vault / "Renamed.md")
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "Oslo") == ["She moved from Oslo to Stavanger in March."]
    (vault / "Renamed.md").rename(vault / "people/Alex Kim.md")
    assert {name: each[0] for name, each in picture(vault).items()} == {name: each[0] for name, each in before.items()}
    memory.forget(made.id)
    assert "Oslo" not in " ".join(contents(memory, "Oslo"))


def test_purge_names_the_file_and_refuses(memory: Memory, vault: Path) -> None:
    with pytest.raises(RefusedError, match=r"line 1 of .*2026-11-03\.md"):
        memory.purge(id_of(memory, "Dentist"))
    assert contents(memory, "Dentist")


def test_agent_finds_notes_and_cannot_have_a_folder_watched(home: Path, vault: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
    elsewhere = notes_in(vault.parent / "elsewhere", {"secret.md": "not for you\n"})
    with Memory.open(home, background=False, speaker="agent") as agent:
        with pytest.raises(PolicyError):
            agent.notes.watch(elsewhere)
        assert contents(agent, "Dentist")


# Folders


def test_folder_that_is_away_hides_its_notes_and_they_are_found_when_it_is_back(memory: Memory, vault: Path) -> None:
    memory.forget(id_of(memory, "Oslo Bergen"))
    away = vault.rename(vault.parent / "away")
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "lathe") == []
    assert [each for each in memory.status().degraded if each.startswith("notes: ") and str(vault) in each]
    assert memory.notes.folders()[0].missing
    memory.reindex()
    vault.mkdir()  # an empty place where a disk is mounted
    memory.searcher.index.notes.mark_behind()
    assert "mount" in (memory.notes.folders()[0].missing or "")
    vault.rmdir()
    away.rename(vault)
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "lathe") == ["Bought a lathe for the #workshop/tools"]
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    assert not [each for each in memory.status().degraded if each.startswith("notes: ")]


def test_folder_that_goes_and_returns_is_noticed_by_a_process_that_watches(home: Path, vault: Path) -> None:
    with Memory.open(home, speaker="owner") as memory:
        memory.notes.watch(vault)
        assert contents(memory, "lathe")
        time.sleep(1)
        away = vault.rename(vault.parent / "away")
        assert soon(lambda: contents(memory, "lathe") == [])
        away.rename(vault)
        assert soon(lambda: bool(contents(memory, "lathe")))
        (vault / "daily/2026-11-03.md").write_text("- Sold the lathe again\n")
        assert soon(lambda: contents(memory, "lathe") == ["Sold the lathe again"])


def test_one_bad_note_does_not_stop_the_others_and_is_told(memory: Memory, vault: Path) -> None:
    (vault / "binary.md").write_bytes(b"\x00\xff" * 100)
    (vault / "latin.md").write_bytes("Ærø ligger i Danmark, sagde Søren på Ærø\n".encode("latin-1"))
    with (vault / "huge.md").open("wb") as file:
        file.truncate(MAX_TRACKED_BYTES + 1)
    (vault / "link.md").symlink_to("/etc/passwd")
    (vault / "folder-link").symlink_to("/etc")
    (vault / "locked.md").write_text("nobody reads this\n")
    (vault / "locked.md").chmod(0)
    notes_in(vault, {".obsidian/a.md": "zebra\n", ".trash/b.md": "zebra\n", "logseq/bak/c.md": "zebra\n"})
    notes_in(vault, {"inner/.memfolio/key": "", "inner/agents/main/memory/d.md": "zebra\n"})
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "lathe")
    assert "zebra" not in " ".join(contents(memory, "zebra"))
    told = {Path(path).name: why for path, why in memory.notes.folders()[0].problems.items()}
    expected = {"binary.md", "huge.md", "link.md", *(["locked.md"] if os.getuid() else [])}
    assert expected <= told.keys()
    assert "16 MiB" in told["huge.md"]
    assert memory.status().counts is not None
    (vault / "huge.md").write_text("The elephant was split\n")
    memory.searcher.index.notes.mark_behind()
    assert contents(memory, "elephant") == ["The elephant was split"]


def test_folders_that_overlap_with_a_home_or_another_folder_are_refused(
    memory: Memory, home: Path, vault: Path
) -> None:
    (home / "inside").mkdir()
    for folder in (home, home / "inside", home.parent):
        with pytest.raises(InputError, match="lie in one another"):
            memory.notes.watch(folder)
    for folder in (vault / "people", vault.parent / "around"):
        if not folder.exists():
            folder.mkdir()
            continue
        with pytest.raises(ConflictError, match="is watched"):
            memory.notes.watch(folder)
    other = notes_in(vault.parent / "other-home", {".memfolio/key": "", "agents/main/x.md": "x"})
    with pytest.raises(InputError, match="lies in the home"):
        memory.notes.watch(other / "agents")
    with pytest.raises(NotFoundError):
        memory.notes.watch(vault / "none")
    with pytest.raises(NotFoundError):
        memory.notes.stop(home)
    assert memory.notes.watch(vault).receipt is None  # it is watched already


def test_stopping_leaves_the_folder_and_what_was_said_about_it(memory: Memory, vault: Path) -> None:
    before = picture(vault)
    memory.forget(id_of(memory, "Oslo Bergen"))
    assert memory.notes.stop(vault, dry_run=True).notes == 2
    assert contents(memory, "lathe")
    memory.notes.stop(vault)
    assert contents(memory, "lathe") == []
    assert memory.notes.folders() == []
    memory.notes.watch(vault)
    assert contents(memory, "lathe")
    assert "Oslo" not in " ".join(contents(memory, "Oslo Bergen sea"))
    assert picture(vault) == before


def test_watching_is_a_change_of_the_trail_that_undo_takes_back(memory: Memory, vault: Path) -> None:
    line = next(line for line in memory.audit.log() if "agents/main/agent.toml" in line.paths)
    memory.audit.undo([line.seq], by=HUMAN)
    assert contents(memory, "lathe") == []
    assert memory.notes.folders() == []


def test_reading_that_is_killed_half_way_is_finished_by_the_next(home: Path, tmp_path: Path) -> None:
    vault = notes_in(tmp_path / "many", {f"{n % 20}/{n}.md": f"The number {n} is written here.\n" for n in range(600)})
    script = """import sys; from memfolio import Memory
with Memory.open(sys.argv[1], background=False, speaker="owner") as memory:
    memory.notes.watch(sys.argv[2])
"""
    for delay in (0.4, 0.7, 1.0):
        process = subprocess.Popen([sys.executable, "-c", script, str(home), str(vault)])
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(vault)
        assert memory.notes.folders()[0].notes == 600
        assert contents(memory, "number 471")[:1] == ["The number 471 is written here."]


def many_notes(folder: Path, count: int) -> Path:
    """A folder of notes as people have them: some text, a link, a list, a tag."""
    files = {
        f"{nth % 100}/Note {nth}.md": f"---\ntags: [t{nth % 50}]\n---\n# Note {nth}\n\n"
        f"The number {nth} follows {nth - 1} in this row of notes.\n\n"
        f"- It is next to [[Note {nth + 1}]] and to others\n- It was counted by hand\n"
        for nth in range(count)
    }
    return notes_in(folder, files)


def measured(work: Callable[[], object]) -> float:
    """Seconds of this process's own, which do not count what others do to the machine."""
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.serial
@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.long)])
def test_many_notes_are_looked_over_in_a_moment_and_an_edit_among_them_is_found(
    home: Path, tmp_path: Path, count: int
) -> None:
    vault = many_notes(tmp_path / "many", count)
    told: list[tuple[int, int]] = []
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.searcher.index.progress = lambda done, total: told.append((done, total))
        reading = measured(lambda: memory.notes.watch(vault))
        assert told[-1][1] >= count
        assert len({done for done, _ in told}) >= count
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.searcher.index.read(lambda db: None)
        memory.searcher.index.notes.mark_behind()
        looking = measured(memory.searcher.index.catch_up)
        assert looking < reading / 5
        assert looking < 1
        (vault / "7/Note 7.md").write_text("A zebra stands in the row instead.\n")
        memory.searcher.index.notes.mark_behind()
        assert measured(memory.searcher.index.catch_up) < 1
        assert contents(memory, "zebra")[:1] == ["A zebra stands in the row instead."]
        assert memory.notes.folders()[0].notes == count
    with Memory.open(home, speaker="owner") as memory:
        contents(memory, "zebra")
        time.sleep(1.5)
        (vault / "8/Note 8.md").write_text("An otter swims along the row.\n")
        assert soon(lambda: contents(memory, "otter")[:1] == ["An otter swims along the row."], seconds=10)
