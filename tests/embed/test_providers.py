"""Each provider behind a network, against a server that follows its documented API, and then does not."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.embed.choose import open_embedder
from memfolio.embed.http import DAY, DIALECTS, PROBE, Budget, HttpEmbedder, Spending
from memfolio.errors import EmbedderError
from memfolio.index.vectors import count_pending
from memfolio.text import estimate_tokens
from tests.embed.server import EmbeddingServer, Handler, Vectors, running

KEY = "sk-secret-123"
NAMES = ("openai", "voyage", "gemini", "http")
MODELS = {"openai": "text-embedding-3-small", "voyage": "voyage-4-large", "gemini": "gemini-embedding-001", "http": ""}
VALUE = {"gemini": "values"}


def make(server: EmbeddingServer, name: str, **settings: Any) -> HttpEmbedder:
    wanted: dict[str, Any] = {"key": KEY, "timeout": 5.0} | settings
    return HttpEmbedder(server.address(name), dialect=DIALECTS[name], **wanted)


def failure(embedder: HttpEmbedder, texts: list[str] | None = None) -> str:
    """Message and hint of the EmbedderError that embedding gives; no part of it gives the key away."""
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["tea"] if texts is None else texts)
    assert caught.value.hint
    assert KEY not in f"{caught.value!r} {vars(caught.value)} {embedder._server!r}"
    return f"{caught.value.message} | {caught.value.hint}"


def document(name: str, vectors: Vectors) -> dict[str, Any]:
    return {"embeddings" if name == "gemini" else "data": vectors}


@pytest.mark.parametrize("query", [False, True])
def test_question_to_openai_is_as_documented(server: EmbeddingServer, query: bool) -> None:
    make(server, "openai", dimensions=16).embed(["tea"], query=query)
    assert server.questions[-1] == {"input": ["tea"], "model": "text-embedding-3-small", "dimensions": 16}
    assert server.paths[-1] == "/v1/embeddings"
    assert server.keys[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(("query", "kind"), [(False, "document"), (True, "query")])
def test_question_to_voyage_is_as_documented(server: EmbeddingServer, query: bool, kind: str) -> None:
    make(server, "voyage", dimensions=16).embed(["tea"], query=query)
    assert server.questions[-1] == {
        "input": ["tea"],
        "model": "voyage-4-large",
        "input_type": kind,
        "output_dimension": 16,
    }
    assert server.keys[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(("query", "kind"), [(False, "RETRIEVAL_DOCUMENT"), (True, "RETRIEVAL_QUERY")])
@pytest.mark.parametrize("model", ["", "models/gemini-embedding-001"])
def test_question_to_gemini_is_as_documented(server: EmbeddingServer, query: bool, kind: str, model: str) -> None:
    make(server, "gemini", dimensions=16, model=model).embed(["tea", "coffee"], query=query)
    assert server.questions[-1] == {
        "requests": [
            {
                "model": "models/gemini-embedding-001",
                "content": {"parts": [{"text": text}]},
                "taskType": kind,
                "outputDimensionality": 16,
            }
            for text in ("tea", "coffee")
        ]
    }
    assert server.paths[-1] == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert server.keys[-1] == KEY


def test_name_of_a_model_cannot_lead_to_another_address(server: EmbeddingServer) -> None:
    failure(make(server, "gemini", model="../../x?y=1#z"))
    assert server.paths == ["/v1beta/models/..%2F..%2Fx%3Fy%3D1%23z:batchEmbedContents"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("openai", "https://api.openai.com/v1/embeddings"),
        ("voyage", "https://api.voyageai.com/v1/embeddings"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents"),
    ],
)
def test_provider_has_an_address_of_its_own_and_wants_a_key_there(home: Path, name: str, address: str) -> None:
    embedder = open_embedder(load_config(home, environ={}, overrides={"embedding_provider": name}))
    assert isinstance(embedder, HttpEmbedder)
    said = failure(embedder)
    assert said.startswith(f"{address} needs a key, and {name.upper()}_API_KEY is not set")
    assert f"set {name.upper()}_API_KEY or MEMFOLIO_EMBEDDING_KEY" in said


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_the_server_in_batches_of_the_size_that_is_set(server: EmbeddingServer, name: str) -> None:
    texts = [f"text {number}" for number in range(25)]
    rows = make(server, name, batch=10).embed(["", *texts])
    assert [len(each) for each in server.texts] == [1, 10, 10, 5]
    assert not rows[0].any()
    assert np.allclose(rows[1:], server.embedder.embed(texts), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_dimensions_are_asked_for_and_part_of_the_identity(server: EmbeddingServer, name: str) -> None:
    whole, half = make(server, name), make(server, name, dimensions=24)
    assert whole.identity.text.startswith(f"{name}/{MODELS[name] or 'default'}/48/")
    assert half.identity.text.startswith(f"{name}/{MODELS[name] or 'default'}/24/")
    assert half.embed(["tea"]).shape == (1, 24)
    assert np.linalg.norm(half.embed(["tea"])[0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_server_that_ignores_the_dimensions_is_not_believed(server: EmbeddingServer, name: str) -> None:
    server.change = lambda vectors: document(name, [{VALUE.get(name, "embedding"): [0.5] * 48} for _ in vectors])
    assert "a vector of 48 numbers in place of 24" in failure(make(server, name, dimensions=24))


def odd(name: str, value: object) -> Callable[[Vectors], Any]:
    field = VALUE.get(name, "embedding")
    return lambda vectors: document(name, [{**vector, field: value} for vector in vectors])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([float("nan")] * 48, "not finite"),
        ([1.0] * 47, "47 numbers in place of 48"),
        ([True] * 48, "not a list of numbers"),
        ("AAAA", "not a list of numbers"),
        (None, "not a list of numbers"),
    ],
)
def test_odd_vector_is_an_error(server: EmbeddingServer, name: str, value: object, said: str) -> None:
    embedder = make(server, name)
    assert embedder.identity.dimension == 48
    server.change = odd(name, value)
    assert said in failure(embedder, ["tea", "coffee"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda vectors: vectors[1:], "1 vectors for 2 texts"),
        (lambda vectors: vectors * 2, "4 vectors for 2 texts"),
        (lambda vectors: None, "no list of vectors"),
        (lambda vectors: [vector["values" if "values" in vector else "embedding"] for vector in vectors], "no list of"),
    ],
)
def test_wrong_count_is_an_error(
    server: EmbeddingServer, name: str, change: Callable[[Vectors], Any], said: str
) -> None:
    embedder = make(server, name)
    assert embedder.identity.dimension == 48
    server.change = lambda vectors: document(name, change(vectors))
    assert said in failure(embedder, ["tea", "coffee"])


@pytest.mark.parametrize("name", ["openai", "voyage", "http"])
def test_vectors_in_any_order_find_their_texts(server: EmbeddingServer, name: str) -> None:
    server.change = lambda vectors: document(name, vectors[::-1])
    texts = ["tea", "coffee", "water"]
    assert np.allclose(make(server, name).embed(texts), server.embedder.embed(texts), atol=1e-6)


def cut(handler: Handler) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def dripping(handler: Handler) -> bool:
    handler.send_response(200)
    handler.end_headers()
    return handler.drip(b" " * 20, 0.1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (lambda handler: handler.send_bytes(200, b"{"), "did not answer with JSON"),
        (lambda handler: handler.send_bytes(200, b"<html>sign in</html>"), "did not answer with JSON"),
        (lambda handler: handler.send_bytes(200, b" " * 200_000), "more than 100,000 bytes"),
        (lambda handler: handler.send_json(400, {"error": {"message": f"bad {KEY}"}}), "answered 400: bad …"),
        (lambda handler: handler.send_json(400, {"detail": "Model voyage-9 is not supported"}), "400: Model voyage-9"),
        (lambda handler: handler.send_json(403, {"error": KEY}), "the key is missing or not accepted"),
        (cut, "cannot be reached"),
        (dripping, "did not answer within 0.5 seconds"),
    ],
)
def test_bad_answer_is_an_error_that_says_so(
    server: EmbeddingServer, name: str, behaviour: Callable[[Handler], bool], said: str
) -> None:
    server.before = behaviour
    assert said in failure(make(server, name, timeout=0.5, max_bytes=100_000))
    assert len(server.questions) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [301, 307, 308])
def test_redirect_is_not_followed_and_the_key_stays(server: EmbeddingServer, name: str, status: int) -> None:
    with running() as other:
        server.before = lambda handler: handler.send_bytes(status, b"", Location=other.root + handler.path)
        assert f"answered {status}, a redirect" in failure(make(server, name))
        assert other.questions == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_server_is_asked_twice_more_and_no_oftener(server: EmbeddingServer, name: str, status: int) -> None:
    server.before = lambda handler: handler.send_json(status, {"error": {"message": "too\nmuch"}})
    assert f"answered {status}: too much | try again later" in failure(make(server, name))
    assert len(server.questions) == 3


@pytest.mark.serial
@pytest.mark.parametrize("name", NAMES)
def test_busy_server_is_waited_for_as_long_as_it_asks(server: EmbeddingServer, name: str) -> None:
    embedder = make(server, name)
    server.before = lambda handler: len(server.questions) == 1 and handler.send_bytes(429, b"{}", Retry_After="1")
    start = time.monotonic()
    assert embedder.embed(["tea"]).any()
    assert 1 <= time.monotonic() - start < 3
    assert server.texts == [[PROBE], [PROBE], ["tea"]]


@pytest.mark.serial
@pytest.mark.parametrize("after", ["60", "9" * 5000])
def test_server_that_wants_to_be_left_alone_for_long_is(server: EmbeddingServer, after: str) -> None:
    embedder = make(server, "openai")
    server.before = lambda handler: handler.send_bytes(429, b"{}", Retry_After=after)
    start = time.monotonic()
    assert failure(embedder) == failure(embedder)
    assert time.monotonic() - start < 1
    assert len(server.questions) == 1


@pytest.mark.parametrize("after", ["-1", "soon", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_wish_to_come_back_that_is_no_number_is_overlooked(server: EmbeddingServer, after: str) -> None:
    server.before = lambda handler: len(server.questions) == 1 and handler.send_bytes(429, b"{}", Retry_After=after)
    assert make(server, "openai").embed(["tea"]).any()


@pytest.mark.parametrize("batch", [30, 100])
def test_budget_is_kept_and_what_was_paid_for_within_it_is_not_lost(
    home: Path, server: EmbeddingServer, batch: int
) -> None:
    embedder = make(server, "openai", budget=3000, batch=batch, model=f"kept-{batch}")
    texts = [f"memory {number:03} " + "tea " * 9 for number in range(300)]
    with Memory.open(home, embedder=embedder, background=False) as memory:
        memory.observe_many([{"role": "user", "content": text} for text in texts])
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert sum(map(estimate_tokens, chain(*server.texts))) == pytest.approx(3000, abs=12)
        assert memory.searcher.index.read(count_pending) == 1 + 300 - sum(map(len, server.texts))
        hits = memory.recall("memory 299 tea")
        assert hits[0].memory.content == texts[299].strip()
        assert hits.degraded[0].startswith("vectors: the embedding budget is used up")
    asked = sum(map(len, server.texts))
    with Memory.open(home, embedder=make(server, "openai", model=f"kept-{batch}"), background=False) as memory:
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert sum(map(len, server.texts)) == 1 + 1 + 300
        assert asked > 240


def test_budget_of_a_day_comes_back_with_the_next() -> None:
    now = 0.0
    budget = Budget(10, Spending(now=lambda: now))
    budget.spend(["x" * 36])
    with pytest.raises(EmbedderError, match="9 of 10 tokens are spent") as caught:
        budget.spend(["x" * 8])
    assert "raise embedding.budget" in caught.value.hint
    budget.spend(["x"])
    now = DAY
    budget.spend(["x" * 40])


def test_budget_pays_for_as_many_texts_as_it_has_room_for() -> None:
    budget = Budget(10)
    assert budget.spend(["x" * 12] * 5) == 3
    assert budget.spend(["x" * 4, "x" * 4]) == 1
    with pytest.raises(EmbedderError, match="10 of 10 tokens are spent, and the next text has 1"):
        budget.spend(["x"])
    assert Budget(0).spend(["x" * 1000] * 5) == 5


def test_embedders_of_one_process_share_the_budget_for_a_model(server: EmbeddingServer) -> None:
    first, second, other = (make(server, "openai", budget=200, model=model) for model in ("one", "one", "two"))
    with pytest.raises(EmbedderError, match="used up"):
        first.embed(["x" * 40] * 30)
    assert "used up" in failure(second)
    assert other.embed(["tea"]).any()


def test_threads_do_not_spend_more_than_the_budget_together(server: EmbeddingServer) -> None:
    def work(number: int) -> None:
        with suppress(EmbedderError):
            make(server, "openai", budget=1000, model="threads").embed([f"{number} " + "x" * 38] * 30)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert 980 <= sum(map(estimate_tokens, chain(*server.texts))) <= 1000


def test_question_is_sent_as_a_question_and_a_memory_as_a_document(home: Path, server: EmbeddingServer) -> None:
    with Memory.open(home, embedder=make(server, "voyage"), background=False) as memory:
        memory.remember("Alex drinks tea")
        memory.searcher.vectorizer.fill(memory.searcher.index)
        hits = memory.recall("what does Alex drink?")
        assert "vector" in {reason.strategy for reason in hits[0].why}
    kinds = {texts[0]: question["input_type"] for texts, question in zip(server.texts, server.questions, strict=True)}
    assert kinds.pop(PROBE) == "document"
    assert sorted(kinds.values()) == ["document", "query"]
    assert kinds["Alex drinks tea"] == "document"
