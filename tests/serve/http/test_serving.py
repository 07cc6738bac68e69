"""The server does what the memory does, tells of changes, keeps up, and ends without leaving anything open."""

from __future__ import annotations

import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.http import SERVE, over_http, prepare, question
from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.client import Client, ServerError
from memfolio.serve.http import app
from memfolio.serve.tokens import Tokens
from memfolio.types import Attribution
from tests.serve.http.conftest import Served, furnished, serving, until


def test_a_memory_that_is_gone_says_so_to_whoever_may_know_of_it(served: Served) -> None:
    client = served.client()
    lost, secret = (client.remember(text=text)["id"] for text in ("Kim moved to Rome", "the code is swordfish"))
    client.forget(what=lost)
    assert client.get(id=lost)["fate"].startswith("forgotten by bot:trigger-forget in change ")
    with Memory.open(served.home, background=False) as memory:
        memory.purge(secret, by=Attribution(actor="human", trigger="cli"))
    for name, ask in (("get", client.get), ("explain", client.explain), ("tool", partial(client.tool, "explain"))):
        with pytest.raises(ServerError, match=f"{secret} was purged by human in change") as raised:
            ask(id=secret)
        assert raised.value.status == 404, name
    with pytest.raises(ServerError, match="has no memory"):
        served.client("other").get(id=secret)


def test_verbs_do_over_http_what_they_do_in_python(served: Served) -> None:
    client = served.client()
    kept = client.remember(text="Kim plays the cello", type="fact", key="k-1", attributes={"ref": 7})
    assert kept == client.remember(text="Kim plays the cello", type="fact", key="k-1", attributes={"ref": 7})
    hit = client.recall(query="Who plays the cello?", types=["fact"], limit=3, explain=True)["hits"][0]
    assert (hit["id"], hit["attributes"], hit["why"][0]["strategy"]) == (kept["id"], {"ref": 7}, "text")
    assert kept["id"] in client.context(prompt="Which instrument does Kim play?")
    corrected = client.correct(id=kept["id"], text="Kim plays the viola")
    assert client.get(id=kept["id"])["superseded_by"] == corrected["id"]
    assert client.confirm(id=corrected["id"])["confidence"] == 1
    assert client.pin(id=corrected["id"])["pinned"]
    assert client.explain(id=corrected["id"])["supersedes"][0]["id"] == kept["id"]
    assert client.forget(what="Kim viola", dry_run=True)["seq"] is None
    assert len(client.forget(what=corrected["id"])["memories"]) == 2
    turn = {"role": "user", "content": "Let us meet", "session": "s-1", "at": "2026-11-01T10:00:00+01:00"}
    assert client.observe(**turn)["event_time"] == "2026-11-01T09:00:00.000Z"
    assert [each["session"] for each in client.observe_many(turns=[turn, turn])] == ["s-1", "s-1"]
    assert client.tool("recall", query="meet", limit=1)["hits"]
    assert client.propose(text="Kim moved", importance=0.9)["to"] == "main"
    assert client.checkpoint(context="Half done", decisions=["Go on"])["path"].endswith(".md")
    assert client.should_flush(tokens=10) is False
    assert client.flush(transcript="user: We decided to use files.", session="s-2")["path"]
    client.save_context(task="Testing", session="s-1")
    assert client.load_context()["task"] == "Testing"
    assert client.status()["agent"] == "main"
    assert (client.consolidate(dry_run=True)["diff"], client.sync()) == ("", [])
    assert client.tend(jobs=["consolidate"])["done"][0]["job"] == "consolidate"
    with Memory.open(served.home, background=False) as memory:
        assert memory.get(kept["id"]) is not None


def test_belief_is_told_over_http_as_a_sentence(served: Served) -> None:
    with Memory.open(served.home, background=False) as memory:
        belief = memory.mind.believe("Rita collects brass sextants", certainty=0.9)
    client = served.client()
    until(lambda: client.recall(query="sextants")["hits"])
    hit = client.recall(query="What does Rita collect?")["hits"][0]
    assert (hit["id"], hit["content"], hit["heading"]) == (belief.id, "Rita collects brass sextants", ["Beliefs"])
    assert client.get(id=belief.id)["content"] == "Rita collects brass sextants"
    assert "Beliefs: Rita collects brass sextants" in client.context(prompt="What does Rita collect?")


def test_what_needs_leave_is_proposed_and_what_is_forbidden_is_refused(home: Path) -> None:
    rows = 'policy.rows = ["forget by agent: propose", "purge by any: refuse"]'
    with serving(home, settings=rows) as served:
        headers = {"Authorization": f"Bearer {served.secrets['admin']}"}
        answer = httpx.post(f"{served.address}/v1/forget", headers=headers, json={"what": served.ids[0]})
        assert (answer.status_code, set(answer.json())) == (202, {"proposed", "policy", "hint"})
        assert served.client().get(id=served.ids[0]).get("forgotten_at") is None
        with pytest.raises(ServerError) as caught:
            served.client("admin").purge(what=[served.ids[0]])
        assert (caught.value.status, caught.value.code) == (403, "policy")


def test_changes_are_told_as_they_come_until_the_token_is_revoked(served: Served) -> None:
    with Memory.open(served.home, background=False) as memory:
        tokens, now = Tokens(memory.vault.home), memory.vault.home.now()
        token, secret = tokens.create("listener", "main", "read", now=now)
    heard: list[dict[str, Any]] = []

    def listen() -> None:
        for each in Client(served.address, secret).events():
            heard.append(each)  # noqa: PERF402 – each as it comes

    thread = threading.Thread(target=listen)
    thread.start()
    client = served.client()

    def is_heard() -> bool:
        client.remember(text=f"News at {time.monotonic()}")
        time.sleep(0.05)
        return bool(heard)

    until(is_heard)
    tokens.revoke(token.id, now=now)
    client.remember(text="After that")
    thread.join(10)
    assert not thread.is_alive()
    assert {"APPEND"} == {each["action"] for each in heard}
    assert heard[0]["paths"] == [f"agents/main/memory/{heard[0]['at'][:10]}.md"]


def test_listener_who_was_away_hears_what_it_missed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client = served.client()
    before = client.audit_log(limit=1)[0]["seq"]
    kept = [client.remember(text=f"Note {number}")["id"] for number in range(3)]
    served.client("other").remember(text="Told to nobody else")
    with closing(client.events(after=before)) as heard:
        assert [next(heard)["ids"] for _ in kept] == [[each] for each in kept]
        again = client.remember(text="Note 3")["id"]
        assert next(heard)["ids"] == [again]
    monkeypatch.setattr(app, "WAITING", 2)
    last = client.audit_log(limit=1)[0]["seq"]
    with closing(client.events(after=before)) as heard:
        assert next(heard) == {"after": before, "until": last}


def test_rooms_are_open_over_http(served: Served) -> None:
    client = served.client("admin")
    assert "Alex is vegan" in client.core_add(block="Critical Facts", text="Alex is vegan")["diff"]
    assert "Alex is vegan" in client.core_read()["text"]
    assert client.core_replace(block="Critical Facts", old="vegan", new="vegetarian")["receipt"]
    assert client.core_remove(block="Critical Facts", text="vegetarian")["memory"]["blocks"]
    assert client.graph_entities() == []
    with pytest.raises(ServerError, match="nobody"):
        client.graph_entity(name="nobody")
    assert client.tool("rule_create", name="ab", text="?x a ?y => ?x b ?y")["name"] == "ab"
    proposal = client.propose(text="Kim moved to Rome")
    assert proposal["id"] in [each["id"] for each in client.proposals_pending()]
    assert client.proposals_get(id=proposal["id"])["id"] == proposal["id"]
    assert "Kim moved to Rome" in client.audit_diff(seq=client.audit_log(limit=1)[0]["seq"])
    client.forget(what=served.ids[1])
    assert client.restore(id=served.ids[1])["memories"]
    with pytest.raises(ServerError) as caught:
        served.client("other").audit_diff(seq=client.audit_log(limit=1)[0]["seq"])
    assert (caught.value.status, caught.value.code) == (404, "not-found")


def test_long_call_tells_how_far_it_is(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.secrets['write']}", "Accept": "text/event-stream"}
    told = httpx.post(f"{served.address}/v1/tend", headers=headers, json={"jobs": ["consolidate"]}).text
    assert re.findall("^event: (.*)$", told, re.M) == ["progress", "progress", "result"]
    told = httpx.post(f"{served.address}/v1/tend", headers=headers, json={"jobs": ["nothing"]}).text
    assert re.findall("^event: (.*)$", told, re.M)[-1] == "error"
    assert '"code": "input"' in told


def test_what_takes_long_has_threads_of_its_own(served: Served) -> None:
    threads: list[str] = []
    served.hall.room("main").memory().subscribe(lambda line: threads.append(threading.current_thread().name))
    client = served.client()
    both: list[Callable[..., Any]] = [client.consolidate, partial(client.tool, "memory_consolidate")]
    for number, work in enumerate(both):
        client.tool("memory_store_item", content=f"Tea is at {number}", type="fact", importance=0.9)
        threads.clear()
        work(min_access_count=1)
        assert {each.rpartition("_")[0] for each in threads} == {"memfolio-http-long"}


def test_client_says_what_is_wrong(served: Served) -> None:
    for wrong in ("localhost:1", "http://localhost:one", "http://"):
        with pytest.raises(InputError):
            Client(wrong, "secret")
    with pytest.raises(ServerError, match="does not answer"):
        Client("http://127.0.0.1:9", "secret").status()
    with pytest.raises(ServerError, match="does not answer"):
        next(Client("http://127.0.0.1:9", "secret").events())
    with pytest.raises(ServerError) as caught:
        Client(served.address, "secret").status()
    assert (caught.value.status, caught.value.code) == (401, "token")


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_server_ends_in_order_while_it_is_listened_to_and_leaves_no_lock(home: Path, sign: signal.Signals) -> None:
    secrets, _ = furnished(home)
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(home)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = re.match(r"(http://127\.0\.0\.1:\d+) serves ", process.stderr.readline())
    assert told is not None
    client = Client(told[1], secrets["write"])
    until(lambda: _is_there(client))
    kept = client.remember(text="Written before the end")
    with httpx.stream("GET", f"{told[1]}/v1/events", headers={"Authorization": f"Bearer {secrets['read']}"}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": listening"
        process.send_signal(sign)
        assert [*lines] == [""]
    with process:
        assert process.stderr.read() == ""
    with Memory.open(home, background=False) as memory:
        memory.remember("Written at once")
        assert memory.get(kept["id"]) is not None


def _is_there(client: Client) -> bool:
    try:
        return bool(client.status())
    except ServerError:
        return False


@pytest.mark.serial
@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_recall_keeps_up_with_the_memory_itself(home: Path, count: int) -> None:
    """Measured as the time of the processor for client and server together, which other programs have no part in."""
    secret = prepare(home, count)
    with serving(home) as served, Memory.open(home) as memory, ExitStack() as connections:

        def near(query: str) -> int:
            return len(memory.recall(query))

        asks = (near, over_http(served.port, secret, connections))
        took: dict[Callable[[str], int], list[float]] = {ask: [] for ask in asks}
        for number in range(40):
            for ask in asks:
                began = time.process_time()
                assert ask(question(number))
                took[ask].append(time.process_time() - began)
        bare, over = (statistics.median(took[ask]) for ask in asks)
        assert bare >= 0.6 * over
