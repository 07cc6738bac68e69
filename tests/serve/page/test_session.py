"""Who gets in and who does not, and what a GET may do; each of the rules that matter most has a planted fault."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from markupsafe import Markup
from starlette.responses import Response

from memfolio.memory import Memory
from memfolio.serve.http import app as http
from memfolio.serve.page import app, launch, memories
from memfolio.serve.page.launch import KEY_SECONDS, Noticeboard
from memfolio.serve.page.session import COOKIE, SECONDS, Sessions
from memfolio.serve.page.show import LINES, diff_lines
from memfolio.serve.tokens import Token
from memfolio.vault.past.merge import unified
from tests.serve.page.browser import Site
from tests.serve.page.hostile import LEAD


class Visitor:
    """Somebody who sends what a browser would, unless told otherwise."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookie: str | None = None

    def ask(self, method: str, path: str, body: str | dict[str, Any] = "", **headers: Any) -> httpx.Response:
        host = headers.get("host", self.site.address.hosts[0])
        usual = {"host": host, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
        if method == "POST":
            usual["origin"] = f"http://{host}"
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in given.items() if value is not None}
        return self.send(method, path, sent, **({"data": body} if isinstance(body, dict) else {"content": body}))

    def send(self, method: str, path: str, headers: dict[str, Any], **content: Any) -> httpx.Response:
        sent = headers | ({"cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {})
        url = f"http://127.0.0.1:{self.site.address.port}{path}"
        return httpx.request(method, url, headers=sent, timeout=20, verify=False, **content)

    def enter(self, key: str | None = None, **headers: Any) -> httpx.Response:
        answer = self.ask("POST", "/enter", self.site.page.board.add_key() if key is None else key, **headers)
        found = re.match(rf"{COOKIE}=([^;]+)", answer.headers.get("set-cookie", ""))
        self.cookie = found[1] if found else None
        return answer


@pytest.fixture
def stranger(site: Site) -> Visitor:
    return Visitor(site)


@pytest.fixture
def owner(site: Site) -> Visitor:
    visitor = Visitor(site)
    assert visitor.enter().status_code == 200
    return visitor


PAGES = ("review", "memories", "history", "core", "core?prompt=tea", "things", "things/person--mia?hops=2", "knowledge")


def paths(site: Site) -> list[str]:
    """Every kind of page that can be looked at, with what it needs."""
    with site.memory() as memory:
        one = memory.recall("green tea in the morning")[0].memory.id
        fact = next(memory.facts.all()).id
        seq = next(each.seq for each in memory.audit.log(limit=90) if each.action == "APPEND")
    more = (
        "memories/{0}",
        "memories/{0}?changes=1",
        "memories/{0}/correct",
        "memories?q=tea",
        "memories?state=dormant",
    )
    rest = (f"knowledge/{fact}", "mind", "health", "health?checks=1", f"history/{seq}", f"undo?seq={seq}")
    return [f"/a/main/{path}" for path in (*PAGES, *(each.format(one) for each in more), *rest)]


# The rules, each as a check that a planted fault must fail.


def check_decisions_need_the_pages_own_origin(site: Site) -> None:
    visitor = Visitor(site)
    visitor.enter()
    with site.memory() as memory:
        one = memory.remember("Only the page may forget this").id
        head = memory.vault.head
    form = {"id": one, "deed": "forget"}
    for origin in (None, "null", "http://evil.example", f"http://127.0.0.1:{site.address.port}", f"{site.origin}0"):
        assert visitor.ask("POST", "/a/main/memories", form, origin=origin).status_code == 403
    for fetch_site in (None, "none", "cross-site", "same-site"):
        assert visitor.ask("POST", "/a/main/memories", form, sec_fetch_site=fetch_site).status_code == 403
    with site.memory() as memory:
        assert memory.vault.head == head


def check_looking_changes_nothing(site: Site) -> None:
    visitor = Visitor(site)
    visitor.enter()
    wanted = paths(site)
    before = contents(site.home)
    for path in wanted:
        answer = visitor.ask("GET", path)
        assert answer.status_code == 200, (path, answer.text[-2000:])
        visitor.ask("HEAD", path)
    assert contents(site.home) == before


def contents(home: Path) -> dict[str, str]:
    """Every file of a home but for what git and the locks keep; notes that the page itself keeps are no memory."""
    files = [path for path in home.rglob("*") if path.is_file() and ".git" not in path.parts]
    kept = [path for path in files if path.suffix != ".lock" and path.name not in ("lock", "page", "recent.jsonl")]
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def check_key_is_good_once(site: Site) -> None:
    key = site.page.board.add_key()
    assert Visitor(site).enter(key).status_code == 200
    again = Visitor(site).enter(key)
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def check_programs_do_not_get_in_by_a_session(site: Site) -> None:
    visitor = Visitor(site)
    visitor.enter()
    for path in ("/v1/recall", "/v1/status", "/v1/forget"):
        answer = visitor.send("POST", path, {"host": site.address.hosts[0]}, json={"query": "tea"})
        assert answer.status_code == 401, answer.text


def check_memories_are_text(site: Site) -> None:
    visitor = Visitor(site)
    visitor.enter()
    listed = visitor.ask("GET", f"/a/main/memories?tag={LEAD}").text
    ids = re.findall(r'name="id" value="(M-[^"]+)"', listed)
    assert len(ids) >= 10
    for page in (listed, *(visitor.ask("GET", f"/a/main/memories/{each}").text for each in ids)):
        assert re.findall(r"<script(?! src=\"/static/)", page) == []
        assert "<svg onload" not in page
        assert "<img src=x" not in page
        assert "<div style" not in page


CHECKS: dict[str, Callable[[Site], None]] = {
    "origin": check_decisions_need_the_pages_own_origin,
    "get": check_looking_changes_nothing,
    "key": check_key_is_good_once,
    "v1": check_programs_do_not_get_in_by_a_session,
    "text": check_memories_are_text,
}


@pytest.mark.parametrize("rule", CHECKS)
def test_rule_holds(site: Site, rule: str) -> None:
    CHECKS[rule](site)


def writes(told: Any) -> Any:
    def work(ask: Any, id: str) -> Any:
        ask.memory.pin(id)
        return told(ask, id)

    return work


def let_in(*_: Any) -> Token:
    return Token(id="T", name="page", agent="main", scope="admin", created_at="", hash="0" * 64)


@pytest.mark.parametrize("rule", CHECKS)
def test_planted_fault_is_found(site: Site, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: dict[str, Callable[[], None]] = {
        "origin": lambda: monkeypatch.setattr(app, "check_request", lambda *_: None),
        "get": lambda: monkeypatch.setattr(memories, "_told", writes(memories._told)),
        "key": lambda: monkeypatch.setattr(launch.Noticeboard, "take_key", lambda self, key: bool(key)),
        "v1": lambda: monkeypatch.setattr(http, "admitted", let_in),
        "text": lambda: monkeypatch.setitem(
            site.page.templates.filters, "rich", lambda text, whole=False: Markup(text)
        ),
    }
    faults[rule]()
    with pytest.raises(AssertionError):
        CHECKS[rule](site)


# The rest of the rules.


def test_without_a_session_nothing_is_shown_or_done(site: Site, stranger: Visitor) -> None:
    for path in ("/", *paths(site), "/a/main/events"):
        answer = stranger.ask("GET", path)
        assert answer.status_code == 401
        assert "Alex" not in answer.text
    for path in ("memories", "review/alerts", "review/proposals", "review/reflection", "core", "undo", "knowledge/x"):
        assert stranger.ask("POST", f"/a/main/{path}", {"id": "x"}).status_code == 401


def test_key_is_stored_as_a_hash_and_lasts_a_minute(site: Site) -> None:
    now = [1000.0]
    board = Noticeboard(site.page.hall.vault, lambda: now[0])
    key = board.add_key()
    assert key not in (site.home / ".memfolio" / "page").read_text("utf-8")
    now[0] += KEY_SECONDS
    assert not board.take_key(key)
    other = board.add_key()
    now[0] += KEY_SECONDS - 1
    assert board.take_key(other)


def test_session_ends_after_twelve_hours_and_on_leaving(
    site: Site, owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner.ask("GET", "/a/main/memories").status_code == 200
    clock = site.page.sessions._now
    monkeypatch.setattr(site.page.sessions, "_now", lambda: clock() + SECONDS)
    assert owner.ask("GET", "/a/main/memories").status_code == 401
    monkeypatch.undo()
    assert owner.ask("POST", "/leave").status_code == 200
    assert owner.ask("GET", "/a/main/memories").status_code == 401
    assert isinstance(site.page.sessions, Sessions)


@pytest.mark.parametrize("somebody", ["nobody", "a key", "a session"])
def test_server_ends_by_itself_when_nobody_can_come_any_more(
    site: Site, monkeypatch: pytest.MonkeyPatch, somebody: str
) -> None:
    page, later = site.page, lambda: time.time() + 2 * KEY_SECONDS
    server = SimpleNamespace(should_exit=False)
    for name, value in (("server", server), ("sessions", Sessions()), ("board", Noticeboard(page.hall.vault, later))):
        monkeypatch.setattr(page, name, value)
    monkeypatch.setattr(app, "IDLE_SECONDS", 0.01)
    if somebody == "a key":
        page.board.add_key()
    elif somebody == "a session":
        page.sessions.begin(Response())

    async def watch() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(page._watch(), 0.3)

    asyncio.run(watch())
    assert server.should_exit == (somebody == "nobody")


def test_page_goes_by_its_own_names_only(site: Site, owner: Visitor) -> None:
    port = site.address.port
    for host in (
        f"localhost:{port}",
        f"evil.localhost:{port}",
        f"[::1]:{port}",
        "evil.example",
        site.address.hosts[0][:-1],
    ):
        assert owner.ask("GET", "/a/main/memories", host=host, origin=f"http://{host}").status_code == 403
    assert owner.ask("GET", "/a/main/memories", host=f"127.0.0.1:{port}").status_code == 200


def test_other_pages_cannot_look_through_the_browser(owner: Visitor) -> None:
    for fetch_site in (None, "cross-site", "same-site"):
        for path in ("/a/main/memories", "/a/main/events", "/static/page.js"):
            assert owner.ask("GET", path, sec_fetch_site=fetch_site).status_code == 403
    assert owner.ask("GET", "/a/main/memories", sec_fetch_site="none").status_code == 200
    assert owner.ask("GET", "/a/main/memories", sec_fetch_site="none", sec_fetch_mode="no-cors").status_code == 403
    assert owner.ask("GET", "/enter", sec_fetch_site="cross-site").status_code == 200


def test_answers_have_every_header_that_keeps_the_page_to_itself(site: Site, owner: Visitor) -> None:
    for path in ("/enter", "/static/page.css", *paths(site)[:3], "/a/nobody/memories", "/static/none.js"):
        headers = owner.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"


def test_cookie_is_for_the_page_alone(site: Site, stranger: Visitor) -> None:
    cookie = stranger.enter().headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "max-age=43200" in cookie
    assert "domain" not in cookie


def test_tokens_do_not_open_the_page_and_programs_still_get_in_by_them(site: Site, stranger: Visitor) -> None:
    from memfolio.serve.tokens import Tokens

    vault = site.page.hall.vault
    _, secret = Tokens(vault.home).create("page", "main", "admin", now=vault.home.now())
    bearer = f"Bearer {secret}"
    assert stranger.ask("GET", "/a/main/memories", authorization=bearer).status_code == 401
    found = stranger.send("POST", "/v1/recall", {"authorization": bearer}, json={"query": "tea"})
    assert found.status_code == 200
    assert found.json()["result"]["hits"]


def test_unknown_agent_is_no_page_and_no_folder(site: Site, owner: Visitor) -> None:
    for name in ("nobody", "..", "%2e%2e", "MAIN"):
        assert owner.ask("GET", f"/a/{name}/memories").status_code in (401, 404)
    assert not (site.home / "agents" / "nobody").exists()


def test_linked_folder_is_no_agent_and_keeps_nothing_from_working(site: Site, owner: Visitor, tmp_path: Path) -> None:
    link = site.home / "agents" / "linked"
    link.symlink_to(tmp_path)
    try:
        assert owner.ask("GET", "/a/linked/memories").status_code == 404
        assert owner.ask("GET", "/a/main/undo?session=s-kitchen").status_code == 200
        assert owner.ask("GET", "/a/main/health").status_code == 200
    finally:
        link.unlink()
    assert [*tmp_path.iterdir()] == []


def test_address_that_leads_nowhere_is_told_as_a_page_with_every_rule(owner: Visitor) -> None:
    for path in ("/a/main/memory", "/a/main/memories/", "/a/main/..%2f..%2fetc", "/a/", "/static/..%2fapp.py"):
        answer = owner.ask("GET", path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"].startswith("text/html"), path
        assert "default-src 'none'" in answer.headers["content-security-policy"], path


def test_question_in_any_script_fits_into_an_address(site: Site, owner: Visitor) -> None:
    path = f"/a/main/memories?q={quote('猫は何処に' * 400)}"
    assert owner.ask("GET", path, referer=f"{site.origin}{path}").status_code == 200
    path = f"/a/main/core?prompt={quote('猫' * 4000)}"
    assert owner.ask("GET", path, referer=f"{site.origin}{path}").status_code == 200


def test_nothing_that_destroys_is_done_without_its_word_or_for_something_else(site: Site, owner: Visitor) -> None:
    with site.memory() as memory:
        one = memory.remember("Only by its word").id
        seq = memory.vault.head
    for name, value, word in (("purge", one, "purge"), ("to", str(seq - 1), "rollback")):
        page = owner.ask("GET", f"/a/main/undo?{name}={value}").text
        mark = re.search(r'name="shown" value="(\w+)"', page)
        assert mark
        for form in ({"shown": mark[1]}, {"shown": mark[1], "word": "ja"}, {"shown": "0", "word": word}):
            assert owner.ask("POST", "/a/main/undo", {name: value, **form}).status_code == 409
    with site.memory() as memory:
        assert memory.vault.head == seq
        memory.forget(one)


def test_several_who_decide_at_once_do_so_once(site: Site, owner: Visitor) -> None:
    with site.memory() as memory:
        one = memory.remember("Decided once").id
        head = memory.vault.head
    page = owner.ask("GET", f"/a/main/memories/{one}").text
    mark = re.search(rf'name="shown-{one}" value="(\w+)"', page)
    assert mark
    forms = [{"id": one, f"shown-{one}": mark[1], "deed": deed} for deed in ("pin", "forget", "pin", "forget")]
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda form: owner.ask("POST", "/a/main/memories", form).status_code, forms)]
    assert sorted(answers) == [303, 409, 409, 409]
    with site.memory() as memory:
        assert memory.vault.head == head + 1


def test_session_that_is_left_is_told_no_more_in_other_tabs(site: Site, owner: Visitor) -> None:
    request = SimpleNamespace(cookies={COOKIE: owner.cookie})
    session = site.page.sessions.of(request)  # type: ignore[arg-type]
    assert site.page.sessions.is_good(session)
    owner.ask("POST", "/leave")
    assert not site.page.sessions.is_good(session)


def test_no_line_of_a_file_is_taken_for_a_part_of_the_difference() -> None:
    before = "a\n-- x\n@@ -1 +1 @@\nend\n"
    after = "a\n++ y\n@@ -9,9 +9,9 @@\n+++ b/other\nsep\u2028arated\nend\n"
    lines = [*diff_lines(unified("page.md", before, after))]
    assert lines[0] == ("file", "page.md")
    assert [text for kind, text in lines if kind == "cut"] == ["-- x", "@@ -1 +1 @@"]
    added = ["++ y", "@@ -9,9 +9,9 @@", "+++ b/other", "sep\u2028arated"]
    assert [text for kind, text in lines if kind == "add"] == added
    assert [text for kind, text in lines if kind == "same"] == ["a", "end"]


def test_difference_of_a_whole_library_is_cut_and_says_so() -> None:
    lines = [*diff_lines(unified("log.md", "", "line\n" * 50_000))]
    assert len(lines) <= LINES + 1
    assert "more lines" in lines[-1][1]


def test_senseless_input_is_told_as_a_page(owner: Visitor) -> None:
    for path in ("memories?state=odd", "memories?since=yesterdayish", "history?action=odd", "undo", "undo?seq=x"):
        answer = owner.ask("GET", f"/a/main/{path}")
        assert answer.status_code == 422, path
        assert answer.headers["content-type"].startswith("text/html")
    assert owner.ask("GET", "/a/main/memories/M-1-00000000").status_code == 404
    assert owner.ask("POST", "/a/main/memories", {"deed": "forget"}).status_code == 422
    assert owner.ask("POST", "/a/main/memories", {"deed": "explode", "id": "x"}).status_code == 422


def test_vendored_script_is_what_its_note_says() -> None:
    folder = Path(app.__file__).parent / "data"
    note = (folder / "d3-force.txt").read_text("utf-8")
    assert hashlib.sha256((folder / "d3-force.js").read_bytes()).hexdigest() in note
    assert "Copyright" in note


def test_static_files_are_small_and_ask_nobody() -> None:
    folder = Path(app.__file__).parent / "data"
    files = [path for path in folder.iterdir() if path.suffix in (".js", ".css", ".svg")]
    assert sum(path.stat().st_size for path in files) < 80_000
    for path in files:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"(?:https?:)?//[a-z]+\.[a-z]+", re.sub(r"^/\*!.*|^//.*", "", text, flags=re.M)) == [], path


def test_memory_is_never_marked_safe_in_a_template() -> None:
    folder = Path(app.__file__).parent / "data"
    for path in folder.glob("*.html"):
        text = path.read_text("utf-8")
        assert "|safe" not in text.replace(" ", "")
        assert "autoescape" not in text
        assert not re.search(r"\son\w+=|style=|javascript:", text), path


def test_owner_speaks_through_the_page(site: Site, owner: Visitor) -> None:
    with Memory.open(site.home, background=False, speaker="owner") as memory:
        before = memory.vault.head
    page = owner.ask("GET", "/a/main/core").text
    shown = re.search(r'name="shown" value="(\w+)"', page)
    assert shown
    form = {"shown": shown[1], "block": "Persona", "text": "Dry humour"}
    assert owner.ask("POST", "/a/main/core", form).status_code == 303
    with Memory.open(site.home, background=False, speaker="owner") as memory:
        entry = memory.audit.log(limit=1)[0]
        assert (entry.seq, entry.actor, entry.approval, entry.trigger) == (before + 1, "human", "approved", "page")
        memory.audit.undo(entry.seq, by=app.BY)


def brightness(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_can_be_read_in_light_and_dark() -> None:
    text = (Path(app.__file__).parent / "data" / "page.css").read_text("utf-8")
    colours = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text)}
    surfaces = ("paper", "card", "wash", "raised")
    pairs = [(ink, surface) for ink in ("ink", "dim", "accent") for surface in surfaces]
    pairs += [("on-accent", "accent"), *((each, f"{each}-wash") for each in ("bad", "warn", "good")), ("bad", "card")]
    for ink, surface in pairs:
        for scheme in (0, 1):
            dark, bright = sorted(brightness(colours[name][scheme]) for name in (ink, surface))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, surface, scheme)


@pytest.mark.parametrize(
    ("pattern", "most"), [("*.py", 1300), ("data/*.html", 800), ("data/page.css", 350), ("data/page.js", 350)]
)
def test_page_stays_light(pattern: str, most: int) -> None:
    files = list(Path(app.__file__).parent.glob(pattern))
    assert files
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= most
