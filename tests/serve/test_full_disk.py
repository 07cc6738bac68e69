"""A disk that is really full, at every door: a typed error, nothing lost, and all goes on when there is room again."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from memfolio.serve.cli.app import run
from tests.disks import fill_up
from tests.serve.calls import HOOK, PROGRAM, Json, RunJson
from tests.serve.http.conftest import serving

LOSSES = "Traceback", "database or disk is full", "No space left"


class Place:
    """A home with something of everything in it, and what to do with that."""

    def __init__(self, folder: Path, cli: RunJson) -> None:
        self.cli, self.inputs = cli, folder / "inputs"
        self.inputs.mkdir()
        facts = ({"subject": "Acme", "predicate": "hasCity", "object": f"Rome {n}"} for n in range(99))
        (self.inputs / "facts.jsonl").write_text("".join(f"{json.dumps(fact)}\n" for fact in facts))
        (self.inputs / "rules.txt").write_text("?x hasCity ?y => ?x isSomewhere true\n")
        turns = ({"role": "user", "content": f"We decided to use PKCE number {n}."} for n in range(6))
        (self.inputs / "chat.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
        (self.inputs / "notes.md").write_text("# Notes\n\n- Alex likes tea\n")
        self.memories = [cli("remember", f"Alex prefers tea number {n}, as he said")["id"] for n in range(9)]
        cli("observe", "user", "I live in Rome and I prefer green tea.", "--session", "s-1")
        cli("forget", self.memories[0], "--yes")
        self.proposal = cli("propose", "Bo prefers milk", "--type", "preference")["id"]
        self.fact = cli("fact", "assert", "Acme", "hasRevenue", "50000")["id"]
        self.rule = cli("rule", "create", "?x hasRevenue ?y and ?y > 10 => ?x isTaxable true")["id"]
        self.case = cli("case", "store", "--context", "The build fails", "--action", "revert", "--success")["id"]
        cli("mind", "believe", "Ask before a deploy", "--from", self.memories[1])
        cli("procedure", "add", "Deploy", "--step", "Run the tests", "--step", "Tag the release")
        self.run = cli("workflow", "start", "deploy")["id"]
        cli("agent", "create", "other")
        cli("core", "add", "Active Context", "Working on the launch")
        self.token = cli("token", "create", "phone")["id"]
        self.reflection = cli("reflect")["hash"]
        self.proposed = cli("proposals", self.proposal)["shown"]

    def writes(self) -> list[tuple[object, ...]]:
        """Every command that writes to a home, with something that takes room."""
        long, m, inputs = "y" * 6000, self.memories, self.inputs
        return [
            ("remember", f"Cy lives in Rome {long}"),
            ("observe", "user", f"I like ham {long}", "--session", "s-2"),
            ("correct", m[1], f"Alex prefers coffee {long}"),
            ("forget", m[2], "--yes"),
            ("restore", m[0]),
            ("checkpoint", f"Migrating the login {long}"),
            ("flush", inputs / "chat.jsonl", "--session", "s-3"),
            ("archive", m[5]),
            ("purge", m[6], "--yes"),
            ("reflect",),
            ("approve", "--hash", self.reflection),
            ("approve", self.proposal, "--hash", self.proposed),
            ("reject", self.proposal),
            ("propose", "Di prefers wine"),
            ("core", "add", "Active Context", "Moving"),
            ("core", "pin", "Something critical"),
            ("fact", "assert", "Acme", "hasCity", long[:4000]),
            ("fact", "retract", self.fact),
            ("fact", "import", inputs / "facts.jsonl"),
            ("rule", "create", f"?x hasCity {long[:4000]} => ?x isUrban true"),
            ("rule", "delete", self.rule),
            ("rule", "import", inputs / "rules.txt"),
            ("case", "store", "--context", f"Tests fail {long}", "--action", "rerun", "--success"),
            ("case", "delete", self.case),
            ("ontology", "add", "shop:Gift", "--definition", "A gift"),
            ("ontology", "load", "business"),
            ("mind", "believe", "Sky is blue"),
            ("procedure", "add", "Test", "--step", "Run"),
            ("workflow", "done", self.run),
            ("agent", "create", "third"),
            ("agent", "set", "other", "reads=*"),
            ("agent", "rename", "other", "another"),
            ("undo", "--session", "s-1", "--yes"),
            ("rollback", "--to", "1 minute ago", "--yes"),
            ("token", "create", "tablet"),
            ("token", "revoke", self.token),
            ("import", inputs / "notes.md"),
            ("import", inputs / "notes.md", "--untrusted"),
            ("goal", "seed", "--example"),
            ("tool", "call", "remember", json.dumps({"text": f"Words {long}"})),
        ]

    def reads(self) -> list[tuple[object, ...]]:
        m = self.memories
        asked = (("recall", "tea"), ("context", "tea"), ("show", m[8]), ("explain", m[8]), ("status",), ("log",))
        return [*asked, ("proposals",), ("fact", "query"), ("mind", "list"), ("core", "show"), ("verify",), ("doctor",)]


@pytest.fixture
def full_home(small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli_json: RunJson) -> Place:
    monkeypatch.setenv("MEMFOLIO_HOME", str(small_disk / "home"))
    monkeypatch.setenv("HOME", str(small_disk))
    return Place(tmp_path, cli_json)


def outcome(args: tuple[object, ...], capsys: pytest.CaptureFixture[str]) -> Json:
    """What a command says: its answer, or the one error that is promised."""
    code = run([*map(str, args), "--json"])
    out, err = capsys.readouterr()
    assert not any(each in out + err for each in LOSSES), (args, out, err)
    said: Json = json.loads(out)
    if "error" in said:
        assert (code, said["error"]["code"], err) == (1, "disk-full", ""), (args, said)
        assert "disk is full" in said["error"]["message"]
        assert "free some space" in said["error"]["hint"]
    return said


def test_every_writing_command_says_that_the_homes_disk_is_full_and_loses_nothing(
    full_home: Place, small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args: tuple[object, ...]
    cli, home = full_home.cli, small_disk / "home"
    known = {path: path.read_bytes() for path in home.glob("agents/main/memory/*.md")}
    changes, free = cli("status")["changes"], fill_up(small_disk)
    landed = [each for each in full_home.writes() if "error" not in outcome(each, capsys)]
    assert len(landed) < 4, "small lines may fit behind the last bytes of a file, and count then"
    for args in (("install", "claude-code"), ("backup", small_disk / "backups"), ("export", small_disk / "out.tar.gz")):
        assert "error" in outcome(args, capsys)
    for args in full_home.reads():
        assert "error" not in outcome(args, capsys), args
    assert cli("status")["trouble"] is None or "disk is full" in cli("status")["trouble"]
    # What is elsewhere can be made while the home's own disk is full: that is how its owner gets out of it.
    for args in (("backup", tmp_path / "backups"), ("export", tmp_path / "out.tar.gz"), ("reindex",)):
        assert "error" not in outcome(args, capsys), args
    assert {path: path.read_bytes() for path in known} == known, "no command with a memory in it landed"
    # What fits behind the last bytes of a file is taken and acknowledged, until nothing fits any more.
    kept = dict[str, str]()
    for number in range(100):
        said = outcome(("observe", "user", f"Word {number} fits", "--session", "s-4"), capsys)
        if "error" in said:
            break
        kept[said["id"]] = said["content"]
    free()
    assert {each: cli("show", each)["content"] for each in kept} == kept
    assert cli("status")["changes"] >= changes + len(landed) + len(kept)
    assert cli("remember", "There is room again")["id"] in {hit["id"] for hit in cli("recall", "room again")["hits"]}
    for args in full_home.writes()[:4]:
        assert "error" not in cli(*args)
    assert cli("verify")["ok"]


def test_every_job_says_that_the_disk_is_full_and_is_done_when_there_is_room(
    full_home: Place, small_disk: Path
) -> None:
    cli = full_home.cli
    free = fill_up(small_disk)
    for args in (("tend",), ("tend", "--all"), ("tend", "--session", "s-1"), ("consolidate",), ("heartbeat",)):
        said = cli(*args, status=1)
        errors = (
            [said["error"]["message"]]
            if "error" in said
            else [job["error"] for each in said["agents"] for job in each["done"] if job["error"]]
        )
        assert errors
        assert all("the disk is full" in each for each in errors)
    free()
    done = cli("tend", "--session", "s-1")["agents"][0]["done"]
    assert [(job["job"], job["error"], bool(job["did"])) for job in done] == [("sessions", "", True)]
    assert not any(job["error"] for job in cli("tend")["agents"][0]["done"])


def test_a_full_cache_keeps_nothing_from_being_written_or_found(
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli_json: RunJson,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEMFOLIO_CACHE", str(small_disk / "cache"))
    place = Place(tmp_path, cli_json)
    free = fill_up(small_disk)
    for args in place.writes()[:8]:
        assert "error" not in outcome(args, capsys), args
    assert cli_json("purge", place.memories[6], "--yes")["left"] == []
    for args in (*place.reads(), ("tend",), ("reindex",)):
        assert "error" not in outcome(args, capsys), args
    milk = cli_json("remember", "Eve drinks oat milk")["id"]
    found = cli_json("recall", "oat milk")
    assert found["hits"][0]["id"] == milk
    assert any("the disk is full" in each for each in found["degraded"])
    free()
    cli_json("reindex")
    found = cli_json("recall", "oat milk")
    assert (found["hits"][0]["id"], found["degraded"]) == (milk, [])


def test_a_full_folder_for_temporary_files_is_no_trouble(
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli_json: RunJson,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TMPDIR", str(small_disk))
    monkeypatch.setattr(tempfile, "tempdir", None)
    place = Place(tmp_path, cli_json)
    fill_up(small_disk)
    for args in (*place.writes()[:8], *place.reads(), ("tend",), ("backup", tmp_path / "backups")):
        assert "error" not in outcome(args, capsys), args


def test_a_hook_tells_its_host_that_the_disk_is_full(full_home: Place, small_disk: Path) -> None:
    free = fill_up(small_disk)
    asked = {"session_id": "s-9", "hook_event_name": "UserPromptSubmit", "prompt": "Which tea does Alex like?"}

    def hook(event: str) -> Json:
        command = [sys.executable, "-c", HOOK, "claude-code", event]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        said: Json = json.loads(done.stdout)
        return said

    told = hook("UserPromptSubmit")["hookSpecificOutput"]["additionalContext"]
    assert "the disk is full" in told
    assert "free some space" in told
    assert "Alex prefers tea" in told
    assert hook("Stop") == {}
    free()
    told = hook("UserPromptSubmit")["hookSpecificOutput"]["additionalContext"]
    assert "the disk is full" not in told
    subprocess.run([PROGRAM, "hook", "stop"], capture_output=True, timeout=60, check=False)


def test_a_server_says_that_the_disk_is_full_and_goes_on_when_there_is_room(small_disk: Path, settled: None) -> None:
    with serving(small_disk / "home") as served:
        headers = {"Authorization": f"Bearer {served.secrets['write']}"}

        def post(verb: str, **body: object) -> httpx.Response:
            return httpx.post(f"{served.address}/v1/{verb}", json=body, headers=headers, timeout=30, verify=False)

        free = fill_up(small_disk)
        for _ in range(2):
            refused = post("remember", text="x" * 9000)
            assert (refused.status_code, refused.json()["error"]["code"]) == (507, "disk-full")
            assert "free some space" in refused.json()["error"]["hint"]
            found = post("recall", query="tea")
            assert "Alex prefers tea" in found.text, found.text
        assert post("status").status_code == 200
        free()
        assert post("remember", text="x" * 9000).status_code == 200
