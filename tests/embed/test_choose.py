"""Which embedder a home gets, and that choosing one costs nothing."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.config import Config, load_config
from memfolio.embed.choose import open_embedder
from memfolio.embed.embedder import Embedder
from memfolio.embed.local import LocalEmbedder
from memfolio.errors import ConfigError, EmbedderError
from tests.embed.models import static_model
from tests.embed.server import EmbeddingServer


def config(home: Path, **overrides: object) -> Config:
    return load_config(home, environ={}, overrides={f"embedding_{name}": value for name, value in overrides.items()})


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "LocalEmbedder"),
        ({"url": "http://localhost:1"}, "HttpEmbedder"),
        ({"provider": "local", "url": "http://localhost:1"}, "LocalEmbedder"),
        ({"provider": "http", "url": "http://localhost:1"}, "HttpEmbedder"),
        ({"provider": "hashed"}, "HashedEmbedder"),
        ({"provider": "none", "url": "http://localhost:1"}, "NoneType"),
    ],
)
def test_provider_decides_and_auto_prefers_a_server(home: Path, settings: dict[str, str], kind: str) -> None:
    assert type(open_embedder(config(home, **settings))).__name__ == kind


def test_server_gets_model_key_and_timeout_of_the_configuration(home: Path, server: EmbeddingServer) -> None:
    embedder = open_embedder(config(home, url=server.url, model="m", key="k", timeout=3))
    assert embedder
    assert server.questions == []
    assert embedder.identity.model == "m"
    assert server.keys == ["Bearer k"]


def test_server_without_address_is_a_mistake_in_the_configuration(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.url"):
        open_embedder(config(home, provider="http"))


def test_server_that_is_down_can_be_chosen_and_fails_on_use(home: Path) -> None:
    embedder = open_embedder(config(home, url="http://127.0.0.1:9"))
    assert embedder
    with pytest.raises(EmbedderError):
        _ = embedder.identity


def test_secrets_are_taken_out_before_texts_leave_the_machine(home: Path, server: EmbeddingServer) -> None:
    embedder = open_embedder(config(home, url=server.url))
    assert embedder
    embedder.embed(["tea", "the password is Xk9!mm2p"], query=True)
    [tea, other] = server.texts[-1]
    assert tea == "tea"
    assert re.fullmatch(r"the password is \[redacted:password:[0-9a-f]{8}\]", other)


STRANGE = "http://embeddings.invalid/v1"
KEY = {"MEMFOLIO_EMBEDDING_KEY": "sk-mine"}


@pytest.fixture
def network(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> EmbeddingServer:
    """Stands for every server of the world."""
    monkeypatch.setenv("http_proxy", server.root)
    monkeypatch.delenv("no_proxy", raising=False)
    return server


def named_by_the_home(home: Path, url: str, environ: dict[str, str], **overrides: object) -> Config:
    home.mkdir(exist_ok=True)
    (home / "memfolio.toml").write_text(f'[embedding]\nprovider = "http"\nurl = "{url}"\n', encoding="utf-8")
    return load_config(home, environ=environ, overrides=overrides)


def test_key_does_not_go_to_an_address_that_only_the_home_names(home: Path, network: EmbeddingServer) -> None:
    embedder = open_embedder(named_by_the_home(home, STRANGE, KEY))
    assert embedder
    with pytest.raises(EmbedderError, match=f"the key is not sent to {STRANGE}") as caught:
        embedder.embed(["tea"])
    assert "set MEMFOLIO_EMBEDDING_URL" in caught.value.hint
    assert "sk-mine" not in str(caught.value)
    with Memory.open(home, embedder=embedder, background=False) as memory:
        memory.remember("Alex drinks tea")
        hits = memory.recall("tea")
        assert hits[0].memory.content == "Alex drinks tea"
        assert hits.degraded[0].startswith("vectors: the key is not sent to")
    assert network.keys == []


@pytest.mark.parametrize(
    ("environ", "overrides", "sent"),
    [
        (KEY | {"MEMFOLIO_EMBEDDING_URL": STRANGE}, {}, "Bearer sk-mine"),
        (KEY, {"embedding_url": STRANGE}, "Bearer sk-mine"),
        ({}, {}, None),
    ],
)
def test_key_goes_to_an_address_that_the_user_names(
    home: Path, network: EmbeddingServer, environ: dict[str, str], overrides: dict[str, str], sent: str | None
) -> None:
    embedder = open_embedder(named_by_the_home(home, STRANGE, environ, **overrides))
    assert embedder
    assert embedder.embed(["tea"]).any()
    assert set(network.keys) == {sent}


def test_key_goes_to_the_machine_itself(home: Path, server: EmbeddingServer) -> None:
    embedder = open_embedder(named_by_the_home(home, server.url, KEY))
    assert embedder
    assert embedder.embed(["tea"]).any()
    assert set(server.keys) == {"Bearer sk-mine"}


@pytest.mark.parametrize("url", ["http://localhost.evil.invalid/v1", "http://127.0.0.1.invalid/v1"])
def test_address_that_looks_like_the_machine_itself_is_none(home: Path, network: EmbeddingServer, url: str) -> None:
    embedder = open_embedder(named_by_the_home(home, url, KEY))
    assert embedder
    with pytest.raises(EmbedderError, match="the key is not sent"):
        embedder.embed(["tea"])
    assert network.keys == []


def test_open_memories_share_one_local_embedder(home: Path) -> None:
    with Memory.open(home, background=False) as one, Memory.open(home, "other", background=False) as other:
        assert one.searcher.vectorizer.embedder is other.searcher.vectorizer.embedder is not None


def test_threads_that_open_embedders_at_once_get_the_same_one(home: Path, tmp_path: Path) -> None:
    folder = config(home, provider="local", path=str(static_model(tmp_path)))
    ready = threading.Barrier(8)

    def opened(_: int) -> Embedder | None:
        ready.wait()
        return open_embedder(folder)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(map(id, threads.map(opened, range(8))))) == 1


def test_each_model_has_an_embedder_of_its_own_and_a_replaced_one_is_read_again(home: Path, tmp_path: Path) -> None:
    folder = config(home, provider="local", path=str(static_model(tmp_path)))
    before = open_embedder(folder)
    assert before
    assert before is not open_embedder(config(home, provider="local"))
    first = before.identity
    static_model(tmp_path, dimension=128)
    after = open_embedder(folder)
    assert after is open_embedder(folder) is not before
    assert after
    assert (first.dimension, after.identity.dimension) == (256, 128)


def test_forked_process_embeds_though_its_parent_was_loading_the_model(home: Path) -> None:
    embedder = open_embedder(config(home, provider="local"))
    assert isinstance(embedder, LocalEmbedder)
    with embedder._lock:  # as a thread holds it that loads the model; in the child nobody releases it
        child = multiprocessing.get_context("fork").Process(target=_embed, args=(config(home, provider="local"),))
        child.start()
    child.join(10)
    child.kill()
    assert child.exitcode == 0


def _embed(settings: Config) -> None:
    found: list[bool] = []

    def embed() -> None:
        embedder = open_embedder(settings)
        found.append(embedder is not None and bool(embedder.embed(["tea"]).any()))

    thread = threading.Thread(target=embed)  # since the thread that forked has the lock, and may take it again
    thread.start()
    thread.join()
    os._exit(0 if found == [True] else 1)
