"""The embedder that asks a server: what it sends, and what it makes of every bad answer."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfolio.embed.embedder import HashedEmbedder
from memfolio.embed.http import MAX_BATCH, MAX_TEXT, PROBE, HttpEmbedder
from memfolio.embed.post import JsonServer
from memfolio.errors import EmbedderError
from tests.embed.server import EmbeddingServer, Handler, Vectors, running

KEY = "sk-secret-123"


def make(server: EmbeddingServer, **settings: Any) -> HttpEmbedder:
    wanted: dict[str, Any] = {"model": "test", "key": KEY, "timeout": 5.0} | settings
    return HttpEmbedder(server.url, **wanted)


def failure(embedder: HttpEmbedder, texts: list[str] | None = None) -> str:
    """Message and hint of the EmbedderError that embedding gives; no part of it gives the key away."""
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["tea"] if texts is None else texts)
    error: BaseException | None = caught.value
    assert caught.value.hint
    while error:
        assert KEY not in f"{error!r} {error} {vars(error)}"
        error = error.__cause__
    return f"{caught.value.message} | {caught.value.hint}"


def test_question_holds_model_texts_and_key(server: EmbeddingServer) -> None:
    make(server).embed(["tea", "coffee"])
    assert server.questions == [{"input": [PROBE], "model": "test"}, {"input": ["tea", "coffee"], "model": "test"}]
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.paths == ["/v1/embeddings"] * 2


def test_without_key_and_model_none_is_sent(server: EmbeddingServer) -> None:
    make(server, key="", model="").embed(["tea"])
    assert server.keys == [None, None]
    assert all("model" not in question for question in server.questions)


@pytest.mark.parametrize("ending", ["/", "/embeddings", "/embeddings/"])
def test_address_may_end_in_more_than_it_has_to(server: EmbeddingServer, ending: str) -> None:
    HttpEmbedder(server.url + ending).embed(["tea"])
    assert set(server.paths) == {"/v1/embeddings"}


def test_texts_are_sent_in_batches_and_blank_ones_not_at_all(server: EmbeddingServer) -> None:
    rows = make(server).embed(["", *(f"text {n}" for n in range(105)), " \n", " " * MAX_TEXT * 2])
    assert [len(texts) for texts in server.texts] == [1, 100, 5]
    assert not rows[0].any()
    assert not rows[-2:].any()
    assert np.allclose(rows[1:-2], server.embedder.embed([f"text {n}" for n in range(105)]), atol=1e-6)


def test_long_texts_are_sent_fewer_at_once(server: EmbeddingServer) -> None:
    make(server).embed(["x" * MAX_TEXT] * 30)
    assert [len(texts) for texts in server.texts] == [1, 12, 12, 6]
    assert all(sum(map(len, texts)) <= MAX_BATCH for texts in server.texts)


@pytest.mark.parametrize("letter", ["x", "é", "東", "😀"])
def test_long_text_is_cut_between_characters_before_it_is_sent(server: EmbeddingServer, letter: str) -> None:
    make(server).embed(["-" + letter * MAX_TEXT])
    assert server.texts[-1] == ["-" + letter * ((MAX_TEXT - 1) // len(letter.encode()))]


def test_half_a_character_is_replaced_before_it_is_sent(server: EmbeddingServer) -> None:
    make(server).embed(["a\ud800b"])
    assert server.texts[-1] == ["a?b"]


def test_vectors_in_any_order_find_their_texts(server: EmbeddingServer) -> None:
    server.change = lambda vectors: {"data": vectors[::-1]}
    texts = ["tea", "coffee", "water"]
    assert np.allclose(make(server).embed(texts), server.embedder.embed(texts), atol=1e-6)


def test_vectors_without_numbering_are_taken_as_they_come(server: EmbeddingServer) -> None:
    server.change = lambda vectors: {"data": [{"embedding": vector["embedding"]} for vector in vectors]}
    texts = ["tea", "coffee"]
    assert np.allclose(make(server).embed(texts), server.embedder.embed(texts), atol=1e-6)


def test_vectors_of_any_length_become_unit_vectors(server: EmbeddingServer) -> None:
    scales = iter([1e300, 1e-300])
    server.change = lambda vectors: {"data": scaled(vectors, next(scales))}
    assert np.allclose(make(server).embed(["tea"]), server.embedder.embed(["tea"]), atol=1e-6)


def scaled(vectors: Vectors, factor: float) -> Vectors:
    return [vector | {"embedding": [number * factor for number in vector["embedding"]]} for vector in vectors]


def test_identity_is_asked_for_once(server: EmbeddingServer) -> None:
    embedder = make(server)
    assert embedder.identity == embedder.identity
    embedder.embed([])
    assert server.texts == [[PROBE]]
    assert embedder.identity.text.startswith("http/test/48/")


def test_other_model_under_the_same_name_is_noticed(server: EmbeddingServer) -> None:
    first = make(server).identity
    server.change = lambda vectors: {"data": [v | {"embedding": v["embedding"][::-1]} for v in vectors]}
    second = make(server).identity
    assert (first.model, first.dimension) == (second.model, second.dimension)
    assert not second.matches(first.text)


def test_server_whose_last_digits_vary_keeps_its_identity(server: EmbeddingServer) -> None:
    server.embedder = HashedEmbedder(1024)
    noise = np.random.default_rng(7)

    def blur(vectors: Vectors) -> Any:
        return {
            "data": [v | {"embedding": list(np.array(v["embedding"]) + noise.normal(0, 1e-5, 1024))} for v in vectors]
        }

    server.change = solid
    first = make(server).identity
    server.change = lambda vectors: blur(solid(vectors)["data"])
    assert all(make(server).identity.matches(first.text) for _ in range(20))


def solid(vectors: Vectors) -> Any:
    """Vectors as a model gives them: no number is exactly zero."""
    return {"data": [v | {"embedding": np.random.default_rng(1).normal(0, 0.03, 1024).tolist()} for v in vectors]}


def test_identity_is_asked_for_again_after_a_failure(server: EmbeddingServer) -> None:
    embedder = make(server)
    server.before = lambda handler: handler.send_json(400, {})
    failure(embedder)
    server.before = lambda _: False
    assert embedder.identity.dimension == 48


def test_server_that_is_down_is_said_to_be(server: EmbeddingServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    said = failure(HttpEmbedder(url, key=KEY))
    assert f"{url}/embeddings cannot be reached" in said
    assert "start the server" in said


def test_name_that_no_machine_has_is_an_error() -> None:
    assert "cannot be reached" in failure(HttpEmbedder("http://no-such-machine.invalid", key=KEY))


def slow(handler: Handler) -> bool:
    time.sleep(1.5)
    return True


def dripping_head(handler: Handler) -> bool:
    return handler.drip(b"HTTP/1.1 200 OK\r\nX-Slow: yes\r\n", 0.1)


def dripping_body(handler: Handler) -> bool:
    handler.send_response(200)
    handler.end_headers()
    return handler.drip(b" " * 30, 0.1)


@pytest.mark.serial
@pytest.mark.parametrize("behaviour", [slow, dripping_head, dripping_body])
def test_slow_server_is_given_up_in_time(server: EmbeddingServer, behaviour: Callable[[Handler], bool]) -> None:
    server.before = behaviour
    start = time.monotonic()
    assert "did not answer within 0.5 seconds" in failure(make(server, timeout=0.5))
    assert time.monotonic() - start < 1.3


@pytest.mark.serial
def test_silent_server_is_left_alone_for_a_while_and_then_asked_again(server: EmbeddingServer) -> None:
    embedder = make(server, timeout=0.3, rest=1.0)
    server.before = slow
    first = failure(embedder)
    start = time.monotonic()
    assert failure(embedder) == first
    assert time.monotonic() - start < 0.2
    assert len(server.questions) == 1
    server.before = lambda _: False
    time.sleep(1.0)
    assert embedder.embed(["tea"]).any()


def test_connection_that_breaks_off_is_an_error(server: EmbeddingServer) -> None:
    def hang_up(handler: Handler) -> bool:
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    server.before = hang_up
    assert "cannot be reached" in failure(make(server))


def test_server_that_was_busy_once_is_not_a_failure(server: EmbeddingServer) -> None:
    server.before = lambda handler: len(server.questions) == 1 and handler.send_json(429, {})
    assert make(server).embed(["tea"]).any()
    assert server.texts == [[PROBE], [PROBE], ["tea"]]


def test_error_of_the_server_is_passed_on_without_the_key(server: EmbeddingServer) -> None:
    words = {"error": {"message": f"no model for {KEY}\x1b[31m"}}
    server.before = lambda handler: handler.send_json(404, words)
    assert "answered 404: no model for … [31m" in failure(make(server))
    assert len(server.questions) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_missing_key_is_said_to_be(server: EmbeddingServer, status: int) -> None:
    server.before = lambda handler: handler.send_json(status, {"error": {"message": KEY}})
    assert "MEMFOLIO_EMBEDDING_KEY" in failure(make(server))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed_and_the_key_not_carried_on(server: EmbeddingServer, status: int) -> None:
    with running() as other:
        server.before = lambda handler: handler.send_bytes(status, b"", Location=f"{other.url}/embeddings")
        assert f"answered {status}, a redirect" in failure(make(server))
        assert other.questions == []


def test_body_without_end_is_cut_off(server: EmbeddingServer) -> None:
    server.before = lambda handler: handler.send_bytes(200, b" " * 3_000_000)
    assert "more than 1,000,000 bytes" in failure(make(server, max_bytes=1_000_000))


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe", b"[" * 200_000, b'{"data": [' + b"9" * 5000 + b"]}"])
def test_answer_that_is_not_json_is_an_error(server: EmbeddingServer, body: bytes) -> None:
    server.before = lambda handler: handler.send_bytes(200, body)
    assert "did not answer with JSON" in failure(make(server))


ODD: dict[str, tuple[Callable[[Vectors], Any], str]] = {
    "nothing": (lambda _: {}, "no list of vectors"),
    "a list": (lambda vectors: vectors, "no list of vectors"),
    "too few": (lambda vectors: {"data": vectors[1:]}, "2 vectors for 3 texts"),
    "too many": (lambda vectors: {"data": vectors * 2}, "6 vectors for 3 texts"),
    "twice the same place": (lambda vectors: {"data": [v | {"index": 0} for v in vectors]}, "numbering"),
    "places from 1": (lambda vectors: {"data": [v | {"index": v["index"] + 1} for v in vectors]}, "numbering"),
    "places half told": (lambda vectors: {"data": [{"embedding": [1.0]}, *vectors[1:]]}, "numbering"),
    "places as text": (lambda vectors: {"data": [v | {"index": str(v["index"])} for v in vectors]}, "numbering"),
    "places as truth": (lambda vectors: {"data": [v | {"index": v["index"] == 1} for v in vectors]}, "numbering"),
    "other dimension": (lambda vectors: {"data": [v | {"embedding": [1.0] * 47} for v in vectors]}, "47 numbers"),
    "one too long": (lambda vectors: {"data": [*vectors[:2], vectors[2] | {"embedding": [1] * 49}]}, "49 numbers"),
    "NaN": (lambda vectors: {"data": [v | {"embedding": [float("nan")] * 48} for v in vectors]}, "not finite"),
    "infinite": (lambda vectors: {"data": [v | {"embedding": [float("inf")] * 48} for v in vectors]}, "not finite"),
    "huge": (lambda vectors: {"data": [v | {"embedding": [10**400] * 48} for v in vectors]}, "not finite"),
    "text": (lambda vectors: {"data": [v | {"embedding": "AAAA"} for v in vectors]}, "not a list of numbers"),
    "truth": (lambda vectors: {"data": [v | {"embedding": [True] * 48} for v in vectors]}, "not a list of numbers"),
    "nested": (lambda vectors: {"data": [v | {"embedding": [[1.0]] * 48} for v in vectors]}, "not a list of numbers"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_answer_is_an_error_that_says_what_is_odd(server: EmbeddingServer, name: str) -> None:
    embedder = make(server)
    assert embedder.identity.dimension == 48
    server.change, said = ODD[name]
    assert said in failure(embedder, ["tea", "coffee", "water"])


@pytest.mark.parametrize("vector", [[], None, [0.5] * 16_385])
def test_dimension_that_cannot_be_is_an_error(server: EmbeddingServer, vector: object) -> None:
    server.change = lambda _: {"data": [{"index": 0, "embedding": vector}]}
    assert "without numbers, or with too many" in failure(make(server))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["data", "index", "embedding"]), inner),
)


@settings(max_examples=60)
@given(answer=JSON)
@example(answer={"data": [{"index": 0, "embedding": [0.0, -0.0]}]})
@example(answer={"data": [{"index": [], "embedding": [1.0]}]})
def test_any_answer_gives_a_vector_or_a_typed_error(server: EmbeddingServer, answer: Any) -> None:
    server.change = lambda _: answer
    try:
        rows = make(server).embed(["tea"])
    except EmbedderError as error:
        assert error.hint
    else:
        assert np.isfinite(rows).all()
        json.dumps(rows.tolist(), allow_nan=False)


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "localhost:11434", "ftp://x"])
def test_address_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(EmbedderError, match="not the address of a server"):
        HttpEmbedder(url)


@pytest.mark.parametrize("url", ["http://", "http://[", "http://a b", "http://x:y"])
def test_broken_address_is_an_error_on_use(url: str) -> None:
    assert "cannot be reached" in failure(HttpEmbedder(url, key=KEY))


def test_key_that_cannot_be_sent_is_refused_without_being_shown() -> None:
    with pytest.raises(EmbedderError) as caught:
        HttpEmbedder("http://localhost", key=f"{KEY}\nX-Other: 1")
    assert KEY not in str(caught.value)


def test_proxy_of_the_machine_is_not_asked_about_the_machine_itself(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert make(server).embed(["tea"]).any()


def refusing(least: int, status: int = 400, words: str = "") -> Callable[[Handler], bool]:
    """Refuses every question with a text of at least so many letters, or with those words."""

    def act(handler: Handler) -> bool:
        texts = handler.server.texts[-1]
        is_refused = any(len(text) >= least or (words and words in text) for text in texts)
        return is_refused and handler.send_json(status, {"error": {"message": "input is too large"}})

    return act


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("place", [0, 13, 29])
def test_text_that_is_refused_is_embedded_by_its_beginning(server: EmbeddingServer, status: int, place: int) -> None:
    server.before = refusing(1000, status)
    texts = [f"text {number}" for number in range(30)]
    texts[place] = "long " * 500
    rows = make(server).embed(texts)
    texts[place] = ("long " * 500)[:625].strip()
    assert np.allclose(rows, server.embedder.embed(texts), atol=1e-6)
    assert len(server.questions) < 15


def test_text_that_is_refused_however_short_keeps_no_other_from_its_vector(server: EmbeddingServer) -> None:
    server.before = refusing(10_000, words="7")
    texts = ["tea", "7" * 100, "coffee", "7", "water"]
    embedder = make(server)
    rows = embedder.embed(texts)
    assert not rows[[1, 3]].any()
    assert np.allclose(rows[[0, 2, 4]], server.embedder.embed(texts)[[0, 2, 4]], atol=1e-6)
    assert embedder.embed(["milk"]).any()


def test_server_that_refuses_everything_is_a_failure_and_no_text_gets_zeros(server: EmbeddingServer) -> None:
    embedder = make(server)
    assert embedder.identity.dimension == 48
    server.before = refusing(0)
    assert "answered 400: input is too large" in failure(embedder, [f"text {number}" for number in range(100)])
    assert len(server.questions) < 15


def test_server_that_embeds_otherwise_after_a_refusal_is_a_failure(server: EmbeddingServer) -> None:
    embedder = make(server)
    assert embedder.identity.dimension == 48
    server.before = refusing(10_000, words="7")
    server.embedder = HashedEmbedder(32)
    assert "answered 400" in failure(embedder, ["7" * 100])
    assert embedder.identity.dimension == 32


def broken_chunk(handler: Handler) -> bool:
    handler.send_response(500)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"zz\r\nfoo")
    return True


def test_error_whose_body_is_broken_is_an_error_at_once(server: EmbeddingServer) -> None:
    server.before = broken_chunk
    start = time.monotonic()
    assert "answered 500" in failure(make(server, timeout=20))
    assert time.monotonic() - start < 10


def test_whatever_goes_wrong_while_asking_is_told_at_once(server: EmbeddingServer) -> None:
    odd: Any = {"X-Odd": object()}
    start = time.monotonic()
    with pytest.raises(EmbedderError, match="cannot be reached"):
        JsonServer(url=server.url, key="", credentials=odd, timeout=20, max_bytes=1000).post({})
    assert time.monotonic() - start < 10
