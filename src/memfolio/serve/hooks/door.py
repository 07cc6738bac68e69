"""The door that a host knocks at: `memfolio hook HOST EVENT`.

It puts what the host says where it is safe, passes on what the warm process answers, and imports next to nothing for
that: the host's user waits. It ends with 0 and prints JSON, whatever happens.
"""

import os
import sys
import time

from memfolio import __version__
from memfolio.serve.hooks.hosts import ACTS, PROMPT, START, tells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

EMPTY = b"{}"
INSIDE, FOLDER, KEPT, SOCKET, LOG = ".memfolio", ".memfolio/hooks", "new", "socket", "log"
MOST_BYTES = 16 << 20
"""Of what a host says; more than that is nobody's prompt."""
MOST_LOGGED = 256 << 10
PATIENCE = {START: 5.0, PROMPT: 2.5}
"""Seconds for which an answer is waited for."""
POKE, STOP = "poke", "stop"
PAUSE = 0.01
_ALONE = getattr(os, "O_NOFOLLOW", 0) | os.O_WRONLY | os.O_CREAT


def main(args: list[str]) -> int:
    """Answer one event; `args` are what stands behind `memfolio hook`."""
    home, answer = "", EMPTY
    try:
        home, agent, subagents, words = _options(args)
        answer = _answer(home, [*words, "", ""][:2], [agent, subagents])
    except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the host must not suffer
        note(home, f"{type(error).__name__}: {error}")
    try:
        os.write(1, answer + b"\n")
    except OSError:
        return 0  # the host does not want to hear it
    return 0


def _answer(home: str, event: list[str], options: list[str]) -> bytes:
    host, name = event
    if host == STOP:
        return _ask(home, _parcel(STOP), 1.0) or EMPTY
    said, act = _read(0), ACTS.get(host, {}).get(name)
    if act is None or not _is_own(home):
        return EMPTY
    parcel = _parcel(host, name, *options) + said
    is_kept = act != START and _keep(home, parcel)
    if tells(host, act):
        return _told(home, parcel, time.monotonic() + PATIENCE[act])
    if is_kept and _ask(home, _parcel(POKE), 0.2) is None:
        _started(home)
    return EMPTY


def _is_own(home: str) -> bool:
    """Whether there is a home; what lies behind a link is not the home's."""
    inside, folder = os.path.join(home, INSIDE), os.path.join(home, FOLDER)
    return os.path.isdir(inside) and not os.path.islink(inside) and not os.path.islink(folder)


def _options(args: list[str]) -> tuple[str, str, str, tuple[str, ...]]:
    """Home, agent, whether sub-agents count, and the rest; what is not given comes from the environment."""
    found = {"--home": os.environ.get("MEMFOLIO_HOME") or "~/memfolio", "--agent": os.environ.get("MEMFOLIO_AGENT", "")}
    words, rest = list[str](), list(args)
    while rest:
        name, _, value = rest.pop(0).partition("=")
        if name in found:
            found[name] = value or (rest.pop(0) if rest else "")
        else:
            words.append(name)
    subagents = "--subagents"
    home = os.path.abspath(os.path.expanduser(found["--home"]))
    return home, found["--agent"], "yes" * (subagents in words), tuple(word for word in words if word != subagents)


def _parcel(*words: str) -> bytes:
    """The line that stands before what the host said."""
    return os.fsencode("\t".join((__version__, *words)).replace("\n", " ") + "\n")


def _read(fd: int) -> bytes:
    """All that the host says; where that is too much, nothing, but to the end, for the host's pipe to stay whole."""
    parts, size = list[bytes](), 0
    while part := os.read(fd, 1 << 20):
        size += len(part)
        parts = [*parts, part] if size <= MOST_BYTES else []
    return b"".join(parts)


def _keep(home: str, parcel: bytes) -> bool:
    """Put a parcel where the next one who opens the home takes it up; False where nothing can be written."""
    folder = os.path.join(home, FOLDER, KEPT)
    name = os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with os.fdopen(os.open(f"{name}.part", _ALONE | os.O_EXCL, 0o600), "wb") as file:
            file.write(parcel)
        os.rename(f"{name}.part", name)
    except OSError as error:
        note(home, f"what was said could not be kept: {error.strerror}")
        return False
    return True


def _told(home: str, parcel: bytes, until: float) -> bytes:
    """What the warm process has to say; where it is not there, it is started, or its work is done here."""
    started = None
    while (left := until - time.monotonic()) > 0:
        if answer := _ask(home, parcel, left):
            return answer
        if not _can_be_warm(home) or (started is not None and started.poll()):
            import logging

            from memfolio.serve.hooks.desk import answer_once

            logging.disable()  # a host may take what is said beside the answer for a failure
            return answer_once(home, parcel, left)
        started = started or _started(home)
        time.sleep(PAUSE)
    return EMPTY


def _can_be_warm(home: str) -> bool:
    return sys.platform != "win32" and os.access(os.path.join(home, INSIDE), os.W_OK)


def _ask(home: str, parcel: bytes, seconds: float) -> bytes | None:
    """The answer of the warm process, empty where it has none in time; None where there is no such process."""
    if sys.platform == "win32":
        return None
    import _socket  # and not `socket`, which takes half as long to import as Python takes to start

    connection, answer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM), None
    connection.settimeout(seconds)
    try:
        os.chdir(os.path.join(home, FOLDER))  # the way to a socket may have no more than about 100 letters
        connection.connect(SOCKET)
        answer = b""
        connection.sendall(parcel)
        connection.shutdown(_socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    except OSError:
        return answer
    finally:
        connection.close()
    return answer


def _started(home: str) -> "Popen[bytes]":
    from memfolio.serve.hooks.detached import run

    return run(["-m", "memfolio.serve.hooks.warm", home], home)


def note(home: str, trouble: str) -> None:
    """Write down what went wrong, where `memfolio doctor` finds it."""
    path = os.path.join(home or os.devnull, FOLDER, LOG)
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(trouble.split())[:500]}\n"
    try:
        is_full = os.path.exists(path) and os.path.getsize(path) > MOST_LOGGED
        with os.fdopen(os.open(path, _ALONE | (os.O_TRUNC if is_full else os.O_APPEND), 0o600), "ab") as file:
            file.write(line.encode("utf-8", "replace"))
    except OSError:
        return  # a home that cannot be written has no place for it
