"""Odd names and odd bytes: a typed error, or taken as they are, byte for byte; never rewritten, never in the way."""

from __future__ import annotations

import os
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.errors import ConfigError, FileNotHereError, HomeFormatError, PathError
from memfolio.types import Action
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, check_git, check_home, configured, item

LOG = "agents/main/memory/2026-11-15.md"
OLDER_LOG = "agents/main/memory/2026-11-14.md"
LEDGER = "agents/main/memory/meta/state/0001.jsonl"
PAGE = "agents/main/MEMORY.md"
WAYS = {"few": 2, "many": 50}


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(config=configured(home), clock=clock) as opened:
        yield opened


@pytest.fixture(scope="module")
def standing() -> Iterator[Vault]:
    """One home for thousands of examples."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with Vault.open(config=configured(home, git_enabled=False), clock=SettableClock(START)) as opened:
            yield opened


def save(path: Path, content: bytes) -> None:
    """What a person's editor left a while ago, so that nobody waits for it to finish."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (0, 0))


ODD = {
    "CRLF": b"# 2026-11-15\r\n\r\n- one\r\n- two\r\n",
    "BOM": b"\xef\xbb\xbf# 2026-11-15\n\n- one\n",
    "CR": b"one\rtwo\r",
    "invalid UTF-8": b"- caf\xe9 \xff\xfe\n",
    "UTF-16": "- one\n".encode("utf-16"),
    "no line end": b"- one",
    "empty": b"",
    "blank": b"\n\n \n",
    "NUL inside": b"- one\0two\n",
    "half a heading": b"## 14:30",
    "a long line": b"x" * 300_000,
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("path", [LOG, LEDGER, PAGE])
def test_odd_bytes_of_a_person_are_kept_as_they_are(home: Path, vault: Vault, path: str, content: bytes) -> None:
    save(home / path, content)
    assert vault.survey() == [path]
    assert (home / path).read_bytes() == content
    assert vault.commit() == 0
    assert vault.history.read(path) == content
    assert vault.survey() == []
    check_git(home)


@pytest.mark.parametrize("content", ODD.values(), ids=ODD.keys())
def test_we_append_to_odd_bytes_without_touching_them(home: Path, vault: Vault, content: bytes) -> None:
    save(home / LOG, content)
    [mark] = vault.add("main", [item("ours")], BOT).ids
    if len(content) < 128 * 1024:
        assert (home / LOG).read_bytes().startswith(content)
    vault.close()
    check_home(home, {mark: "ours"})


def test_a_name_in_both_normal_forms_is_reported_and_both_files_are_kept(home: Path, vault: Vault) -> None:
    composed, decomposed = (unicodedata.normalize(form, "agents/main/mind/Café.md") for form in ("NFC", "NFD"))
    save(home / composed, b"one\n")
    save(home / decomposed, b"two\n")
    vault.survey()
    assert [path for path in vault.problems if "same name" in vault.problems[path]] == [max(composed, decomposed)]
    assert ((home / composed).read_bytes(), (home / decomposed).read_bytes()) == (b"one\n", b"two\n")
    assert vault.commit() == 0


def test_names_that_differ_only_in_case_are_reported_and_both_files_are_kept(home: Path, vault: Vault) -> None:
    save(home / "agents/main/mind/Goals.md", b"one\n")
    save(home / "agents/main/mind/goals.md", b"two\n")
    vault.survey()
    assert list(vault.problems) == ["agents/main/mind/goals.md"]
    assert ((home / "agents/main/mind/Goals.md").read_bytes(), vault.commit()) == (b"one\n", 0)
    assert (home / "agents/main/mind/goals.md").read_bytes() == b"two\n"
    assert vault.history.read("agents/main/mind/goals.md") == b"two\n"


def test_a_stray_copy_of_the_trail_is_reported_and_left_alone(home: Path, vault: Vault) -> None:
    vault.put_page(PAGE, "page\n", expects=None, by=BOT)
    part = vault.journal.head.part
    copy = part.replace(".jsonl", " (conflicted copy).jsonl")
    save(home / copy, b"{}\n")
    vault.survey()
    assert list(vault.problems) == [copy]
    assert vault.trail.problems() == []


def test_a_name_that_is_not_utf8_is_reported_and_left_alone(home: Path, vault: Vault) -> None:
    odd = os.path.join(os.fsencode(home), b"agents", b"main", b"caf\xe9.md")
    (home / "agents/main").mkdir(parents=True)
    Path(os.fsdecode(odd)).write_bytes(b"one\n")
    save(home / PAGE, b"page\n")
    assert vault.survey() == [PAGE]
    assert len(vault.problems) == 1
    assert Path(os.fsdecode(odd)).read_bytes() == b"one\n"


@pytest.mark.parametrize(
    "name", ["CON.md", "aux", "what?.md", "a:b.md", "tab\tname.md", "line\nname.md", "dot.", "x" * 240]
)
def test_a_name_that_other_systems_refuse_is_tolerated_where_a_person_made_it(
    home: Path, vault: Vault, name: str
) -> None:
    save(home / "agents/main/mind" / name, b"one\n")
    assert vault.survey() == [f"agents/main/mind/{name}"]
    assert vault.commit() == 0
    assert vault.history.read(f"agents/main/mind/{name}") == b"one\n"
    assert (home / "agents/main/mind" / name).read_bytes() == b"one\n"
    check_git(home)


@pytest.mark.parametrize("name", ["a\\b.md", "GIT~1", "git~1/page.md"])
def test_a_name_that_git_cannot_hold_is_reported_and_holds_up_no_commit(home: Path, vault: Vault, name: str) -> None:
    path = f"agents/main/mind/{name}"
    save(home / path, b"one\n")
    save(home / PAGE, b"page\n")
    assert vault.survey() == [PAGE]
    assert "git cannot hold" in vault.problems[path]
    assert vault.commit() == 0
    assert (home / path).read_bytes() == b"one\n"


@pytest.mark.parametrize("linked", ["agents/evil", "agents/evil/memory", "agents", "shared"])
def test_nothing_is_read_or_written_through_a_linked_folder(
    home: Path, tmp_path: Path, vault: Vault, linked: str
) -> None:
    outside = tmp_path / "outside"
    save(outside / "victim.md", b"outside\n")
    save(outside / "evil/memory/victim.md", b"outside\n")
    save(outside / "memory/victim.md", b"outside\n")
    before = sorted(outside.rglob("*"))
    agent = "shared" if linked == "shared" else "evil"
    root = "shared" if agent == "shared" else "agents/evil"
    (home / linked).parent.mkdir(parents=True, exist_ok=True)
    (home / linked).symlink_to(outside)
    acts: list[Callable[[], object]] = [
        lambda: vault.add(agent, [item("words")], BOT),
        lambda: vault.add(agent, [item("two"), item("entries")], BOT),
        lambda: vault.page(f"{root}/memory/victim.md"),
        lambda: vault.put_page(f"{root}/memory/victim.md", "ours\n", expects=None, by=BOT),
        lambda: vault.put_page(f"{root}/memory/deep/new.md", "ours\n", expects=None, by=BOT),
    ]
    for act in acts:
        with pytest.raises(FileNotHereError) as caught:
            act()
        assert "link" in caught.value.hint
    assert vault.survey() == []
    assert linked in vault.problems
    assert vault.entries(agent) == []
    assert sorted(outside.rglob("*")) == before
    assert (outside / "memory/victim.md").read_bytes() == b"outside\n"
    vault.put_page("audit/notes.md", "elsewhere it goes on\n", expects=None, by=BOT)


def test_a_folder_that_becomes_a_link_is_neither_deleted_nor_followed(home: Path, tmp_path: Path, vault: Vault) -> None:
    vault.add("main", [item("first")], BOT)
    log = (home / LOG).read_bytes()
    (home / "agents/main").rename(tmp_path / "moved")
    (home / "agents/main").symlink_to(tmp_path / "moved")
    with pytest.raises(FileNotHereError):
        vault.add("main", [item("second")], BOT)
    assert vault.survey() == []
    assert (tmp_path / "moved/memory/2026-11-15.md").read_bytes() == log
    (home / "agents/main").unlink()
    (tmp_path / "moved").rename(home / "agents/main")
    vault.add("main", [item("second")], BOT)
    assert [line for line in vault.trail.lines() if line.action is Action.DELETE] == []


def test_the_inside_of_a_home_is_not_reached_through_a_link(home: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    home.mkdir()
    (home / ".memfolio").symlink_to(tmp_path / "outside")
    with pytest.raises(FileNotHereError) as caught:
        Vault.open(config=configured(home))
    assert caught.value.hint
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_home_may_itself_be_a_link_or_below_one(home: Path, tmp_path: Path, clock: SettableClock, below: str) -> None:
    (tmp_path / "real").mkdir()
    home.symlink_to(tmp_path / "real")
    home /= below
    with Vault.open(config=configured(home), clock=clock) as vault:
        [mark] = vault.add("main", [item("words")], BOT).ids
    check_home(home, {mark: "words"})


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("usual_umask")
def test_a_page_keeps_its_mode_and_the_inside_is_the_owners_alone(home: Path, vault: Vault) -> None:
    page = home / "agents/main/USER.md"
    vault.put_page("agents/main/USER.md", "one\n", expects=None, by=BOT)
    assert mode(page) == 0o644
    page.chmod(0o600)
    read = vault.page("agents/main/USER.md")
    assert read is not None
    vault.put_page("agents/main/USER.md", "two\n", expects=read.hash, by=BOT)
    assert (mode(page), page.read_text()) == (0o600, "two\n")
    inside = [home / ".memfolio", *(home / ".memfolio").rglob("*")]
    assert {mode(path) for path in inside if path.is_file()} == {0o600}
    assert {mode(path) for path in inside if path.is_dir()} == {0o700}


REFUSED = [
    "audit/2026-11/0001.jsonl",
    "audit/2026-11/0002.JSONL",
    "../outside.md",
    "agents/../../outside.md",
    "agents/main/../../../outside.md",
    "/etc/passwd",
    "agents//x.md",
    "agents/main/./x.md",
    "",
    ".",
    "agents",
    "elsewhere/x.md",
    ".git/config",
    "agents/main/.git/config",
    ".memfolio/key",
    "agents/main/CON.md",
    "agents/main/aux",
    "agents/main/LPT1.txt",
    "agents/main/x.md ",
    "agents/main/x.",
    "agents/main/a\\b.md",
    "agents/main/a:b.md",
    "agents/main/nul\0.md",
    "agents/main/bell\a.md",
    "agents/main/" + "x" * 300 + ".md",
    "agents/main/" + "é" * 150 + ".md",
    "agents/main/half\ud800.md",
    "agents/main/x.md~",
    "agents/main/.hidden.md",
    "C:/x.md",
]


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_that_cannot_be_stored_is_refused_and_nothing_is_written(home: Path, vault: Vault, path: str) -> None:
    before = list(home.parent.rglob("*"))
    with pytest.raises(PathError) as caught:
        vault.put_page(path, "x", expects=None, by=BOT)
    assert caught.value.hint
    with pytest.raises(PathError):
        vault.page(path)
    assert list(home.parent.rglob("*")) == before


names = st.text(
    st.one_of(st.sampled_from("abzAZ09-_. ~/\\:*?<>|\"'#%&(){}[]éßİıſ漢👍\u200b\u202e\ufeff\u0301"), st.characters()),
    min_size=1,
    max_size=60,
)


@pytest.mark.parametrize("way", ["few", pytest.param("many", marks=pytest.mark.long)])
def test_any_name_is_refused_or_stored_inside_the_home(standing: Vault, way: str, tally: Tally) -> None:
    @settings(max_examples=20 * WAYS[way] ** 2)
    @given(names)
    @example("..")
    @example("x/../../../../y")
    @example(".git")
    def check(name: str) -> None:
        path = f"agents/main/mind/{name}"
        home = standing.home.root
        try:
            standing.put_page(path, name.encode("utf-8", "replace"), expects=None, by=BOT)
        except PathError:
            return
        stored = home / unicodedata.normalize("NFC", path)
        assert stored.read_bytes() == name.encode()
        assert stored.resolve().is_relative_to(home.resolve())
        page = standing.page(path)
        assert page is not None
        standing.put_page(path, None, expects=page.hash, by=BOT)
        assert not stored.exists()
        shutil.rmtree(home / "agents/main/mind")  # a folder that one name made may be another name's file

    check()
    tally("names", 20 * WAYS[way] ** 2)


markdown = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                b"## 14:30:05 decision \xc2\xb7 0.8 ^M-1794753005123-a3f2c91d\n",
                b"## 14:30",
                b"\n",
                b"source: x \xc2\xb7 session: y\n",
                b'<!-- {"a": 1} -->\n',
                b"<!--",
                b"```\n",
                b"- bullet\n",
                b"# title\n",
                b"---\na: b\n---\n",
                b"\\## 14:30:05\n",
                b"\r\n",
                b"^M-1-00000000",
                b"\xef\xbb\xbf",
            ]
        ),
    ),
    max_size=8,
).map(b"".join)
lines = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b'{"id":"S-1-00000000"}\n', b"{", b"}\n", b"[[[[", b"null\n", b'{"a":1e999}\n', b"\n", b'"\n']
        ),
    ),
    max_size=8,
).map(b"".join)


@pytest.mark.parametrize("way", ["few", pytest.param("many", marks=pytest.mark.long)])
def test_malformed_files_never_stop_a_survey_and_are_never_rewritten(standing: Vault, way: str, tally: Tally) -> None:
    home = standing.home.root

    @settings(max_examples=200 * WAYS[way])
    @given(markdown, lines, st.binary(max_size=200))
    def check(log: bytes, ledger: bytes, page: bytes) -> None:
        contents = {OLDER_LOG: log, LEDGER: ledger, PAGE: page}
        for path in contents:  # what extends what we know may be our own torn entry, so each starts anew
            (home / path).unlink(missing_ok=True)
        standing.survey(accept_missing=True)
        for path, content in contents.items():
            save(home / path, content)
        standing.survey()
        assert {path: (home / path).read_bytes() for path in contents} == contents

    check()
    assert standing.trail.problems() == []
    tally("malformed files", 600 * WAYS[way])


@pytest.mark.parametrize("way", ["few", pytest.param("many", marks=pytest.mark.long)])
def test_any_text_appended_by_a_person_stays_findable(standing: Vault, way: str, tally: Tally) -> None:
    home = standing.home.root

    @settings(max_examples=100 * WAYS[way])
    @given(markdown)
    def check(words: bytes) -> None:
        standing.add("main", [item("ours")], BOT)
        before = (home / LOG).read_bytes()
        save(home / LOG, before + words)
        standing.survey()
        now = (home / LOG).read_bytes()
        conflicts = home / "agents/main/memory/conflicts"
        copies = [path.read_bytes() for path in conflicts.iterdir()] if conflicts.exists() else []
        torn = home / ".memfolio/torn"
        copies += [path.read_bytes() for path in torn.iterdir()] if b"\0" in words and torn.exists() else []
        kept = now[len(before) :]
        assert now.startswith(before)
        assert words.startswith(kept)
        assert not words[len(kept) :].strip() or words[len(kept) :] in copies
        (home / LOG).unlink()
        standing.survey(accept_missing=True)

    check()
    tally("texts appended by a person", 100 * WAYS[way])


toml = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                "format = 1\n",
                "format = 2\n",
                "[git]\n",
                "enabled = false\n",
                "timezone = ",
                '"UTC"\n',
                "[[",
                '"""',
                "\n",
            ]
        ),
    ),
    max_size=6,
).map("".join)


@pytest.mark.parametrize("way", ["few", pytest.param("many", marks=pytest.mark.long)])
def test_a_malformed_configuration_is_a_typed_error_and_never_rewritten(
    quick_path: Path, way: str, tally: Tally
) -> None:
    home = quick_path / "home"
    Vault.open(config=configured(home, git_enabled=False)).close()

    @settings(max_examples=100 * WAYS[way])
    @given(toml.map(str.encode) | st.binary(max_size=60))
    def check(content: bytes) -> None:
        save(home / "memfolio.toml", content)
        try:
            Vault.open(config=configured(home, git_enabled=False)).close()
        except (ConfigError, HomeFormatError) as error:
            assert error.hint
        assert (home / "memfolio.toml").read_bytes() == content

    check()
    tally("malformed configurations", 100 * WAYS[way])


def test_a_file_that_becomes_a_folder_and_back_is_understood(home: Path, vault: Vault) -> None:
    save(home / PAGE, b"one\n")
    vault.survey()
    (home / PAGE).unlink()
    save(home / PAGE / "inner.md", b"two\n")
    vault.survey()
    (home / PAGE / "inner.md").unlink()
    (home / PAGE).rmdir()
    save(home / PAGE, b"three\n")
    vault.survey()
    assert vault.commit() == 0
    check_git(home)
    assert [line.action for line in vault.trail.lines()].count(Action.DELETE) >= 1
