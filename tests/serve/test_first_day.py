"""The first day: init asks little and says what it keeps, install asks for consent, help fits a screen."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.serve.cli.app import WORDS, first, short_help
from memfolio.serve.cli.derive import below, listed
from memfolio.serve.hooks.door import ACTS, PROMPT
from memfolio.serve.install.hosts import HOSTS, Host
from tests.serve.calls import PROGRAM, Run, RunJson, terminal
from tests.serve.test_hooks import said

HOOKED = [host for host in HOSTS.values() if host.hooks]


def talk(*args: str, answers: list[str]) -> tuple[int, str]:
    """A conversation at a terminal: whenever a line ends in a question, the next answer is typed."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(PROGRAM, [str(PROGRAM), *args], os.environ | {"TERM": "dumb"})
    heard, left = b"", list(answers)
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        heard += part
        if left and heard.rstrip(b" ").endswith((b"]:", b"?:")):
            os.write(terminal, left.pop(0).encode() + b"\n")
            heard += b" "
    os.close(terminal)
    assert not left, heard
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), heard.decode()


@pytest.fixture
def user(settled: None, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has Codex and nothing of memfolio."""
    monkeypatch.delenv("MEMFOLIO_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    (home.parent / ".codex").mkdir()
    return home.parent


def test_init_asks_three_things_says_what_it_keeps_and_ends_with_a_memory(user: Path) -> None:
    status, heard = talk("init", answers=["", "Alex", ""])
    assert status == 0, heard
    assert heard.count("?") == 3  # two of the three questions, and the one that the memory answers
    plan, done = heard.split("Which hosts are to be connected?")
    assert f"{user / 'memfolio'} will hold the memory" in plan
    assert "If you connect Codex, your prompts and Codex's answers are recorded in" in plan
    assert "`memfolio pause` stops that" in plan
    assert "[codex]" in done
    assert "This memory belongs to Alex" in done
    assert (user / ".codex/config.toml").exists()
    assert (user / "memfolio/memfolio.toml").exists()


def test_nothing_is_written_before_the_last_answer(user: Path) -> None:
    before = sorted(user.rglob("*"))
    status, _ = talk("init", answers=["", "Alex", "\x03"])
    assert status != 0
    assert sorted(user.rglob("*")) == before


def test_init_asks_before_it_writes_into_a_folder_of_other_things(user: Path) -> None:
    (user / "notes").mkdir()
    (user / "notes/mine.md").write_text("mine")
    status, heard = talk("init", str(user / "notes"), answers=["n", str(user / "mine"), "Alex", "codx", "none"])
    assert status == 0, heard
    assert "has other files in it. Keep memories beside them?" in heard
    assert "there is no host 'codx'" in heard
    assert (user / "mine/memfolio.toml").exists()
    assert not (user / ".codex/config.toml").exists()
    assert [path.name for path in (user / "notes").iterdir()] == ["mine.md"]


def test_init_asks_before_it_uses_the_git_repository_of_something_else(user: Path) -> None:
    code, mine = user / "code", user / "mine"
    subprocess.run(["git", "init", "-q", code], check=True)
    status, heard = talk("init", str(code), answers=["n", str(mine), "Alex", "none"])
    assert status == 0, heard
    assert "is the git repository of something else. Keep memories in it" in heard
    assert [path.name for path in code.iterdir()] == [".git"]
    assert (mine / "memfolio.toml").exists()
    status, heard = talk("init", str(code), answers=["y", "Alex", "none"])
    assert status == 0, heard
    assert "This memory belongs to Alex" in heard
    assert (code / "memfolio.toml").exists()


def test_init_with_notes_and_a_host_is_all_it_takes(user: Path, cli: Run) -> None:
    notes = user / "notes"
    notes.mkdir()
    (notes / "kim.md").write_text("Kim keeps bees on the roof.\n")
    before = {path: path.read_bytes() for path in notes.iterdir()}
    assert "there is no folder" in cli("init", "--notes", user / "nots", status=2)
    assert not (user / "memfolio").exists()
    told = cli("init", "--notes", notes, "--host", "codex", "--dry-run")
    assert f"The notes in {notes} will be searched where they are; they are only read." in told
    assert not (user / "memfolio").exists()
    told = cli("init", "--notes", notes, "--host", "codex")
    assert "1 note is searched in place" in told
    assert "start Codex and ask it something that is in your notes" in told
    (group,) = json.loads((user / ".codex/hooks.json").read_text())["hooks"]["UserPromptSubmit"]
    command, answer = group["hooks"][0]["command"], "{}"
    for session in range(10):  # a busy machine may need more time for the first answer than a host gives it
        asked = json.dumps({"session_id": f"s-{session}", "prompt": "Which insects does Kim have?", "cwd": str(user)})
        answer = subprocess.run(command, shell=True, input=asked, capture_output=True, text=True, timeout=60).stdout
        if answer.strip() != "{}":
            break
    subprocess.run([PROGRAM, "hook", "stop"], input=b"", stdout=subprocess.DEVNULL, check=True)
    assert "Kim keeps bees on the roof" in answer
    assert {path: path.read_bytes() for path in notes.iterdir()} == before


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--stop"]])
def test_no_home_is_made_to_watch_a_folder_that_is_not_there(user: Path, cli: Run, more: list[str]) -> None:
    assert "there is no" in cli("watch", user / "nots", *more, status=3)
    assert not (user / "memfolio").exists()


def test_every_answer_is_a_flag_and_nobody_is_asked_without_a_terminal(user: Path, cli: Run, cli_json: RunJson) -> None:
    made = cli_json("init", user / "mine", "--owner", "Kim", "--host", "codex", "--host", "gemini")
    assert (made["created"], made["owner"]) == (True, "Kim")
    assert made["home"] == str(user / "mine")
    assert [each["host"] for each in made["hosts"]] == ["codex", "gemini"]
    assert "belongs to Kim" in made["first"]["content"]
    assert "belongs to Kim" in cli("recall", "Whose memory is this?", "--home", user / "mine")
    again = cli_json("init", user / "mine", "--owner", "Kim")
    assert (again["created"], again["first"]["id"]) == (False, made["first"]["id"])


def test_init_without_a_terminal_refuses_a_folder_of_other_things(home: Path, cli: Run) -> None:
    home.mkdir()
    (home / "mine.md").write_text("mine")
    assert "has other files in it" in cli("init", status=5)
    assert [path.name for path in home.iterdir()] == ["mine.md"]
    cli("init", "--yes")
    assert (home / "memfolio.toml").exists()


def test_init_without_a_terminal_says_which_hosts_could_be_connected(user: Path, cli: Run) -> None:
    assert "Codex is installed but not connected. To connect it: `memfolio install codex`" in cli("init")
    assert f"`memfolio --home {user / 'mine'} install codex`" in cli("init", user / "mine")
    assert "Found" not in cli("init", "--host", "none")
    cli("install", "codex")
    assert "Found" not in cli("init")


@pytest.mark.parametrize("called", ["bin/memfolio", [sys.executable, "-m", "memfolio"]])
def test_init_and_hints_name_the_command_as_it_was_called_where_the_shell_does_not_find_it(
    user: Path, monkeypatch: pytest.MonkeyPatch, called: str | list[str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (user / "bin").symlink_to(PROGRAM.parent)
    command = [called] if isinstance(called, str) else called

    def said(*args: str) -> str:
        done = subprocess.run([*command, *args], cwd=user, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    assert f"  `{' '.join(command)} init` makes one" in said("recall", "tea")
    assert f"Next: `{' '.join(command)} remember " in said("init", "--owner", "Alex", "--host", "none")
    (user / "found").mkdir()
    (user / "found" / "memfolio").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", f"{user / 'found'}:/usr/bin:/bin")
    if isinstance(called, str):
        assert "Next: `memfolio remember " in said("init", "--owner", "Alex", "--host", "none")


def test_dry_run_says_what_would_be_kept_and_keeps_nothing(user: Path, cli: Run) -> None:
    before = sorted(user.rglob("*"))
    said = cli("init", "--dry-run", "--host", "codex", "--owner", "Alex")
    assert "will hold the memory" in said
    assert "If you connect Codex, your prompts and Codex's answers are recorded" in said
    assert f"{user / '.codex/config.toml'} would be written" in said
    assert f"{user / '.codex/hooks.json'} would be written" in said
    assert sorted(user.rglob("*")) == before


@pytest.mark.parametrize("host", HOOKED, ids=lambda host: host.name)
def test_install_says_in_one_line_what_is_kept_where_and_how_to_pause(host, cli: Run, home: Path) -> None:  # type: ignore[no-untyped-def]
    kept = f"your prompts and {host.title}'s answers are recorded in {home}"
    assert f"If you connect {host.title}, {kept}" in cli("install", host.name, "--dry-run")
    [line] = [each for each in cli("install", host.name).splitlines() if "From now on" in each]
    again = cli("install", host.name)
    assert f"As before, {kept}" in again
    assert "From now on" not in again
    assert f"prompts and {host.title}'s answers are recorded in {home}" in line
    assert "memfolio pause" in line


@pytest.mark.parametrize("host", HOOKED, ids=lambda host: host.name)
def test_tools_only_leaves_no_hook_and_takes_those_that_were_there_away(host, cli: Run, home: Path) -> None:  # type: ignore[no-untyped-def]
    user = home.parent
    others = {path for path in user.rglob("*") if path.is_file()}
    cli("install", host.name)
    assert "Nothing is recorded by itself" in cli("install", host.name, "--tools-only")
    written = {path for path in user.rglob("*") if path.is_file() and home not in path.parents} - others
    texts = [path.read_text() for path in written if ".memfolio" not in path.parts and "cache" not in path.parts]
    assert not any(f"hook {host.name}" in text for text in texts)
    assert any('"mcp"' in text for text in texts)
    assert "already" in cli("install", host.name, "--tools-only")
    cli("uninstall", host.name)


def test_home_of_a_project_is_one_flag(cli_json: RunJson, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = home.parent / "acme"
    (project / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", project], check=True)
    monkeypatch.chdir(project)
    made = cli_json("install", "claude-code", "--own-home")
    assert made["home"] == str(home.with_name(f"{home.name}-acme"))
    server = json.loads((project / ".mcp.json").read_text())["mcpServers"]["memfolio"]
    assert server["args"] == ["mcp", "--home", made["home"]]
    assert Path(made["home"], "memfolio.toml").exists()
    assert f"`memfolio --home {made['home']} pause` stops that" in made["keeps"]


def test_home_of_a_project_is_that_of_the_host_that_was_named_and_others_are_told(
    cli: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home.parent / "acme"
    project.mkdir()
    cli("install", "codex")
    cli("install", "claude-code")
    monkeypatch.chdir(project)
    told = cli("install", "claude-code", "--own-home")
    assert "What you and Claude Code say in this folder" in told
    assert "Codex still uses another home here; `memfolio install codex --own-home`" in told
    assert "Gemini" not in told
    assert "goes on" not in cli("install", "codex", "--own-home")


def test_pause_in_a_project_with_its_own_home_says_that_this_one_goes_on(
    cli: Run, cli_json: RunJson, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home.parent / "acme"
    (project / "src").mkdir(parents=True)
    cli("install", "codex")
    assert "goes on" not in cli("pause", project)
    monkeypatch.chdir(project)
    own = cli_json("install", "codex", "--own-home")["home"]
    monkeypatch.chdir(project / "src")
    for args in (["pause"], ["pause", "."], ["pause", project]):
        assert f"`memfolio --home {own} pause` pauses that" in cli(*args)
    assert "goes on" not in cli("--home", own, "pause")
    assert "goes on" not in cli("pause")


@pytest.mark.parametrize("host", HOOKED, ids=lambda host: host.name)
def test_what_is_said_in_a_project_with_its_own_home_is_kept_there_alone(
    cli_json: RunJson, home: Path, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    project = home.parent / "acme"
    (project / "src").mkdir(parents=True)
    everywhere = cli_json("install", host.name)
    monkeypatch.chdir(project)
    own = Path(cli_json("install", host.name, "--own-home")["home"])
    (prompt,) = (name for name, act in ACTS[host.name].items() if act == PROMPT)

    def hooked(settings: Path, folder: Path, words: str) -> None:
        """What the host does with one of its files: run the command that it names for a prompt, in a shell."""
        group = json.loads(settings.read_text())["hooks"][prompt][0]
        command = (group if host.is_flat else group["hooks"][0])["command"]
        where = {"workspace_roots": [str(folder)]} if host.name == "cursor" else {"cwd": str(folder)}
        told = json.dumps({"session_id": "s-1", "prompt": words, **where})
        done = subprocess.run(command, shell=True, input=told, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")

    files = [home.parent / host.hooks, project / host.hooks]
    assert str(files[0]) in {each["path"] for each in everywhere["files"]}
    for folder, words in ((project, "The vault code is 4711"), (project / "src", "The milk is gone")):
        for each in files:
            hooked(each, folder, words)
    hooked(files[0], home.parent, "The bins go out on Monday")
    try:
        assert [text for _, text in said(own, "s-1")] == ["The vault code is 4711", "The milk is gone"]
        assert [text for _, text in said(home, "s-1")] == ["The bins go out on Monday"]
        cli_json("uninstall", host.name, "--scope", "project")
        hooked(files[0], project, "The lamp is broken")
        assert [text for _, text in said(home, "s-1")][1:] == ["The lamp is broken"]
    finally:
        for each in (home, own):
            subprocess.run([PROGRAM, "hook", "stop", "--home", each], input=b"", stdout=subprocess.DEVNULL, check=True)


def test_missing_library_is_named_before_anything_is_written(user: Path) -> None:
    # Python without its site-packages but for a folder that has all of them except one.
    code = "import sys; sys.modules['mcp'] = None; from memfolio.serve.cli.app import run; sys.exit(run(sys.argv[1:]))"
    before = sorted(user.rglob("*"))
    command = [sys.executable, "-c", code, "init", "--owner", "Alex", "--host", "codex"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 5, done.stdout
    assert "pip install 'memfolio[mcp]'" in done.stderr
    assert "or go on with --host none" in done.stderr  # an option that `init` has
    assert sorted(user.rglob("*")) == before


# Help.


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], ["help"]])
def test_help_fits_a_screen_and_names_a_dozen_commands_that_there_are(cli: Run, args: list[str]) -> None:
    lines = cli(*args).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    named = [name for heading, commands in first().items() if heading != WORDS for name in commands]
    assert 12 <= len(named) <= 13
    assert set(named) <= set(listed())


def test_all_commands_are_listed_on_request(cli: Run) -> None:
    said = cli("--help", "--all")
    assert all(f" {name} " in said for name in listed())
    assert "--help --all" in short_help()


@pytest.mark.parametrize("group", [name for name in listed() if below(name)])
def test_help_of_every_group_has_an_example(cli: Run, group: str) -> None:
    assert f"Example: memfolio {group}" in " ".join(cli(group, "--help").split())


def test_words_that_people_type_are_understood(cli: Run, cli_json: RunJson) -> None:
    item = cli_json("add", "Alex prefers tea")
    assert "Alex prefers tea" in cli("search", "tea")
    assert "Alex prefers tea" in cli("list")
    cli("edit", item["id"], "Alex prefers coffee")
    assert "Alex prefers coffee" in cli("find", "coffee")
    assert "forgotten" in cli("delete", "coffee", "--yes")
    assert "memfolio.toml" in cli("config", status=2)
    assert cli("web", "--help") == cli("open", "--help")
    assert all(meant[0].startswith(":") or meant[0] in listed() for meant in first()[WORDS].values())


# Pages of a terminal.


def test_long_answers_are_paged_at_a_terminal_and_short_ones_are_not(
    cli: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "sed s/^/PAGED:/")
    with Memory.open(home, background=False) as memory:
        for number in range(50):
            memory.observe("user", f"turn {number}", session="s")
    assert terminal(80, "log", "--limit", "45").count("PAGED:") > 45
    assert "turn 49" in terminal(80, "log", "--limit", "45")
    assert terminal(80, "show").count("PAGED:") > 50
    assert "PAGED" not in terminal(80, "log", "--limit", "5")
    assert "PAGED" not in cli("log", "--limit", "45")
