"""The heartbeat keeps a mind in order as one change, and leaves one alone that is."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memfolio.clock import SettableClock
from memfolio.memory import Memory
from memfolio.mind.heartbeat import BdiCycleResult, Digest, beat
from memfolio.tend.changes import JobChanges
from memfolio.tend.digest import build
from memfolio.vault.change import Change, Receipt
from memfolio.vault.vault import OWNER

MIND = "agents/main/mind"
TROUBLED = {
    "Beliefs": "## Market demand is growing\ncertainty: 0.85\n\n## Market demand is declining\ncertainty: 0.78\n",
    "Desires": "# What I want\n\n## Rest\npriority: low\n\n## Work\npriority: high\n",
    "Intentions": "## Ship it [deadline: 2026-11-01]\n\nSoon.\n\n## Write the page\nupdated: 2026-11-01\n",
    "Commitments": "## Send the report\nto: Maria · deadline: 2026-11-10\n",
}


def write(memory: Memory, **pages: str) -> None:
    for name, text in pages.items():
        page = memory.vault.page(f"{MIND}/{name}.md")
        memory.vault.put_page(f"{MIND}/{name}.md", text, expects=page.hash if page else None, by=OWNER)


def text_of(memory: Memory, path: str) -> str:
    return (memory.vault.content(f"agents/main/{path}") or b"").decode()


def run(memory: Memory, *, dry_run: bool = False, digest: Digest | None = None) -> BdiCycleResult:
    changes = JobChanges(vault=memory.vault, agent="main", now=memory.vault.home.now(), dry_run=dry_run)
    return beat(changes, memory.searcher, digest)


def test_one_cycle_is_one_change_that_can_be_undone(memory: Memory) -> None:
    write(memory, **TROUBLED)
    head = memory.vault.head
    found = run(memory)
    assert (found.stale_intentions_pruned, found.desires_prioritized, found.conflicts_detected) == (3, 2, 1)
    assert (found.agent_id, found.belief_count, found.desire_count, found.chunks_processed) == ("main", 2, 2, 1)
    assert memory.vault.head == head + 1
    [line] = memory.audit.log(limit=1)
    assert (line.actor, line.trigger, line.action) == ("system:heartbeat", "heartbeat", "EDIT")
    memory.audit.undo(line.seq, by=OWNER)
    assert {name: text_of(memory, f"mind/{name}.md") for name in TROUBLED} == TROUBLED


def test_result_tells_what_was_marked_and_why(memory: Memory) -> None:
    write(memory, **TROUBLED)
    found = run(memory)
    intentions = text_of(memory, "mind/Intentions.md")
    assert "status: expired" in intentions
    assert "status: expired · updated: 2026-11-15 · reason: its deadline was 2026-11-01\n\nSoon." in intentions
    assert "status: stalled · reason: nothing was said of it since 2026-11-01" in intentions
    assert text_of(memory, "mind/Desires.md").startswith("# What I want\n\n## Work\npriority: high\n")
    assert [note for note in found.notes if "broken promise to Maria: Send the report" in note]
    page = text_of(memory, "memory/conflicts/2026-11-15.md")
    assert "Market demand is growing" in page
    assert "**Severity**: 0.78, certain" in page


def test_mind_in_order_is_not_written_to(memory: Memory, clock: SettableClock) -> None:
    assert run(memory) == BdiCycleResult(agent_id="main", timestamp=clock.now())
    write(memory, **TROUBLED)
    run(memory)
    head = memory.vault.head
    for _ in range(3):
        clock.advance(hours=20)
        again = run(memory)
        assert (memory.vault.head, again.conflicts_detected, again.stale_intentions_pruned) == (head, 1, 0)
        assert len(again.notes) == 1, "a broken promise is told of each time"


def files(home: Path) -> dict[Path, tuple[int, bytes]]:
    return {each: (each.stat().st_mtime_ns, each.read_bytes()) for each in home.rglob("*") if each.is_file()}


def test_dry_run_shows_the_difference_and_touches_no_file(memory: Memory, home: Path) -> None:
    write(memory, **TROUBLED)
    confirmed(memory, "6379")
    memory.searcher.index.catch_up()
    memory.vault.commit()  # before a thread does it, sooner or later
    before = files(home)
    found = memory.heartbeat(dry_run=True)
    assert (found.stale_intentions_pruned, found.beliefs_fed, found.conflicts_detected) == (3, 1, 1)
    assert "+status: expired" in found.diff
    assert files(home) == before


def test_desires_are_counted_as_ranked_and_as_moved(memory: Memory) -> None:
    write(
        memory, Desires="## A\npriority: 0.9\n\n## B\npriority: 0.1\n\n## C\npriority: 0.5\n\n## D\nstatus: dropped\n"
    )
    for moved in (2, 0):
        found = run(memory)
        assert (found.desires_prioritized, found.desires_moved, found.desire_count) == (3, moved, 4)


def test_what_is_long_over_moves_to_the_archive_whole(memory: Memory, clock: SettableClock) -> None:
    done = "## Old\nstatus: done · updated: 2026-10-01\n\nIt went well.\n\n"
    write(memory, Intentions=f"# Mine\n\n{done}## Fresh\nstatus: done\n")
    assert run(memory).archived == 1
    assert text_of(memory, "mind/Intentions.md") == "# Mine\n\n## Fresh\nstatus: done · updated: 2026-11-15\n\n"
    assert text_of(memory, "memory/archive/2026-11/mind/Intentions.md") == f"# Intentions\n\n{done}"
    clock.advance(days=31)
    run(memory)
    assert text_of(memory, "mind/Intentions.md") == "# Mine\n\n"
    assert "## Fresh" in text_of(memory, "memory/archive/2026-12/mind/Intentions.md")


def test_belief_that_is_long_over_moves_to_the_archive_and_is_not_fed_again(
    memory: Memory, clock: SettableClock
) -> None:
    fact = confirmed(memory, "6379")
    run(memory)
    write(memory, Beliefs=text_of(memory, "mind/Beliefs.md").replace("source:", "status: dropped · source:"))
    clock.advance(days=31)
    found = run(memory)
    assert (found.archived, found.beliefs_fed, found.belief_count) == (1, 0, 0)
    assert fact in text_of(memory, "memory/archive/2026-12/mind/Beliefs.md")
    assert fact not in text_of(memory, "mind/Beliefs.md")
    assert run(memory).beliefs_fed == 0


def test_broken_page_is_reported_and_the_others_are_kept(memory: Memory, home: Path) -> None:
    broken = "## Sail [deadline: 2026-13-45]\nupdated: never\n"
    write(memory, **TROUBLED | {"Intentions": broken})
    (home / MIND / "Desires.md").unlink()
    (home / MIND / "Desires.md").symlink_to("Desires.md")
    found = run(memory)
    assert text_of(memory, "mind/Intentions.md") == broken
    assert len([each for each in found.problems if "Intentions.md, line" in each]) == 2
    assert [each for each in found.problems if "Desires.md" in each]
    assert (found.stale_intentions_pruned, found.conflicts_detected) == (1, 1)


def test_policy_that_forbids_it_is_told(home: Path, clock: SettableClock) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text('[policy]\nrows = ["page by system: refuse"]\n')
    with Memory.open(home, clock=clock, background=False) as memory:
        write(memory, **TROUBLED)
        found = run(memory)
        assert (found.stale_intentions_pruned, found.conflicts_detected) == (0, 1)
        assert "nothing was changed" in found.problems[-1]


def test_page_that_changes_meanwhile_is_composed_again(memory: Memory) -> None:
    write(memory, **TROUBLED)

    class Late(JobChanges):
        def make(self, change: Change) -> Receipt | None:
            if not self.receipts and "## Late" not in text_of(memory, "mind/Desires.md"):
                write(memory, Desires="## Late\npriority: 0.1\n\n## Early\npriority: 0.9\n")
            return super().make(change)

    beat(Late(vault=memory.vault, agent="main", now=memory.vault.home.now()), memory.searcher)
    assert text_of(memory, "mind/Desires.md") == "## Early\npriority: 0.9\n\n## Late\npriority: 0.1\n\n"


def test_words_that_a_person_writes_meanwhile_are_all_kept(memory: Memory, home: Path) -> None:
    write(memory, Desires="## Rest\n")
    person = """import sys, time, pathlib
page = pathlib.Path(sys.argv[1])
for number in range(15):
    page.write_text(page.read_text() + f"\\n## Wish {number}\\npriority: 0.{number:02}\\n")
    time.sleep(0.02)
"""
    with subprocess.Popen([sys.executable, "-c", person, str(home / MIND / "Desires.md")]) as writing:
        while writing.poll() is None:
            memory.heartbeat()
    memory.vault.refresh()
    memory.heartbeat()
    page = text_of(memory, "mind/Desires.md")
    assert [page.count(f"## Wish {number}\n") for number in range(15)] == [1] * 15
    assert page.index("## Wish 14\n") < page.index("## Wish 0\n")


def confirmed(memory: Memory, target: str) -> str:
    fact = memory.facts.assert_("Redis", "hasPort", target, confidence=0.95)
    return memory.facts.note_verification(fact, "user_confirmation", True, None).id


def test_confirmed_fact_is_believed_for_as_long_as_it_holds(memory: Memory, clock: SettableClock) -> None:
    memory.facts.assert_("Redis", "isOld", "true")
    fact = confirmed(memory, "6379")
    assert run(memory).beliefs_fed == 1
    page = text_of(memory, "mind/Beliefs.md")
    assert f"source: fact · from: {fact}" in page
    assert "## Redis has port 6379 ^B-" in page
    assert run(memory).beliefs_fed == 0
    clock.advance(hours=1)
    memory.facts.assert_("Redis", "hasPort", "6379", confidence=0.91)
    run(memory)
    assert "certainty: 0.91" in text_of(memory, "mind/Beliefs.md")
    memory.facts.retract(fact)
    run(memory)
    assert "status: retired" in text_of(memory, "mind/Beliefs.md")


def test_facts_are_fed_in_the_line_ends_of_the_page(memory: Memory) -> None:
    write(memory, Beliefs="# Mine\r\n\r\nWords.\r\n")
    confirmed(memory, "6379")
    confirmed(memory, "6380")
    assert run(memory).beliefs_fed == 2
    page = text_of(memory, "mind/Beliefs.md")
    assert page.startswith("# Mine\r\n\r\nWords.\r\n\r\n## Redis has port")
    assert page.count("\n") == page.count("\r\n")


@pytest.mark.parametrize("left", ["", "## Redis has port 6379\nstatus: dropped · from: {}\n"])
def test_belief_that_a_person_dropped_does_not_come_back(memory: Memory, left: str) -> None:
    fact = confirmed(memory, "6379")
    run(memory)
    write(memory, Beliefs=left.format(fact))
    assert run(memory).beliefs_fed == 0
    assert text_of(memory, "mind/Beliefs.md").count("##") == left.count("##")


def test_what_strangers_said_is_not_believed(memory: Memory) -> None:
    fact = memory.facts.assert_("Alex", "owes", "100", origin="untrusted", by=OWNER)
    memory.facts.note_verification(fact, "user_confirmation", True, None)
    assert run(memory).beliefs_fed == 0


def test_fact_is_believed_on_the_word_of_somebody_until_it_is_denied(memory: Memory, clock: SettableClock) -> None:
    fact = memory.facts.assert_("Redis", "hasPort", "6379", confidence=0.95)
    for method, verified, fed in (
        ("consistency_check", True, 0),
        ("temporal_check", True, 0),
        ("cross_reference", False, 0),
        ("cross_reference", True, 1),
        ("user_confirmation", False, 0),
    ):
        clock.advance(hours=1)
        memory.facts.note_verification(fact, method, verified, None)
        assert (method, verified, run(memory).beliefs_fed) == (method, verified, fed)
    assert "status: retired · reason: the fact does not hold any more" in text_of(memory, "mind/Beliefs.md")


def test_belief_that_rests_on_what_was_corrected_is_told_of(memory: Memory) -> None:
    old, lost = memory.remember("Alex lives in Bonn"), memory.remember("Alex has a secret plan")
    write(
        memory,
        Beliefs=f"## Home\ncertainty: 0.9 · from: {old.id}\n\nBonn\n\n## Plan\ncertainty: 0.9 · from: {lost.id}\n",
    )
    new = memory.correct(old.id, "Alex lives in Bremen")
    memory.forget(lost.id)
    found = run(memory)
    assert [(each.kind, each.one.certainty) for each in found.conflicts] == [("superseded", 0.9)] * 2
    page = text_of(memory, "memory/conflicts/2026-11-15.md")
    assert f"Alex lives in Bremen ({new.id})" in page
    assert "secret" not in page


def test_conflict_page_says_that_all_is_resolved_beside_what_others_wrote(memory: Memory, clock: SettableClock) -> None:
    day = "agents/main/memory/conflicts/2026-11-16.md"
    write(memory, **TROUBLED)
    run(memory)
    clock.advance(days=1)
    memory.vault.put_page(day, "# Conflicts found on 2026-11-16\n\n## Alex: lives in\n", expects=None, by=OWNER)
    write(memory, Beliefs=TROUBLED["Beliefs"].replace("certainty: 0.78", "certainty: 0.1"))
    assert run(memory).conflicts_detected == 0
    page = text_of(memory, "memory/conflicts/2026-11-16.md")
    assert page.startswith("# Conflicts found on 2026-11-16\n\n## Alex: lives in\n\n<!-- beliefs ")
    assert " -->\n## No conflict among beliefs\n" in page
    head = memory.vault.head
    run(memory)
    assert memory.vault.head == head
    page += "\n## Alex: works at\n"
    memory.vault.put_page(day, page, expects=memory.vault.page(day).hash, by=OWNER)  # type: ignore[union-attr]
    write(memory, **TROUBLED)
    run(memory)
    again = text_of(memory, "memory/conflicts/2026-11-16.md")
    assert [line for line in again.splitlines() if line.startswith("## ")] == [
        "## Alex: lives in",
        "## 1 conflict among beliefs",
        "## Alex: works at",
    ]


@pytest.mark.parametrize(
    ("zone", "said", "week"),
    [
        ("Europe/Berlin", "2026-12-28T00:30", "2026-W53"),
        ("Europe/Berlin", "2027-01-03T23:30", "2026-W53"),
        ("Europe/Berlin", "2026-03-29T01:30", "2026-W13"),
        ("Pacific/Kiritimati", "2027-01-03T23:30", "2026-W53"),
        ("America/Los_Angeles", "2026-11-01T01:30", "2026-W44"),
    ],
)
def test_week_is_over_at_midnight_where_the_home_is(zone: str, said: str, week: str, home: Path) -> None:
    at = datetime.fromisoformat(said).replace(tzinfo=ZoneInfo(zone))
    over = datetime.strptime(f"{week}-7", "%G-W%V-%u").replace(tzinfo=at.tzinfo) + timedelta(days=1)
    clock = SettableClock(at.astimezone(UTC))
    home.mkdir()
    (home / "memfolio.toml").write_text(f'timezone = "{zone}"\n')
    with Memory.open(home, clock=clock, background=False) as memory:
        memory.remember("We chose Redis")
        clock.advance(seconds=(over.astimezone(UTC) - clock.now()).total_seconds() - 1)
        assert memory.heartbeat().digest == ""
        clock.advance(seconds=1)
        assert memory.heartbeat().digest == "1 digest"
        assert f"agents/main/memory/weekly/{week}.md" in memory.vault.states()


def test_weeks_that_are_over_are_summed_up_once(memory: Memory, clock: SettableClock) -> None:
    asked: list[date] = []

    def digest(since: date) -> str:
        asked.append(since)
        changes = JobChanges(vault=memory.vault, agent="main", now=clock.now())
        return f"{len(build(changes, memory.searcher.index, levels=['weekly'], since=since).paths)} weeks"

    memory.remember("We chose Redis")
    assert run(memory, digest=digest).digest == ""
    clock.advance(days=1)  # a Monday
    assert run(memory, digest=digest).digest == "1 weeks"
    clock.advance(days=1)
    memory.remember("We chose Postgres")
    clock.advance(days=21)
    assert run(memory, digest=digest).digest == "1 weeks"
    assert run(memory, digest=digest).digest == ""
    assert asked == [date(2026, 11, 9), date(2026, 11, 16)]
