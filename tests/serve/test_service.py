"""A home is tended by the system: what is written parses, runs what was meant, and can all be taken back."""

from __future__ import annotations

import configparser
import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from memfolio import Memory
from memfolio.errors import ConflictError, InputError, MemfolioError, NotFoundError, PathError
from memfolio.serve import service as services
from memfolio.serve.cli import world as commands
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen
from tests.serve.calls import PROGRAM

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tools that stand in are scripts of a shell")

ODD = 'a b/50% of %h/it\'s "quoted" & <so on>/$HOME ${X} ; # é'
COMMAND = ("/opt/my tools/100%/$bin/memfolio", "--home", f"/home/{ODD}", "tend", "--all")
NAMESPACE = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
RECORDER = '#!/bin/sh\necho "${0##*/} $*" >> "$HOME/calls"\n'


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of their own, in whose path there is nothing but tools that a test puts there."""
    folder = tmp_path / "user"
    (folder / "bin").mkdir(parents=True)
    for name in ("cat", "rm"):
        (folder / "bin" / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", str(folder / "bin"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def put_tool(user: Path, name: str, script: str) -> None:
    path = user / "bin" / name
    path.write_text(script)
    path.chmod(0o755)


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and "bin" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def ini(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_systemd_service_names_the_command_word_by_word() -> None:
    service = ini(services.systemd_service("memfolio-x", COMMAND))["Service"]
    assert service["Type"] == "oneshot"
    program, *arguments = shlex.split(service["ExecStart"])
    assert undoubled(program, "%") == COMMAND[0]
    assert [undoubled(undoubled(word, "%"), "$") for word in arguments] == list(COMMAND[1:])


def undoubled(text: str, sign: str) -> str:
    """What systemd reads: a sign that stands alone would begin something else."""
    assert sign not in text.replace(sign * 2, "")
    return text.replace(sign * 2, sign)


def test_systemd_timer_makes_up_for_what_was_missed() -> None:
    timer = ini(services.systemd_timer("memfolio-x"))
    assert dict(timer["Timer"]) == {"OnCalendar": "*:0/30", "Persistent": "true", "RandomizedDelaySec": "60"}
    assert timer["Install"]["WantedBy"] == "timers.target"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_accepts_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    program = tmp_path / "100% of $bin" / "memfolio"
    program.parent.mkdir()
    shutil.copy(shutil.which("true") or "", program)
    (tmp_path / "memfolio-x.service").write_text(services.systemd_service("memfolio-x", (str(program), *COMMAND[1:])))
    (tmp_path / "memfolio-x.timer").write_text(services.systemd_timer("memfolio-x"))
    files = [str(path) for path in tmp_path.glob("memfolio-x.*")]
    verify = ["systemd-analyze", "--user", "verify", "--man=no", *files]
    ran = subprocess.run(verify, capture_output=True, text=True, timeout=60, check=False)
    assert "memfolio-x" not in ran.stderr, ran.stderr
    assert ran.returncode == 0, ran.stderr


def test_launchd_agent_runs_the_command_every_half_hour() -> None:
    agent = plistlib.loads(services.launchd_agent("memfolio-x", COMMAND))
    assert (agent["Label"], agent["ProgramArguments"]) == ("memfolio-x", list(COMMAND))
    assert agent["StartInterval"] == 1800


def test_windows_task_names_the_command_word_by_word() -> None:
    command = (r"C:\Program Files\100%\memfolio.exe", "--home", 'C:\\my "odd" <home> & more\\', "tend")
    task = ElementTree.fromstring(services.windows_task(command))
    assert task.findtext(".//t:Interval", namespaces=NAMESPACE) == "PT30M"
    assert task.findtext(".//t:Command", namespaces=NAMESPACE) == command[0]
    assert task.findtext(".//t:Arguments", namespaces=NAMESPACE) == subprocess.list2cmdline(command[1:])


@pytest.mark.parametrize("word", ["/a\nb", "/a\x00b", "/a\udc80b", "/a\ufffeb", "/a\uffffb"])
@pytest.mark.parametrize(
    "write",
    [
        lambda command: services.systemd_service("x", command),
        lambda command: services.launchd_agent("x", command),
        services.windows_task,
    ],
)
def test_path_that_no_scheduler_reads_is_refused(word: str, write: Callable[[tuple[str, ...]], object]) -> None:
    with pytest.raises(PathError):
        write((word, "tend"))


def test_path_that_one_scheduler_does_not_run_is_refused() -> None:
    with pytest.raises(PathError):
        services.systemd_service("x", ("/it's/memfolio", "tend"))


def test_every_home_has_a_name_of_its_own_that_needs_no_quotes(tmp_path: Path) -> None:
    names = [services.service_name(tmp_path / each) for each in ("a/home", "b/home", ODD, "日本")]
    assert len(set(names)) == 4
    assert all(shlex.quote(name) == name and "%" not in name for name in names)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "home")
    assert services.service_name(tmp_path / "link") == names[0]


def test_command_is_the_program_of_this_python(home: Path) -> None:
    assert services.tend_command(home) == (str(PROGRAM), "--home", str(home), "tend", "--all")


@pytest.mark.parametrize(
    ("platform", "tool", "asked"),
    [
        ("systemd", "systemctl", ["daemon-reload", "enable memfolio-", "restart memfolio-"]),
        ("launchd", "launchctl", ["bootout gui/", "bootstrap gui/"]),
        ("windows", "schtasks", ["/Create /TN memfolio-"]),
    ],
)
def test_install_tells_the_system_and_uninstall_leaves_nothing(
    user: Path, home: Path, platform: str, tool: str, asked: list[str]
) -> None:
    put_tool(user, tool, RECORDER)
    service = services.service_of(platform, home, COMMAND)
    assert set(services.install(service).values()) == {True}
    assert {path: path.read_bytes() for path in service.files} == dict(service.files)
    calls = (user / "calls").read_text().splitlines()
    assert len(calls) == len(asked)
    assert all(part in call for part, call in zip(asked, calls, strict=True)), calls
    assert services.look(service) == services.ServiceState(is_installed=True, is_current=True, is_active=True)
    assert services.uninstall(service) == list(service.files)
    assert set(files_of(user)) == {"calls"}
    assert not services.look(service).is_installed


def test_two_homes_have_a_service_each(user: Path, tmp_path: Path) -> None:
    put_tool(user, "systemctl", RECORDER)
    one, other = (services.service_of("systemd", tmp_path / name, COMMAND) for name in ("one", "other"))
    services.install(one)
    services.install(other)
    services.uninstall(one)
    assert services.look(other).is_current


def test_installing_again_writes_only_what_differs(user: Path, home: Path) -> None:
    put_tool(user, "systemctl", RECORDER)
    services.install(services.service_of("systemd", home, COMMAND))
    assert set(services.install(services.service_of("systemd", home, COMMAND)).values()) == {False}
    moved = services.service_of("systemd", home, ("/elsewhere", *COMMAND[1:]))
    assert not services.look(moved).is_current
    assert {path.suffix: is_new for path, is_new in services.install(moved).items()} == {
        ".service": True,
        ".timer": False,
    }


def test_somebody_elses_file_is_neither_replaced_nor_deleted(user: Path, home: Path) -> None:
    put_tool(user, "systemctl", RECORDER)
    service = services.service_of("systemd", home, COMMAND)
    timer = list(service.files)[1]
    timer.parent.mkdir(parents=True)
    timer.write_text("[Timer]\nOnCalendar=daily\n")
    before = files_of(user)
    with pytest.raises(ConflictError):
        services.install(service)
    assert services.uninstall(service) == []
    assert files_of(user) == before


def test_missing_tool_leaves_the_files_and_says_what_to_run(user: Path, home: Path) -> None:
    service = services.service_of("systemd", home, COMMAND)
    with pytest.raises(MemfolioError, match="are written, but `systemctl --user daemon-reload` is not there") as caught:
        services.install(service)
    assert f"systemctl --user restart {service.name}.timer" in caught.value.hint
    assert services.look(service) == services.ServiceState(is_installed=True, is_current=True, is_active=False)
    with pytest.raises(MemfolioError, match="are deleted, but `systemctl --user disable") as caught:
        services.uninstall(service)
    assert f"systemctl --user stop {service.name}.timer" in caught.value.hint
    assert files_of(user) == {}


def test_failing_tool_is_quoted(user: Path, home: Path) -> None:
    put_tool(user, "systemctl", '#!/bin/sh\n[ "$2" != enable ] || { echo "Failed to connect to bus" >&2; exit 1; }\n')
    service = services.service_of("systemd", home, COMMAND)
    with pytest.raises(MemfolioError, match="says: Failed to connect to bus") as caught:
        services.install(service)
    assert caught.value.hint == f"to be done by hand: systemctl --user enable {service.name}.timer"


@pytest.mark.skipif(not shutil.which("systemd-path"), reason="no systemd here")
def test_units_go_where_the_user_keeps_settings(user: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user / "set tings"))
    folders = {path.parent for path in services.service_of("systemd", home, COMMAND).files}
    assert folders == {user / "set tings" / "systemd" / "user"}


def test_unknown_platform_is_named(home: Path) -> None:
    with pytest.raises(InputError, match="'upstart'"):
        services.service_of("upstart", home, COMMAND)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have another scheduler")
def test_where_systemd_does_not_serve_the_user_the_command_to_run_is_named(user: Path, options: Options) -> None:
    with pytest.raises(NotFoundError, match="does not serve") as caught:
        commands.service_install(options)
    assert "tend --all" in caught.value.hint
    assert files_of(user) == {}


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[Answer], str]:
    def show(answer: Answer) -> str:
        answer.show(Screen())
        return capsys.readouterr().out

    return show


@pytest.fixture
def options(home: Path) -> Options:
    Memory.open(home, background=False).close()
    return Options(home=str(home))


def test_dry_run_shows_files_and_commands_and_does_nothing(
    user: Path, options: Options, said: Callable[[Answer], str]
) -> None:
    answer = commands.service_install(options, platform="systemd", dry_run=True)
    shown = said(answer)
    assert files_of(user) == {}
    assert all(file["path"] in shown and file["text"].strip() in shown for file in answer.document["files"])
    assert f"then systemctl --user enable {answer.document['name']}.timer" in shown


def test_commands_install_show_and_uninstall(user: Path, options: Options, said: Callable[[Answer], str]) -> None:
    put_tool(user, "systemctl", RECORDER)
    assert "written" in said(commands.service_install(options, platform="systemd"))
    assert "as before" in said(commands.service_install(options, platform="systemd"))
    rows = commands.service_status(options, platform="systemd").document["services"]
    assert [(row["installed"], row["current"], row["active"]) for row in rows] == [(True, True, True)]
    for dry_run, count in ((True, 1), (False, 1), (False, 0)):
        gone = commands.service_uninstall(options, platform="systemd", dry_run=dry_run)
        assert len(gone.document["uninstalled"]) == count


def test_service_of_a_home_that_is_gone_can_be_taken_back(user: Path, options: Options, home: Path) -> None:
    put_tool(user, "systemctl", RECORDER)
    commands.service_install(options, platform="systemd")
    shutil.rmtree(home)
    assert len(commands.service_uninstall(options, platform="systemd").document["uninstalled"]) == 1
    assert set(files_of(user)) == {"calls"}
