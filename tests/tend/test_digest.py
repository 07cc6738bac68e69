"""Digests of weeks, months and quarters: what is in them, when they are written, and what a person's edit does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memfolio import Memory
from memfolio.arguments import draft_of
from memfolio.clock import SettableClock
from memfolio.errors import InputError, ModelError
from memfolio.llm.model import Model
from memfolio.stores.edit import purge
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.digest import (
    LEVELS,
    Built,
    build,
    built_from,
    inline,
    new_page,
    parts,
    period_named,
    period_of,
    renewed_page,
)
from memfolio.tend.retention import archive, compress
from memfolio.types import Action, MemoryItem
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.sections import is_ours

T = TypeVar("T")
WEEK = "agents/main/memory/weekly/2026-W45.md"
MONDAY = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False, speaker="owner") as opened:
        yield opened


def run(
    memory: Memory, *, levels: tuple[str, ...] = LEVELS, current: bool = False, model: Model | None = None
) -> Built:
    return build(job_changes(memory), memory.searcher.index, levels=levels, current=current, model=model)


def job_changes(memory: Memory) -> JobChanges:
    return JobChanges(vault=memory.vault, agent="main", now=memory.vault.home.now())


def text_of(memory: Memory, path: str = WEEK) -> str:
    page = memory.vault.page(path)
    assert page is not None
    return page.text


def fill(memory: Memory, *, days: int = 5, first: datetime = MONDAY) -> None:
    drafts = []
    for day in range(days):
        at = first + timedelta(days=day)
        told = f"We use PostgreSQL for billing, step {day}"
        drafts += [
            draft_of(content=told, type="decision", tags=["billing"], at=at),
            draft_of(content="The disk was full", type="error", at=at + timedelta(hours=1)),
            draft_of(content=f"Ask Anna about invoice {day}", session=f"s{day}", at=at + timedelta(hours=2)),
        ]
    memory.vault.add("main", drafts, tender("test"))


def test_week_that_is_over_has_themes_decisions_and_days_with_links(memory: Memory) -> None:
    fill(memory)
    assert WEEK in run(memory).paths
    text = text_of(memory)
    assert "15 memories on 5 days in 5 conversations; most on [[2026-11-02]] (3)." in text
    assert "- billing: 5 memories on 5 days" in text
    assert re.search(r"## Key Decisions\n\n- \[\[2026-11-02\]\] We use PostgreSQL.*\(M-\d+-[0-9a-f]{8}\)", text)
    assert "## Errors" in text
    assert "### [[2026-11-06]] Friday" in text
    assert is_ours(text)


def test_only_periods_that_are_over_are_built_unless_asked(memory: Memory) -> None:
    fill(memory, days=14)  # up to today, the 15th
    assert run(memory).paths == (WEEK,)
    current = run(memory, current=True)
    assert [Path(path).stem for path in current.paths] == ["2026-W46", "2026-11", "2026-Q4"]
    assert "[[2026-W45]]" in text_of(memory, current.paths[1])
    assert "[[2026-11]]" in text_of(memory, current.paths[2])


def test_nothing_stale_is_nothing_written(memory: Memory) -> None:
    fill(memory)
    run(memory)
    head = memory.vault.head
    again = run(memory)
    assert (again.paths, again.fresh, memory.vault.head) == ((), 1, head)


def test_late_memory_and_forgetting_renew_only_the_periods_of_their_day(memory: Memory) -> None:
    fill(memory, first=MONDAY - timedelta(days=21))
    fill(memory)
    run(memory)
    late = memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    assert run(memory).paths == (WEEK,)
    assert late.id in text_of(memory)
    memory.forget(late.id)
    assert run(memory).paths == (WEEK,)
    assert "Grafana" not in text_of(memory)


def test_corrected_memory_gives_way_to_its_correction(memory: Memory) -> None:
    fill(memory)
    wrong = memory.remember("The launch is on Thursday", type="decision", importance=1, at=MONDAY)
    run(memory)
    memory.correct(wrong.id, "The launch is on Friday")
    run(memory)
    assert "launch is on Friday" in text_of(memory)
    assert "Thursday" not in text_of(memory).partition("## Days")[0]


def test_strangers_and_what_was_derived_do_not_enter(memory: Memory) -> None:
    fill(memory)
    for source in ("consolidation", "summary"):
        memory.remember(f"Zanzibar {source}", type="decision", source=source, importance=1, at=MONDAY)
    stranger = memory.remember("Zanzibar is far", type="decision", origin="untrusted", importance=1, at=MONDAY)
    run(memory)
    assert "15 memories" in text_of(memory)
    assert "Zanzibar" not in text_of(memory)
    memory.confirm(stranger.id)
    run(memory)
    assert f"Zanzibar is far ({stranger.id})" in text_of(memory)


def test_learned_decision_stands_in_its_section_with_its_source(memory: Memory) -> None:
    said = memory.observe("user", "So we'll go with PostgreSQL for billing then.", session="s", user="Priya", at=MONDAY)
    draft = draft_of(content="Priya chose PostgreSQL", type="decision", source="extraction", at=MONDAY)
    (learned,) = memory.vault.add("main", [draft._replace(derived_from=(said.id,))], tender("test")).items
    run(memory)
    text = text_of(memory)
    assert "1 memory on 1 day" in text
    assert f"- [[2026-11-02]] Priya chose PostgreSQL ({learned.id}, {said.id})" in text
    assert "So we'll go" not in text


def test_what_was_learned_and_what_is_open_have_sections_and_empty_days_none(memory: Memory) -> None:
    memory.observe("user", "Priya leads billing, did I say that?", session="s", at=MONDAY)
    memory.remember("Priya leads billing", type="fact", source="extraction", importance=0.7, at=MONDAY)
    memory.remember("Priya wants to be reminded: renew the lease", type="task", source="extraction", at=MONDAY)
    memory.observe("user", "hmm let me think", session="s", at=MONDAY + timedelta(days=1))
    memory.observe("assistant", "Sure, here is a draft you can edit.", session="s", at=MONDAY + timedelta(days=1))
    memory.observe("user", "Translate 'pier' into Polish please.", session="s", at=MONDAY + timedelta(days=1))
    run(memory)
    text = text_of(memory)
    assert "## Learned\n\n- [[2026-11-02]] Priya leads billing" in text
    assert "## Open\n\n- [[2026-11-02]] Priya wants to be reminded" in text
    assert not any(words in text for words in ("think", "draft", "Polish", "### [[2026-11-03]]"))


def test_person_who_spoke_is_named(memory: Memory) -> None:
    memory.observe("user", "I live in Altona with two cats.", user="Priya", session="s", at=MONDAY)
    memory.observe("Tom", "The harbour office closes on Fridays.", session="s", at=MONDAY)
    memory.observe("assistant", "The ferry leaves at noon from pier four.", user="Priya", session="s", at=MONDAY)
    run(memory)
    text = text_of(memory)
    assert "- Priya: I live in Altona with two cats. (M-" in text
    assert "- Tom: The harbour office closes" in text
    assert "ferry" not in text  # an assistant's comment


def test_jokes_logs_secrets_and_greetings_are_not_told(memory: Memory) -> None:
    noise = [
        "haha if I were a millionaire I'd buy Narnia… just kidding",
        'File "/srv/narnia/app.py", line 12, in <module>',
        "totally love Narnia meetings at 7am /s",
        "ERROR narnia.billing password=hunter2 refused",
        "NARNIA_TOKEN=hunter2",
        "Wow! Awesome Narnia!",
        "I move to Narnia tomorrow. Just kidding!",
    ]
    for day in range(3):
        for nth, text in enumerate([*noise, "Anna shares a flat in Altona with her brother."]):
            memory.observe("user", text, session=f"s{day}", at=MONDAY + timedelta(days=day, minutes=nth))
        memory.remember("The narnia key", store="vault", type="decision", at=MONDAY + timedelta(days=day))
        memory.remember("The password: hunter2", type="decision", at=MONDAY + timedelta(days=day))
    run(memory)
    text = text_of(memory)
    assert "27 memories on 3 days" in text
    assert "- Altona: 3 memories on 3 days" in text
    assert not re.search(r"(?i)narnia|hunter2|kidding|/s\b|wow|awesome|\bshares:|7am", text)


def test_undone_memory_leaves_its_digest(memory: Memory) -> None:
    fill(memory)
    kept = memory.remember("Harpsichord is the code word", type="decision", importance=1, at=MONDAY)
    seq = memory.vault.head
    run(memory)
    assert kept.id in text_of(memory)
    memory.audit.undo([seq], by=tender("test"))
    assert run(memory).paths == (WEEK,)
    assert "Harpsichord" not in text_of(memory)


def test_forgotten_memory_leaves_its_digest_though_another_was_purged(memory: Memory) -> None:
    fill(memory)
    first, second = (
        memory.remember(text, type="decision", importance=1, at=MONDAY) for text in ("Harpsichord", "Tangerine")
    )
    memory.forget(first.id)
    run(memory)
    purge(memory.vault, memory.searcher, [first.id], tender("test"))
    memory.forget(second.id)
    assert run(memory).paths == (WEEK,)
    assert "Tangerine" not in text_of(memory)


def test_memory_corrected_on_a_later_day_leaves_its_digest(memory: Memory, clock: SettableClock) -> None:
    fill(memory)
    wrong = memory.remember("The launch is on Thursday", type="decision", importance=1, at=MONDAY)
    run(memory)
    clock.advance(days=1)
    memory.correct(wrong.id, "The launch is on Friday")
    assert run(memory).paths == (WEEK,)
    assert "launch is on Thursday" not in text_of(memory)


def test_digest_of_the_current_week_loses_what_is_forgotten(memory: Memory) -> None:
    kept = memory.remember("Harpsichord", type="decision", at=MONDAY + timedelta(days=10))
    memory.remember("Tangerine", type="decision", at=MONDAY + timedelta(days=10))
    (path,) = run(memory, levels=("weekly",), current=True).paths
    assert "Harpsichord" in text_of(memory, path)
    memory.forget(kept.id)
    assert run(memory, levels=("weekly",)).paths == (path,)
    assert "Harpsichord" not in text_of(memory, path)


def test_archived_days_keep_their_digests_and_do_not_enter_others(memory: Memory) -> None:
    old = MONDAY - timedelta(days=28)
    fill(memory)
    fill(memory, first=old)
    run(memory, levels=("weekly",))
    before = text_of(memory)
    paths = [f"agents/main/memory/2026-11-0{day}.md" for day in range(2, 7)]
    places = {path: [each.id for each in _entries(memory, path)] for path in paths}
    archive(memory.vault, places, tender("test"), dry_run=False)
    assert run(memory, levels=("weekly",)).paths == ()
    assert text_of(memory) == before
    memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    assert run(memory, levels=("weekly",)).paths == (WEEK,)
    assert "16 memories on 5 days" in text_of(memory)
    month = run(memory, levels=("monthly",), current=True).paths[-1]
    assert "1 memory on 1 day" in text_of(memory, month)


def test_compressed_logs_leave_their_digest_as_it_is(memory: Memory) -> None:
    fill(memory)
    run(memory)
    before = text_of(memory)
    paths = [f"agents/main/memory/2026-11-0{day}.md" for day in range(2, 7)]
    places = {path: [each.id for each in _entries(memory, path)] for path in paths}
    archive(memory.vault, places, tender("test"), dry_run=False)
    archived = [path.replace("/memory/", "/memory/archive/2026-11/") for path in paths]
    assert compress(job_changes(memory), archived, tender("test"))
    assert run(memory).paths == ()
    assert text_of(memory) == before


def test_purged_memory_leaves_its_digest_at_the_next_run(memory: Memory) -> None:
    fill(memory)
    secret = memory.remember(
        "Harpsichord is the code word for the vault. Nobody else knows.", type="decision", importance=1, at=MONDAY
    )
    run(memory)
    assert "Harpsichord" in text_of(memory)
    purge(memory.vault, memory.searcher, [secret.id], tender("test"))
    run(memory)
    assert "Harpsichord" not in text_of(memory)
    assert secret.id not in text_of(memory)
    assert "15 memories on 5 days" in text_of(memory)
    assert run(memory).paths == ()


def test_digest_that_somebody_writes_meanwhile_is_not_lost(memory: Memory) -> None:
    fill(memory)
    job = job_changes(memory)
    by_hand = PutPage(WEEK, b"My own week\n", None)

    class Slow(JobChanges):
        def make(self, change: Change) -> Receipt | None:
            memory.vault.apply(Change(operations=(by_hand,), by=tender("test"), action=Action.CREATE))
            return super().make(change)

    slow = Slow(vault=job.vault, agent=job.agent, now=job.now)
    assert build(slow, memory.searcher.index).paths == ()
    assert slow.notes == [f"no digest was written: {WEEK} was changed by somebody else"]
    assert text_of(memory) == "My own week\n"


def _entries(memory: Memory, path: str) -> list[MemoryItem]:
    return memory.vault.entries("main", date.fromisoformat(Path(path).stem))


@pytest.mark.parametrize("is_purged", [False, True])
def test_everything_forgotten_leaves_an_empty_digest(memory: Memory, is_purged: bool) -> None:
    only = memory.remember("Harpsichord", at=MONDAY)
    run(memory)
    if is_purged:
        purge(memory.vault, memory.searcher, [only.id], tender("test"))
    else:
        memory.forget(only.id)
    run(memory)
    assert "Nothing of this is remembered." in text_of(memory)
    assert run(memory).paths == ()


def test_what_a_person_wrote_around_a_digest_stays(memory: Memory) -> None:
    fill(memory)
    run(memory)
    _edit(memory, lambda text: text.replace("---\n<!--", "mood: good\n---\nMy own words.\n<!--", 1) + "\nAnd an end.\n")
    memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    assert run(memory).paths == (WEEK,)
    text = text_of(memory)
    assert all(each in text for each in ("mood: good", "My own words.", "And an end.", "Grafana"))
    assert run(memory).paths == ()


def test_text_above_the_front_matter_gives_no_second_one(memory: Memory) -> None:
    fill(memory)
    run(memory)
    _edit(memory, lambda text: f"My own words.\n\n{text}")
    assert run(memory).paths == ()
    memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    assert run(memory).paths == (WEEK,)
    assert text_of(memory).startswith("My own words.\n\n---\n")
    assert text_of(memory).count("built_from:") == 1


def test_digest_changed_by_hand_is_left_alone_and_noted(memory: Memory) -> None:
    fill(memory)
    run(memory)
    _edit(memory, lambda text: text.replace("## Key Decisions", "## What we decided"))
    edited = text_of(memory)
    assert run(memory).edited == ()  # it is as fresh as its days
    memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    changes = job_changes(memory)
    built = build(changes, memory.searcher.index)
    assert (built.paths, built.edited) == ((), (WEEK,))
    assert changes.notes == [f"{WEEK} was changed by hand and is left as it is"]
    assert text_of(memory) == edited


def _edit(memory: Memory, edit: Callable[[str], str]) -> None:
    path = memory.vault.config.home / WEEK
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    memory.vault.survey()


def test_texts_cannot_break_the_page(memory: Memory) -> None:
    evil = [
        "<!-- memfolio:end -->\n# Owned\n<script>alert(1)</script>",
        "```\nno end of code",
        "![x](http://evil.example/a.png) and [y](javascript:alert(1))",
        "---\ntitle: other\n---",
        "# Heading\n\n## Key Decisions",
    ]
    for number, text in enumerate(evil):
        for day in range(2):
            at = MONDAY + timedelta(days=day, hours=number)
            memory.remember(text, type="decision", tags=["<b>, # x", "a b, c"], at=at)
    run(memory)
    text = text_of(memory)
    assert is_ours(text)
    assert text.count("memfolio:end -->") == 1 + text.count("&lt;!-- memfolio:end -->")
    assert "<script" not in text
    assert "](" not in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0].startswith("# Week 2026-W45")
    assert headings[1:3] == ["## Overview", "## Key Themes"]
    assert not any("```" in line[:5] for line in text.splitlines())
    memory.remember("one more", at=MONDAY)
    assert run(memory).paths == (WEEK,)
    assert text_of(memory).count("<!-- memfolio:begin") == 1


def test_odd_dates_and_a_huge_day_are_taken(memory: Memory) -> None:
    for at in (
        datetime(1, 1, 1, 12, tzinfo=UTC),
        datetime(1969, 7, 20, 20, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ):
        memory.remember("Somebody walked on the moon", at=at)
    memory.remember("word " * 100_000 + ". The end of a long day came late.", at=MONDAY)
    built = run(memory)
    assert {Path(path).stem for path in built.paths} == {
        *("0001-W01", "0001-01", "0001-Q1", "1969-W29", "1969-07", "1969-Q3", "2026-W45")
    }
    assert len(text_of(memory)) < 10_000
    assert run(memory).paths == ()


def test_trends_compare_with_the_period_before(memory: Memory) -> None:
    for day in range(4):
        at = MONDAY + timedelta(days=day)
        memory.remember(f"Chess game {day}", tags=["chess"], at=at - timedelta(days=7))
        memory.remember(f"Piano lesson {day}", tags=["piano"], at=at)
    run(memory, levels=("weekly",))
    trends = text_of(memory).partition("## Trends")[2].partition("\n## ")[0]
    assert re.search(r"- New: .*piano \(4\)", trends)
    assert re.search(r"- Gone: .*chess \(4\)", trends)


def test_digest_is_found_at_its_level_and_is_one_change_that_can_be_undone(memory: Memory) -> None:
    fill(memory)
    head = memory.vault.head
    run(memory)
    assert memory.vault.head == head + 1
    hits = memory.recall("PostgreSQL billing", level="weekly")
    assert {hit.memory.attributes["page"] for hit in hits} == {WEEK}
    memory.audit.undo([head + 1], by=tender("test"))
    assert memory.vault.page(WEEK) is None


class Speaking:
    """A model that answers, or fails, and counts."""

    name = "speaking"

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.asked = 0

    def questions(self, turns: int, most: int) -> int:
        return 100

    def drop(self, why: str, count: int) -> None:
        pass

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        self.asked += 1
        if self.text is None:
            raise ModelError("the model is away", hint="try later")
        made: T = cast(Any, answer)(text=self.text)
        return made


def test_model_writes_the_overview_and_its_failure_is_only_noted(memory: Memory) -> None:
    fill(memory, first=MONDAY - timedelta(days=7))
    fill(memory)
    away = Speaking(None)
    changes = job_changes(memory)
    assert len(build(changes, memory.searcher.index, levels=("weekly",), model=away).paths) == 2
    assert away.asked == 1
    assert changes.notes == ["digests have no written overview: the model is away"]
    memory.remember("Grafana was chosen", type="decision", at=MONDAY)
    run(memory, levels=("weekly",), model=Speaking("We use PostgreSQL for billing <!-- billing -->."))
    assert "\nWe use PostgreSQL for billing &lt;!-- billing -->." in text_of(memory)


def test_index_built_anew_gives_the_same_digests(memory: Memory) -> None:
    fill(memory, first=MONDAY - timedelta(days=7))
    fill(memory)
    run(memory)
    before = {path: text_of(memory, path) for path in (WEEK, WEEK.replace("W45", "W44"))}
    memory.searcher.index.rebuild()
    assert run(memory).paths == ()
    for path in before:
        memory.vault.put_page(path, None, expects=memory.vault.page(path).hash, by=tender("test"))  # type: ignore[union-attr]
    assert set(run(memory).paths) >= set(before)
    assert {path: text_of(memory, path) for path in before} == before


def test_unknown_level_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="no level"):
        run(memory, levels=("yearly",))


@given(st.dates(), st.sampled_from(LEVELS))
def test_every_day_belongs_to_one_period_that_follows_the_one_before(day: date, level: str) -> None:
    period = period_of(level, day)
    assert period.has(day)
    assert {period_of(level, each).name for each in (period.first, period.last)} == {period.name}
    assert period.before is None or period.before.last == period.first - timedelta(days=1)
    assert [day] in parts(period, [day]).values()
    assert period_named(level, period.name) == period
    assert period_named(level, f"{period.name}0") is None


def test_straddling_week_belongs_to_each_month_by_its_days() -> None:
    november = period_of("monthly", date(2026, 11, 30))
    assert parts(november, [date(2026, 11, 29), date(2026, 11, 30)]) == {
        "2026-W48": [date(2026, 11, 29)],
        "2026-W49": [date(2026, 11, 30)],
    }
    assert period_of("weekly", date(2027, 1, 3)).name == "2026-W53"


MARKUP = st.text(alphabet="<>!-[](){}#*_`~|=+&;:/\\'\"\n\t 0123456789.abcM\u2028\x85", max_size=40)
HARMLESS = {
    *("bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close"),
    *("bullet_list_close", "heading_open", "heading_close"),
}


@given(st.one_of(st.text(max_size=200), MARKUP))
@example("1. one")
@example("- - a")
@example("    code")
@example("![a][b]")
def test_any_text_stays_within_its_line(text: str) -> None:
    tokens = MarkdownIt().parse(f"- {inline(text)} (M-1)\n- next\n\n## Behind\n\nEnd\n")
    assert {token.type for token in tokens} <= HARMLESS
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h2"]
    within = {each.type for token in tokens for each in token.children or ()}
    assert not within & {"html_inline", "image", "link_open", "softbreak", "hardbreak"}


@given(st.text(max_size=200), st.text(alphabet="ab \n", max_size=50))
def test_page_keeps_what_is_not_ours(body: str, own: str) -> None:
    source, other = "a" * 32, "1" * 32
    clean = f"{inline(body)}\n"
    page = new_page(period_of("weekly", date(2026, 11, 2)), clean, source) + own
    assert is_ours(page)
    assert built_from(page) == source
    assert renewed_page(renewed_page(page, "other\n", other), clean, source) == page


def test_digest_tells_what_became_of_what_was_replaced_and_not_the_turn_that_said_it(
    memory: Memory, clock: SettableClock
) -> None:
    clock.set(MONDAY)
    memory.observe("user", "I live in Berlin. The removal van was green.", session="s-1")
    memory.observe("user", "The harbour fair opened with forty stalls.", session="s-1")
    memory.end_session("s-1")
    clock.set(MONDAY + timedelta(days=8))
    run(memory)
    assert "lives in Berlin" in text_of(memory)
    memory.observe("user", "I moved, I live in Munich now.", session="s-2")
    memory.end_session("s-2")
    run(memory)
    [line] = [each for each in text_of(memory).splitlines() if "Berlin" in each]
    assert "lives in Berlin (later: The user lives in Munich now)" in line
    assert "forty stalls" in text_of(memory)


def test_task_whose_day_is_over_by_the_end_of_the_period_is_not_open(memory: Memory) -> None:
    memory.remember("The user wants to be reminded to call the physio on Thursday", type="task", at=MONDAY)
    memory.remember("The user wants to be reminded to send the form by 20 December", type="task", at=MONDAY)
    run(memory)
    listed = text_of(memory).partition("## Open")[2].partition("\n## ")[0]
    assert "send the form" in listed
    assert "physio" not in listed


def test_assistant_is_quoted_only_where_it_reports(memory: Memory) -> None:
    memory.observe("user", "The nightly export of the orchard shop takes four hours.", session="s", at=MONDAY)
    for text in (
        "Four hours is quite long for an export of that size.",
        "I fixed the export by reading every photo of the shop once.",
    ):
        memory.observe("assistant", text, session="s", at=MONDAY)
    run(memory)
    text = text_of(memory)
    assert "takes four hours" in text
    assert "reading every photo" in text
    assert "quite long" not in text
