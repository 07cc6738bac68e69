"""Hosts are told of memfolio in their own files, and those are given back as they were."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from memfolio.config import load_config
from memfolio.errors import ConflictError
from memfolio.memory import Memory
from memfolio.serve.install import files, hosts
from memfolio.serve.install.hosts import HOSTS, Program, installed
from tests.serve.calls import PROGRAM, Run, RunJson

HOOKED = ["claude-code", "codex", "gemini", "cursor"]
SETTINGS = {
    "claude-code": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "cursor": [".cursor/mcp.json", ".cursor/hooks.json"],
    "openclaw": [".openclaw/openclaw.json"],
}
THEIRS = {
    ".json": '\ufeff{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"hooks": {"Stop": [], },\r\n}',
    ".toml": '# mine\nmodel = "o"\n[mcp_servers.other]\ncommand = "x"',
}


@pytest.fixture
def user(cli: Run, home: Path) -> Path:
    """The folder of a user who has a home."""
    return home.parent


def written(user: Path) -> dict[str, bytes]:
    """Every file of hosts below a folder."""
    found = (path for path in user.rglob("*") if path.is_file() and path.relative_to(user).parts[0].startswith("."))
    return {path.relative_to(user).as_posix(): path.read_bytes() for path in found}


def put(user: Path, name: str, data: bytes) -> Path:
    path = user / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("host", HOSTS)
def test_host_without_settings_gets_them_and_loses_them(host: str, cli: Run, user: Path) -> None:
    cli("install", host)
    assert sorted(written(user)) == sorted(SETTINGS[host])
    before = written(user)
    assert "already" in cli("install", host)
    assert written(user) == before
    cli("uninstall", host)
    assert written(user) == {}
    assert "nothing" in cli("uninstall", host)


@pytest.mark.parametrize("host", HOSTS)
def test_settings_that_are_there_come_back_to_the_byte(host: str, cli: Run, user: Path) -> None:
    for name in SETTINGS[host]:
        put(user, name, THEIRS[Path(name).suffix].encode()).chmod(0o640)
    before = written(user)
    cli("install", host)
    for name in SETTINGS[host]:
        assert (user / f"{name}.memfolio-backup").read_bytes() == before[name]
        assert stat.S_IMODE((user / f"{name}.memfolio-backup").stat().st_mode) == 0o600
        assert stat.S_IMODE((user / name).stat().st_mode) == 0o640
        assert "mine" in (user / name).read_text(encoding="utf-8")
    cli("install", host, "--agent", "other")
    cli("uninstall", host)
    assert written(user) == before


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf"])
def test_empty_files_come_back_empty(data: bytes, cli: Run, user: Path) -> None:
    for name in chain(*SETTINGS.values()):
        put(user, name, data)
    before = written(user)
    for host in HOSTS:
        cli("install", host)
        assert "already" in cli("install", host)
    for host in HOSTS:
        cli("uninstall", host)
    assert written(user) == before


def test_many_hosts_at_once_do_not_touch_each_other(cli: Run, user: Path) -> None:
    for host in HOSTS:
        cli("install", host)
    whole = written(user)
    for host in HOSTS:
        cli("uninstall", host)
        cli("install", host)
    assert written(user) == whole


def test_what_is_written_is_what_the_hosts_read(cli: Run, user: Path, home: Path) -> None:
    for host in HOSTS:
        cli("install", host, "--agent", "builder")
    told = ["mcp", "--home", str(home), "--agent", "builder"]
    claude = json.loads((user / ".claude.json").read_text())
    assert claude == {"mcpServers": {"memfolio": {"type": "stdio", "command": str(PROGRAM), "args": told}}}
    codex = tomllib.loads((user / ".codex/config.toml").read_text())
    assert codex == {"mcp_servers": {"memfolio": {"command": str(PROGRAM), "args": told}}}
    gemini = json.loads((user / ".gemini/settings.json").read_text())
    assert gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000
    cursor = json.loads((user / ".cursor/hooks.json").read_text())
    assert cursor["version"] == 1
    assert cursor["hooks"]["sessionStart"][0]["command"].startswith(f"{PROGRAM} hook cursor sessionStart --home ")
    openclaw = json.loads((user / ".openclaw/openclaw.json").read_text())
    assert openclaw["mcp"]["servers"]["memfolio"]["args"] == told


@pytest.mark.parametrize("host", HOSTS)
def test_dry_run_shows_the_difference_and_changes_nothing(host: str, cli: Run, user: Path, home: Path) -> None:
    put(user, SETTINGS[host][0], b"")
    before = written(user)
    shown = cli("install", host, "--dry-run")
    assert f"+++ {user / SETTINGS[host][0]}" in shown
    assert "memfolio" in shown
    assert written(user) == before
    assert not (home / "memfolio.toml").exists()
    cli("install", host)
    before = written(user)
    assert "--- " in cli("uninstall", host, "--dry-run")
    assert written(user) == before


def test_set_of_tools_is_chosen_when_installing(cli: Run, user: Path) -> None:
    def told() -> list[str]:
        return list(json.loads((user / ".cursor/mcp.json").read_text())["mcpServers"]["memfolio"]["args"])

    assert "there is no set of tools 'everything'" in cli("install", "cursor", "--tools", "everything", status=2)
    assert written(user) == {}
    cli("install", "cursor", "--tools", "knowledge")
    assert told()[:3] == ["mcp", "--tools", "knowledge"]
    cli("install", "cursor")
    assert "knowledge" in told()
    cli("install", "cursor", "--tools", "core")
    assert told()[:3] == ["mcp", "--tools", "core"]


def test_servers_and_hooks_of_others_stay_whatever_is_done(cli: Run, user: Path) -> None:
    mine = {"type": "command", "command": "say 'memfolio hook' done"}
    theirs = {"mcpServers": {"other": {"command": "npx"}}, "hooks": {"BeforeAgent": [{"hooks": [mine]}]}, "x": [1]}
    path = put(user, ".gemini/settings.json", json.dumps(theirs, indent=4).encode())
    cli("install", "gemini")
    document = json.loads(path.read_text())
    assert set(document["mcpServers"]) == {"other", "memfolio"}
    assert [len(group["hooks"]) for group in document["hooks"]["BeforeAgent"]] == [1, 1]
    path.write_text(path.read_text().replace('"x": [', '"later": true,\n    "x": ['))
    cli("uninstall", "gemini")
    assert json.loads(path.read_text()) == theirs | {"later": True}
    assert (user / ".gemini/settings.json.memfolio-backup").exists()


def test_server_of_that_name_that_is_somebody_elses_is_left_alone(cli_json: RunJson, user: Path) -> None:
    path = put(user, ".cursor/mcp.json", b'{"mcpServers": {"memfolio": {"command": "docker"}}}')
    error = cli_json("install", "cursor", status=4)["error"]
    assert "runs something else" in error["message"]
    assert list(written(user)) == [".cursor/mcp.json"]
    assert not cli_json("uninstall", "cursor")["changed"]
    assert b"docker" in path.read_bytes()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("data", [b'{"a": 1', b"\xff\xfe{\x00}\x00"])
def test_broken_file_is_told_and_nothing_is_changed(host: str, data: bytes, cli_json: RunJson, user: Path) -> None:
    put(user, SETTINGS[host][-1], data)
    before = written(user)
    for command in ("install", "uninstall"):
        error = cli_json(command, host, status=1)["error"]
        assert error["code"] == "host-file"
        assert SETTINGS[host][-1] in error["message"]
    assert written(user) == before


def test_read_only_file_link_folder_and_pipe_are_told(cli: Run, user: Path) -> None:
    path = put(user, ".cursor/hooks.json", b"{}")
    path.chmod(0o444)
    assert "is read-only" in cli("install", "cursor", status=1)
    path.unlink()
    path.symlink_to(user / "elsewhere.json")
    assert "is a link" in cli("install", "cursor", status=1)
    path.unlink()
    path.mkdir()
    assert "is not a file" in cli("install", "cursor", status=1)
    path.rmdir()
    os.mkfifo(path)
    assert "not a regular file" in cli("install", "cursor", status=1)
    path.unlink()
    path.parent.rename(user / "dotfiles")
    path.parent.symlink_to(user / "dotfiles")
    assert "is a link" in cli("install", "cursor", status=1)
    assert written(user) == {}
    assert not (user / "elsewhere.json").exists()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_file_of_another_user_is_told(cli: Run, user: Path) -> None:
    path = put(user, ".codex/hooks.json", b"{}")
    os.chown(path, 12345, -1)
    assert "belongs to another user" in cli("install", "codex", status=1)
    assert list(written(user)) == [".codex/hooks.json"]


def test_file_that_changes_meanwhile_is_not_overwritten_and_the_others_are_taken_back(user: Path) -> None:
    changes = hosts.changes(HOSTS["cursor"], "user", user, Program())
    put(user, ".cursor/hooks.json", b'{"version": 1}')
    with pytest.raises(ConflictError, match="somebody else"):
        files.apply(changes, is_private=True)
    assert written(user) == {".cursor/hooks.json": b'{"version": 1}'}


def test_two_installs_at_once_do_not_undo_each_other(user: Path) -> None:
    first, second = (hosts.changes(HOSTS["cursor"], "user", user, Program()) for _ in range(2))
    files.apply(first[1:], is_private=True)
    files.apply(second, is_private=True)
    files.apply(first[:1], is_private=True)
    assert sorted(written(user)) == sorted(SETTINGS["cursor"])
    assert hosts.changes(HOSTS["cursor"], "user", user, Program()) == []


@pytest.mark.parametrize(
    ("host", "variable"),
    [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME"), ("openclaw", "OPENCLAW_STATE_DIR")],
)
def test_host_that_keeps_its_files_elsewhere_gets_them_there(
    host: str, variable: str, cli: Run, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "else where"))
    cli("install", host)
    there = sorted(path.name for path in (tmp_path / "else where").iterdir())
    assert there == sorted(Path(name).name for name in SETTINGS[host])
    assert written(user) == {}
    cli("uninstall", host)
    assert not list((tmp_path / "else where").iterdir())


def test_new_settings_are_for_their_owner_alone_because_hosts_come_to_keep_keys_in_them(
    cli: Run, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("install", "claude-code")
    assert stat.S_IMODE((user / ".claude.json").stat().st_mode) == 0o600
    monkeypatch.chdir(tmp_path)
    cli("install", "claude-code", "--scope", "project")
    assert stat.S_IMODE((tmp_path / ".mcp.json").stat().st_mode) != 0o600


def test_project_gets_a_program_that_its_other_people_have_too(
    cli: Run, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    for host in HOOKED:
        cli("install", host, "--scope", "project")
    assert str(tmp_path) not in "".join(path.read_text() for path in project.rglob("*") if path.is_file())
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["memfolio"]["args"] == ["mcp"]
    for host in HOOKED:
        cli("uninstall", host, "--scope", "project")
    assert written(project) == written(user) == {}
    assert "no settings for a project" in cli("install", "openclaw", "--scope", "project", status=2)


def test_installing_makes_a_home_but_not_among_other_files(cli: Run, user: Path, home: Path) -> None:
    put(user, "home/letter.txt", b"dear")
    assert "is not a home" in cli("install", "codex", status=3)
    assert written(user) == {}
    (home / "letter.txt").unlink()
    cli("install", "codex")
    assert (home / "memfolio.toml").exists()


def test_model_of_a_host_is_offered_and_asked_only_after_a_yes(
    cli: Run, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = put(user, "bin/claude", b"#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    offered = cli("install", "claude-code")
    assert "install claude-code --model" in offered
    assert "counts against your plan" in offered
    assert "--model" not in cli("install", "claude-code")
    assert "--model" not in cli("install", "claude-code", "--tools-only")
    assert load_config(home).model.provider == "none"
    said = cli("install", "claude-code", "--model")
    assert "Anthropic's terms" in said
    assert "200,000 tokens a day" in said
    found = load_config(home).model
    assert (found.provider, found.name) == ("host", "claude-code")
    assert "Claude Code is asked to learn" in cli("doctor")
    with Memory.open(home, background=False) as memory:
        memory.vault.usage.stop("host:claude-code", "You've hit your limit")
    assert "Claude Code is not asked again today: You've hit your limit" in cli("doctor")
    program.unlink()
    assert "there is no claude on the path" in cli("doctor")
    cli("install", "claude-code", "--no-model")
    assert load_config(home).model.provider == "none"
    assert "--model" not in cli("install", "cursor")
    cli("install", "cursor", "--model", status=2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '# model.provider = "none"  # one of\n',
        "[git]\nenabled = true\n",
        '[model]\nname = "m"\n\n[git]\nbranch = "b"\n',
    ],
)
def test_setting_changes_nothing_else_in_the_file(text: str) -> None:
    for value in ("host", "none"):
        text = files.with_settings(text, {"model.provider": value, "model.name": "codex"})
        assert tomllib.loads(text)["model"]["provider"] == value
        assert text.count("provider") == 1
    with pytest.raises(ValueError, match="something else"):
        files.with_settings('x = """\nmodel.provider = 1\n"""\n', {"model.provider": "host"})


def test_wrong_names_are_told(cli: Run, user: Path) -> None:
    assert "claude-code" in cli("install", "claude", status=2)
    cli("install", "codex", "--agent", "No Such", status=2)
    cli("install", "codex", "--scope", "world", status=2)
    assert written(user) == {}


def test_what_is_written_runs_without_the_path_and_the_variables_of_a_shell(cli: Run, user: Path) -> None:
    cli("install", "claude-code")
    bare = {"HOME": str(user), "MEMFOLIO_CACHE": os.environ["MEMFOLIO_CACHE"]}
    server = json.loads((user / ".claude.json").read_text())["mcpServers"]["memfolio"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    with subprocess.Popen(
        [server["command"], *server["args"]], env=bare, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(f"{asked}\n")
        started.stdin.flush()
        assert json.loads(started.stdout.readline())["result"]["serverInfo"]["name"] == "memfolio"
        started.stdin.close()
    hooks = json.loads((user / ".claude/settings.json").read_text())["hooks"]
    line = hooks["SessionStart"][0]["hooks"][0]["command"]
    event = b'{"session_id": "s-1", "source": "startup"}'
    said = subprocess.check_output(line, shell=True, env=bare, input=event, timeout=30)
    assert isinstance(json.loads(said), dict)
    subprocess.run([server["command"], "hook", "stop", *server["args"][1:]], env=bare, check=True, timeout=30)


def test_a_large_file_is_edited_within_seconds(cli: Run, user: Path) -> None:
    many = {f"/projects/{number}": {"history": [{"display": "x" * 40}] * 8} for number in range(1_600)}
    path = put(user, ".claude.json", json.dumps({"projects": many}, indent=2).encode())
    assert path.stat().st_size > 1_000_000
    before, started = path.read_bytes(), time.monotonic()
    cli("install", "claude-code")
    assert json.loads(path.read_text())["projects"] == many
    cli("uninstall", "claude-code")
    assert time.monotonic() - started < 15
    assert path.read_bytes() == before


def test_link_on_the_path_is_taken_because_upgrades_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memfolio").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed() == str(tmp_path / "memfolio")
    (tmp_path / "memfolio").unlink()
    (tmp_path / "memfolio").write_text("#!/bin/sh\n")
    (tmp_path / "memfolio").chmod(0o755)
    assert installed() == str(PROGRAM)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
def test_hook_is_a_line_that_a_shell_runs_even_with_blanks_and_quotes(tmp_path: Path) -> None:
    program = tmp_path / "it's mine" / "memfolio"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    made = Program(path=str(program), options=("--home", "/a b/$HOME"))
    line = HOSTS["cursor"].hooks_of(made)["hooks"]["preCompact"][0]["command"]
    said = subprocess.run(line, shell=True, capture_output=True, text=True, check=True, timeout=20).stdout
    assert said.splitlines() == ["hook", "cursor", "preCompact", "--home", "/a b/$HOME"]
    assert HOSTS["cursor"].is_ours(("hooks", "preCompact", ""), {"command": line})


@pytest.mark.parametrize(
    ("host", "more"), [*((host, []) for host in HOSTS), ("cursor", ["--dry-run"]), ("cursor", ["--scope", "project"])]
)
def test_host_whose_tools_could_not_run_is_refused_before_anything_is_written(
    host: str, more: list[str], cli_json: RunJson, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(user)
    monkeypatch.setitem(sys.modules, "mcp", None)  # as where it is not installed
    error = cli_json("install", host, *more, status=5)["error"]
    assert "pip install 'memfolio[mcp]'" in error["hint"]
    assert "--without-mcp" in error["hint"]
    assert (written(user), home.exists()) == ({}, False)


def test_host_is_told_all_the_same_on_request(cli_json: RunJson, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert cli_json("install", "cursor", "--without-mcp")["changed"]
    assert sorted(written(user)) == sorted(SETTINGS["cursor"])
    assert cli_json("uninstall", "cursor")["changed"]
