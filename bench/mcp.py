"""How soon the MCP server is there, as ratios within one run: `python -m bench.mcp`, or a part: `… start`, `… calls`.

The floor is a process that does nothing but import the SDK. Exits with 1 when a limit is not kept.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from bench.board import Board, a_folder, run, timed
from bench.verbs import MANY, turns
from memfolio.memory import Memory

ROUNDS = 7
CALLS = 300
START, RECALL = 1.5, 1.5 * 1.5
"""How many bare imports the start may take, and the first answer at 100,000 memories."""
PROGRAM = [sys.executable, "-c", "from memfolio.serve.cli import main; main()"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
QUESTION = {"name": "recall", "arguments": {"query": "what was said about bakora"}}


class Host:
    """A host that starts a server and speaks with it line by line."""

    def __init__(self, home: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([*PROGRAM, "--home", str(home), "mcp"], stdin=pipe, stdout=pipe)
        assert self._process.stdin
        assert self._process.stdout
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout

    def ask(self, method: str, params: Any) -> Any:
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return json.loads(self._out.readline())["result"]

    def greet(self) -> None:
        self.ask("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def recall(self) -> int:
        """How many hits a question has, of which every strategy took part."""
        answer = self.ask("tools/call", QUESTION)["structuredContent"]["result"]
        assert not answer["degraded"], answer["degraded"]
        return len(answer["hits"])

    def leave(self) -> None:
        self._in.close()
        assert self._process.wait(30) == 0
        self._out.close()

    def _send(self, message: Any) -> None:
        self._in.write(json.dumps(message).encode() + b"\n")
        self._in.flush()


def bare() -> None:
    subprocess.run([sys.executable, "-c", "import mcp"], check=True)


def one_start(home: Path) -> tuple[float, float]:
    """Seconds until the server answered its host, and until it answered the first question."""
    began = time.perf_counter()
    host = Host(home)
    host.greet()
    greeted = time.perf_counter() - began
    host.recall()
    answered = time.perf_counter() - began
    host.leave()
    return greeted, answered


def filled(folder: Path) -> Path:
    """A home with 100,000 memories and all their vectors."""
    home = folder / "home"
    with Memory.open(home, background=False) as memory:
        rows = turns(MANY)
        for first in range(0, MANY, 5000):
            memory.observe_many(rows[first : first + 5000])
            print(f"\r  preparing: {first + 5000:,} of {MANY:,} turns", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        memory.vault.commit()
        memory.searcher.vectorizer.fill(memory.searcher.index)
    return home


def bench_start(board: Board) -> None:
    """Start and first answer, each beside a bare import of the same moment."""
    with a_folder() as folder:
        home = filled(folder)
        one_start(home)
        pairs = [(timed(bare), *one_start(home)) for _ in range(ROUNDS)]
    floor = f"bare import {statistics.median(each for each, _, _ in pairs) * 1000:,.0f} ms"
    board.show("start", statistics.median(start / least for least, start, _ in pairs), START, note=floor)
    board.show("first recall", statistics.median(end / least for least, _, end in pairs), RECALL, note=floor)


def bench_calls(board: Board) -> None:
    """What the protocol adds to a recall, in a home with few memories."""
    with a_folder() as folder:
        home = folder / "home"
        with Memory.open(home, background=False) as memory:
            memory.observe_many(turns(200))
            memory.searcher.vectorizer.fill(memory.searcher.index)
            memory.recall("what was said")
            ours = timed(lambda: [memory.recall("what was said about bakora") for _ in range(CALLS)])
        host = Host(home)
        host.greet()
        host.recall()
        theirs = timed(lambda: [host.recall() for _ in range(CALLS)])
        host.leave()
    note = f"{CALLS / theirs:,.0f} recalls/s over {CALLS / ours:,.0f} in process"
    board.show("recall over stdio", (theirs - ours) / CALLS * 1000, 8, unit=" ms more a call", note=note)


if __name__ == "__main__":
    sys.exit(run({"start": bench_start, "calls": bench_calls}, sys.argv[1:]))
