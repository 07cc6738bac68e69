"""Verify and doctor: what holds, what does not, and what to do about it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memfolio.clock import iso
from memfolio.errors import ConfigError, HistoryError, HomeReadOnlyError
from memfolio.text import counted
from memfolio.vault.agents import agent_file
from memfolio.vault.git.repository import format_seqs
from memfolio.vault.journal import Trail, read_line, to_text
from memfolio.vault.lines import read_lines
from memfolio.vault.log import read_log
from memfolio.vault.paths import Form, agent_of, agents_of, day_of, form_of
from memfolio.vault.reconcile import TORN, original_of
from memfolio.vault.survey import look_over

if TYPE_CHECKING:
    from memfolio.vault.git.history import History
    from memfolio.vault.vault import Vault

Level = Literal["ok", "note", "warning", "error"]
LITTLE_SPACE = 256 * 1024 * 1024
NOT_UTF8 = "the file has bytes that are not UTF-8"
_REMEDIES = {
    NOT_UTF8: "save it as UTF-8",
    "line ": "correct that line; all others are read",
    "its last ": "complete its last line, or delete it",
    "is named ": "rename it",
    "is larger ": "keep it elsewhere, and link to it",
    "cannot be ": "look at its owner and its mode",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `error` means that a promise does not hold."""

    level: Level
    where: str
    message: str
    hint: str = ""


def verify(vault: Vault) -> list[Finding]:
    """Check the trail against itself, against git, and against the files."""
    found = [
        *_mended(vault),
        *_check_trail(vault),
        *_check_anchors(vault.trail, vault.history),
        *_check_files(vault),
        *_check_git(vault),
    ]
    return [each for each in found if agent_of(each.where) is None or vault.shows(each.where)]


def doctor(vault: Vault) -> list[Finding]:
    """Everything `verify` looks at, and the surroundings that a home depends on."""
    return [
        *verify(vault),
        *_check_agents(vault),
        *_check_access(vault),
        *_check_waiting(vault),
        *check_alerts(vault),
        *_check_litter(vault),
        *_check_machine(vault),
        *_check_configuration(vault),
    ]


def _mended(vault: Vault) -> Iterator[Finding]:
    """Yield repairs of the trail made when the home was opened, each once."""
    journal = vault.journal
    while journal.repairs:
        message = journal.repairs.pop(0)
        if message in journal.notices:
            journal.notices.remove(message)
        hint = "`memfolio log` shows when that was; what could not be read is in .memfolio/torn"
        yield Finding("warning", "trail", message, hint)


def _check_trail(vault: Vault) -> Iterator[Finding]:
    problems = vault.trail.problems()
    hint = f"compare with git: `git -C {vault.home.root} log -p -- audit`"
    yield from (Finding("error", "trail", problem, hint) for problem in problems)
    if not problems:
        yield Finding("ok", "trail", f"{counted(vault.head, 'change')}, each following the one before it")


def _check_anchors(trail: Trail, history: History) -> Iterator[Finding]:
    """Commits name the trail's hash at their time, so a trail rewritten as a whole is found out."""
    try:
        anchors = list(history.anchors(merged=True))
    except HistoryError as error:
        yield Finding("warning", "git", error.message, error.hint)
        return
    hashes = {line.seq: line.hash for line in trail.lines()}  # read last: no commit is ahead of the trail
    wrong = [anchor for anchor in anchors if hashes.get(anchor.seq) != anchor.chain]
    for anchor in wrong:
        message = f"change {anchor.seq} is not what commit {anchor.commit[:10]} vouches for"
        yield Finding("error", "trail", message, "the trail was rewritten: restore audit/ from git")
    if anchors and not wrong:
        yield Finding("ok", "trail", f"confirmed by {counted(len(anchors), 'commit')}")


def _check_committed(vault: Vault) -> Iterator[Finding]:
    """Check that committed changes are in a commit, and that the newest commit has the trail."""
    committed = vault.journal.committed
    try:
        commits = vault.history.seqs()
        parts = [part for part in vault.trail.parts() if not _is_in_git(vault, part, committed)]
    except HistoryError:
        return  # what is wrong with git is said elsewhere
    if lost := [seq for seq in range(1, committed + 1) if seq not in commits]:
        message = f"has no commit of {counted(len(lost), 'change')} ({format_seqs(lost)[:60]}): they cannot be undone"
        yield Finding("error", "git", message, "see docs/vault.md, “When git is broken”")
    hint = f"if the chain holds, `git -C {vault.home.root} commit -m trail audit` brings it into git"
    yield from (Finding("error", part, "is not what the newest commit has", hint) for part in parts)


def _is_in_git(vault: Vault, part: str, committed: int) -> bool:
    """Whether the newest commit has the part as it is, up to lines that wait."""
    there = vault.history.read(part) or b""
    if not (vault.journal.read(part) or b"").startswith(there):
        return False
    following = next((raw for _, raw in vault.trail.raw_lines(part, len(there))), None)
    try:
        return following is None or read_line(following).seq > committed
    except ValueError:
        return False


def _check_files(vault: Vault) -> Iterator[Finding]:
    survey = look_over(vault.home.root)
    problems = {**survey.problems, **vault.problems}
    yield from (_of_file(path, problem) for path, problem in sorted(problems.items()))
    yield from _check_key(vault)
    left = _as_left(vault)
    for path in survey.files:
        try:
            content = vault.home.disk.read(vault.home.path(path))
        except OSError as error:
            yield _of_file(path, f"cannot be opened: {error.strerror}")
            continue
        if _differs(vault, path, content, left.get(path)):
            yield Finding("note", path, "was changed and is not recorded yet", "any command records it")
        yield from (_of_file(path, problem) for problem in _reading_problems(vault, path, content or b""))
    yield Finding("ok", "files", f"{counted(len(survey.files), 'file')} read")


def _of_file(path: str, problem: str) -> Finding:
    """A finding about a file; where its words do not say what to do, with a hint that does."""
    hint = next((remedy for begin, remedy in _REMEDIES.items() if problem.startswith(begin)), "")
    return Finding("warning", path, problem, hint)


def _check_key(vault: Vault) -> Iterator[Finding]:
    if not _has_key(vault):
        hint = "`memfolio verify` on the machine that writes the home checks them all"
        yield Finding("note", "files", "their hashes cannot be checked here without .memfolio/key", hint)


def _has_key(vault: Vault) -> bool:
    try:
        return vault.home.is_initialized()
    except OSError:
        return False


def _as_left(vault: Vault) -> dict[str, str | None]:
    """Return the recorded hash of each file: from the journal, or from the trail if there is no journal."""
    if vault.trouble is None:
        return {path: state.hash for path, state in vault.journal.files.items()}
    return {mark.path: mark.now for line in vault.trail.lines() for mark in line.files}


def _differs(vault: Vault, path: str, content: bytes | None, hash: str | None) -> bool:
    if content is not None and hash == vault.home.hash(content):
        return False
    return vault.trouble is None or (_has_key(vault) and not _is_committed(vault, path, content))


def _is_committed(vault: Vault, path: str, content: bytes | None) -> bool:
    """Whether git has the file as it is: in a clone, the trail's hashes were made with another key."""
    try:
        return content is not None and vault.history.read(path) == content
    except HistoryError:
        return False


def _reading_problems(vault: Vault, path: str, content: bytes) -> tuple[str, ...]:
    form = form_of(path)
    if form is Form.PAGE:
        is_text = content.decode(errors="replace").encode() == content
        return () if is_text or not path.endswith(".md") else (NOT_UTF8,)
    if form is Form.LINES:
        reading = read_lines(content)
        return (*reading.problems, *((f"its last {reading.torn} bytes are no whole line",) if reading.torn else ()))
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return ("is named like a day that does not exist",)
    return read_log(to_text(content), day=day, tz=vault.home.zone, agent=agent).problems


def _check_agents(vault: Vault) -> Iterator[Finding]:
    """Yield invalid settings of agents: such an agent cannot read the memory of others."""
    for agent in agents_of(vault.home.root):
        path = agent_file(agent)
        try:
            vault.settings(agent)
        except HomeReadOnlyError:
            continue  # that the file cannot be opened is said with the other files
        except ConfigError as error:
            yield Finding("warning", path, error.message.removeprefix(path).lstrip(" :"), error.hint)


def _check_git(vault: Vault) -> Iterator[Finding]:
    if not vault.config.git.enabled:
        yield Finding(
            "note", "git", "is switched off: there is a trail, but nothing can be undone", "set git.enabled = true"
        )
        return
    if problems := _broken(vault):
        yield from (Finding("error", "git", problem, "see docs/vault.md, “When git is broken”") for problem in problems)
    else:
        yield Finding("ok", "git", "every object of the newest commit can be read")
        yield from _check_committed(vault)


def _broken(vault: Vault) -> list[str]:
    """What is wrong with git, by two looks: what is committed while git looks counts as missing in that look only."""
    first = vault.history.check()
    return [problem for problem in vault.history.check() if problem in first] if first else []


def _check_access(vault: Vault) -> Iterator[Finding]:
    if vault.trouble is not None:
        yield Finding("warning", "home", vault.trouble.message, vault.trouble.hint)
    else:
        yield Finding("ok", "home", "can be written by this machine")
    root = vault.home.root
    if os.name == "posix" and root.stat().st_mode & 0o077:
        message = f"other users of this machine may look into {root}"
        yield Finding("note", "home", message, f"`chmod 700 {shlex.quote(str(root))}` keeps it to you")
    free = shutil.disk_usage(root).free
    if free < LITTLE_SPACE:
        yield Finding("warning", "disk", f"only {free >> 20} MiB are free", "make room before it runs full")


def _check_waiting(vault: Vault) -> Iterator[Finding]:
    waiting = vault.commit()
    if waiting:
        reason = vault.committer.obstacle or "another process is committing"
        hint = "free git: the next command commits them, a running program within a minute"
        yield Finding("warning", "git", f"changes wait to be committed: {reason}", hint)


def check_alerts(vault: Vault) -> Iterator[Finding]:
    """What the owner has not acknowledged yet."""
    if alerts := vault.alerts():
        changes = counted(len(alerts), "change")
        yield Finding("warning", "alerts", f"{changes} of critical files to look at", "`memfolio alerts`")


def _check_litter(vault: Vault) -> Iterator[Finding]:
    torn = vault.home.disk.names(vault.home.internal / TORN)
    if torn:
        yield Finding(
            "note",
            ".memfolio/torn",
            f"{counted(len(torn), 'fragment')} of writes that were never finished",
            "delete them if nothing is missing",
        )
    copies = [path for path in look_over(vault.home.root).files if original_of(path) and vault.shows(path)]
    yield from (
        Finding("warning", path, "is a conflict copy that could not be merged", "merge it by hand") for path in copies
    )


def _check_machine(vault: Vault) -> Iterator[Finding]:
    last = next(vault.trail.newest_first(), None)
    if last is not None and last.at > iso(vault.home.now()):
        yield Finding("warning", "clock", f"the newest change is from {last.at}, later than now", "set the clock")
    if shutil.which("git") is None:
        yield Finding("note", "git", "the git program is not installed", "memfolio does without; packing is slower")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Finding(
            "note", "user", "runs as root: files it makes belong to root", "run as the user whose memory it is"
        )


def _check_configuration(vault: Vault) -> Iterator[Finding]:
    """Yield settings in the file or the environment that have no effect."""
    config = vault.config
    yield from (Finding("warning", "configuration", what, hint) for what, hint in config.problems)
    if config.retired:
        names = ", ".join(dict.fromkeys(config.retired))
        message = f"set, but no settings any more, and without effect: {names}"
        yield Finding("note", "configuration", message, "remove them; docs/configuration.md lists what there is")
