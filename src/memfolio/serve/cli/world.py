"""Commands that open doors: mcp, serve, hook, install, uninstall and pause, and those below service and tool."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import chdir, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from memfolio.arguments import check_known
from memfolio.clock import SystemClock
from memfolio.errors import ConflictError, InputError, MemfolioError, NotFoundError, RefusedError
from memfolio.machine import install_command
from memfolio.serve.cli.call import (
    PERSON,
    Answer,
    Options,
    anywhere,
    in_empty_folder,
    is_home,
    leave_logging_to_us,
    nowhere,
)
from memfolio.serve.cli.derive import Text, called
from memfolio.serve.cli.output import Line, Screen, diff, local
from memfolio.text import counted
from memfolio.types import Action
from memfolio.vault.disk import Disk
from memfolio.vault.paths import CONFIG, Home
from memfolio.verbs.documents import told_inside
from memfolio.verbs.verb import Verb, tools_of, verbs_at

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory
    from memfolio.serve.hooks.pause import Pause
    from memfolio.serve.install.files import FileChange
    from memfolio.serve.install.hosts import Host, Program
    from memfolio.serve.service import Schedule
    from memfolio.serve.tokens import Tokens
    from memfolio.vault.past.report import Finding

STARTING = 3.0
"""Seconds that the process which answers hooks may take until it listens."""
LINGER = "loginctl enable-linger lets it run while you are not logged in"
LIKE = 'write them like {"query": "tea"}'
FOUND = ("installed", "current", "active")


def mcp(options: Options, tools: str = "core", http: str | None = None, allow_host: list[str] | None = None) -> Answer:
    config = options.config(create=in_empty_folder)
    leave_logging_to_us()
    try:
        if http is None:
            _serve_host(config, tools)
        else:
            _serve_all(options, config, tools, http, allow_host or [])
    except ImportError as error:
        raise MemfolioError("the MCP library is not installed", hint=_install_mcp()) from error
    return Answer({}, [])


def _serve_host(config: Config, tools: str) -> None:
    offered = tools_of(tools)
    from memfolio.serve.mcp.caller import Caller
    from memfolio.serve.mcp.server import serve

    serve(Caller(offered, lambda: _opened(config, config.agent)))


def _serve_all(options: Options, config: Config, tools: str, address: str, names: list[str]) -> None:
    from memfolio.serve.mcp.http import callers_of, serve
    from memfolio.serve.tokens import Tokens

    with options.memory(create=in_empty_folder) as memory:  # which makes the home, where there is none
        home = memory.vault.home
    callers = callers_of(tools_of(tools), lambda agent: _opened(config, agent))
    serve(callers, Tokens(home), address, names, lambda url: options.tell([f"serving at {url}"]))


def _opened(config: Config, agent: str) -> Memory:
    from memfolio.memory import Memory
    from memfolio.vault.git.project import project_of

    with told_inside(config.home):
        project = project_of(Path.cwd(), only_git=True)
        memory = Memory.open(config.home, agent, speaker="agent", project=project)
    with suppress(MemfolioError):  # whoever asks will hear of it
        memory.recall("anything", limit=1)  # so that the index is loaded before somebody waits for it
    return memory


def serve(
    options: Options,
    host: str = "127.0.0.1",
    port: int = 8765,
    allow_host: list[str] | None = None,
    allow_origin: list[str] | None = None,
    store: Literal["files", "postgres"] | None = None,
    run_as: str | None = None,
) -> Answer:
    config = options.config(create=in_empty_folder, store=store, run_as=run_as)
    leave_logging_to_us()
    try:
        from memfolio.serve.http.app import build
        from memfolio.serve.http.gate import ServerNames
        from memfolio.serve.http.server import Limits, address, listen, run, server_of
    except ImportError as error:
        raise MemfolioError("the libraries of the server are not installed", hint=install_command("http")) from error
    limits, names = Limits(), ServerNames(hosts=[host, *(allow_host or ())], origins=allow_origin or ())
    with listen(host, port) as door:
        app = build(config, limits, names)
        _tell_first_token(app.state.hall.tokens, config)
        what = config.home if config.store == "files" else f"the home {config.home.name} of the database"
        Screen(errors=True).say(f"{address(door)} serves {what}; Ctrl-C ends it")
        run(server_of(app, limits, app.state.hall.end_streams), door)
    return Answer({}, [])


def _tell_first_token(tokens: Tokens, config: Config) -> None:
    """Make a token for a home in a database that has none, since its first server has nobody else to ask for one."""
    if config.store == "postgres" and not tokens.all():
        _, secret = tokens.create("first", config.agent, "admin", now=datetime.now(UTC))
        Screen().say(secret)
        beside = f"this token lets {config.agent} do everything; keep it: it is not shown again"
        Screen(errors=True).say(beside, "yellow")


def hook(options: Options, host: str, event: str = "", /, subagents: bool = False) -> Answer:
    from memfolio.serve.hooks.door import main

    given = [f"--home={options.home}"] * (options.home is not None) + [f"--agent={options.agent}"] * bool(options.agent)
    main([host, event, *given, *(["--subagents"] if subagents else [])])
    raise typer.Exit


def install(
    options: Options,
    host: str,
    scope: Literal["user", "project"] = "user",
    tools: str | None = None,
    tools_only: bool = False,
    own_home: bool = False,
    dry_run: bool = False,
    without_mcp: bool = False,
    model: bool | None = None,
) -> Answer:
    from memfolio.serve.install.hosts import installed

    if tools is not None:
        tools_of(tools)  # says which sets there are, where there is none of this name
    if own_home:
        scope, options = "project", options.further(str(_project_home(options)), None, as_json=False)
    program = replace(_program(options, scope), tools=tools, is_hooked=not tools_only)
    if own_home:  # its path is this person's anyway
        program = replace(program, path=installed())
    client, changes = _changes(host, scope, program)
    if tools_only or not without_mcp:
        check_tools("" if tools_only else "--without-mcp: tools work once it is installed")
    config = options.config(create=anywhere if dry_run else in_empty_folder)
    made = "" if dry_run or is_home(config) else f"made a home in {config.home}\n"
    if made:  # hooks keep silent where there is no home
        with options.memory(create=in_empty_folder):
            pass
    words = f"{client.title} uses memfolio: {client.after}" if changes else f"{client.title} uses memfolio already"
    if scope == "project" and shutil.which(program.path) is None:
        words += f"\n{program.path} is not on the path, on which {client.title} looks for it"
    when = "As before," if not (changes or made) else connecting(client) if dry_run else "From now on"
    consent = consented(client, config.home, when, tools_only=tools_only) + taken_from(client, config.home, scope)
    words += f"\n{consent}" + _model_of_host(
        options, host, wanted=model, offered=bool(changes) and not tools_only, dry_run=dry_run
    )
    if own_home:
        words += f"\nWhat you and {client.title} say in this folder and below it is stored only there."
        words += "".join(
            f"\n{each.title} still uses another home here; `memfolio install {each.name} --own-home` "
            "switches it to this one."
            for each in _elsewhere(client)
        )
    answer = _applied(host, scope, changes, made + words, dry_run=dry_run, preview=consent)
    answer.document |= {"home": config.home, "keeps": consent}
    return answer


def check_tools(otherwise: str) -> None:
    """Refuse before anything is written if tools would not work; `otherwise` is an option with which one can go on."""
    if find_spec("mcp") is None:
        hint = f"{_install_mcp()}, or go on with {otherwise}" if otherwise else _install_mcp()
        raise RefusedError("the tools need a library that is not installed", hint=hint)


def _install_mcp() -> str:
    return f"install it with `{install_command('mcp')}`"


def connecting(client: Host) -> str:
    """The condition under which something is kept, while nothing is decided."""
    return f"If you connect {client.title},"


def consented(client: Host, home: Path, when: str, *, tools_only: bool) -> str:
    """Say what is kept from when on, where, and how to stop that."""
    if tools_only or not client.hooks:
        return f"Nothing is recorded by itself: {client.title} has tools to remember and recall, in {home}."
    return (
        f"{when} your prompts and {client.title}'s answers are recorded in {home}. "
        f"`{command_for(home, 'pause')}` stops that, everywhere or in one folder; --tools-only records nothing."
    )


def taken_from(client: Host, home: Path, scope: str = "user") -> str:
    """Say which other home a host uses until it is connected to this one; empty where it uses none."""
    before = _home_used(client) if scope == "user" else None
    if before in (None, home):
        return ""
    again = command_for(before, "install", client.name)
    return f"\n{client.title} then no longer uses {before}, which stays as it is; `{again}` switches back."


def _home_used(client: Host) -> Path | None:
    """The home that a host uses for all the work of this user."""
    from memfolio.config import named_folder
    from memfolio.serve.install.hosts import home_of_person

    return home_of_person(client, Path.home(), moved=named_folder(client.variable))


def command_for(home: Path, *words: str) -> str:
    """A command as it is typed for this home, and no other."""
    from memfolio.config import load_config

    usual = load_config(text="").home  # without its settings, which need not be right for those of another home
    where = () if home == usual else ("--home", str(home))
    return shlex.join(["memfolio", *where, *words])


def _elsewhere(client: Host) -> list[Host]:
    """The other hosts that use a home for all work, and have none for the project in this folder."""
    from memfolio.serve.install.hosts import HOSTS, home_of_project

    others = (each for each in HOSTS.values() if each.hooks and each != client)
    return [each for each in others if _home_used(each) and not home_of_project(each, Path.cwd())]


def _project_home(options: Options) -> Path:
    """The home of the project in this folder: beside the person's own, and named after the project."""
    root = next((each for each in (Path.cwd(), *Path.cwd().parents) if (each / ".git").exists()), Path.cwd())
    home = options.config(create=anywhere).home
    return home.with_name(f"{home.name}-{root.name}")


def pause(options: Options, folder: str = "", /, for_: str | None = None, off: bool = False) -> Answer:
    from memfolio.serve.hooks import pause as pauses

    config, now = options.config(), SystemClock().now()
    if config.store != "files":  # who else writes there would not know
        hint = "revoke its tokens with `memfolio token revoke`, or make others with --scope read"
        raise RefusedError("a home in a database cannot be paused", hint=hint)
    if folder and not Path(folder).expanduser().is_dir():
        raise InputError(f"there is no folder {folder}", hint="name a folder, `.` for this one, or none for all")
    if off:
        ended = pauses.resume(config.home, folder, now)
        still = pauses.pauses(config.home, now)
        words = [f"Ended the pause {f'of {each.folder}' if each.folder else 'everywhere'}." for each in ended]
        if ended and not still:
            words.append(f"Conversations are recorded again in {config.home}.")
        words = words or [f"There was no such pause of {config.home}."]
        return Answer({"paused": still}, [*words, *(_paused(each, config) for each in still)])
    made = pauses.pause(config.home, folder, now, _span(for_))
    lines = [
        _paused(made, config),
        f"This pauses the home {config.home} and no other; what it remembers is still recalled."
        + (f" {_ends(made, config)}." if made.until else ""),
    ]
    lines += [
        f"{other}, the home of the project here, keeps recording: `{command_for(other, 'pause')}` pauses that."
        for other in _homes_of_project(Path(folder or ".").expanduser().resolve())
        if other != config.home and not pauses.is_paused(other, folder or os.getcwd(), now)
    ]
    return Answer({"paused": pauses.pauses(config.home, now)}, lines)


def _homes_of_project(folder: Path) -> list[Path]:
    """The homes that the project around a folder has for itself, of all hosts."""
    from memfolio.serve.install.hosts import HOSTS, home_of_project

    found = filter(None, (home_of_project(host, folder) for host in HOSTS.values()))
    return [home for home in dict.fromkeys(found) if home.is_dir()]


def _ends(each: Pause, config: Config) -> str:
    """Say how to end this pause; ending a pause of everything also ends those of folders."""
    return f"`{_off(each, config)}` ends it"


def _off(each: Pause, config: Config) -> str:
    return command_for(config.home, "pause", *([each.folder] if each.folder else []), "--off")


def _span(text: str | None) -> timedelta | None:
    """The time that a pause is to last, as people write it."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?)", text.strip().lower())
    if found is None or not (amount := float(found[1])) or amount > 10_000:
        raise InputError(
            f"{text[:40]!r} is not a duration (try 2h or 3d)",
            hint="m, h, d and w stand for minutes, hours, days and weeks",
        )
    unit = next(unit for unit in ("minutes", "hours", "days", "weeks") if unit[0] == found[2][0])
    return timedelta(**{unit: amount})


def _paused(each: Pause, config: Config) -> str:
    where = f" in {each.folder}" if each.folder else ""
    until = local(datetime.fromisoformat(each.until), config.zone) if each.until else f"`{_off(each, config)}`"
    return f"Paused: no conversation{where} is recorded until {until}."


def paused(config: Config) -> dict[str, str]:
    """A line for every pause of the home that lasts, with how to end it."""
    from memfolio.serve.hooks.pause import pauses

    return {_paused(each, config): _ends(each, config) for each in pauses(config.home, SystemClock().now())}


def _model_of_host(options: Options, host: str, *, wanted: bool | None, offered: bool, dry_run: bool) -> str:
    """Switch the model of a host on or off where the person says so; else offer it, if its program is there."""
    from memfolio.llm.host import found_program, host_programs

    program, provider = host_programs().get(host), options.config(create=anywhere).model.provider
    if program is None:
        if wanted:
            hint = f"only {', '.join(each.title for each in host_programs().values())} can be asked"
            raise InputError(f"{host} has no program that answers one question", hint=hint)
        return ""
    if wanted is None and (not offered or provider != "none" or found_program(host) is None):
        return ""
    if wanted is None:
        how = f"`memfolio install {host} --model`"
        return f"\nTo let {program.title}'s model learn from what is said, which counts against your plan: {how}."
    setting = {"model.provider": "host", "model.name": host} if wanted else {"model.provider": "none", "model.name": ""}
    if not dry_run:
        _set(options, setting)
    limit = options.config(create=anywhere).model.budget
    if not wanted:
        return "\nNo model is asked any more."
    return f"\n{program.title} learns from what is said: at most {limit:,} tokens a day (model.budget); {program.terms}"


def _set(options: Options, values: dict[str, str]) -> None:
    """Write settings into the file of the home, as the person's own change, which can be undone."""
    from memfolio.serve.install.files import with_settings
    from memfolio.vault.change import Change, PutPage

    with options.memory() as memory:
        page = memory.vault.page(CONFIG)
        try:
            text = with_settings(page.text if page else "", values)
        except ValueError as error:
            wanted = ", ".join(f'{name} = "{value}"' for name, value in values.items())
            raise InputError(f"{CONFIG} cannot be edited safely", hint=f"write {wanted} into it") from error
        put = PutPage.over(page, CONFIG, text.encode())
        if page is None or text != page.text:
            memory.vault.apply(Change(operations=(put,), by=PERSON, action=Action.EDIT))


def uninstall(options: Options, host: str, scope: Literal["user", "project"] = "user", dry_run: bool = False) -> Answer:
    client, changes = _changes(host, scope, None)
    home = _home_used(client) if scope == "user" else None
    words = "does not use memfolio any more; the memory is as it was" if changes else "has nothing of memfolio"
    if scope == "project":
        there = "does not use memfolio by the settings of this folder any more"
        words = there if changes else "has nothing of memfolio in this folder"
        if used := _home_used(client):
            words += f". For all your work it still uses {used}; `memfolio uninstall {host}` ends that"
    answer = _applied(host, scope, changes, f"{client.title} {words}", dry_run=dry_run)
    if scope == "project" and not dry_run:
        for folder in {each.path.parent for each in changes if each.new is None} - {Path.cwd()}:
            Disk().discard_folder(folder)
    if home and not dry_run:
        end_hooks(home)
    return answer


def end_hooks(home: Path) -> None:
    """End the process that answers the hooks of a home, also one that is just starting; another hook starts one."""
    from memfolio.serve.hooks.door import FOLDER, KEPT, end_warm

    def is_starting() -> bool:
        """Whether a hook was here so lately that the process it started may not listen yet."""
        places = [each for each in (home / FOLDER, home / FOLDER / KEPT) if each.is_dir()]
        return any(time.time() - each.stat().st_mtime < STARTING for each in places)

    with chdir(Path.cwd()):  # on its way to the process it changes the folder
        while end_warm(str(home)) is None and is_starting():
            time.sleep(0.1)


def _changes(name: str, scope: str, program: Program | None) -> tuple[Host, list[FileChange]]:
    """Return the host, and the changes to its files."""
    from memfolio.config import named_folder
    from memfolio.serve.install import hosts

    host, is_own = hosts.host_of(name), scope == "user"
    root, moved = (Path.home(), named_folder(host.variable)) if is_own else (Path.cwd(), None)
    return host, hosts.changes(host, scope, root, program, moved=moved)


def _program(options: Options, scope: str) -> Program:
    """What the host runs; a project's files are shared by people who have memfolio and their homes elsewhere."""
    from memfolio.serve.install.hosts import Program, installed

    config, is_own = options.config(create=anywhere), scope == "user"
    home, agent = (str(config.home), config.agent) if is_own else (options.home, options.agent)
    arguments = (*(("--home", home) if home else ()), *(("--agent", agent) if agent else ()))
    return Program(path=installed(), options=arguments) if is_own else Program(options=arguments)


def _applied(
    host: str, scope: str, changes: list[FileChange], words: str, *, dry_run: bool, preview: str = ""
) -> Answer:
    """Make the changes, or show them."""
    from memfolio.serve.install import files

    if not dry_run:
        files.apply(changes, is_private=scope == "user")
    lines: list[Line] = []
    for each in changes:
        kept = f", what was there is in {files.backup_of(each.path).name}" if each.saved is not None else ""
        done = f"{each.path} {'deleted' if each.new is None else 'written'}{kept}"
        lines.append(diff(each.diff) if dry_run else (done, "dim"))
    if told := preview if changes and dry_run else words:
        lines.append((told, "bold"))
    shown = [{"path": str(each.path), "deleted": each.new is None, "diff": each.diff} for each in changes]
    document = {"host": host, "changed": bool(changes) and not dry_run, "dry_run": dry_run, "files": shown}
    return Answer(document, lines)


def doors(options: Options, home: Path) -> Iterator[Finding]:
    """Yield findings of `doctor` about the connected hosts of this user, and about the hooks of this home."""
    from memfolio.serve.install.hosts import HOSTS
    from memfolio.vault.past.report import Finding

    findings = [found for host in HOSTS.values() for found in _door(options, host)]
    yield from findings
    yield from _model(options, home)
    yield from (Finding("note", "pause", line, ends) for line, ends in paused(options.config()).items())
    if findings and find_spec("mcp") is None:
        hint = f"{_install_mcp()}; without it, hosts have no tools"
        yield Finding("error", "mcp", "the MCP library is not installed", hint)
    yield from _hooks(home)


def is_connected(options: Options, host: Host) -> bool:
    """Whether this user's files of a host have anything of memfolio, or cannot be read."""
    return any(_door(options, host))


def _door(options: Options, host: Host) -> Iterator[Finding]:
    from memfolio.vault.past.report import Finding

    command = f"memfolio install {host.name}"
    try:
        if not _changes(host.name, "user", None)[1]:
            return
        changes = _changes(host.name, "user", _program(options, "user"))[1]
    except MemfolioError as error:
        is_known = isinstance(error, ConflictError)
        yield Finding("note" if is_known else "warning", host.title, error.message, error.hint)
        return
    files = ", ".join(str(each.path) for each in changes)
    hint = f"`{command}` renews it, if the host is to use this memory; `{command} --dry-run` shows the difference"
    if files:
        yield Finding("note", host.title, f"runs another program, home or agent: {files}", hint)
    else:
        yield Finding("ok", host.title, "uses this memory")


def _model(options: Options, home: Path) -> Iterator[Finding]:
    """Whether the model of a host is asked, and can be."""
    from memfolio.llm.host import found_program, host_and_model, host_programs
    from memfolio.vault.past.report import Finding
    from memfolio.vault.usage import Usage

    config = options.config()
    settings = config.model
    if settings.provider != "host":
        return
    host, _ = host_and_model(settings.name)
    found, wanted = found_program(host), host_programs().get(host)
    if found is None:
        named = wanted.program if wanted else "program of a host"
        yield Finding(
            "warning", "model", f"there is no {named} on the path", 'install it, or set model.provider = "none"'
        )
        return
    usage = Usage(Home(home, config, SystemClock(), Disk()))
    today = usage.spent(usage.today)
    if today.stopped:
        hint = "it is asked again tomorrow; rules learn meanwhile"
        yield Finding("note", "model", f"{found[0].title} is not asked again today: {today.stopped}", hint)
        return
    limit = f"at most {settings.budget:,} tokens a day" if settings.budget else "without a limit"
    if settings.budget and today.tokens >= settings.budget:
        hint = "it is asked again tomorrow; model.budget raises the limit"
        yield Finding("note", "model", f"{found[0].title} is not asked again today: {limit}", hint)
        return
    yield Finding("ok", "model", f"{found[0].title} is asked to learn, {limit}; `memfolio cost` shows what it took")


def _hooks(home: Path) -> Iterator[Finding]:
    from memfolio.serve.hooks.door import FOLDER, LOG
    from memfolio.serve.hooks.kept import health
    from memfolio.vault.past.report import Finding

    found = health(home)
    hint = f"the host continued without memory; once you know why, delete {home / FOLDER / LOG}"
    yield from (Finding("warning", "hooks", line, hint) for line in dict.fromkeys(found.troubles))
    if found.waiting:
        words = f"{counted(found.waiting, 'event')} of hosts not processed yet"
        yield Finding("note", "hooks", words, "the next event of any host processes them")


def service_install(options: Options, platform: str | None = None, dry_run: bool = False) -> Answer:
    from memfolio.serve import service as services

    [service] = _services(options, platform, is_needed=True)
    if dry_run:
        return Answer(_service(service), list(_plan(service)))
    services.check_served(service.platform, services.tend_command(options.config().home))
    written = services.install(service)
    lines = [f"{path} {'written' if is_new else 'unchanged'}" for path, is_new in written.items()]
    as_before = "" if any(written.values()) else ", as before"
    done = f"{service.platform} runs {service.name} every half hour{as_before}"
    hint = [LINGER] if service.platform == "systemd" else []
    return Answer(_service(service) | {"changed": any(written.values())}, [*lines, (done, "bold"), *hint])


def service_uninstall(options: Options, platform: str | None = None, dry_run: bool = False) -> Answer:
    from memfolio.serve import service as services

    installed = [each for each in _services(options, platform) if services.look(each).is_installed]
    if not dry_run:
        for service in installed:
            services.uninstall(service)
    return Answer({"uninstalled": list(map(_service, installed))})


def service_status(options: Options, platform: str | None = None) -> Answer:
    from memfolio.serve import service as services

    found = []
    for service in _services(options, platform):
        look = services.look(service)
        states = dict(zip(FOUND, (look.is_installed, look.is_current, look.is_active), strict=True))
        found.append({"platform": service.platform, "name": service.name, **states})
    return Answer({"services": found}, [_state(each) for each in found])


def _state(service: dict[str, Any]) -> str:
    """Whether the system tends a home, and what to do where it does not."""
    name = f"{service['platform']} {{}} {service['name']}"
    if not service["installed"]:
        return name.format("has no service for this home,") + "; `memfolio service install` makes it"
    renew = "" if service["current"] else "; it is not as `memfolio service install` would make it now"
    return name.format("runs" if service["active"] else "has, but does not run,") + renew


def _services(options: Options, platform: str | None, *, is_needed: bool = False) -> list[Schedule]:
    """The service that this home may have on this system; unless it `is_needed`, also of a home that is gone."""
    from memfolio.serve import service as services

    home = options.config(create=nowhere if is_needed else anywhere).home
    return [services.service_of(platform or services.own_platform(), home, services.tend_command(home))]


def _service(service: Schedule) -> dict[str, Any]:
    return {
        "platform": service.platform,
        "name": service.name,
        "files": [{"path": str(path), "text": _decoded(data)} for path, data in service.files.items()],
        "commands": [list(step.command) for step in service.start],
    }


def _plan(service: Schedule) -> Iterator[Line]:
    for path, data in service.files.items():
        yield str(path), "bold"
        yield _decoded(data)
    yield from ((f"then {step}", "dim") for step in service.start)


def _decoded(data: bytes) -> str:
    return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")


def tool_list(options: Options) -> Answer:
    tools = tools_of("all").values()
    return Answer(
        {"tools": [{"name": each.name, "description": each.description.partition("\n")[0]} for each in tools]}
    )


def tool_show(options: Options, name: str) -> Answer:
    tool = _tool(name)
    lines = [tool.description]
    for each, shape in tool.schema["properties"].items():
        needed = ", needed" if each in tool.required else ""
        form = " | ".join(shape["enum"]) if "enum" in shape else shape.get("type", "any")
        lines.append(f"  {each} ({form}{needed}): {shape['description']}")
    return Answer({"name": tool.name, "description": tool.description, "schema": tool.schema}, lines)


def tool_call(options: Options, name: str, arguments: Text = "{}", /) -> Answer:
    tool = _tool(name)
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the arguments are not JSON: {error}", hint=LIKE) from error
    if not isinstance(given, dict):
        raise InputError("the arguments are not a JSON object", hint=LIKE)
    return called(options, tool, given)


def _tool(name: str) -> Verb:
    tools = verbs_at("cli")
    check_known("there is no tool", [name], tools, NotFoundError)
    return tools[name]
