"""What recall costs over HTTP, beside the same questions in this process: `python -m bench.http`, or `… small`."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from bench.board import Board, a_folder, run, sentence
from bench.verbs import turns
from memfolio.memory import Memory
from memfolio.serve.tokens import Tokens

CLIENTS = 8
ROUNDS, TURNS = 8, 12
"""Questions of each client in a turn; the two take turns, so that what else the machine does hits both alike."""
SERVE = (
    "import sys; from memfolio.serve.cli.call import Options; from memfolio.serve.cli.world import serve; "
    "serve(Options(home=sys.argv[1]), port=0)"
)
Ask = Callable[[str], int]


def question(number: int) -> str:
    return " ".join(sentence(number * 7).split()[1:6])


def prepare(home: Path, count: int) -> str:
    """A home of so many turns, with their vectors; the secret of a token for it."""
    with Memory.open(home, background=False) as memory:
        rows = turns(count)
        for first in range(0, count, 1000):
            memory.observe_many(rows[first : first + 1000])
        memory.vault.commit()
        memory.searcher.vectorizer.fill(memory.searcher.index)
        return Tokens(memory.vault.home).create("bench", "main", "read", now=memory.vault.home.now())[1]


@contextmanager
def server(home: Path) -> Iterator[int]:
    """The port of a server in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", SERVE, str(home)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = re.search(r":(\d+) serves", process.stderr.readline())
        assert told is not None
        try:
            yield int(told[1])
        finally:
            process.terminate()


def over_http(port: int, secret: str, connections: ExitStack) -> Ask:
    """A client with a connection of its own."""
    connection = connections.enter_context(closing(HTTPConnection("127.0.0.1", port, timeout=60)))
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def ask(query: str) -> int:
        connection.request("POST", "/v1/recall", json.dumps({"query": query}), headers)
        return len(json.loads(connection.getresponse().read())["result"]["hits"])

    return ask


def rate(asks: list[Ask]) -> tuple[float, list[float]]:
    """Answers a second by so many askers at once, and the seconds that each answer took."""

    def live(place: int) -> list[float]:
        took = []
        for number in range(ROUNDS):
            began = time.perf_counter()
            assert asks[place](question(place * ROUNDS + number))
            took.append(time.perf_counter() - began)
        return took

    with ThreadPoolExecutor(len(asks)) as pool:
        began = time.perf_counter()
        all_took = [each for took in pool.map(live, range(len(asks))) for each in took]
        return len(all_took) / (time.perf_counter() - began), sorted(all_took)


def rate_over_http(port: int, secret: str, clients: int) -> tuple[float, list[float]]:
    with ExitStack() as connections:
        return rate([over_http(port, secret, connections) for _ in range(clients)])


def measure(board: Board, home: Path, secret: str, name: str) -> None:
    """One client and many, each against as many threads of this process, taken in turns."""
    with server(home) as port, Memory.open(home) as memory:
        for clients in (1, CLIENTS):
            near: list[Ask] = [lambda query: len(memory.recall(query))] * clients
            pairs = [(rate(near)[0], rate_over_http(port, secret, clients)) for _ in range(TURNS + 1)][1:]
            share = statistics.median(over / bare for bare, (over, _) in pairs)
            took = sorted(each for _, (_, times) in pairs for each in times)
            over, bare = (
                statistics.median(each) for each in zip(*((far, near) for near, (far, _) in pairs), strict=True)
            )
            note = f"{over:,.0f}/s over {bare:,.0f}/s"
            board.show(f"{name}, {clients} at once: rate", share, 0.6, most=False, note=note)
            if clients > 1:  # one client asks too few questions for the slowest hundredth to be more than one of them
                p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
                told = f"{p99 * 1e3:.1f} and {p50 * 1e3:.1f} ms"
                board.show(f"{name}, {clients} at once: p99 over p50", p99 / p50, 5, note=told)


def bench(count: int) -> Callable[[Board], None]:
    def measured(board: Board) -> None:
        with a_folder() as folder:
            measure(board, folder / "home", prepare(folder / "home", count), f"{count:,} memories")

    return measured


BENCHES = {"large": bench(100_000), "small": bench(10_000)}


if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
