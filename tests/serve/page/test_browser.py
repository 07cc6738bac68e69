"""The page in a real browser: looking, deciding, taking back; by mouse, by keyboard alone, and without scripts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from memfolio.memory import Memory
from memfolio.serve.page import PAGES
from memfolio.serve.page.session import COOKIE
from tests.serve.page.browser import Site, keyboard, signed_in, until
from tests.serve.page.conftest import check_quiet
from tests.serve.page.hostile import HOSTILE

PHONE = {"width": 390, "height": 844}
LOOKS: dict[str, dict[str, Any]] = {
    "wide and light": {"color_scheme": "light"},
    "narrow and dark": {"color_scheme": "dark", "viewport": PHONE},
    "without scripts": {"java_script_enabled": False},
}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def remembered(site: Site, *texts: str, **fields: Any) -> list[str]:
    with site.memory() as memory:
        return [memory.remember(text, **fields).id for text in texts]


def recorded(site: Site) -> tuple[int, str, str]:
    """The newest change: its number, its action and its actor."""
    with site.memory() as memory:
        entry = memory.audit.log(limit=1)[0]
        return entry.seq, entry.action.value, entry.actor


def some(site: Site) -> list[str]:
    """One of each kind of page that a list leads to."""
    with site.memory() as memory:
        one = memory.recall("where does Mia live")[0].memory.id
        fact = next(each.id for each in memory.facts.all(include_derived=True) if each.is_derived)
        seq = next(each.seq for each in memory.audit.log(limit=90) if each.action == "APPEND")
    about = [f"memories/{one}", f"memories/{one}?changes=1", f"memories/{one}/correct", "memories?q=who+is+Mia%3F"]
    return [
        *about,
        f"knowledge/{fact}",
        f"history/{seq}",
        f"undo?seq={seq}",
        "things/person--mia?hops=2",
        "core?prompt=tea",
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_shows_without_a_complaint_and_fits(browser: Browser, site: Site, look: str) -> None:
    with signed_in(browser, site, **LOOKS[look]) as (tab, watched):
        for path in (*PAGES, *some(site)):
            answer = tab.goto(site.url(path))
            assert answer is not None
            assert answer.status == 200, path
            assert tab.locator("h1, article.memory").count() > 0, path
            assert tab.locator("main h1").first.inner_text() != "That did not work", path
            if look != "without scripts":
                assert tab.evaluate(OVERFLOW) <= 0, path
        check_quiet(watched)


def test_link_lets_one_browser_in_and_leaves_no_key_behind(browser: Browser, site: Site) -> None:
    link = site.link("history")
    for is_first in (True, False):
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(link)
        if is_first:
            tab.wait_for_url("**/a/main/history")
            assert tab.evaluate("document.cookie") == ""
        else:
            expect(tab.locator("#door")).to_contain_text("used before")
            assert "#" not in tab.url
        context.close()


def test_leaving_ends_the_session(browser: Browser, site: Site) -> None:
    with signed_in(browser, site) as (tab, _):
        tab.goto(site.url("core"))
        tab.get_by_role("button", name="Sign out").click()
        expect(tab.locator("#door")).to_have_text("You are signed out.")
        tab.goto(site.url("memories"))
        expect(tab.locator("#door")).to_contain_text("not open in this browser")


def test_memory_opens_beside_the_list_and_back_closes_it(tab: Page, site: Site) -> None:
    [one] = remembered(site, "The spare key hangs in the shed")
    tab.goto(site.url("memories"))
    tab.get_by_text("The spare key hangs in the shed").first.click()
    tab.wait_for_url(f"**/memories/{one}")
    expect(tab.locator(".one .text")).to_have_text("The spare key hangs in the shed")
    expect(tab.locator(".row.current")).to_contain_text("spare key")
    tab.go_back()
    tab.wait_for_url("**/memories")
    expect(tab.locator("article.memory")).to_have_count(0)


def test_question_shows_why_each_answer_was_found(tab: Page, site: Site) -> None:
    tab.goto(site.url("memories"))
    tab.get_by_role("searchbox").fill("what does Alex drink in the morning?")
    tab.keyboard.press("Enter")
    first = tab.locator(".row").first
    expect(first).to_contain_text("green tea")
    expect(first.locator(".why")).to_contain_text("found by its words")
    first.locator("summary").click()
    expect(first.locator(".why li").first).to_contain_text("as number 1")


def test_decision_brings_back_to_the_question_that_led_to_it(tab: Page, site: Site) -> None:
    [one] = remembered(site, "The attic ladder is behind the wardrobe, perpendicularly")
    tab.goto(site.url("memories?q=perpendicularly"))
    tab.locator(f"a[href*='{one}']").click()
    tab.locator(".one").get_by_role("button", name="Confirm").click()
    expect(tab.locator("#outcome")).to_contain_text("Confirmed.")
    assert "q=perpendicularly" in tab.url
    expect(tab.get_by_role("searchbox")).to_have_value("perpendicularly")


def test_owner_writes_something_down(tab: Page, site: Site) -> None:
    tab.goto(site.url("memories"))
    tab.get_by_text("Remember something yourself").click()
    tab.get_by_label("What to remember").fill("The fuse box is in the hall")
    tab.get_by_role("button", name="Remember", exact=True).click()
    expect(tab.locator(".one .text")).to_have_text("The fuse box is in the hall")
    assert recorded(site)[1:] == ("APPEND", "human")
    expect(tab.locator("#outcome").get_by_role("link", name="Undo")).to_be_visible()


def test_memory_is_destroyed_only_by_the_word_that_is_asked_for(tab: Page, site: Site) -> None:
    [one] = remembered(site, "The code of the safe is 998877")
    tab.goto(site.url(f"memories/{one}"))
    tab.get_by_role("link", name="Destroy it for good").click()
    expect(tab.locator("h1")).to_have_text("Destroy this memory for good?")
    before, _, _ = recorded(site)
    tab.get_by_label("Type purge to go on").fill("yes")
    tab.get_by_role("button", name="Destroy it").click()
    expect(tab.get_by_role("alert")).to_contain_text("type purge")
    assert recorded(site)[0] == before
    tab.get_by_label("Type purge to go on").fill("purge")
    tab.get_by_role("button", name="Destroy it").click()
    expect(tab.locator("#outcome")).to_contain_text("Nothing of it was found")
    expect(tab.locator("#outcome").get_by_role("link")).to_have_count(0)
    files = [path for path in (site.home / "agents").rglob("*") if path.is_file()]
    assert not any(b"998877" in path.read_bytes() for path in files)


def test_home_is_set_back_after_a_look_and_a_word_and_that_is_undone(tab: Page, site: Site) -> None:
    [kept] = remembered(site, "Said before the point")
    point, _, _ = recorded(site)
    [later] = remembered(site, "Said after the point")
    tab.goto(site.url(f"history/{point}"))
    tab.get_by_role("link", name="Set the whole home back").click()
    expect(tab.locator(".diff del").filter(has_text="Said after the point")).to_have_count(1)
    tab.get_by_label("Type rollback to go on").fill("rollback")
    tab.get_by_role("button", name="Set it back").click()
    expect(tab.locator("#outcome")).to_contain_text(f"as it was after change {point}")
    with site.memory() as memory:
        assert "Said after" not in "".join(hit.memory.content for hit in memory.recall("Said after the point"))
        assert memory.get(kept) is not None
    tab.locator("#outcome").get_by_role("link", name="Undo").click()
    tab.get_by_role("button", name="Undo", exact=True).click()
    expect(tab.locator("#outcome")).to_contain_text("1 change undone.")
    with site.memory() as memory:
        assert memory.recall("Said after the point")[0].memory.id == later


def test_memory_tells_where_it_was_said_with_the_turns_around(tab: Page, site: Site) -> None:
    with site.memory() as memory:
        turn = next(hit.memory for hit in memory.recall("Mia works at Acme introduce us") if hit.memory.role)
    tab.goto(site.url(f"memories/{turn.id}"))
    talk = tab.locator(".talk").first
    expect(talk.locator(".it")).to_contain_text("My sister Mia works at Acme")
    expect(talk).to_contain_text("Shall I write to Mia")


def test_several_are_forgotten_as_one_change_and_undone_at_once(tab: Page, site: Site) -> None:
    ids = remembered(site, "Forget me first", "Forget me second")
    tab.goto(site.url("memories"))
    for each in ids:
        tab.locator(f"input[value='{each}']").check()
    before, _, _ = recorded(site)
    tab.locator(".bulk").get_by_role("button", name="Forget").click()
    expect(tab.locator("#outcome")).to_contain_text("Forgotten: 2 memories.")
    assert recorded(site) == (before + 1, "DELETE", "human")
    tab.locator("#outcome").get_by_role("link", name="Undo").click()
    expect(tab.locator("h1")).to_have_text(f"Undo change {before + 1}?")
    expect(tab.locator(".diff")).to_contain_text("Forget me first")
    tab.get_by_role("button", name="Undo", exact=True).click()
    expect(tab.locator("#outcome")).to_contain_text("1 change undone.")
    with site.memory() as memory:
        assert all(memory.get(each).forgotten_at is None for each in ids)  # type: ignore[union-attr]


def test_correction_shows_its_difference_before_it_is_made(tab: Page, site: Site) -> None:
    [one] = remembered(site, "The gate code is 4711")
    tab.goto(site.url(f"memories/{one}"))
    tab.get_by_role("link", name="Correct", exact=True).click()
    tab.get_by_label("What it should say").fill("The gate code is 4712")
    tab.get_by_role("button", name="Show the difference").click()
    expect(tab.locator(".diff ins")).to_have_text("The gate code is 4712")
    expect(tab.locator(".diff del")).to_have_text("The gate code is 4711")
    tab.get_by_role("button", name="Correct it").click()
    expect(tab.locator("#outcome")).to_contain_text("Corrected.")
    expect(tab.locator(".one .text")).to_have_text("The gate code is 4712")
    expect(tab.locator(".one")).to_contain_text("Replaces")


def test_correction_of_what_somebody_else_changed_shows_both_and_loses_nothing(tab: Page, site: Site) -> None:
    [one] = remembered(site, "The meeting is on Monday")
    tab.goto(site.url(f"memories/{one}/correct"))
    tab.get_by_label("What it should say").fill("The meeting is on Tuesday")
    tab.get_by_role("button", name="Show the difference").click()
    with site.memory() as memory:
        newer = memory.correct(one, "The meeting is on Wednesday").id
    tab.get_by_role("button", name="Correct it").click()
    expect(tab.get_by_role("alert")).to_contain_text("The meeting is on Wednesday")
    expect(tab.get_by_role("alert")).to_contain_text("The meeting is on Tuesday")
    expect(tab.get_by_label("What it should say")).to_have_value("The meeting is on Tuesday")
    with site.memory() as memory:
        assert memory.get(newer).superseded_by is None  # type: ignore[union-attr]
    tab.get_by_role("button", name="Correct it").click()
    expect(tab.locator(".one .text")).to_have_text("The meeting is on Tuesday")


def test_decision_on_what_was_changed_meanwhile_is_not_carried_out(tab: Page, site: Site) -> None:
    [one] = remembered(site, "Jonas comes at six")
    tab.goto(site.url(f"memories/{one}"))
    with site.memory() as memory:
        memory.correct(one, "Jonas comes at seven")
        head = memory.vault.head
    tab.locator(".one").get_by_role("button", name="Forget").click()
    expect(tab.locator("h1")).to_have_text("Changed since you looked")
    expect(tab.locator(".sides")).to_contain_text("Jonas comes at six")
    expect(tab.locator(".sides")).to_contain_text("Jonas comes at seven")
    assert recorded(site)[0] == head
    tab.get_by_role("button", name="Forget as it is now").click()
    expect(tab.locator("#outcome")).to_contain_text("Forgotten.")
    assert recorded(site) == (head + 1, "DELETE", "human")


def test_undo_that_is_out_of_date_shows_what_it_would_be_now(tab: Page, site: Site) -> None:
    with site.memory() as memory:
        memory.remember("First of a session", session="s-stale")
    tab.goto(site.url("undo?session=s-stale"))
    with site.memory() as memory:
        memory.remember("Second of a session", session="s-stale")
    tab.get_by_role("button", name="Undo", exact=True).click()
    expect(tab.get_by_role("alert")).to_contain_text("nothing was done")
    expect(tab.locator(".diff")).to_contain_text("Second of a session")
    tab.get_by_role("button", name="Undo", exact=True).click()
    expect(tab.locator("#outcome")).to_contain_text("2 changes undone.")


def test_all_that_came_from_a_source_is_taken_back(tab: Page, site: Site) -> None:
    ids = remembered(site, "Buy now", "Cheap pills", origin="untrusted", source="web:spam.example")
    tab.goto(site.url("history?source=web:spam.example"))
    tab.get_by_role("link", name="Undo all that came from").click()
    expect(tab.locator(".quotes").first).to_contain_text("Cheap pills")
    tab.get_by_role("button", name="Undo", exact=True).click()
    expect(tab.locator("#outcome")).to_contain_text("web:spam.example is undone")
    with site.memory() as memory:
        assert all(memory.get(each).forgotten_at for each in ids)  # type: ignore[union-attr]


def test_reflection_is_approved_item_by_item_with_its_evidence(tab: Page, site: Site) -> None:
    tab.goto(site.url("review"))
    group = tab.locator("form.group").filter(has_text="Reflection 1")
    expect(group).to_contain_text("Mia lives in Berlin, so a call is easier")
    group.get_by_label("Tick item 3").uncheck()
    group.get_by_role("button", name="Approve selected").click()
    expect(tab.locator("#outcome")).to_contain_text("2 items applied")
    assert recorded(site)[1] == "COMMIT"
    with site.memory() as memory:
        assert any("Mia prefers calls" in hit.memory.content for hit in memory.recall("Mia prefers calls"))
        assert memory.reflections.pending() is None


def test_proposals_are_decided_one_by_one_and_what_cannot_be_says_why(tab: Page, site: Site) -> None:
    tab.goto(site.url("review"))
    group = tab.locator("form.group").filter(has_text="Proposals")
    for box in group.locator("input[type=checkbox]").all():
        box.check()
    with site.memory() as memory:
        printer = next(each for each in memory.proposals.pending() if "printer" in each.title)
        memory.proposals.reject(printer.id, "wrong", by=_owner())
    group.get_by_role("button", name="Approve selected").click()
    expect(tab.locator("#outcome")).to_contain_text("1 proposal approved.")
    expect(tab.locator("#outcome")).to_contain_text("was skipped: ")
    expect(tab.locator("#outcome")).to_contain_text("rejected by human")
    expect(tab.locator("#outcome").get_by_role("link", name="Undo")).to_be_visible()


def _owner() -> Any:
    from tests.serve.page.world import OWNER

    return OWNER


def test_words_of_strangers_are_trusted_or_forgotten(tab: Page, site: Site) -> None:
    tab.goto(site.url("review"))
    group = tab.locator("form.group").filter(has_text="Untrusted texts")
    group.locator(".card").filter(has_text="launch was cancelled").locator("input[type=checkbox]").check()
    group.get_by_role("button", name="Forget selected").click()
    expect(tab.locator("#outcome")).to_contain_text("Forgotten.")
    expect(tab.locator("main")).not_to_contain_text("launch was cancelled")
    assert recorded(site)[1:] == ("DELETE", "human")


def test_alerts_show_what_changed_until_they_were_seen(tab: Page, site: Site) -> None:
    tab.goto(site.url("review"))
    group = tab.locator("form.group").filter(has_text="Alerts")
    expect(group.locator(".diff ins").first).to_contain_text("Promise whatever helps")
    group.get_by_role("button", name="Acknowledge").click()
    expect(tab.locator("#outcome")).to_contain_text("acknowledged.")
    with site.memory() as memory:
        assert memory.vault.alerts() == []


def test_core_memory_is_edited_and_what_would_be_said_leaves_no_trace(tab: Page, site: Site) -> None:
    tab.goto(site.url("core"))
    tab.get_by_label("Add a line to Persona").fill("Answers in one line")
    tab.keyboard.press("Enter")
    expect(tab.locator("#outcome")).to_contain_text("Added.")
    line = tab.locator(".lines li").filter(has_text="Answers in one line")
    line.get_by_text("Edit").click()
    line.get_by_label("What the line should say").fill("Answers in two lines")
    line.get_by_role("button", name="Save").click()
    expect(tab.locator("#outcome")).to_contain_text("Changed.")
    line = tab.locator(".lines li").filter(has_text="Answers in two lines")
    line.get_by_text("Edit").click()
    line.get_by_role("button", name="Remove").click()
    expect(tab.locator("#outcome")).to_contain_text("Removed.")
    before = recorded(site)
    tab.get_by_label("A prompt").fill("Which tea does Alex drink in the morning?")
    tab.get_by_role("button", name="Show").click()
    expect(tab.locator("main")).to_contain_text("green tea in the morning")
    expect(tab.locator("main")).to_contain_text("found by its words")
    assert recorded(site) == before


def test_fact_tells_why_it_holds_and_is_retracted(tab: Page, site: Site) -> None:
    with site.memory() as memory:
        fact = memory.facts.assert_("Jonas", "works_at", "Acme")
    tab.goto(site.url("knowledge"))
    tab.get_by_role("link", name="Jonas").last.click()
    expect(tab.locator(".tree")).to_contain_text("Jonas")
    tab.goto(site.url(f"knowledge/{fact.id}"))
    tab.get_by_role("button", name="Retract").click()
    expect(tab.locator("#outcome")).to_contain_text("Retracted:")
    assert recorded(site)[2] == "human"


def test_neighbours_are_drawn_and_listed(tab: Page, site: Site) -> None:
    tab.goto(site.url("things"))
    tab.get_by_role("link", name="Mia").first.click()
    until(tab, lambda: tab.locator("#graph[data-drawn]").count() == 1)
    expect(tab.locator(".near")).to_contain_text("Berlin")
    places = tab.eval_on_selector_all("#graph .nodes > a", "nodes => nodes.map(n => n.getAttribute('transform'))")
    assert len(set(places)) == len(places) >= 3


def test_everything_is_reached_by_keyboard_alone(tab: Page, site: Site) -> None:
    [one] = remembered(site, "Reached by keys alone, quizzically")
    tab.goto(site.url("memories"))
    keyboard(tab, "/")
    tab.keyboard.type("quizzically")
    keyboard(tab, "Enter")
    expect(tab.locator(".row")).not_to_have_count(0)
    until(tab, lambda: "q=quizzically" in tab.url)
    keyboard(tab, "j", "Enter")
    tab.wait_for_url(f"**/memories/{one}*")
    keyboard(tab, "c")
    expect(tab.locator("#outcome")).to_contain_text("Confirmed.")
    expect(tab.locator(".one .badge.confirmed")).to_be_visible()
    keyboard(tab, "p")
    expect(tab.locator("#outcome")).to_contain_text("Pinned.")
    keyboard(tab, "u")
    expect(tab.locator("h1")).to_contain_text("Undo change")
    tab.keyboard.press("?")
    expect(tab.locator("dialog")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).not_to_be_visible()


def test_focus_returns_to_the_row_after_a_decision(tab: Page, site: Site) -> None:
    ids = remembered(site, "Row that stays", "Row that goes")
    tab.goto(site.url("memories"))
    tab.locator(f"a[href*='{ids[1]}']").focus()
    keyboard(tab, "f")
    expect(tab.locator("#outcome")).to_contain_text("Forgotten.")
    assert tab.evaluate("document.activeElement.closest('[data-row]') !== null")


def test_page_works_without_scripts(browser: Browser, site: Site) -> None:
    [one] = remembered(site, "Confirmed without a script")
    with signed_in(browser, site, java_script_enabled=False) as (tab, watched):
        tab.goto(site.url("memories"))
        tab.get_by_text("Confirmed without a script").click()
        tab.get_by_role("button", name="Confirm").last.click()
        expect(tab.locator("#outcome")).to_contain_text("Confirmed.")
        tab.locator("#outcome").get_by_role("link", name="Undo").click()
        tab.get_by_role("button", name="Undo", exact=True).click()
        expect(tab.locator("#outcome")).to_contain_text("undone")
        tab.goto(site.url("memories?state=archived"))
        tab.goto(site.url(f"memories/{one}?changes=1"))
        expect(tab.locator(".one")).to_contain_text("written by")
        check_quiet(watched)


def test_page_of_another_agent_listens_to_that_one(tab: Page, site: Site) -> None:
    tab.goto(site.url("core"))
    with tab.expect_request("**/a/researcher/events"):
        tab.locator(".who summary").click()
        tab.locator(".who").get_by_role("link", name="researcher").click()
    tab.wait_for_url("**/a/researcher/core")


def test_decision_after_the_end_says_so_and_keeps_what_was_written(browser: Browser, site: Site) -> None:
    with signed_in(browser, site) as (tab, _):
        tab.goto(site.url("core"))
        tab.get_by_label("Add a line to Persona").fill("Written for nothing")
        site.page.sessions.end(SimpleNamespace(cookies={COOKIE: tab.context.cookies()[0]["value"]}))  # type: ignore[arg-type]
        tab.keyboard.press("Enter")
        expect(tab.locator("#outcome")).to_contain_text("Nothing was done. The page is not open in this browser.")
        expect(tab.get_by_label("Add a line to Persona")).to_have_value("Written for nothing")
        tab.context.set_offline(True)
        tab.keyboard.press("Enter")
        expect(tab.locator("#outcome")).to_contain_text("does not answer")


def test_id_is_copied(browser: Browser, site: Site) -> None:
    [one] = remembered(site, "To be cited elsewhere")
    with signed_in(browser, site, permissions=["clipboard-read", "clipboard-write"]) as (tab, watched):
        tab.goto(site.url(f"memories/{one}"))
        tab.get_by_role("button", name="Copy").click()
        expect(tab.get_by_role("button", name="Copied")).to_be_visible()
        assert tab.evaluate("navigator.clipboard.readText()") == one
        check_quiet(watched)


def test_news_are_counted_and_nothing_moves_until_asked(tab: Page, site: Site) -> None:
    tab.goto(site.url("memories"))
    first = tab.locator(".row").first.inner_text()
    with Memory.open(site.home, background=False, speaker="agent") as memory:
        memory.remember("Said by an agent meanwhile")
    expect(tab.locator("#news")).to_contain_text("1 new", timeout=10_000)
    assert tab.locator(".row").first.inner_text() == first
    tab.locator("#news a").click()
    expect(tab.locator(".row").first).to_contain_text("Said by an agent meanwhile")


def test_list_goes_on_page_by_page_without_gaps(tab: Page, site: Site) -> None:
    with site.memory() as memory:
        memory.observe_many([{"role": "user", "content": f"Turn {n} of many", "session": "s-many"} for n in range(120)])
    seen: list[str] = []
    tab.goto(site.url("memories"))
    for _ in range(3):
        seen += tab.locator(".row input[name=id]").evaluate_all("boxes => boxes.map(box => box.value)")
        tab.get_by_role("link", name="Older").click()
        expect(tab.locator(f".row input[value='{seen[-1]}']")).to_have_count(0)
    assert len(seen) == len(set(seen)) == 150
    with site.memory() as memory:
        memory.audit.undo(memory.vault.head, by=_owner())


# Those who want in from elsewhere.


@contextmanager
def elsewhere(body: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Another server on this machine, and the headers that it is sent."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(dict(self.headers))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", heard
        finally:
            server.shutdown()
            thread.join()


def test_session_is_not_sent_to_another_port_and_no_page_frames_or_posts(browser: Browser, site: Site) -> None:
    [one] = remembered(site, "Not for other pages")
    head = recorded(site)[0]
    url = site.url("memories")
    fields = f"<input name=id value={one}><button name=deed value=forget>x</button>"
    body = f"<iframe src='{url}'></iframe><form method=post action='{url}'>{fields}</form><img src='{url}'>"
    with elsewhere(body) as (origin, heard), signed_in(browser, site) as (tab, _):
        tab.goto(origin)
        tab.wait_for_load_state()
        assert all("cookie" not in {name.lower() for name in headers} for headers in heard)
        frame = next(each for each in tab.frames if each != tab.main_frame)
        assert "Not for other pages" not in frame.content()
        tab.get_by_role("button").click()
        expect(tab.locator("body")).to_contain_text("pages of that origin may not ask here")
        assert recorded(site)[0] == head
        tab.go_back()
        tab.goto(site.url("memories"))
        expect(tab.locator("main")).to_contain_text("Not for other pages")


# Hostile memories: fifty of them, with the policy of the page and with that bypassed.


@pytest.fixture(scope="module")
def hostile(site: Site) -> list[str]:
    with site.memory() as memory:
        memory.agents.create("hostile", by=_owner())
    with site.memory("hostile") as memory:
        found = [memory.remember(text, tags=["<b>tag</b>"], source="web:evil.example").id for text in HOSTILE]
        memory.core.add("Persona", HOSTILE[0][:60], by=_owner())
        memory.facts.assert_(HOSTILE[7][:60], "<i>is</i>", HOSTILE[28][:60], by=_owner())
        memory.mind.believe(HOSTILE[9][:90])
        return found


@pytest.mark.parametrize("bypass", [False, True], ids=["with the policy", "with the policy bypassed"])
def test_hostile_memories_run_nothing_reach_nothing_and_break_nothing(
    browser: Browser, site: Site, hostile: list[str], bypass: bool
) -> None:
    with signed_in(browser, site, bypass_csp=bypass) as (tab, watched):
        for path in ("memories", "memories?q=script+click", "history", "core", "knowledge", "mind", "review"):
            tab.goto(site.url(path, "hostile"))
            check_whole(tab, path)
        # What is written as it should be needs no policy; that this one is there is seen from a few.
        for each in hostile if bypass else hostile[::5]:
            tab.goto(site.url(f"memories/{each}?tag=none", "hostile"))  # beside an empty list, which is quicker
            check_whole(tab, each)
        tab.goto(site.url(f"memories/{hostile[1]}/correct", "hostile"))
        assert tab.locator("textarea").input_value() == HOSTILE[1]
        check_whole(tab, "correct")
        check_quiet(watched)


FOREIGN = (
    "main :is(script, iframe, object, embed, img, video, style, link, meta, base, image, [style], [onload], [onerror])"
)


def check_whole(tab: Page, what: str) -> None:
    """Nothing ran, nothing is there that we did not put there, and the page has its shape."""
    assert tab.evaluate("window.__ran") is None, what
    assert tab.locator(FOREIGN).count() == 0, what
    assert tab.locator("a[href]:not([href^='/a/'], [href='/'], [href^='#'], [href=''])").count() == 0, what
    assert tab.evaluate(OVERFLOW) <= 0, what
    assert tab.locator("#main").count() == 1, what
    assert tab.locator("header nav a").count() == len(PAGES), what
    box = tab.locator("header nav a").last.bounding_box()
    assert box is not None
    assert box["x"] < 220, what


def test_hidden_characters_are_shown_by_their_numbers(tab: Page, site: Site, hostile: list[str]) -> None:
    tab.goto(site.url(f"memories/{hostile[44]}", "hostile"))
    expect(tab.locator(".one .text")).to_contain_text("⟦U+202E⟧gnihton⟦U+202C⟧")
    tab.goto(site.url(f"memories/{hostile[45]}", "hostile"))
    expect(tab.locator(".one .text")).to_contain_text("zero⟦U+200B⟧width")
    tab.goto(site.url(f"memories/{hostile[35]}", "hostile"))
    expect(tab.locator(".one .text")).to_contain_text("{{ 7 * 7 }}")
