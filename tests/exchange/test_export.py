"""Export and back: the same memory, of one moment, and a bad archive changes nothing."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import ConflictError, InputError, NotFoundError, PolicyError
from memfolio.exchange.export import FORMS, MANIFEST, MARK, VERSION, _still, export
from memfolio.exchange.restore import is_archive, restore
from memfolio.knowledge.facts import fact_json
from memfolio.memory import Memory
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.import_ import export as command
from memfolio.types import HUMAN
from memfolio.vault.disk import Disk
from memfolio.verbs.documents import plain
from tests.index.dump import Dump, differences, dump


def opened(home: Path, agent: str = "main", speaker: str = "owner") -> Memory:
    return Memory.open(home, agent, background=False, speaker=speaker)


def fill(memory: Memory) -> None:
    memory.observe("user", "We ship on Friday with [[person--alex]].", session="s-1")
    kept = memory.remember("Alex works at Initech.", type="fact", importance=0.8, tags=["work"], at=DAY)
    wrong = memory.remember("The sky is green.", type="fact", valid_from=DAY)
    memory.correct(wrong.id, "The sky is blue.")
    memory.pin(kept.id)
    memory.forget(memory.remember("Forget me: zanzibar.").id)
    memory.facts.assert_("Alex", "worksAt", "Initech | Ltd", confidence=0.9, valid_from=DAY)
    memory.rules.create("?a worksAt ?b => ?b employs ?a")
    memory.cases.store({"context": "It was late"}, {"actions": ["call"]}, {"success": True, "lessons": "Call early"})
    memory.mind.believe("The earth is round", certainty=0.9)
    memory.mind.aim("Ship it")
    page = "---\nname: Initech\ntype: organization\n---\n# Initech\n\n- employs: [[person--alex]]\n"
    memory.vault.put_page("agents/main/memory/graph/entities/organization--initech.md", page, expects=None, by=BY)
    memory.vault.put_page("agents/main/memory/procedures/deploy.md", "# Deploy\n\n1. Push.\n", expects=None, by=BY)
    log = memory.vault.home.root / "agents/main/memory/2024-01-02.md"
    log.write_text("# 2024-01-02\n\n- a note by hand <!-- importance: 7 -->\n", encoding="utf-8")


DAY = datetime(2025, 3, 1, tzinfo=UTC)
BY = HUMAN


@pytest.fixture
def full(home: Path) -> Iterator[Memory]:
    with opened(home) as memory:
        fill(memory)
        yield memory


def dumped(memory: Memory) -> Dump:
    """The index without the hashes of files, which have another home's secret in them."""
    memory.sync()
    found = memory.searcher.index.read(dump)
    return {**found, "files": [(path, size, problems) for path, _, size, problems in found["files"]]}


@pytest.mark.parametrize("whole_home", [False, True])
def test_archive_brings_back_the_same_index(whole_home: bool, full: Memory, tmp_path: Path) -> None:
    with opened(full.vault.home.root, "other") as other:
        other.remember("I am another one.")
    target = tmp_path / "memory.tar.gz"
    done = export(full, target, "archive", whole_home=whole_home)
    assert done.agents == (("main", "other") if whole_home else ("main",))
    assert is_archive(target)
    with opened(tmp_path / "back") as back:
        assert restore(back, target, dry_run=True).written > 5
        assert back.vault.entries("main") == []
        came = restore(back, target)
        assert came.written + came.known + len(came.left) == done.files
        assert differences(dumped(full), dumped(back)) == []
        assert restore(back, target).written == 0
        assert [each.title for each in back.mind.items()] == ["The earth is round", "Ship it"]
        assert not any("zanzibar" in hit.memory.content for hit in back.recall("zanzibar"))
    if whole_home:
        with opened(full.vault.home.root, "other") as one, opened(tmp_path / "back", "other") as two:
            assert differences(dumped(one), dumped(two)) == []


@pytest.mark.parametrize("form", ["archive", "jsonl"])
def test_memory_of_one_agent_comes_to_another_with_all_its_state(form: str, full: Memory, tmp_path: Path) -> None:
    full.sync()
    full.pin(full.recall("note by hand")[0].memory.id)
    export(full, tmp_path / "it", form)
    with opened(tmp_path / "back", "deputy") as back:
        restore(back, tmp_path / "it")
        assert back.recall("Initech works")[0].memory.content == "Alex works at Initech."
        assert sorted(each.content for each in back.vault.entries("deputy") if back.explain(each.id).memory.pinned) == [
            "Alex works at Initech.",
            "a note by hand",
        ]
    assert not (tmp_path / "back/agents/main").exists()


def test_archive_holds_only_what_the_vault_tracks(full: Memory, tmp_path: Path) -> None:
    (full.vault.home.root / "agents/main/.secret.tmp").write_text("x")
    export(full, tmp_path / "a.tar.gz", "archive", whole_home=True)
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        names = tar.getnames()
        told = json.load(tar.extractfile(MANIFEST) or io.BytesIO())
    assert {name.split("/")[0] for name in names} == {"agents", "memfolio.toml", MANIFEST}
    assert not any(part.startswith(".") for name in names for part in name.split("/"))
    assert {*told["files"], MANIFEST} == set(names)
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("form", ["archive", "jsonl"])
def test_export_brings_back_pins_uses_corrections_and_what_was_forgotten(
    form: str, full: Memory, tmp_path: Path
) -> None:
    kept = full.recall("Alex works")[0].memory.id
    full.confirm(kept)
    full.used([kept])
    export(full, tmp_path / "it", form)
    with opened(tmp_path / "back") as back:
        restore(back, tmp_path / "it")
        assert explained(back) == explained(full)
        assert (back.explain(kept).memory.pinned, back.explain(kept).memory.access_count) == (True, 2)
        assert known(back) == known(full)
        gone = next(line["memory"] for line in states(back) if line["op"] == "tombstone")
        back.restore(gone)
        assert back.recall("zanzibar")[0].memory.id == gone


def explained(memory: Memory) -> str:
    found = [memory.explain(each.id) for each in memory.vault.entries("main")]
    # What was done to them is in the trail, which is each home's own.
    return json.dumps([replace(each, events=()) for each in found], default=plain)


def known(memory: Memory) -> str:
    facts = [fact_json(each) for each in memory.facts.all()]
    rooms = [facts, memory.rules.export(), memory.cases.list(), memory.mind.items(live=False)]
    return json.dumps(rooms, default=plain)


def states(memory: Memory) -> list[dict[str, Any]]:
    content = memory.vault.content("agents/main/memory/meta/state/0001.jsonl") or b""
    return [json.loads(line) for line in content.splitlines()]


def test_lines_tell_other_programs_everything(full: Memory, tmp_path: Path) -> None:
    odd = full.vault.home.root / "agents/main/memory/picture.png"
    odd.write_bytes(b"\x89PNG\xff\r\n\x00")
    export(full, tmp_path / "it.jsonl", "jsonl")
    records = [json.loads(line) for line in (tmp_path / "it.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {each["record"] for each in records} == set("export memory fact rule case mind file end".split())
    said = [each for each in records if each["record"] == "memory"]
    assert {"The sky is green.", "The sky is blue.", "a note by hand"} <= {each["content"] for each in said}
    assert not any("zanzibar" in each["content"] for each in said)
    with opened(tmp_path / "back") as back:
        restore(back, tmp_path / "it.jsonl")
        assert back.vault.content("agents/main/memory/picture.png") == odd.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_file_with_an_odd_name_stops_no_export(form: str, full: Memory, tmp_path: Path) -> None:
    folder = full.vault.home.root / "agents/main"
    for name in ("Why?.md", "a:b.md", "U\u0308ber.md", "con.md"):
        (folder / name).write_text(f"Odd: {name}.\n", encoding="utf-8")
    assert export(full, tmp_path / "it", form).left_out == {}
    with opened(tmp_path / "back") as back:
        restore(back, tmp_path / "it")
        assert {path.name for path in (back.vault.home.root / "agents/main").glob("*.md")} == {
            "Why-.md",
            "a-b.md",
            "\u00dcber.md",
            "_con.md",
        }


def test_file_that_is_not_exported_is_told(full: Memory, tmp_path: Path) -> None:
    folder = full.vault.home.root / "agents/main"
    (folder / "film.mp4").write_bytes(bytes(17 << 20))
    for name in ("a:.md", "a?.md"):
        (folder / name).write_text("Odd.\n", encoding="utf-8")
    told = export(full, tmp_path / "it", "archive").left_out
    assert {path: why[:10] for path, why in told.items()} == {
        "agents/main/film.mp4": "is larger ",
        "agents/main/a?.md": "has a name",
    }
    with opened(tmp_path / "back") as back:
        assert restore(back, tmp_path / "it").written > 5


@pytest.mark.parametrize("form", FORMS)
def test_target_that_is_taken_or_in_the_home_is_refused(form: str, full: Memory, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").write_text("mine")
    for target in (taken, taken / "file", full.vault.home.root / "out", full.vault.home.root.parent):
        with pytest.raises(InputError):
            export(full, target, form)
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "file"]
    export(full, tmp_path / "dry", form, dry_run=True)
    assert not (tmp_path / "dry").exists()
    with pytest.raises(NotFoundError), opened(full.vault.home.root, "nobody") as nobody:
        export(nobody, tmp_path / "dry", form)
    with pytest.raises(InputError, match="no form"):
        export(full, tmp_path / "dry", f"{form}x")


@pytest.mark.parametrize("form", FORMS)
def test_export_that_fails_or_is_killed_leaves_nothing_in_its_place(form: str, home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        fill(memory)
    code = (
        "import os, sys\nfrom memfolio.memory import Memory\nfrom memfolio.vault.disk import Disk\n"
        "from memfolio.exchange.export import export\n"
        "Disk.rename = lambda *_: os._exit(9)\n"
        "export(Memory.open(sys.argv[1], background=False, speaker='owner'), sys.argv[2], sys.argv[3])"
    )
    out = tmp_path / "exports" / "it"
    done = subprocess.run([sys.executable, "-c", code, str(home), str(out), form], check=False)
    assert done.returncode == 9
    assert not out.exists()
    with opened(home) as memory:
        export(memory, out, form)
    assert out.exists()
    assert [path.name for path in out.parent.iterdir()] == ["it"]


def test_nobody_writes_during_an_export(full: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, wrote = full.vault.home.root, threading.Event()

    def write() -> None:
        with opened(home) as other:
            other.remember("Too late for the export.")
        wrote.set()

    thread, writing = threading.Thread(target=write), Disk.writing

    def slow(self: Disk, path: Path) -> Any:
        if path.parent == tmp_path:
            thread.start()
            assert not wrote.wait(0.3)
        return writing(self, path)

    monkeypatch.setattr(Disk, "writing", slow)
    export(full, tmp_path / "notes", "jsonl")
    thread.join()
    assert wrote.is_set()
    assert "Too late" not in (tmp_path / "notes").read_text()


def test_agent_exports_what_it_may_read_and_restores_nothing(full: Memory, tmp_path: Path) -> None:
    home = full.vault.home.root
    with opened(home, "other") as other:
        other.remember("I am another one.")
    with opened(home, "other", speaker="agent") as other:
        done = export(other, tmp_path / "own.jsonl", "jsonl", whole_home=True)
        assert done.agents == ("other",)
        assert "Initech" not in (tmp_path / "own.jsonl").read_text()
        export(other, tmp_path / "own.tar.gz", "archive")
        with pytest.raises(PolicyError):
            restore(other, tmp_path / "own.tar.gz")


def test_archive_that_meets_other_files_changes_nothing(full: Memory, tmp_path: Path) -> None:
    export(full, tmp_path / "a.tar.gz", "archive")
    with opened(tmp_path / "back") as back:
        back.mind.believe("Something else")
        before = dumped(back)
        with pytest.raises(ConflictError, match="there already"):
            restore(back, tmp_path / "a.tar.gz")
        assert differences(before, dumped(back)) == []


def test_archive_with_a_folder_where_the_home_has_a_file_changes_nothing(home: Path, tmp_path: Path) -> None:
    archive(tmp_path / "a.tar.gz", PAGE, ("agents/main/plan/b.md", b"# B\n"))
    with opened(home) as memory:
        memory.vault.put_page("agents/main/plan", "A file.\n", expects=None, by=BY)
        head = memory.vault.head
        with pytest.raises(ConflictError):
            restore(memory, tmp_path / "a.tar.gz")
        assert memory.vault.head == head


def archive(
    path: Path, *members: tarfile.TarInfo | tuple[str, bytes], manifest: bool = True, agents: Any = ("main",)
) -> None:
    """An archive as somebody else might make one."""
    pairs = [each for each in members if isinstance(each, tuple)]
    hashes = {name: sha256(data).hexdigest() for name, data in pairs}
    named = {"version": VERSION, "agents": list(agents), "whole_home": False, "files": hashes}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers={MARK: VERSION}) as tar:
        for each in (*members, *([(MANIFEST, json.dumps(named).encode())] if manifest else [])):
            info = each if isinstance(each, tarfile.TarInfo) else tarfile.TarInfo(each[0])
            info.size = 0 if isinstance(each, tarfile.TarInfo) else len(each[1])
            tar.addfile(info, io.BytesIO(b"" if isinstance(each, tarfile.TarInfo) else each[1]))


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


PAGE = ("agents/main/memory/vault/x.md", b"# X\n")
BAD: dict[str, Callable[[Path], None]] = {
    "leads out": lambda path: archive(path, PAGE, ("../evil.md", b"x")),
    "leads out from within": lambda path: archive(path, PAGE, ("agents/main/../../evil.md", b"x")),
    "absolute": lambda path: archive(path, PAGE, ("/tmp/evil.md", b"x")),
    "inside of the home": lambda path: archive(path, PAGE, (".memfolio/owner", b"{}")),
    "trail": lambda path: archive(path, PAGE, ("audit/2026-11/0001.jsonl", b"{}\n")),
    "link": lambda path: archive(path, PAGE, link("agents/main/USER.md", tarfile.SYMTYPE)),
    "hard link": lambda path: archive(path, PAGE, link("agents/main/USER.md", tarfile.LNKTYPE)),
    "device": lambda path: archive(path, PAGE, link("agents/main/USER.md", tarfile.CHRTYPE)),
    "twice": lambda path: archive(path, PAGE, PAGE),
    "no manifest": lambda path: archive(path, PAGE, manifest=False),
    "strange agents": lambda path: archive(path, PAGE, agents=("../x",)),
    "too many agents": lambda path: archive(path, PAGE, agents=("main", "other")),
    "large": lambda path: archive(path, ("agents/main/memory/vault/y.md", bytes(17 << 20))),
    "bomb": lambda path: archive(path, *((f"agents/main/{n}.md", bytes(16 << 20)) for n in range(5))),
    "file in a file": lambda path: archive(path, PAGE, (f"{PAGE[0]}/y.md", b"# Y\n")),
    "of another": lambda path: archive(path, PAGE, agents=("other",)),
    "no archive": lambda path: gzip.open(path, "w").close(),
    "other tar": lambda path: tarfile.open(path, "w:gz").close(),
}


def test_bad_archive_is_refused_and_nothing_changes(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        head = memory.vault.head
        for number, (name, make) in enumerate(BAD.items()):
            path = tmp_path / f"{number}.tar.gz"
            make(path)
            with pytest.raises(InputError):
                pytest.fail(f"{name}: {restore(memory, path)}")
        assert memory.vault.head == head
    assert not (home / "agents/main/memory/vault").exists()
    assert not list(tmp_path.rglob("evil.md"))


def test_archive_cut_short_or_changed_is_refused_at_any_place(full: Memory, tmp_path: Path) -> None:
    export(full, tmp_path / "a.tar.gz", "archive")
    whole = (tmp_path / "a.tar.gz").read_bytes()
    bad = tmp_path / "bad.tar.gz"
    with opened(tmp_path / "back") as back:
        head = back.vault.head
        for end in range(0, len(whole) - 8, max(1, len(whole) // 40)):
            flipped = whole[:end] + bytes([whole[end] ^ 0xFF]) + whole[end + 1 :]
            for data in (whole[:end], *([flipped] if end > 10 else [])):
                bad.write_bytes(data)
                with pytest.raises(InputError):
                    restore(back, bad)
        bad.write_bytes(whole + gzip.compress(bytes(4 << 20)))
        with pytest.raises(InputError, match="behind its end"):
            restore(back, bad)
        text = gzip.decompress(whole).replace(b"Ship it", b"Sink it")
        bad.write_bytes(gzip.compress(text))
        with pytest.raises(InputError, match="manifest"):
            restore(back, bad)
        assert back.vault.head == head


def test_lines_cut_short_or_changed_are_refused(full: Memory, tmp_path: Path) -> None:
    export(full, tmp_path / "all.jsonl", "jsonl")
    whole = (tmp_path / "all.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    page = json.dumps({"record": "file", "path": "../evil.md", "text": "x"}).encode() + b"\n"
    head = whole[: -len(lines[-1])]
    escaping = head + page + end(head + page)
    bad = [b"".join(lines[:cut]) for cut in (1, 3, -1)] + [whole + lines[1], whole[:-20], escaping]
    bad += [whole.replace(b"The sky is blue", b"The sky is grey"), whole.replace(b'"version": "1"', b'"version": "2"')]
    with opened(tmp_path / "back") as back:
        head_before = back.vault.head
        for data in bad:
            (tmp_path / "bad.jsonl").write_bytes(data)
            with pytest.raises(InputError):
                restore(back, tmp_path / "bad.jsonl")
        assert back.vault.head == head_before
        newer = head.replace(b'"version": "1"', b'"version": "2"')
        (tmp_path / "bad.jsonl").write_bytes(newer + end(newer))
        with pytest.raises(InputError, match="another version"):
            restore(back, tmp_path / "bad.jsonl")
    assert not list(tmp_path.rglob("evil.md"))


def end(lines: bytes) -> bytes:
    return json.dumps({"record": "end", "sha256": sha256(lines).hexdigest()}).encode() + b"\n"


def test_command_tells_what_it_wrote(full: Memory, tmp_path: Path) -> None:
    options = Options(home=str(full.vault.home.root))
    would = command(options, tmp_path / "out", "jsonl", dry_run=True)
    assert would.document["dry_run"] is True
    assert not (tmp_path / "out").exists()
    done = command(options, tmp_path / "out", "jsonl")
    assert done.document["agents"] == ("main",)
    assert done.document["files"] > 5
    assert "mind/Goals.md" in (tmp_path / "out").read_text()


def test_home_that_can_only_be_read_is_exported_unless_somebody_writes(full: Memory, tmp_path: Path) -> None:
    home = full.vault.home.root
    note = home / ".memfolio/owner"
    ours = note.read_text()
    note.write_text('{"machine": "elsewhere", "name": "another machine"}')
    with opened(home) as reader:
        assert not reader.vault.can_write
        export(reader, tmp_path / "a.tar.gz", "archive")
        assert is_archive(tmp_path / "a.tar.gz")
        note.write_text(ours)
        with _still(reader.vault) as check:
            full.remember("Meanwhile.")
            with pytest.raises(ConflictError):
                check()
