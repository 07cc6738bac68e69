"""memfolio beside other stores, in one run: `python -m bench.peers [CASES.jsonl]`.

All get the same texts and the same ready vectors, of memfolio's own local embedder; memfolio makes its vectors itself,
which is part of its times. They take turns with each single text and each question, so that whatever else the machine
does meets all of them; bulk loads and cold starts come one after the other.

A peer that is not installed is named and left out. Without a file of cases (see docs/bench.md) the
texts are made up.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from bench.board import a_folder, peak_megabytes, sentence, timed
from memfolio.bench.retrieval import any_word, observed, read_cases, within
from memfolio.embed.local import LocalEmbedder
from memfolio.memory import Memory

SINGLE = 200
"""How many texts are added one by one, behind the others."""
ASKED = 200
FIRST = 10
MADE_UP = 2000
INSTALL = "pip install 'memfolio[peers]'"


class Text(NamedTuple):
    """A text to keep, its vector, and how memfolio is told of it."""

    id: str
    words: str
    vector: list[float]
    turn: Mapping[str, object]


class Asked(NamedTuple):
    """A question, its vector, and the ids of the texts that answer it."""

    words: str
    vector: list[float]
    gold: frozenset[str]


class Peer(ABC):
    """A store that keeps texts in a folder and finds them again."""

    package = ""
    """What has to be installed."""

    @abstractmethod
    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        """`vectors` are those of all texts and questions, for stores that ask for them."""

    @classmethod
    def missing(cls) -> str | None:
        """What has to be done before it can be measured; None where it can."""
        return None if version_of(cls) else f"{INSTALL}, or pip install {cls.package}"

    @abstractmethod
    def add(self, texts: Sequence[Text]) -> None:
        """Keep these texts: found from now on."""

    @abstractmethod
    def find(self, asked: Asked) -> list[str]:
        """The ids of the first hits."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the files."""


class Memfolio(Peer):
    package = "memfolio"

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        os.environ["MEMFOLIO_CACHE"] = str(folder / "cache")
        self._memory = Memory.open(folder / "home")

    def add(self, texts: Sequence[Text]) -> None:
        self._memory.observe_many({**text.turn, "attributes": {"id": text.id}} for text in texts)
        if len(texts) > 1:
            self._memory.sync(embed=True)

    def find(self, asked: Asked) -> list[str]:
        # What it has learned from a turn meanwhile has no id, and counts as not found.
        return [str(hit.memory.attributes.get("id")) for hit in self._memory.recall(asked.words, limit=FIRST)]

    def close(self) -> None:
        self._memory.close()


class PlainFts5(Peer):
    """One table and nothing else: each change is synced to the disk, and meaning is not compared."""

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        self._db = sqlite3.connect(folder / "plain.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = wal")
        self._db.execute("PRAGMA synchronous = full")
        columns = "id UNINDEXED, words, tokenize='porter unicode61 remove_diacritics 2'"
        self._db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 ({columns})")

    def add(self, texts: Sequence[Text]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO texts VALUES (?, ?)", [(text.id, text.words) for text in texts])
        self._db.execute("COMMIT")

    def find(self, asked: Asked) -> list[str]:
        sql = "SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        return [found for (found,) in self._db.execute(sql, (any_word(asked.words), FIRST))]

    def close(self) -> None:
        self._db.close()


class LangGraph(Peer):
    package = "langgraph-checkpoint-sqlite"

    @classmethod
    def missing(cls) -> str | None:
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            return "use a Python whose sqlite3 loads extensions"
        return super().missing()

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        store: Any = import_module("langgraph.store.sqlite").SqliteStore
        self._put: Any = import_module("langgraph.store.base").PutOp
        self._open = ExitStack()
        index = {"dims": len(next(iter(vectors.values()))), "embed": _lookup(vectors)}
        self._store = self._open.enter_context(store.from_conn_string(str(folder / "store.db"), index=index))
        self._store.setup()

    def add(self, texts: Sequence[Text]) -> None:
        self._store.batch([self._put(("texts",), text.id, {"words": text.words}, ["words"]) for text in texts])

    def find(self, asked: Asked) -> list[str]:
        return [hit.key for hit in self._store.search(("texts",), query=asked.words, limit=FIRST)]

    def close(self) -> None:
        self._open.close()


class Mem0(Peer):
    """With its default store, and without a language model that would rewrite the texts (`infer=False`)."""

    package = "mem0ai"

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "unused"}
        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": len(next(iter(vectors.values()))),
        }
        self._memory: Any = import_module("mem0").Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Mem0Embedder(vectors)

    def add(self, texts: Sequence[Text]) -> None:
        for text in texts:
            self._memory.add(text.words, user_id="somebody", metadata={"number": text.id}, infer=False)

    def find(self, asked: Asked) -> list[str]:
        found = self._memory.search(asked.words, filters={"user_id": "somebody"}, top_k=FIRST)
        return [hit["metadata"]["number"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class _Mem0Embedder:
    """What mem0 asks for vectors."""

    def __init__(self, vectors: Mapping[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._vectors[text]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


class Chroma(Peer):
    package = "chromadb"
    most = 5000
    """Texts that it takes at once."""

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        chromadb: Any = import_module("chromadb")
        client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        self._texts = client.get_or_create_collection("texts", embedding_function=None)

    def add(self, texts: Sequence[Text]) -> None:
        for start in range(0, len(texts), self.most):
            some = texts[start : start + self.most]
            self._texts.add(
                ids=[text.id for text in some],
                documents=[text.words for text in some],
                embeddings=[text.vector for text in some],
            )

    def find(self, asked: Asked) -> list[str]:
        found = self._texts.query(query_embeddings=[asked.vector], n_results=FIRST)
        return list(found["ids"][0])

    def close(self) -> None:
        """It closes when the process ends."""


class LanceDb(Peer):
    package = "lancedb"

    def __init__(self, folder: Path, vectors: Mapping[str, list[float]]) -> None:
        pyarrow: Any = import_module("pyarrow")
        vector = pyarrow.list_(pyarrow.float32(), len(next(iter(vectors.values()))))
        schema = pyarrow.schema([("id", pyarrow.string()), ("words", pyarrow.string()), ("vector", vector)])
        self._table = import_module("lancedb").connect(folder).create_table("texts", schema=schema, exist_ok=True)

    def add(self, texts: Sequence[Text]) -> None:
        self._table.add([{"id": text.id, "words": text.words, "vector": text.vector} for text in texts])

    def find(self, asked: Asked) -> list[str]:
        found = self._table.search(asked.vector).select(["id", "_distance"]).limit(FIRST).to_list()
        return [hit["id"] for hit in found]

    def close(self) -> None:
        """It keeps nothing open."""


PEERS: dict[str, type[Peer]] = {
    "memfolio": Memfolio,
    "plain FTS5": PlainFts5,
    "LangGraph SqliteStore": LangGraph,
    "mem0": Mem0,
    "Chroma": Chroma,
    "LanceDB": LanceDb,
}


def _lookup(vectors: Mapping[str, list[float]]) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: [vectors[text] for text in texts]


def version_of(peer: type[Peer]) -> str | None:
    """The installed version; None where the package is missing."""
    if not peer.package:
        return sqlite3.sqlite_version
    try:
        return metadata.version(peer.package)
    except metadata.PackageNotFoundError:
        from memfolio import __version__

        return __version__ if peer is Memfolio else None


def material(path: Path | None) -> tuple[list[Text], list[Asked]]:
    """The texts of all cases of a file, as if they were one conversation, and some of the questions."""
    texts, asked = list(_made_up() if path is None else _of_cases(path)), list[tuple[str, frozenset[str]]]()
    turns = [turn for turn, _ in texts]
    for _, questions in texts:
        asked += questions
    asked = asked[:: max(1, len(asked) // ASKED)][:ASKED]
    embed = LocalEmbedder().embed
    vectors = embed([str(turn["content"]) for turn in turns]).tolist()
    wanted = embed([words for words, _ in asked], query=True).tolist()
    kept = [
        Text(str(nth), f"{turn['role']}: {turn['content']}", vector, turn)
        for nth, (turn, vector) in enumerate(zip(turns, vectors, strict=True))
    ]
    return kept, [Asked(words, vector, gold) for (words, gold), vector in zip(asked, wanted, strict=True)]


Told = tuple[Mapping[str, object], list[tuple[str, frozenset[str]]]]
"""A turn, and the questions that stand behind it."""


def _of_cases(path: Path) -> Iterator[Told]:
    first = 0
    for nth, case in enumerate(read_cases(path)):
        places = {turn.id: str(first + place) for place, turn in enumerate(case.turns)}
        questions = [
            (question.text, frozenset(places[gold] for gold in question.gold if gold in places))
            for question in case.questions
            if not question.by_session
        ]
        for number, turn in enumerate(case.turns):
            told = observed(number, turn)
            told["session"] = f"{nth}-{told.get('session') or ''}"
            yield told, [each for each in questions if each[1]] if number + 1 == len(case.turns) else []
        first += len(case.turns)


def _made_up() -> Iterator[Told]:
    for number in range(MADE_UP):
        words = sentence(number)
        asked = " ".join(words.split()[3:8])
        yield {"role": "user", "content": words, "session": f"s-{number // 40}"}, [(asked, frozenset([str(number)]))]


class Result(NamedTuple):
    """What was measured of one peer."""

    adds: float
    bulk: float
    query_ms: float
    query_p95_ms: float
    found: float
    cold_s: float
    memory_mb: float
    disk_mb: float


HEADS = ("adds/s", "bulk/s", "query ms", "p95 ms", "found@10", "cold s", "memory MB", "disk MB")


def measure(folder: Path, names: Sequence[str], texts: Sequence[Text], asked: Sequence[Asked]) -> dict[str, Result]:
    """Everything about these peers; with each step they take turns, and the first one changes."""
    vectors = {text.words: text.vector for text in texts} | {each.words: each.vector for each in asked}
    (folder / "asked.json").write_text(json.dumps(asked[0][:2]))
    homes = {name: folder / str(nth) for nth, name in enumerate(names)}
    for home in homes.values():
        home.mkdir()
    peers = {name: PEERS[name](homes[name], vectors) for name in names}
    most, rest = texts[: -min(SINGLE, len(texts) // 2)], texts[-min(SINGLE, len(texts) // 2) :]
    bulk = {name: timed(lambda peer=peer: peer.add(most)) for name, peer in peers.items()}  # type: ignore[misc]
    adds: dict[str, list[float]] = {name: [] for name in names}
    queries: dict[str, list[float]] = {name: [] for name in names}
    shares: dict[str, list[float]] = {name: [] for name in names}
    for nth, text in enumerate(rest):
        for name in _in_turn(names, nth):
            adds[name].append(timed(lambda name=name, text=text: peers[name].add([text])))  # type: ignore[misc]
    for each in asked[:3]:  # nobody's first question counts
        for peer in peers.values():
            peer.find(each)
    for nth, each in enumerate(asked):
        for name in _in_turn(names, nth):
            began = time.perf_counter()
            ids = peers[name].find(each)
            queries[name].append(time.perf_counter() - began)
            shares[name].append(len(each.gold.intersection(ids)) / len(each.gold))
    for peer in peers.values():
        peer.close()
    found = {}
    for name in names:
        cold, memory = _cold(name, homes[name], folder / "asked.json")
        found[name] = Result(
            adds=1 / statistics.median(adds[name]),
            bulk=len(most) / bulk[name],
            query_ms=within(queries[name], 0.5),
            query_p95_ms=within(queries[name], 0.95),
            found=statistics.fmean(shares[name]),
            cold_s=cold,
            memory_mb=memory,
            disk_mb=_bytes_in(homes[name]) / 1e6,
        )
    return found


def _in_turn(names: Sequence[str], nth: int) -> list[str]:
    start = nth % len(names)
    return [*names[start:], *names[:start]]


def _cold(name: str, home: Path, question: Path) -> tuple[float, float]:
    """Seconds until a new process has answered a question, and the most memory it had, in megabytes; of three."""
    command = [sys.executable, "-m", "bench.peers", "cold", name, str(home), str(question)]
    times, peak = [], 0.0
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        times.append(time.perf_counter() - began)
        peak = max(peak, float(done.stdout.split()[-1]))
    return statistics.median(times), peak


def answer_once(name: str, home: Path, question: Path) -> None:
    """What a cold process does."""
    words, vector = json.loads(question.read_text())
    peer = PEERS[name](home, {words: vector})
    if not peer.find(Asked(words, vector, frozenset())):
        raise SystemExit(f"{name} found nothing")
    print(peak_megabytes(), flush=True)
    os._exit(0)  # what a peer does at its end is not part of an answer


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["cold"]:
        answer_once(arguments[1], *map(Path, arguments[2:4]))
    missing = {name: peer.missing() for name, peer in PEERS.items()}
    names = [name for name, remedy in missing.items() if remedy is None]
    for name, remedy in missing.items():
        if remedy:
            print(f"{name} is left out: {remedy}", file=sys.stderr)
    texts, asked = material(Path(arguments[0]) if arguments else None)
    print(f"{len(texts):,} texts, {len(asked)} questions; {len(texts[0].vector)} numbers a vector\n")
    with a_folder() as folder:
        found = measure(folder, names, texts, asked)
    print(f"| | version | {' | '.join(HEADS)} |\n|---|---|{'---|' * len(HEADS)}")
    for name, result in found.items():
        shown = f"{result.adds:,.0f} | {result.bulk:,.0f} | {result.query_ms:.2f} | {result.query_p95_ms:.2f}"
        shown += f" | {result.found:.3f} | {result.cold_s:.2f} | {result.memory_mb:,.0f} | {result.disk_mb:.1f}"
        print(f"| {name} | {version_of(PEERS[name])} | {shown} |")


if __name__ == "__main__":
    main(sys.argv[1:])
