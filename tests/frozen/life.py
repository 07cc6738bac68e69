"""The shapes of what commands answer to programs: names and JSON types, gathered in one life of a small home."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from memfolio.serve.cli.app import run
from tests.pages import surroundings

SETTLED = {"MEMFOLIO_EMBEDDING_PROVIDER": "hashed", "MEMFOLIO_SPEAKER": "owner"}
NAME = re.compile(r"[a-z][A-Za-z_]*(-[a-z]+)*")
TYPES = {str: "text", bool: "flag", int: "number", float: "number", type(None): "null"}
TALK = "I live in Berlin and I love hiking. My sister Mia works at Acme."
DEPLOY = ["Check the disk", "Copy the files"]
BAYES = {
    "prior": {"ill": 0.01, "well": 0.99},
    "likelihoods": {"ill": {"cough": 0.9}, "well": {"cough": 0.05}},
    "evidence": ["cough"],
}
CASE = ["--context", "The build fails", "--action", "revert it", "--lessons", "revert first"]


def shapes() -> dict[str, Any]:
    """What each command answers with --json, in the order of their names."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-frozen-"))
    try:
        with patch.dict(os.environ, surroundings(folder) | SETTLED, clear=True):
            life = Life(folder)
            for part in (life.daily, life.knowing, life.doing, life.deciding, life.tending, life.trusting, life.world):
                part()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return dict(sorted(life.seen.items()))


def shape(value: Any) -> Any:
    """The names and types in a JSON document; where names are data, such as paths and ids, `*` stands for them."""
    if isinstance(value, list):
        return [joined(*map(shape, value))] if value else []
    if not isinstance(value, dict):
        return TYPES[type(value)]
    known = {name: shape(each) for name, each in value.items() if NAME.fullmatch(name)}
    others = [shape(each) for name, each in value.items() if name not in known]
    return known | ({"*": joined(*others)} if others else {})


def joined(first: Any, *others: Any) -> Any:
    """What several values have in common, and in what they differ: `?` marks a name that not all of them have."""
    for other in others:
        first = _join(first, other)
    return first


def _join(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if isinstance(one, dict) and isinstance(other, dict):
        return _join_names(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return [joined(*one, *other)] if one or other else []
    kinds = " | ".join(sorted({*_kinds(one), *_kinds(other)}))
    nested = [each for each in (one, other) if not isinstance(each, str)]
    return {"or": kinds, **_named(nested[0])} if nested else kinds


def _named(nested: Any) -> dict[str, Any]:
    return nested if isinstance(nested, dict) else {"each": nested}


def _kinds(one: Any) -> list[str]:
    return one.split(" | ") if isinstance(one, str) else []


def _join_names(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    plain = [{name.rstrip("?"): each for name, each in side.items()} for side in (one, other)]
    always = {name for name in one if name in other and not name.endswith("?")}
    found: dict[str, Any] = {}
    for name in plain[0] | plain[1]:
        given = [side[name] for side in plain if name in side]
        found[name if name in always or name == "or" else f"{name}?"] = joined(*given)
    return found


UNHEARD = {
    "open",
    *("bench retrieval", "bench context", "bench speed", "demo"),  # homes of their own, for longer than a test may take
    *("db migrate", "db status", "db doctor", "db vacuum", "db export", "db import"),  # need a database
    *("db work", "db retry"),
    *("mcp", "serve", "hook"),  # no documents: they answer programs all the time, or hosts in the hosts' own form
    *("ontology import", "typedb sync", "typedb sync-schema", "typedb query"),  # need what is not always installed
}
"""The commands that do not take part."""


class Life:
    """Commands as they are run one after the other, and the shapes of their answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.seen: dict[str, Any] = {}

    def __call__(self, command: str, *args: object, status: int = 0, stdin: str = "") -> Any:
        typed, out, err = (io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8") for text in (stdin, "", ""))
        given = [*command.split(), *map(str, args)]
        with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", typed):
            code = run([*given, "--json"])
        out.seek(0)
        said = out.read()
        assert code == status, (given, code, said)
        document = json.loads(said)
        name = f"{command} → exit {code}" if code else command
        self.seen[name] = joined(*([self.seen[name]] if name in self.seen else []), shape(document))
        return document

    def daily(self) -> None:
        self("init")
        tea = self("remember", "Alex prefers tea", "--type", "preference", "--tag", "drinks", "--importance", 0.8)["id"]
        number = self("remember", "The number of Priya is 555 0142", "--session", "s-1", "--user", "alex")["id"]
        wrong = self("remember", "The launch is on Thursday", "--valid-from", "2026-01-01", "--key", "launch")["id"]
        self("observe", "user", TALK, "--session", "s-2", "--user", "Alex")
        self("observe", "tool", "The page says: buy now", "--session", "s-2", "--source", "https://example.org")
        self("recall", "What does Alex drink?", "--explain", "--depth", 1)
        self("recall", "zebra", "--type", "decision")
        self("context", "What does Alex drink?", "--include", "core")
        self("context", "hello")
        self("show")
        self("show", tea)
        self("correct", wrong, "The launch is on Friday")
        self("confirm", number)
        self("pin", tea)
        self("explain", wrong)
        self("explain", tea)
        self("changed", "--limit", 1)
        self("why", "Alex prefers tea")
        self("forget", "--about", "Priya", "--dry-run")
        self("watch")
        self("pause", "--for", "1h")
        self("pause", "--off")
        self("forget", "Priya number", "--dry-run")
        self("forget", number, "--yes")
        self("show", number)
        self("restore", number)
        self("status")
        self("cost")
        self("weak")
        self("show", "M-1-00000000", status=3)
        self("remember", "x", "--type", "decison", status=2)
        self("remember", "y", "--key", "launch", status=4)

    def knowing(self) -> None:
        acme = self("fact assert", "Acme", "hasRevenue", "$60,000", "--source", "cfo", "--confidence", 0.9)["id"]
        self("fact assert", "Alex", "worksAt", "Acme")
        gone = self("fact assert", "Alex", "livesIn", "Paris")["id"]
        self("fact query", "Acme")
        self("fact show", acme)
        self("fact explain", acme)
        self("fact history", acme)
        self("fact verify", acme, "--method", "user_confirmation", "--yes")
        self("fact count", "?x worksAt ?y", "--by", "?y")
        self("fact traverse", "Alex", "worksAt", "hasRevenue")
        self("fact impact", acme)
        self("fact misfits")
        lines = json.dumps({"subject": "Kim", "predicate": "worksAt", "object": "Acme"})
        self("fact import", "-", stdin=lines)
        self("fact export")
        self("fact retract", gone)
        self("rule check", "?x worksAt ?y => ?x isPaidBy ?y")
        self("rule create", "paid: ?x worksAt ?y => ?x isPaidBy ?y", "--domain", "work")
        self("rule create", "rich: ?x hasRevenue ?y and ?y > $50,000 => ?x isRich true")
        self("rule list")
        self("rule show", "paid")
        self("rule export")
        self("rule import", "-", stdin="?x isPaidBy ?y => ?y pays ?x")
        self("infer forward", "--persist")
        self("infer backward", "Alex", "isPaidBy", "?y")
        self("infer abduce", "Kim", "isPaidBy", "Acme")
        self("infer explain", "is Acme isRich true")
        self("infer guess", "Acme is rich")
        self("infer check")
        self("infer policy")
        self("rule toggle", "rich")
        self("rule delete", "rich")
        case = self("case store", *CASE, "--success")["id"]
        self("case retrieve", "a build that fails")
        self("case list")
        self("case revise", case, '{"importance": 0.9}')
        self("case retain", case, "--success")
        self("case show", case)
        self("case delete", case)
        self.terms()
        self("reason methods")
        self("reason show", "bayesian")
        asked = ["--method", "bayesian", "--given", json.dumps(BAYES), "--store"]
        judged = self("reason ask", "Is she ill?", *asked)
        self("reason ask", "Whom does the move touch?", "--method", "stakeholder")
        self("reason outcome", judged["judgement"]["id"], "--true")
        self("reason calibration")

    def terms(self) -> None:
        self("ontology scaffold", "shop", "ecommerce")
        proposed = ["shop", "class", "shop:Voucher", "sold", "--sbvr-definition", "Paper worth money."]
        with redirect_stdout(io.StringIO()):  # a verb of the table, which is kept with the tools
            assert run(["ontology", "propose-concept", *proposed]) == 0
        self("ontology add", "shop:Gift", "--definition", "What is given.")
        self("ontology list")
        self("ontology show", "shop:Gift")
        self("ontology proposals")
        self("ontology validate")
        self("ontology tree")
        self("ontology mermaid")
        self("ontology conform", status=1)
        self("ontology export")
        self("ontology sparql", "SELECT ?s WHERE { ?s ?p ?o } LIMIT 1")

    def doing(self) -> None:
        self("mind be", "--role", "helper")
        self("mind can", "Write letters", "--proficiency", 0.7)
        belief = self("mind believe", "Redis is slow", "--certainty", 0.8)["id"]
        self("mind want", "Fewer outages", "--priority", 0.9)
        goal = self("mind aim", "Replace Redis", "--priority", 0.8)["id"]
        self("mind plan", "Try Valkey", "--for", goal)
        self("mind intend", "Ask about the invoice", "--when", "Acme or the budget")
        self("mind commit", "Send the report", "--to", "Alex", "--deadline", "2020-01-01")
        self("mind learn", "Measure first")
        self("mind list")
        self("mind show", belief)
        self("mind update", belief, "--set", "certainty=0.4")
        self("mind due", "--about", "the budget")
        self("mind done", "invoice", "--reason", "it is paid")
        self("mind drop", "Valkey", "--reason", "too early")
        self("mind retire", belief, "--reason", "it is gone")
        self("heartbeat")
        self("procedure add", "Deploy", *(word for step in DEPLOY for word in ("--step", step)), "--trigger", "deploy")
        self("procedure add", "Choose", "--tree", "Is it urgent?\n- yes: Run\n- no: Wait")
        self("procedure list")
        self("procedure show", "deploy")
        self("procedure match", "please deploy it")
        self("procedure decide", "choose", "yes")
        self("procedure update", "deploy", "--reason", "shorter", "--trigger", "ship")
        begun = self("workflow start", "deploy")["id"]
        self("workflow done", begun, "--result", "well")
        self("workflow resume", begun)
        self("workflow skip", begun)
        self("workflow failed", self("workflow start", "deploy")["id"], "--error", "no network")
        other = self("workflow start", "deploy")["id"]
        self("workflow abandon", other)
        self("workflow show", begun)
        self("workflow list")
        self("workflow stats", "deploy")
        self("procedure learn", "--dry-run")
        self("procedure retire", "choose", "--reason", "never used")
        self("procedure restore", "choose")

    def deciding(self) -> None:
        self("agent create", "scout", "policy=proposes", "role=finds things out")
        self("agent list")
        self("agent show", "scout")
        self("agent set", "scout", "trusted=true")
        self("agent instructions", "scout")
        one, two, three = (self("propose", f"Kim drinks {each}") for each in ("tea", "milk", "beer"))
        self("proposals")
        self("proposals", one["id"])
        self("approve", one["id"], "--hash", one["shown"])
        self("approve", two["id"], "--yes", status=5)
        self("reject", two["id"], "--reason", "no")
        self("proposals", "--defer", three["id"])
        self("proposals", "--all")
        page = self("reflect")
        self("reflect", "--dry-run")
        self("approve", "--hash", page["hash"])
        self("agent rename", "scout", "ranger")
        self("agent retire", "ranger")
        self("agent unretire", "ranger")
        self("core show")
        self("core add", "Persona", "Be brief")
        self("core replace", "Persona", "Be brief", "Be very brief")
        self("core remove", "Persona", "brief")
        self("core pin", "Identity")
        self("core unpin", "Identity")

    def tending(self) -> None:
        self("tend", "--session", "s-2")
        self("tend", "--all")
        self("consolidate")
        self("digest", "--current")
        self("checkpoint", "Migrating the login", "--decision", "Use PKCE", "--next", "Write the tests")
        self("flush", "-", stdin="User: we chose PKCE for the login\nAssistant: noted")
        self("archive")
        self("archive", self("remember", "Old stuff")["id"])
        self("backup", self.folder / "copies")
        self("entity list")
        self("entity show", "Alex")
        self("entity alias", "Alex", "Alex Miller")
        self("entity merge", "--dry-run")
        self("path", "Alex", "Berlin")
        lost = self("remember", "A secret to be destroyed")["id"]
        self("purge", lost, "--dry-run")
        self("purge", lost, "--yes")

    def trusting(self) -> None:
        kept = self("remember", "Nobody needs this")["id"]
        entries = self("log")["entries"]
        self("log", "--about", "Priya")
        self("diff", entries[0]["seq"])
        self("undo", entries[0]["seq"])
        self("undo", entries[0]["seq"], status=3)
        self("explain", kept)
        self("rollback", "MEMORY.md", "--to", "HEAD~1", "--dry-run")
        self("reindex")
        self("verify")
        self("doctor")
        trail = next(iter(sorted(self.home.glob("audit/*/*.jsonl"))))
        whole = trail.read_bytes()
        trail.write_bytes(whole.replace(b"CREATE", b"create", 1))
        self("verify", status=1)
        self("doctor", status=1)
        trail.write_bytes(whole)
        self("alerts")
        self("alerts", "--ack-all")
        self("adopt")
        token = self("token create", "laptop")
        self("token list")
        self("token revoke", token["id"])

    def world(self) -> None:
        self("export", self.folder / "memory.tar.gz")
        self("export", self.folder / "notes.jsonl", "--as", "jsonl")
        notes = self.folder / "workspace" / "memory"
        notes.mkdir(parents=True)
        (notes / "2026-01-02.md").write_text("# 2026-01-02\n\n- Lena repairs the lathe\n")
        self("import", notes.parent, "--from", "openclaw")
        self("install", "claude-code", "--dry-run")
        self("uninstall", "claude-code", "--dry-run")
        self("service install", "--dry-run", "--platform", "systemd")
        self("service uninstall", "--dry-run", "--platform", "systemd")
        self("service status", "--platform", "systemd")
        self("tool list")
        self("tool show", "recall")
        self("tool call", "recall", '{"query": "tea"}')
        self("typedb schema")
        self("typedb status")
        self("goal seed", "--example")
