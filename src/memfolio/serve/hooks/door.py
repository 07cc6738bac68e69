"""The entry point that a host calls: `memfolio hook HOST EVENT`."""

from __future__ import annotations

import os
import sys
import time

from memfolio import __version__

# The hosts: what each of their events is to us, and the form in which each takes an answer.
#
# Imports nothing, because every event of every host waits for it.

START, PROMPT, ANSWER, CUT, END = ORDER = ("start", "prompt", "answer", "cut", "end")
"""What an event is: a conversation begins, somebody asks, the agent answers, it is cut short, it is over."""
_NAMES = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
    "cursor": ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "preCompact", "sessionEnd"),
}
MUTE = "PreCompact"
"""When nothing may be printed: Claude Code takes it for an instruction on how to sum the conversation up."""
ACTS = {host: dict(zip(names, ORDER, strict=True)) for host, names in _NAMES.items()}
"""What the events of each host are; it has others, which mean nothing to us."""
MOST_CHARACTERS = 9_500
"""What every host takes: Claude Code up to 10,000 characters."""
MOST_TOKENS = 2_000
"""By estimate; Codex puts what has more than 2,500 into a file."""


def begins_again(host: str) -> bool:
    """Whether the host begins the conversation again after it was cut; else it is told with the next prompt."""
    return host in ("claude-code", "codex")


def shaped(host: str, event: str, text: str | None) -> dict[str, object]:
    """An answer with this text in the host's own form, which has no keys beside those that it knows."""
    if text is None:
        return {}
    if host == "cursor":
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def text_of(answer: dict[str, object]) -> str:
    """The text of an answer in a host's own form."""
    inside = answer.get("hookSpecificOutput")
    found = inside.get("additionalContext") if isinstance(inside, dict) else answer.get("additional_context")
    return str(found or "")


# The door that a host knocks at: `memfolio hook HOST EVENT`.
#
# It hands what the host says to the warm process and passes on what that answers. It writes no file, and imports next
# to nothing: the host's user waits. It ends with 0 and prints JSON or nothing, whatever happens.

EMPTY = b"{}"
INSIDE, FOLDER, KEPT, SOCKET, LOG = ".memfolio", ".memfolio/hooks", "new", "socket", "log"
LOOPBACK = "127.0.0.1"
STOP = "stop"
ASKED = "MEMFOLIO_ASKED"
"""Set where memfolio itself asks the host's program (`llm/host.py`): what is said there is nobody's conversation."""
MOST_BYTES = 16 << 20
"""Of what a host says; more than that is nobody's prompt."""
STALLED = 2.0
"""Seconds after which a host that says nothing, and does not end either, is not listened to."""
PATIENCE = {**dict.fromkeys(ORDER, 0.4), START: 5.0, PROMPT: 1.5}
"""Seconds for which an answer is waited for; at the end, all hooks of a host together have one."""


def main(args: list[str]) -> int:
    """Answer one event; `args` are what stands behind `memfolio hook`."""
    answer = EMPTY
    try:
        answer = _answer(*_options(args)) or EMPTY
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - the outer edge: whatever it is, the host must not suffer
        answer = EMPTY
    answer = b"" if answer == EMPTY and MUTE in args else answer + b"\n"
    try:
        while answer:
            answer = answer[os.write(1, answer) :]
    except OSError:
        return 0  # the host does not want to hear it
    return 0


def _options(args: list[str]) -> tuple[str, list[str], list[str]]:
    """Home, host and event, and agent and whether sub-agents count; what is not given comes from the environment."""
    found = {"--home": os.environ.get("MEMFOLIO_HOME") or "~/memfolio", "--agent": os.environ.get("MEMFOLIO_AGENT", "")}
    words, rest = list[str](), list(args)
    while rest:
        name, _, value = rest.pop(0).partition("=")
        if name in found:
            found[name] = value or (rest.pop(0) if rest else "")
        else:
            words.append(name)
    subagents = "--subagents" in words
    plain = [word for word in words if not word.startswith("--")]
    home = os.path.abspath(os.path.expanduser(found["--home"]))
    return home, [*plain, "", ""][:2], [found["--agent"], "yes" * subagents]


def _answer(home: str, event: list[str], options: list[str]) -> bytes | None:
    host, name = event
    if host == STOP:
        return end_warm(home)
    act, said = ACTS.get(host, {}).get(name), _read()
    inside = os.path.join(home, INSIDE)
    if os.environ.get(ASKED) or act is None or not os.path.isdir(inside) or os.path.islink(inside):
        return EMPTY
    until = time.monotonic() + PATIENCE[act]
    parcel = _parcel(f"{time.time_ns():020d}-{os.getpid()}", host, name, *options) + said
    if answer := ask(home, parcel, PATIENCE[act]):
        return answer
    from pathlib import Path

    from memfolio.serve.hooks.warm import answer_cold

    return answer_cold(Path(home), parcel, until - time.monotonic())


def end_warm(home: str) -> bytes | None:
    """End the warm process; None where there is none."""
    return ask(home, _parcel(STOP), 10.0)


def _parcel(*words: str) -> bytes:
    """The line that stands before what the host said."""
    return os.fsencode("\t".join((__version__, *words)).replace("\n", " ") + "\n")


def _read() -> bytes:
    """All that the host says; where that is too much, nothing, but to the end, for the host's pipe to stay whole."""
    parts, size = list[bytes](), 0
    while _is_ready() and (part := os.read(0, 1 << 20)):
        size += len(part)
        parts = [*parts, part] if size <= MOST_BYTES else []
    return b"".join(parts)


def _is_ready() -> bool:
    """Whether the host says something, or is at its end, before long."""
    if sys.platform == "win32":
        return True
    from select import select

    return bool(select([0], [], [], STALLED)[0])


def ask(home: str, parcel: bytes, seconds: float) -> bytes | None:
    """What the warm process answers; empty where it does not in time, None where there is none."""
    folder = os.path.join(home, FOLDER)
    if not is_private(folder):
        return None
    import _socket  # and not `socket`, which takes half as long to import as Python takes to start

    answer, connection = None, None
    try:
        os.chdir(folder)  # the way to a socket may have no more than about 100 letters
        family, place, token = _place()
        connection = _socket.socket(family, _socket.SOCK_STREAM)
        connection.settimeout(seconds)
        connection.connect(place)
        answer = b""
        connection.sendall(token + parcel)
        connection.shutdown(_socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    except (OSError, ValueError):
        return answer
    finally:
        if connection is not None:
            connection.close()
    return answer


def _place() -> tuple[int, str | tuple[str, int], bytes]:
    """Where the warm process listens, and what is said first: at a socket, or where there are none at a port.

    Every user of the machine can reach a port, so that a file which only this user can read has a token for it.
    """
    import _socket

    if os.lstat(SOCKET).st_mode & 0o170000 == 0o140000:
        return _socket.AF_UNIX, SOCKET, b""
    file = os.open(SOCKET, os.O_RDONLY)
    try:
        port, _, token = os.read(file, 200).decode("ascii").partition(" ")
    finally:
        os.close(file)
    return _socket.AF_INET, (LOOPBACK, int(port)), f"{token.strip()}\n".encode()


def is_private(folder: str) -> bool:
    """Whether only this user can put anything there: who else did would hear all that is said."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    if sys.platform == "win32":  # what others may do there is not told by these bits, but by the folder's owner
        return info.st_mode & 0o170000 == 0o040000
    return info.st_mode & 0o170022 == 0o040000 and info.st_uid == os.geteuid()
