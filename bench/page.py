"""What the page costs at its limits: `python -m bench.page`, or `… small`.

First byte of the list and of one memory, the next page of the list, a question beside the same recall in this process,
review and history, and a drawing of 300 nodes in a real browser where there is one.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path

from bench.board import Board, a_folder, run, sentence
from memfolio.memory import Memory
from tests.serve.page.browser import CHROMIUM, Site, chromium, served, signed_in

ROUNDS = 20
NODES = 300
DAYS = 365


def prepare(home: Path, count: int) -> None:
    """A home of so many memories over a year, a tenth of them out of sight in some way, and somebody whom all know."""
    start = datetime.now(UTC) - timedelta(days=DAYS)
    with Memory.open(home, background=False, speaker="owner") as memory:
        for first in range(0, count, 1000):
            turns = [
                {
                    "role": "user" if number % 2 else "assistant",
                    "content": sentence(number),
                    "session": f"s-{number // 20}",
                    "at": start + timedelta(days=DAYS * number / count),
                    "source": "web" if number % 1000 == 7 else None,
                }
                for number in range(first, min(count, first + 1000))
            ]
            memory.observe_many(turns)
        for number in range(200):  # so that the trail has more than a few large changes
            memory.remember(sentence(count + number), tags=["kept"], type="fact")
        names = [f"Person{number}" for number in range(NODES)]
        pages = home / "agents/main/memory/graph/entities"
        pages.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(names):
            others = [names[0] if number else names[1], names[(number * 7 + 1) % NODES]]
            told = "".join(f"- knows: [[person--{each.lower()}]]\n" for each in others)
            text = f"---\ntype: person\n---\n# {name}\n\n## Relations\n{told}"
            (pages / f"person--{name.lower()}.md").write_text(text, encoding="utf-8")
        memory.sync(embed=True)
        memory.vault.commit()


class Client:
    """A browser without a window: keeps its connection and its session."""

    def __init__(self, site: Site, connection: HTTPConnection) -> None:
        self._site, self._connection, self._cookie = site, connection, ""
        answer = self._ask("POST", "/enter", site.page.board.add_key())
        self._cookie = answer.split(";")[0]

    def get(self, path: str) -> tuple[float, str]:
        """How long the first byte took, and the page."""
        began = time.perf_counter()
        body = self._ask("GET", path)
        return time.perf_counter() - began, body

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        host = self._site.address.hosts[0]
        headers = {"Host": host, "Sec-Fetch-Site": "same-origin", "Cookie": self._cookie}
        if method == "POST":
            headers["Origin"] = f"http://{host}"
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, (path, answer.status, text[-500:])
        return answer.headers["set-cookie"] or "" if method == "POST" else text


def p95(times: list[float]) -> float:
    return sorted(times)[max(0, len(times) * 95 // 100 - 1)]


def repeated(client: Client, path: str) -> list[float]:
    client.get(path)
    return [client.get(path)[0] for _ in range(ROUNDS)]


def measure(board: Board, site: Site, name: str) -> None:
    with closing(HTTPConnection("127.0.0.1", site.address.port, timeout=120)) as connection:
        client = Client(site, connection)
        _, page = client.get("/a/main/memories")
        one = re.findall(r'name="id" value="([^"]+)"', page)[5]
        kinds = {"tagged": "tag=kept", "quarantined": "state=quarantined", "corrected": "state=superseded"}
        lists = {what: f"memories?{query}" for what, query in (kinds | {"archived": "state=archived"}).items()}
        for what, path in {"list": "memories", "memory": f"memories/{one}", **lists}.items():
            show(board, client, f"{name}, {what}: first byte p50", path, 50)
        show(board, client, f"{name}, dormant: p50", "memories?state=dormant", 400)
        board.show(f"{name}, next page: p95", p95(walked(client, page)) * 1e3, 50, unit=" ms")
        asked(board, site, client, name)
        for what in ("review", "history"):
            show(board, client, f"{name}, {what}: p50", what, 200)


def show(board: Board, client: Client, what: str, path: str, most: float) -> None:
    """How long a page takes, and how many times as long as a small file, which on a busy machine says more."""
    times, bare = repeated(client, f"/a/main/{path}"), repeated(client, "/static/icon.svg")
    took, least = sorted(times)[ROUNDS // 2], sorted(bare)[ROUNDS // 2]
    board.show(what, took * 1e3, most, unit=" ms", note=f"{took / least:.1f} times a small file")


def walked(client: Client, page: str) -> list[float]:
    """The times of the pages behind the first, far into the past."""
    times = []
    for _ in range(2 * ROUNDS):
        following = re.search(r'href="([^"]+)" rel="next"', page)
        assert following is not None
        took, page = client.get(following[1].replace("&amp;", "&"))
        times.append(took)
    return times


def asked(board: Board, site: Site, client: Client, name: str) -> None:
    """A question on the page beside the same recall in this process, taken in turns."""
    over, bare = [], []
    with site.memory() as memory:
        memory.recall("anything", limit=30)
        client.get("/a/main/memories?q=anything")
        for number in range(ROUNDS):
            question = " ".join(sentence(number * 7).split()[1:6])
            began = time.perf_counter()
            memory.recall(question, limit=30)
            bare.append(time.perf_counter() - began)
            over.append(client.get(f"/a/main/memories?q={question.replace(' ', '+')}")[0])
    more = sorted(after - before for after, before in zip(over, bare, strict=True))[ROUNDS // 2]
    board.show(
        f"{name}, question: more than recall", more * 1e3, 20, unit=" ms", note=f"{sorted(bare)[10] * 1e3:.1f} ms"
    )


def drawn(board: Board, site: Site, name: str) -> None:
    """A drawing of everybody near somebody, from the start of the script to the last place."""
    if CHROMIUM is None:
        print(f"--   {name}, drawing: no browser")
        return
    with chromium() as browser, signed_in(browser, site) as (tab, _):
        tab.goto(site.url("things/person--person0"))
        tab.wait_for_selector("#graph[data-drawn]")
        nodes = int(tab.get_attribute("#graph", "data-drawn") or 0)
        took = tab.evaluate("(() => { const t = performance.now(); draw(); return performance.now() - t })()")
        paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    board.show(f"{name}, drawing of {nodes} nodes", took, 500, unit=" ms", note=f"first paint {paint:.0f} ms")


def bench(count: int) -> Callable[[Board], None]:
    def measured(board: Board) -> None:
        with a_folder() as folder:
            home = folder / "home"
            prepare(home, count)
            with served(home) as site:
                measure(board, site, f"{count:,} memories")
                drawn(board, site, f"{count:,} memories")

    return measured


BENCHES = {"large": bench(100_000), "small": bench(2_000)}


if __name__ == "__main__":
    sys.exit(run(BENCHES, sys.argv[1:]))
